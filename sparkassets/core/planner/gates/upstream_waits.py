"""Finds partitions that wait for an upstream run: one that comes first in this invocation, or one that failed.

Without waiting for the first, a diamond would compute its foot once for each side. Descendants of a failure wait and
name it, instead of going on with half of the updates. Only partitions that require each inlet partition wait for
withheld ones; other readers see what is published, and say what they lack (docs/design/planning.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext, UpstreamBlocker
from sparkassets.core.planner.requirements import required_partitions, tolerated_partitions
from sparkassets.core.planner.wording import name_partitions
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.frozen import frozen, replace

MOST_LACKS = 3
"""Most sentences about withheld partitions in a run's reason."""


@frozen
class UpstreamWaits:
    """Partitions of an asset that wait for upstream runs.

    Attributes:
        expected: Partitions whose input comes in this invocation, whether due by now or not.
        blockers: Partitions whose input cannot come because an upstream partition failed or is withheld.
        waiting: The reasons of both.
        awaited: Those of what is expected.
        later: Partitions that are not over and would wait for either otherwise.
    """

    expected: PartitionSet
    blockers: tuple[UpstreamBlocker, ...]
    waiting: tuple[Waiting, ...]
    awaited: tuple[Waiting, ...]
    later: PartitionSet

    @property
    def blocked_partitions(self) -> PartitionSet:
        """All partitions whose input cannot come."""
        return PartitionSet.union(each.partitions for each in self.blockers)


