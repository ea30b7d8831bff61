"""For which partitions of an asset a condition holds, and what the others wait for.

A condition is evaluated for each partition. A leaf holds for one when its dataset was updated for it: a needed inlet
partition is present and the partition is missing, or the inlet partition changed since. Where the declared bounds leave
the dataset nothing for a partition, the leaf counts neither way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkassets.core.conditions import Condition, ConditionResult, TimeLeaf, UpdateLeaf, evaluate_condition
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.condition_causes import (
    PassedTick,
    has_news,
    next_tick,
)
from sparkassets.core.planner.due.pending_partitions import (
    PendingPartitions,
)
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import (
    explain_refused,
    feedable_partitions,
    partitions_with_input,
    split_refused_partitions,
)
from sparkassets.core.planner.wording import describe_unmet
from sparkassets.core.spec.model import AssetSpec, InletSpec


def evaluate_readiness(
    context: PlanningContext,
    asset: AssetSpec,
    condition: Condition,
    state: AssetState,
    pending: PendingPartitions,
    ticks: Mapping[TimeLeaf, PassedTick | None],
) -> ConditionResult[PartitionSet]:
    """Evaluates the condition for each partition: for which partitions the whole and each of its leaves hold.

    A time leaf that ticked holds for all due partitions. Before that it holds for those that have still to answer an
    earlier tick, such as partitions that failed then.
    """
    due = pending.due_partitions | pending.by_trigger

    def ready(leaf: UpdateLeaf | TimeLeaf) -> PartitionSet:
        if isinstance(leaf, TimeLeaf):
            return due if ticks[leaf] is not None else _unanswered_partitions(asset, state, leaf.source_text, due)
        return _find_ready_partitions(context, asset, state, pending, leaf)

    return evaluate_condition(condition, ready, lambda leaf: _never_fed_partitions(context, asset, leaf, due))


def explain_unready(
    context: PlanningContext,
    asset: AssetSpec,
    verdict: ConditionResult[PartitionSet],
    partitions: PartitionSet,
    pending: PendingPartitions,
) -> tuple[Waiting, ...]:
    """Why ``partitions``, for which the condition does not hold, wait; quietly where their input never existed.

    Partitions that lack the same leaves share one reason.
    """
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values():
        refused = NOTHING
        if context.dependency(asset, inlet).is_mapped:
            refused = split_refused_partitions(context, asset, inlet, partitions & (pending.missing - pending.holes))[0]
        quiet_waits = (
            [wait for wait in explain_refused(context, asset, inlet, refused) if wait.quiet] if refused else []
        )
        waiting += quiet_waits
        partitions = partitions - PartitionSet.union(wait.partitions for wait in quiet_waits)
    return (*waiting, *_group_by_lacking(context, asset, verdict, partitions))


def _group_by_lacking(
    context: PlanningContext, asset: AssetSpec, verdict: ConditionResult[PartitionSet], partitions: PartitionSet
) -> tuple[Waiting, ...]:
    """Waiting reasons for ``partitions``, one for each group that lacks the same leaves, oldest first.

    It starts with one group; each leaf splits every group into the partitions for which it holds, and the rest.
    """
    groups: list[tuple[PartitionSet, tuple[UpdateLeaf | TimeLeaf, ...]]] = [(partitions, ())]
    for leaf, ready in _iterate_leaves(verdict):
        split = [(group & ready, lacking_leaves) for group, lacking_leaves in groups]
        groups = split + [(group - ready, (*lacking_leaves, leaf)) for group, lacking_leaves in groups]
        groups = [(group, lacking_leaves) for group, lacking_leaves in groups if group]
    waiting = []
    for group, lacking_leaves in sorted(groups, key=lambda each: each[0].first):
        until = next_tick(
            context, context.state_of(asset), [leaf for leaf in lacking_leaves if isinstance(leaf, TimeLeaf)]
        )
        unmet_text = describe_unmet(verdict.node, set(lacking_leaves).__contains__)
        waiting.append(Waiting(asset.name, f"waits for {unmet_text} ({asset.schedule.text})", until, group))
    return tuple(waiting)


def _iterate_leaves(verdict: ConditionResult[PartitionSet]) -> Iterator[tuple[UpdateLeaf | TimeLeaf, PartitionSet]]:
    """Yields each leaf of the condition with the partitions for which it holds, or that it can never decide."""
    if isinstance(verdict.node, UpdateLeaf | TimeLeaf):
        yield verdict.node, verdict.value | (verdict.never_decidable or NOTHING)
    for child in verdict.children:
        yield from _iterate_leaves(child)


def _inlets_mapping_time(context: PlanningContext, asset: AssetSpec, leaf: UpdateLeaf) -> list[InletSpec]:
    """Inlets that read the leaf's dataset and map its time to partitions, so that readiness differs by partition."""
    uri = context.uri(asset.name, leaf)
    inlets = (inlet for inlet in asset.inlets.values() if inlet.uri == uri)
    dependencies = ((inlet, context.dependency(asset, inlet)) for inlet in inlets)
    return [inlet for inlet, dependency in dependencies if dependency.is_mapped and dependency.tells_time]


def _find_ready_partitions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, pending: PendingPartitions, leaf: UpdateLeaf
) -> PartitionSet:
    """The due partitions for which an update leaf holds.

    If inlets of the leaf's dataset map time, a missing partition is ready once its input is present, and a present one
    once it is stale. Otherwise all due partitions are ready if there is an update that no run has used, and else those
    that were left over when others used it.
    """
    due, inlets = pending.due_partitions | pending.by_trigger, _inlets_mapping_time(context, asset, leaf)
    if not inlets:
        return (
            due
            if has_news(context, leaf, state)
            else _unanswered_partitions(asset, state, context.uri(asset.name, leaf), due)
        )
    ready = NOTHING
    for inlet in inlets:
        with_input = partitions_with_input(context, asset, inlet, pending.missing)
        with_input = with_input - split_refused_partitions(context, asset, inlet, with_input)[0]
        ready = ready | with_input | pending.stale.get(inlet.name, NOTHING)
    return ready


def _never_fed_partitions(
    context: PlanningContext, asset: AssetSpec, leaf: UpdateLeaf | TimeLeaf, due: PartitionSet
) -> PartitionSet:
    """The ``due`` partitions for which a leaf's dataset can never have data, by the declared bounds of its inlets."""
    inlets = _inlets_mapping_time(context, asset, leaf) if isinstance(leaf, UpdateLeaf) else []
    never_fed = due if inlets else NOTHING
    for inlet in inlets:
        never_fed = never_fed - feedable_partitions(context, asset, inlet, never_fed)
    return never_fed


def _unanswered_partitions(asset: AssetSpec, state: AssetState, key: str, due: PartitionSet) -> PartitionSet:
    """The ``due`` partitions for which an event or a tick is still unused, although a run used it for others.

    ``key`` is the dataset's URI or the text of the time leaf.
    """
    return asset.partitioning.cover(due & state.unanswered_partitions(key)) & due
