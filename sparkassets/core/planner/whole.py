"""The decision for an asset without partitions: it runs as a whole, or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sparkassets.core.conditions import Condition
from sparkassets.core.journal.state import AssetState, EventRef, FailedBlocks
from sparkassets.core.planner.alignment import align_whole
from sparkassets.core.planner.gates import open_without_blocks
from sparkassets.core.planner.holds import held_whole
from sparkassets.core.planner.look import Decision, Look
from sparkassets.core.planner.news import Causes, causes, everything, news_of
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.timing import Tick, due_ticks
from sparkassets.core.planner.wording import listing, when
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance


@dataclass(frozen=True, slots=True)
class _Due:
    """One run that the schedule asks for.

    Attributes:
        since: When that became so, epoch seconds.
        tick: The newest tick behind it, epoch seconds.
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


def decide(look: Look, asset: AssetSpec, state: AssetState) -> Decision:
    """Whether the asset runs now."""
    waits, blocked, failure = held_whole(look, asset)
    due = _due(look, asset, state)
    if isinstance(due, Waiting) and not state.chain:
        if waits is not None and blocked:
            return Decision((), (waits,), blocked=True, failure=failure)
        # nothing of its own to do; what comes upstream will be its cause
        return Decision((), (waits,) if waits else (due,), coming=waits is not None and _follows(asset))
    if waits is not None:
        return Decision((), (waits,), coming=not blocked, blocked=blocked, failure=failure)
    wanted = _rescue(look, state) if isinstance(due, Waiting) else due
    kind = state.chain[-1].entry.kind if isinstance(due, Waiting) else "scheduled"
    gate = open_without_blocks(look, asset, wanted[0].since)
    if gate.waiting and not state.chain:
        return Decision((), gate.waiting)
    wanted, failed = _without_failed(look, asset, state, wanted)
    waiting = [Waiting(asset.name, f"failed: {item.error}") for item in failed]
    if failed and not wanted:
        sentence = f"{asset.name}, which failed: {failed[-1].error}"
        return Decision((), tuple(waiting), blocked=True, failure=sentence)
    runs: list[PlannedRun] = []
    for each in wanted:
        aligned = align_whole(look, asset, each.interval)
        if aligned.waiting and not state.chain:
            waiting += aligned.waiting
            break  # in order: what comes after waits too
        runs.append(
            PlannedRun(
                asset=asset.name,
                kind=kind,
                strategy=asset.strategy.name if asset.strategy else "",
                write=asset.write or "",
                reason=_reason(state, [each.reason, *aligned.notes, *gate.notes]),
                blocks=None,
                schedule_date=each.schedule_date,
                interval=each.interval,
                cursor=each.cursor,
                pins={**look.pins(asset, state, None), **aligned.pins},
                events=each.events,
                consumes=each.consumes,
                ticks=each.ticks,
                skips=each.skips,
                recovers=tuple(link.entry.run for link in state.chain),
            )
        )
    return Decision(tuple(runs), tuple(waiting), coming=bool(runs))


def _due(look: Look, asset: AssetSpec, state: AssetState) -> tuple[_Due, ...] | Waiting:
    """What the schedule asks for, in order; or why nothing."""
    schedule = asset.schedule
    if schedule.timetable is not None:
        ticks = due_ticks(look, asset, schedule.timetable, state)
        if isinstance(ticks, Waiting):
            return ticks
        return tuple(_of_tick(look, asset, state, tick) for tick in ticks)
    if schedule.condition is None:
        return Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
    found = causes(look, schedule.condition, state)
    if not found.holds:
        return _idle(look, asset, schedule.condition, state, found)
    if isinstance(asset.strategy, EveryInstance):
        return tuple(_of_causes(look, each) for each in found.one_by_one())
    return (_of_causes(look, found),)


def _of_tick(look: Look, asset: AssetSpec, state: AssetState, tick: Tick) -> _Due:
    """The run of a tick; it uses what was updated meanwhile, but that did not trigger it."""
    reason = f"{asset.schedule.text} at {when(tick.run_after)}" + (f"; {tick.note}" if tick.note else "")
    at = tick.run_after
    return _Due(reason, at, at, at, tick.interval, tick.cursor, (), everything(look, state))


def _of_causes(look: Look, found: Causes) -> _Due:
    return _Due(
        found.reason,
        found.run_after if found.run_after is not None else look.now,
        found.since,
        found.run_after,
        look.interval(found.events, None) or found.interval,
        None,
        found.events,
        found.uses.events,
        found.uses.ticks,
    )


def _idle(look: Look, asset: AssetSpec, condition: Condition, state: AssetState, found: Causes) -> Waiting:
    """Why the condition does not hold."""
    leaves = tuple(condition.leaves())
    without = [leaf for leaf in leaves if not news_of(look, leaf, state)]
    lacking = [*dict.fromkeys(leaf.ref for leaf in without), *found.later]
    if len(without) < len(leaves) or len(found.later) < len(tuple(condition.times())):
        return Waiting(asset.name, f"waits for {listing(lacking)} ({asset.schedule.text})", found.until)
    if state.last is None:
        fault = next((look.faults[name] for name in lacking if name in look.faults), None)
        return Waiting(asset.name, f"waits for {listing(lacking)}: {fault or 'nothing is there yet'}", found.until)
    return Waiting(asset.name, f"up to date since {state.last.run}", found.until, quiet=True)


def _rescue(look: Look, state: AssetState) -> tuple[_Due, ...]:
    """A run that is due only because an older one never ended: it may have to compute what that one should have."""
    entry = state.chain[-1].entry
    events = tuple(ref for ref in look.unused(state, state.spec.listens) if ref.seq in set(entry.events))
    at = entry.schedule_date
    uses = dict(entry.consumes), dict(entry.ticks), tuple(entry.skips)
    return (_Due("", at, at, None, entry.interval, entry.cursor, events, *uses),)


def _follows(asset: AssetSpec) -> bool:
    """Whether news of an inlet alone can make it run."""
    return asset.schedule.condition is not None


def _without_failed(
    look: Look, asset: AssetSpec, state: AssetState, wanted: tuple[_Due, ...]
) -> tuple[tuple[_Due, ...], tuple[FailedBlocks, ...]]:
    """What may be tried in this invocation, and what failed in it, without a new cause since.

    Under ``every_instance`` an event whose run failed does not keep others from theirs.
    """
    failed = tuple(item for item in state.failed if item.invocation == look.invocation)
    if failed and isinstance(asset.strategy, EveryInstance) and wanted[0].events:
        tried = [set(item.events) for item in failed]
        others = [due for due in wanted if not any({ref.seq for ref in due.events} <= events for events in tried)]
        skips = tuple(sorted(set[int]().union(*tried)))
        return tuple(replace(due, skips=skips) for due in others), failed
    return ((), failed[-1:]) if failed and not _newer(look, state, wanted, failed[-1]) else (wanted, ())


def _newer(look: Look, state: AssetState, wanted: tuple[_Due, ...], failed: FailedBlocks) -> bool:
    """Whether there is a cause that the failed run did not have."""
    return any(look.state.dataset(uri).seq > failed.epoch for uri in state.spec.listens) or any(
        due.tick is not None and due.tick > failed.planned for due in wanted
    )


def _reason(state: AssetState, why: list[str]) -> str:
    parts = []
    if state.chain:
        parts.append(f"takes over {listing([link.entry.run for link in state.chain])}, which never ended")
    parts += [each for each in why if each]
    if state.failed:
        parts.append("failed before")
    return ", ".join(parts)
