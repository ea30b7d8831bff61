"""Candidates become runs: at most so many partitions each, with the lookback of the gaps that they fill."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.course import Candidate, Case, Course
from sparkassets.core.planner.dividing import turn
from sparkassets.core.planner.instances import instances
from sparkassets.core.planner.lookback import NONE as NO_LOOKBACK
from sparkassets.core.planner.lookback import lookback
from sparkassets.core.planner.news import Uses
from sparkassets.core.planner.pending import Pending
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.reasons import causes_of, due_by, redone
from sparkassets.core.planner.slots import side_by_side, takes_over
from sparkassets.core.planner.timing import Tick
from sparkassets.core.planner.withheld import again as held_before
from sparkassets.core.planner.wording import listing, plural
from sparkassets.core.runs import Consumption, RunRequest
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange, EveryInstance, Segments
from sparkassets.frozen import frozen


def batch(case: Case, course: Course) -> Course:
    """The step: the runs, in order, and what is left for the next ones."""
    if case.pending is not None and side_by_side(case.asset):
        return instances(case, course, case.pending)
    if case.pending is not None:
        return _of_blocks(case, course, case.pending)
    runs = tuple(_of_events(case, each) for each in course.candidates)
    return replace(course, runs=runs, coming=EVERYTHING if runs else course.coming)


def limit_of(asset: AssetSpec) -> int:
    """How many partitions one run computes at most."""
    if side_by_side(asset):
        return 1
    return asset.strategy.max_partitions_per_run if isinstance(asset.strategy, DateRange | Segments) else 1 << 62


def _of_blocks(case: Case, course: Course, found: Pending) -> Course:
    if not course.blocks and not case.state.chain:
        return course
    name, waiting = case.asset.name, list(course.waiting)
    runs: list[PlannedRun] = []
    taken, coming = NOTHING, course.coming | course.blocks
    for candidate in course.candidates:
        cut = _cut(case, candidate, barred=course.barred, found=found)
        if cut.rest:
            reason = f"left for the next run: more than max_partitions_per_run ({limit_of(case.asset)})"
            waiting.append(Waiting(name, reason, None, cut.rest))
        if cut.apart:
            waiting.append(Waiting(name, _apart(found, cut.apart), None, cut.apart))
        run, left = _run(case, found, candidate, cut), cut.rest | cut.apart
        taken, coming = taken | cut.blocks, coming | cut.blocks | left
        waits = (course.due | course.barred) - taken
        last = candidate is course.candidates[-1] and not left and not _holds(candidate.tick, waits)
        if not last and candidate.cursor is not None:
            run = replace(run, request=replace(run.request, cursor=None))
        runs.append(run)
    return replace(course, runs=tuple(runs), waiting=tuple(waiting), coming=coming)


def _holds(tick: Tick | None, rest: PartitionSet) -> bool:
    """Whether blocks of the tick's own interval are left, which wait for their gates or for what runs first.

    Older holes wait for a tick.
    """
    return tick is not None and bool(rest.clip(*tick.interval))


@frozen
class _Cut:
    """What one run computes.

    Attributes:
        blocks: Those of the run, at most `limit_of`, the oldest first.
        rest: Left for another run.
        apart: Left for runs of their own.
        owes, gaps: As in `RunRequest`.
        note: What is said of the run.
    """

    blocks: PartitionSet
    rest: PartitionSet
    apart: PartitionSet
    owes: PartitionSet
    gaps: PartitionSet
    note: str


def _first(asset: AssetSpec, todo: PartitionSet, *, newest_first: bool) -> PartitionSet:
    """As many of the partitions as a run may compute."""
    if newest_first:
        return asset.partitioning.split(todo, limit_of(asset))[-1]
    return asset.partitioning.oldest(todo, limit_of(asset))


def _cut(case: Case, candidate: Candidate, *, barred: PartitionSet, found: Pending) -> _Cut:
    """The blocks of the next run, lookback included; what of that has failed is owed to another one."""
    next_ones = turn(case.asset.partitioning, candidate.blocks, found.suspects)
    back = NO_LOOKBACK  # a backfill computes what it names
    if candidate.kind == "scheduled":
        back = lookback(case.context, case.asset, case.state, next_ones.blocks, barred=barred)
    failed = PartitionSet.union([found.failed, found.held.resting, *(each.blocks for each in found.suspects)])
    todo = next_ones.blocks | (back.blocks - failed)
    blocks = _first(case.asset, todo, newest_first=candidate.newest_first) if todo else todo
    rest, apart = todo - blocks, candidate.blocks - next_ones.blocks
    return _Cut(blocks, rest, apart, back.blocks - blocks, back.gaps, next_ones.note)


def _apart(found: Pending, blocks: PartitionSet) -> str:
    """Why blocks are computed by runs of their own."""
    error = next((each.item.error for each in found.suspects if each.blocks.overlaps(blocks)), "")
    return f"left for runs of their own: failed before: {error}"


def _run(case: Case, found: Pending, candidate: Candidate, cut: _Cut) -> PlannedRun:
    context, asset, state, blocks = case.context, case.asset, case.state, cut.blocks
    uses = candidate.uses if blocks & candidate.asked else Uses()
    events = context.events(asset, state, {uri: blocks & uses.blocks.get(uri, NOTHING) for uri in uses.named})
    reasons = [*filter(None, [_reason(case, found, candidate, blocks), cut.note]), *candidate.notes]
    request = RunRequest(
        asset=asset.name,
        kind=state.chain[-1].entry.kind if state.chain and not blocks & _due(found, candidate) else candidate.kind,
        blocks=blocks,
        schedule_date=candidate.schedule_date,
        reason=", ".join(reasons),
        interval=candidate.interval
        if candidate.tick
        else context.interval(events) or asset.partitioning.interval(blocks),
        cursor=candidate.cursor,
        pins={**context.pins(asset, state, blocks), **candidate.pins},
        consumption=_consumption(found, uses, blocks),
        owes=cut.owes,
        gaps=cut.gaps,
        accepted=found.held.accepted & blocks,
    )
    return PlannedRun.of(request, asset=asset, state=state, events=events)


def _due(found: Pending, candidate: Candidate) -> PartitionSet:
    """What is out of date, or due by the trigger alone."""
    return found.due | candidate.triggered


def _consumption(found: Pending, uses: Uses, blocks: PartitionSet) -> Consumption:
    """What a run of ``blocks`` uses up, each event and tick for its own time."""
    rest, asked = (found.due | found.by_trigger | found.later) - blocks, blocks & found.due
    remaining = {key: rest | (asked - used) for key, used in uses.blocks.items()}
    remaining |= {key: EVERYTHING for key in uses.consumption.ticks if key not in remaining}
    return replace(uses.consumption, remaining={key: ranges for key, ranges in remaining.items() if ranges})


def _reason(case: Case, found: Pending, candidate: Candidate, blocks: PartitionSet) -> str:
    parts, count = [*filter(None, [takes_over(case.state.chain)])], case.asset.partitioning.count
    if missing := count(blocks & found.missing):
        parts.append(f"{plural(missing, 'partition')} missing")
    if changed := blocks & found.changed:
        parts.append(f"{count(changed)} stale: {listing(causes_of(found, blocks))} changed")
    parts += [f"{count(again)} {text}" for text, again in redone(case.asset, case.state, blocks)]
    if triggered := count(blocks & candidate.triggered):
        parts.append(f"{triggered} {due_by(case.asset)}")
    if (again := count(blocks - _due(found, candidate))) and not case.state.chain:
        parts.append(
            f"{again} by lookback" if candidate.kind == "scheduled" else f"backfill of {plural(again, 'partition')}"
        )
    if failed := count(case.state.failed_blocks & blocks):  # none of it where the partitions are others by now
        parts.append(f"{failed} failed before")
    parts += held_before(case.asset, found.held, blocks)
    tick = candidate.tick
    told = f"{case.asset.schedule.text} at {case.context.when(tick.run_after)}: " if tick else ""
    return told + ", ".join(parts)


def _of_events(case: Case, candidate: Candidate) -> PlannedRun:
    context, asset, state = case.context, case.asset, case.state
    answered = {ref.seq for ref in candidate.events}
    reasons = [*filter(None, [takes_over(state.chain), candidate.reason, *candidate.notes])]
    if any(answered.issuperset(item.events) for item in state.failed):
        reasons.append("failed before")
    restores = state.chain[-1].entry.request.restores if candidate.rescues else ""
    request = RunRequest(
        asset=asset.name,
        kind=state.chain[-1].entry.kind if candidate.rescues else "scheduled",
        blocks=EVERYTHING,
        schedule_date=candidate.schedule_date,
        reason=", ".join(reasons),
        interval=candidate.interval,
        cursor=candidate.cursor,
        pins={} if restores else {**context.pins(asset, state, EVERYTHING, anew=candidate.anew), **candidate.pins},
        rebuilds=candidate.rebuilds,
        consumption=candidate.uses.consumption,
        restores=restores,
        accepted=candidate.accepted,
        apart=isinstance(asset.strategy, EveryInstance),
        again=candidate.again,
    )
    return PlannedRun.of(request, asset=asset, state=state, events=candidate.events)
