"""What waits for an upstream run: one that comes first in this invocation, or one that failed.

Without the first, a diamond would compute its foot once for each side. The second is why the descendants of a
failure wait and say for what, instead of going on with half of the news. Partitions that validations withhold are
waited for only by blocks that require each of them; other readers see what is published, and say what they lack.
"""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext, UpstreamBarrier
from sparkassets.core.planner.requirements import required_partitions, tolerated_partitions
from sparkassets.core.planner.wording import name_partitions
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.frozen import frozen

MOST_LACKS = 3
"""Sentences about withheld partitions that a run names."""


@frozen
class UpstreamWaits:
    """Blocks of an asset that wait for upstream runs.

    Attributes:
        coming: What they read comes in this invocation; due by now or not.
        barriers: What they read cannot come, because something failed or is withheld.
        later: Those that would wait for either if they were over.
    """

    coming: PartitionSet
    barriers: tuple[UpstreamBarrier, ...]
    waiting: tuple[Waiting, ...]
    later: PartitionSet

    @property
    def blocked_partitions(self) -> PartitionSet:
        """All that cannot be computed now."""
        return PartitionSet.union(each.blocks for each in self.barriers)


def apply_upstream_waits(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """The step: what reads something that comes first, or that failed, is not computed now."""
    if not _has_news_or_failure(case):
        return course
    return _wait_runs(case, course) if case.pending is None else _wait_partitions(case, course, case.pending)


def _has_news_or_failure(case: DecisionInput) -> bool:
    """Whether something of an inlet comes, or failed."""
    decided = case.context.decisions
    for name in case.asset.inlets:
        before = decided.get(name)
        if before is not None and (before.barriers or before.coming):
            return True
    return False


def _wait_partitions(case: DecisionInput, course: DecisionProgress, found: PendingPartitions) -> DecisionProgress:
    waits = find_upstream_waits(case.context, case.asset, found.wanted)
    course = course.with_notes(
        _lacks(case.context, case.asset, course.blocks - waits.coming - waits.blocked_partitions)
    )
    first, said = _partitions_reading_first(
        case.context, case.asset, course.blocks - waits.coming - waits.blocked_partitions
    )
    if not (waits.waiting or said):
        return replace(course, later=waits.later) if waits.later else course
    coming = waits.coming if case.asset.schedule.condition is not None else waits.coming & course.blocks
    return replace(
        course,
        barred=case.asset.partitioning.cover(
            waits.coming | waits.blocked_partitions | first
        ),  # what comes or failed may be a part of a block
        waiting=(*course.waiting, *waits.waiting, *said),
        coming=coming | first,
        barriers=(*course.barriers, *waits.barriers),
        later=waits.later,
    )


def _partitions_reading_first(
    context: PlanningContext, asset: AssetSpec, blocks: PartitionSet
) -> tuple[PartitionSet, tuple[Waiting, ...]]:
    """Those of the blocks, which are due, that read what comes of inlets whose updates make nothing due themselves."""
    found, waiting = NOTHING, []
    for inlet, coming in _ignored_updates(context, asset):
        own = (_down(context, asset, inlet, coming, blocks) & blocks) - found
        if own:
            found = found | own
            waiting.append(Waiting(asset.name, f"waits for {_first(context, inlet, coming)}", None, own))
    return found, tuple(waiting)


def _ignored_updates(context: PlanningContext, asset: AssetSpec) -> list[tuple[InletSpec, PartitionSet]]:
    """What comes of the inlets that are read and make nothing due by their updates."""
    inlets = (each for each in asset.inlets.values() if each.on_update == "ignore" and not each.aligned)
    found = ((each, context.decisions.get(each.name, AssetDecision()).coming) for each in inlets)
    return [(inlet, coming) for inlet, coming in found if coming]


def _wait_runs(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """Nothing of its own to do, or not: what comes upstream will be its cause if its condition goes by news."""
    name, inlets = case.asset.name, [inlet for inlet in case.asset.inlets.values() if inlet.on_update == "rerun"]
    decided = [(inlet, case.context.decisions.get(inlet.name, AssetDecision())) for inlet in inlets]

    def reads(inlet: InletSpec, parts: PartitionSet) -> bool:
        return bool(_down(case.context, case.asset, inlet, parts, EVERYTHING))

    found = ((inlet, each) for inlet, before in decided for each in before.barriers)
    barriers = [(inlet, each) for inlet, each in found if reads(inlet, each.blocks)]
    barrier = next((each for inlet, each in barriers if not each.withheld or not _has_any(case.context, inlet)), None)
    if barrier is not None:
        waits = Waiting(name, f"waits for {barrier.reason}")
        return DecisionProgress(due=course.due, waiting=(waits,), barriers=(replace(barrier, blocks=EVERYTHING),))
    course = course.with_notes(_lacks(case.context, case.asset, EVERYTHING))
    first = next(((inlet, before.coming) for inlet, before in decided if reads(inlet, before.coming)), None)
    if first is None and course.due:
        first = next(iter(_ignored_updates(case.context, case.asset)), None)
    if first is None:
        return course
    comes = bool(course.due) or case.asset.schedule.condition is not None
    waits = Waiting(name, f"waits for {_first(case.context, *first)}")
    return DecisionProgress(due=course.due, waiting=(waits,), coming=EVERYTHING if comes else NOTHING)


def find_upstream_waits(context: PlanningContext, asset: AssetSpec, wanted: PartitionSet) -> UpstreamWaits:
    """Which blocks wait for an upstream run, and which are behind a failure; ``wanted`` stands for all of them."""
    coming, blocked, later = NOTHING, NOTHING, NOTHING
    waiting: list[Waiting] = []
    barriers: list[UpstreamBarrier] = []
    over = context.finished_partitions(asset.partitioning)  # what is not over waits for that before all
    allowed = context.allowed_partitions(asset)
    for inlet in asset.inlets.values():
        before = context.decisions.get(inlet.name)
        if before is None or not _can_delay(inlet, before):
            continue
        behind = NOTHING
        for barrier in before.barriers if inlet.view is None else ():  # of values it is not known which would have come
            own = (_down(context, asset, inlet, barrier.blocks, wanted) & allowed) - blocked - behind
            if barrier.withheld:
                own = own - _partitions_not_waiting(context, asset, inlet, own)
            behind = behind | own
            if able := own & over:
                barriers.append(replace(barrier, blocks=able))
                waiting.append(_behind(asset, inlet, barrier, able))
        blocked = blocked | (behind & over)
        after = _down(context, asset, inlet, before.coming, wanted) & allowed
        able = _complete(context, asset, inlet, before.coming, after & over) - coming - blocked
        if able:
            coming = coming | able
            waiting.append(Waiting(asset.name, f"waits for {_first(context, inlet, before.coming)}", None, able))
        later = later | _partitions_begun_before((behind | after) - over, asset, before)
    return UpstreamWaits(coming, tuple(barriers), tuple(waiting), later)


def _can_delay(inlet: InletSpec, before: AssetDecision) -> bool:
    """Whether what is decided for an inlet can make blocks wait."""
    return inlet.on_update != "ignore" and bool(before.coming or before.barriers)


def _behind(asset: AssetSpec, inlet: InletSpec, barrier: UpstreamBarrier, blocks: PartitionSet) -> Waiting:
    """That the blocks wait for a failure, which counts also where a gate asks for less than all."""
    kind, reason = inlet.require.kind, f"waits for {barrier.reason}"
    if kind != "all":
        reason += f", and counts whatever `require: {kind}` says: `sparkassets mark {inlet.name}` accepts or skips it"
    return Waiting(asset.name, reason, None, blocks)


def _partitions_not_waiting(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: PartitionSet
) -> PartitionSet:
    """Those of the blocks that do not wait for withheld partitions of the inlet: they read what is published.

    A block waits where it requires all of the partitions that it needs, and only as long as its tolerance.
    """
    needed = context.dependency(asset, inlet)
    if inlet.require.kind == "all" and needed.is_mapped and not needed.is_open:
        return tolerated_partitions(context, asset, inlet, blocks)
    return blocks if _has_any(context, inlet) else NOTHING


def _has_any(context: PlanningContext, inlet: InletSpec) -> bool:
    """Whether something of the inlet is there, if anything is required of it."""
    return inlet.require.kind == "none" or context.dataset(inlet).seq > 0


def _lacks(context: PlanningContext, asset: AssetSpec, blocks: PartitionSet) -> tuple[str, ...]:
    """Which withheld partitions of its inlets a run of the blocks goes on without, for people."""
    found: dict[str, None] = {}
    for inlet in asset.inlets.values() if blocks else ():
        for barrier in context.decisions.get(inlet.name, AssetDecision()).barriers:
            if barrier.withheld and _down(context, asset, inlet, barrier.blocks, blocks).overlaps(blocks):
                found[f"without {barrier.reason}"] = None
    more = len(found) - MOST_LACKS
    return (*list(found)[:MOST_LACKS], *([f"and without {more} more that are withheld"] if more > 0 else []))


def _complete(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, coming: PartitionSet, blocks: PartitionSet
) -> PartitionSet:
    """Those of the blocks that will be wanted once ``coming`` has come: not those that need still more of the inlet."""
    needed = context.dependency(asset, inlet)
    if not blocks or coming.is_everything or not needed.is_mapped or inlet.view is not None:
        return blocks
    newest = max(parts.last for parts in (coming, context.dataset(inlet).coverage) if parts)
    newer = required_partitions(context, asset, inlet, blocks).clip(newest, None)
    return blocks - needed.affected_partitions(newer) if newer else blocks


def _partitions_begun_before(later: PartitionSet, asset: AssetSpec, before: AssetDecision) -> PartitionSet:
    """Those of the blocks that begin before the newest of what comes or failed before them."""
    if not later or before.coming.is_everything or before.blocked_partitions.is_everything:
        return later
    return later - asset.partitioning.partitions_between((before.coming | before.blocked_partitions).last, None)


def _down(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, parts: PartitionSet, everything: PartitionSet
) -> PartitionSet:
    """The blocks that read ``parts`` of the inlet; of ``everything`` where that has no end, or all of it is read."""
    needed = context.dependency(asset, inlet, also=parts)
    if not needed.is_mapped or parts.is_everything or inlet.view is not None:
        return everything if parts else NOTHING
    return needed.affected_partitions(parts) if needed.tells_time else needed.affected_partitions(parts) & everything


def _first(context: PlanningContext, inlet: InletSpec, parts: PartitionSet) -> str:
    up = context.project.assets[inlet.name].partitioning
    return f"{name_partitions(inlet.name, parts, up)}, which runs first"