def apply_upstream_waits(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that removes partitions whose input comes first in this invocation, or failed."""
    if not _has_news_or_failure(case):
        return progress
    return _wait_runs(case, progress) if case.pending is None else _wait_partitions(case, progress, case.pending)


def _has_news_or_failure(case: DecisionInput) -> bool:
    """Whether a decision upstream expects new partitions of an inlet, or has a blocker for some."""
    decisions = case.context.decisions
    for name in case.asset.inlets:
        upstream_decision = decisions.get(name)
        if upstream_decision is not None and (
            upstream_decision.blockers or upstream_decision.seen_by(case.asset.name).expected
        ):
            return True
    return False


def _wait_partitions(case: DecisionInput, progress: DecisionProgress, pending: PendingPartitions) -> DecisionProgress:
    """Removes partitions that wait for an upstream run, and notes the withheld inputs that the others go without.

    Under a condition partitions that are not due yet count as coming too, as the upstream's update will make them due;
    under a timetable only what its tick made due.
    """
    waits = find_upstream_waits(case.context, case.asset, pending.wanted)
    not_waiting = progress.partitions - waits.expected - waits.blocked_partitions
    progress = progress.with_notes(_describe_withheld_inputs(case.context, case.asset, not_waiting))
    first, first_reasons = _partitions_reading_first(case.context, case.asset, not_waiting)
    if not (waits.waiting or first_reasons):
        return replace(progress, later=waits.later) if waits.later else progress
    expected = waits.expected if case.asset.schedule.condition is not None else waits.expected & progress.partitions
    return replace(
        progress,
        unready=case.asset.partitioning.cover(
            waits.expected | waits.blocked_partitions | first
        ),  # what comes or failed may be a part of a partition
        waiting=(*progress.waiting, *waits.waiting, *first_reasons),
        awaited=(*waits.awaited, *first_reasons),
        expected=expected | first,
        blockers=(*progress.blockers, *waits.blockers),
        later=waits.later,
    )


def _partitions_reading_first(
    context: PlanningContext, asset: AssetSpec, partitions: PartitionSet
) -> tuple[PartitionSet, tuple[Waiting, ...]]:
    """Due partitions that read what is still coming of inlets with ``on_update: ignore``, with the waiting reasons.

    Such an update makes nothing due by itself, but partitions that are due anyway wait to read it.
    """
    reading, waiting = NOTHING, []
    for inlet, expected in _ignored_updates(context, asset):
        reading_inlet = (_downstream_partitions(context, asset, inlet, expected, partitions) & partitions) - reading
        if reading_inlet:
            reading = reading | reading_inlet
            waiting.append(
                Waiting(asset.name, f"waits for {_name_first_runs(context, inlet, expected)}", None, reading_inlet)
            )
    return reading, tuple(waiting)


def _ignored_updates(context: PlanningContext, asset: AssetSpec) -> list[tuple[InletSpec, PartitionSet]]:
    """The inlets with ``on_update: ignore`` of which partitions are still coming, each with these partitions."""
    inlets = (each for each in asset.inlets.values() if each.on_update == "ignore" and not each.aligned)
    expected_by_inlet = ((each, _decision_of(context, asset, each).expected) for each in inlets)
    return [(inlet, expected) for inlet, expected in expected_by_inlet if expected]


def _wait_runs(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Makes an asset without partitions wait for an upstream run that is coming or failed.

    It waits even if it is not due: where a condition runs it, the upstream run will be its cause.
    """
    inlets = [inlet for inlet in case.asset.inlets.values() if inlet.on_update == "rerun"]
    decisions = [(inlet, _decision_of(case.context, case.asset, inlet)) for inlet in inlets]
    name, blocker = case.asset.name, _first_blocker(case, decisions)
    if blocker is not None:
        wait = Waiting(name, f"waits for {blocker.reason}")
        return DecisionProgress(due=progress.due, waiting=(wait,), blockers=(replace(blocker, partitions=EVERYTHING),))
    progress = progress.with_notes(_describe_withheld_inputs(case.context, case.asset, EVERYTHING))
    expected_input = next(
        ((inlet, decision.expected) for inlet, decision in decisions if _reads_any(case, inlet, decision.expected)),
        None,
    )
    if expected_input is None and progress.due:
        expected_input = next(iter(_ignored_updates(case.context, case.asset)), None)
    if expected_input is None or not (progress.due or case.asset.schedule.condition is not None):
        return progress
    wait = Waiting(name, f"waits for {_name_first_runs(case.context, *expected_input)}")
    return DecisionProgress(due=progress.due, waiting=(wait,), awaited=(wait,), expected=EVERYTHING)


def _decision_of(context: PlanningContext, asset: AssetSpec, inlet: InletSpec) -> AssetDecision:
    """The decision for an inlet as far as it concerns the asset; an empty one where there is none."""
    return context.decisions.get(inlet.name, AssetDecision()).seen_by(asset.name)


def _first_blocker(case: DecisionInput, decisions: Sequence[tuple[InletSpec, AssetDecision]]) -> UpstreamBlocker | None:
    """The first blocker of an inlet that the asset reads; None where nothing blocks it.

    Withheld partitions block it only where the inlet has no other data.
    """
    for inlet, decision in decisions:
        for blocker in decision.blockers:
            if _reads_any(case, inlet, blocker.partitions) and not (
                blocker.withheld and _has_data(case.context, inlet)
            ):
                return blocker
    return None


def _reads_any(case: DecisionInput, inlet: InletSpec, parts: PartitionSet) -> bool:
    """Whether the asset reads any of these partitions of an inlet."""
    return bool(_downstream_partitions(case.context, case.asset, inlet, parts, EVERYTHING))


def find_upstream_waits(context: PlanningContext, asset: AssetSpec, wanted: PartitionSet) -> UpstreamWaits:
    """Finds the partitions of ``wanted`` whose input is coming in this invocation, or cannot come.

    A partition gets at most one blocker and one reason of what is coming, each by the first inlet that has one; of one
    inlet, a blocker counts before what is coming.
    """
    expected, blocked, later = NOTHING, NOTHING, NOTHING
    waiting: list[Waiting] = []
    awaited: list[Waiting] = []
    blockers: list[UpstreamBlocker] = []
    finished = context.finished_partitions(asset.partitioning)  # what is not over waits for that before all
    allowed = context.allowed_partitions(asset)
    for inlet in asset.inlets.values():
        decision = _decision_of(context, asset, inlet)
        if not _can_delay(inlet, decision):
            continue
        dependent = NOTHING
        for blocker in (
            decision.blockers if inlet.view is None else ()
        ):  # a view by values is not asked: it is not known which values would have come
            reading = (
                (_downstream_partitions(context, asset, inlet, blocker.partitions, wanted) & allowed)
                - blocked
                - dependent
            )
            if blocker.withheld:
                reading = reading - _partitions_not_waiting(context, asset, inlet, reading)
            dependent = dependent | reading
            if able_partitions := reading & finished:
                blockers.append(replace(blocker, partitions=able_partitions))
                waiting.append(_explain_blocked(asset, inlet, blocker, able_partitions))
        blocked = blocked | (dependent & finished)
        reading_expected = _downstream_partitions(context, asset, inlet, decision.expected, wanted) & allowed
        able_partitions = (
            _keep_complete(context, asset, inlet, decision.expected, reading_expected & finished) - expected - blocked
        )
        if able_partitions:
            expected = expected | able_partitions
            reason = f"waits for {_name_first_runs(context, inlet, decision.expected)}"
            awaited.append(Waiting(asset.name, reason, None, able_partitions))
        later = later | _partitions_begun_before((dependent | reading_expected) - finished, asset, decision)
    return UpstreamWaits(expected, tuple(blockers), (*waiting, *awaited), tuple(awaited), later)


def _can_delay(inlet: InletSpec, decision: AssetDecision) -> bool:
    """Whether a decision upstream can make partitions wait: it has coming or blocked ones, and updates count."""
    return inlet.on_update != "ignore" and bool(decision.expected or decision.blockers)


def _explain_blocked(asset: AssetSpec, inlet: InletSpec, blocker: UpstreamBlocker, partitions: PartitionSet) -> Waiting:
    """Reason of partitions whose input failed or is withheld.

    It counts even if ``require`` demands less than all inputs, and the reason then says so.
    """
    kind, reason = inlet.require.kind, f"waits for {blocker.reason}"
    if kind != "all":
        reason += f", also under `require: {kind}`; `sparkassets mark {inlet.name}` accepts or skips it"
    return Waiting(asset.name, reason, None, partitions)


def _partitions_not_waiting(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> PartitionSet:
    """The given partitions that do not wait for withheld ones of the inlet: they read what is published.

    A partition waits only if it requires all of its inputs, and no longer than the tolerance.
    """
    dependency = context.dependency(asset, inlet)
    if inlet.require.kind == "all" and dependency.is_mapped and not dependency.is_open:
        return tolerated_partitions(context, asset, inlet, partitions)
    return partitions if _has_data(context, inlet) else NOTHING


def _has_data(context: PlanningContext, inlet: InletSpec) -> bool:
    """Whether the inlet has any data, or requires none."""
    return inlet.require.kind == "none" or context.dataset(inlet).seq > 0


def _describe_withheld_inputs(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet) -> tuple[str, ...]:
    """Sentences about the withheld inlet partitions that a run of ``partitions`` goes without, at most `MOST_LACKS`."""
    sentences: dict[str, None] = {}
    for inlet in asset.inlets.values() if partitions else ():
        for blocker in context.decisions.get(inlet.name, AssetDecision()).blockers:
            if blocker.withheld and _downstream_partitions(
                context, asset, inlet, blocker.partitions, partitions
            ).overlaps(partitions):
                sentences[f"without {blocker.reason}"] = None
    uncounted = len(sentences) - MOST_LACKS
    return (
        *list(sentences)[:MOST_LACKS],
        *([f"and without {uncounted} more that are withheld"] if uncounted > 0 else []),
    )


def _keep_complete(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, expected: PartitionSet, partitions: PartitionSet
) -> PartitionSet:
    """The given partitions whose input is complete once ``expected`` is there; not those that need newer inputs.

    All of them where it is not known which partitions come, or which are needed.
    """
    dependency = context.dependency(asset, inlet)
    if not partitions or expected.is_everything or not dependency.is_mapped or inlet.view is not None:
        return partitions
    newest = max(parts.last for parts in (expected, context.dataset(inlet).coverage) if parts)
    still_newer = required_partitions(context, asset, inlet, partitions).clip(newest, None)
    return partitions - dependency.affected_partitions(still_newer) if still_newer else partitions


def _partitions_begun_before(later: PartitionSet, asset: AssetSpec, decision: AssetDecision) -> PartitionSet:
    """The partitions of ``later`` that begin before the newest upstream partition that is coming or blocked.

    Later ones would not wait for these: their input is not expected yet.
    """
    if not later or decision.expected.is_everything or decision.blocked_partitions.is_everything:
        return later
    return later - asset.partitioning.partitions_between((decision.expected | decision.blocked_partitions).last, None)


def _downstream_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, parts: PartitionSet, everything: PartitionSet
) -> PartitionSet:
    """Partitions that read ``parts`` of the inlet; ``everything`` where the inlet is read as a whole.

    Nothing without ``parts``.
    """
    dependency = context.dependency(asset, inlet, also=parts)
    if not dependency.is_mapped or parts.is_everything or inlet.view is not None:
        return everything if parts else NOTHING
    return (
        dependency.affected_partitions(parts)
        if dependency.tells_time
        else dependency.affected_partitions(parts) & everything
    )


def _name_first_runs(context: PlanningContext, inlet: InletSpec, parts: PartitionSet) -> str:
    """Clause that names upstream partitions that run first."""
    partitioning = context.project.assets[inlet.name].partitioning
    return f"{name_partitions(inlet.name, parts, partitioning)}, which runs first"
