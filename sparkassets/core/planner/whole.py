"""The decision for an asset without partitions: it runs as a whole, or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from sparkassets.core.conditions import Condition
from sparkassets.core.journal.state import AssetState, EventRef, FailedBlocks
from sparkassets.core.planner.alignment import align_whole
from sparkassets.core.planner.context import Decision, PlanningContext
from sparkassets.core.planner.gates import open_without_blocks
from sparkassets.core.planner.holds import held_whole
from sparkassets.core.planner.news import Causes, causes, everything
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.timing import MOST_RUNS, Tick, due_ticks
from sparkassets.core.planner.wording import lacking, listing
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.timetables import Continuous, Once


@dataclass(frozen=True, slots=True)
class _Due:
    """One run that the schedule asks for.

    Attributes:
        since: When that became so, Unix seconds.
        tick: The newest tick behind it, Unix seconds.
        events: What it answers.
        consumes, ticks, skips: What it uses up and leaves, as in `PlannedRun`.
    """

    reason: str
    schedule_date: int
    since: int
    tick: int | None = None
    interval: tuple[int, int] | None = None
    cursor: tuple[int, int] | None = None
    events: tuple[EventRef, ...] = ()
    consumes: Mapping[str, int] = field(default_factory=dict)
    ticks: Mapping[str, int] = field(default_factory=dict)
    skips: tuple[int, ...] = ()


def decide(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Decision:
    """Whether the asset runs now."""
    waits, blocked, failure = held_whole(context, asset)
    failed = tuple(item for item in state.failed if item.invocation == context.invocation)
    due = _due(context, asset, state, failed)
    if isinstance(due, Waiting) and not state.chain:
        if waits is not None and blocked:
            return Decision((), (waits,), blocked=True, failure=failure)
        # nothing of its own to do; what comes upstream will be its cause
        return Decision((), (waits,) if waits else (due,), coming=waits is not None and _follows(asset))
    if waits is not None:
        return Decision((), (waits,), coming=not blocked, blocked=blocked, failure=failure)
    wanted = _rescue(context, state) if isinstance(due, Waiting) else due
    kind = state.chain[-1].entry.kind if isinstance(due, Waiting) else "scheduled"
    if failed and not (wanted and (_one_by_one(asset, wanted) or _newer(context, state, wanted, failed[-1]))):
        sentence = f"{asset.name}, which failed"
        return Decision((), _failures(asset, failed), blocked=True, failure=sentence)
    gate = open_without_blocks(context, asset, wanted[0].since)
    if gate.waiting and not state.chain:
        return Decision((), gate.waiting)
    waiting = list(_failures(asset, failed)) if _one_by_one(asset, wanted) else []
    runs: list[PlannedRun] = []
    for each in wanted:
        aligned = align_whole(context, asset, each.interval)
        if aligned.waiting and not state.chain:
            waiting += aligned.waiting
            break  # in order: what comes after waits too
        runs.append(
            PlannedRun(
                asset=asset.name,
                kind=kind,
                strategy=asset.strategy.name if asset.strategy else "",
                write=asset.write.name if asset.write else "",
                reason=_reason(state, [each.reason, *aligned.notes, *gate.notes], each.events),
                blocks=None,
                schedule_date=each.schedule_date,
                interval=each.interval,
                cursor=each.cursor,
                pins={**context.pins(asset, state, None), **aligned.pins},
                events=each.events,
                consumes=each.consumes,
                ticks=each.ticks,
                skips=each.skips,
                recovers=tuple(link.entry.run for link in state.chain),
            )
        )
    return Decision(tuple(runs), tuple(waiting), coming=bool(runs))


def _one_by_one(asset: AssetSpec, wanted: tuple[_Due, ...]) -> bool:
    """Whether each run is for events of its own: one that failed keeps no other from running."""
    return isinstance(asset.strategy, EveryInstance) and bool(wanted[0].events)


def _failures(asset: AssetSpec, failed: tuple[FailedBlocks, ...]) -> tuple[Waiting, ...]:
    return tuple(Waiting(asset.name, f"failed: {item.error}") for item in failed)


def _due(
    context: PlanningContext, asset: AssetSpec, state: AssetState, failed: tuple[FailedBlocks, ...]
) -> tuple[_Due, ...] | Waiting:
    """What the schedule asks for, in order, without events whose own run ``failed``; or why nothing."""
    schedule = asset.schedule
    if schedule.timetable is not None:
        ticks = due_ticks(context, asset, schedule.timetable, state)
        if isinstance(ticks, Waiting):
            return ticks
        return tuple(_of_tick(context, asset, state, tick) for tick in ticks)
    if schedule.condition is None:
        return Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
    found = causes(context, schedule.condition, state)
    if not found.holds:
        return _idle(context, asset, schedule.condition, state, found)
    if isinstance(asset.strategy, EveryInstance):
        return _instances(context, found, failed)
    return (_of_causes(context, found),)


def _of_tick(context: PlanningContext, asset: AssetSpec, state: AssetState, tick: Tick) -> _Due:
    """The run of a tick; it uses what was updated meanwhile, but that did not trigger it."""
    reason = f"{asset.schedule.text} at {context.when(tick.run_after)}" + (f"; {tick.note}" if tick.note else "")
    at = tick.run_after
    moves = isinstance(asset.schedule.timetable, Continuous | Once)  # with now: no new cause after a failure
    return _Due(reason, at, at, None if moves else at, tick.interval, tick.cursor, (), everything(context, state))


def _instances(context: PlanningContext, found: Causes, failed: tuple[FailedBlocks, ...]) -> tuple[_Due, ...]:
    """A run for each event; those whose own run failed are left for another invocation."""
    tried = [set(item.events) for item in failed]
    own = ((part, {ref.seq for ref in part.events}) for part in found.one_by_one())
    parts = ((part, events) for part, events in own if not any(events <= failing for failing in tried))
    failing = set[int]().union(*tried)
    due = [
        replace(_of_causes(context, part), skips=tuple(sorted(failing - events)))
        for part, events in islice(parts, MOST_RUNS + 1)
    ]
    if len(due) > MOST_RUNS:
        due = [*due[: MOST_RUNS - 1], replace(due[MOST_RUNS - 1], reason=f"{due[MOST_RUNS - 1].reason}; more follow")]
    return tuple(due)


def _of_causes(context: PlanningContext, found: Causes) -> _Due:
    return _Due(
        found.reason,
        found.run_after if found.run_after is not None else context.now,
        found.since,
        found.run_after,
        context.interval(found.events, None) or found.interval,
        None,
        found.events,
        found.uses.events,
        found.uses.ticks,
    )


def _idle(
    context: PlanningContext, asset: AssetSpec, condition: Condition, state: AssetState, found: Causes
) -> Waiting:
    """Why the condition does not hold."""
    truths = dict(found.verdict.leaves())
    wanted = lacking(condition, lambda leaf: not truths[leaf])
    if any(truths.values()):
        return Waiting(asset.name, f"waits for {wanted} ({asset.schedule.text})", found.until)
    if state.last is None:
        fault = next((context.faults[leaf.ref] for leaf in condition.leaves() if leaf.ref in context.faults), None)
        return Waiting(asset.name, f"waits for {wanted}: {fault or 'nothing is there yet'}", found.until)
    return Waiting(asset.name, f"up to date since {state.last.run}", found.until, quiet=True)


def _rescue(context: PlanningContext, state: AssetState) -> tuple[_Due, ...]:
    """A run that is due only because an older one never ended: it may have to compute what that one should have."""
    entry = state.chain[-1].entry
    tried = set(entry.events)
    unused = context.unused(state, {*state.spec.listens, *state.parted})  # the condition may not name them by now
    events = tuple(ref for ref in unused if ref.seq in tried)
    at = entry.schedule_date
    uses = dict(entry.consumes), dict(entry.ticks), tuple(entry.skips)
    return (_Due("", at, at, None, entry.interval, entry.cursor, events, *uses),)


def _follows(asset: AssetSpec) -> bool:
    """Whether news of an inlet alone can make it run."""
    return asset.schedule.condition is not None


def _newer(context: PlanningContext, state: AssetState, wanted: tuple[_Due, ...], failed: FailedBlocks) -> bool:
    """Whether there is a cause that the failed run did not have."""
    return any(context.state.dataset(uri).seq > failed.token for uri in state.spec.listens) or any(
        due.tick is not None and due.tick > failed.planned for due in wanted
    )


def _reason(state: AssetState, why: list[str], events: tuple[EventRef, ...]) -> str:
    parts = []
    if state.chain:
        parts.append(f"takes over {listing([link.entry.run for link in state.chain])}, which never ended")
    parts += [each for each in why if each]
    if any(set(item.events).issubset(ref.seq for ref in events) for item in state.failed):
        parts.append("failed before")
    return ", ".join(parts)
