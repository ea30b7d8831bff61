"""Evaluates a condition for each partition: for which ones each leaf holds, and what the others wait for.

A leaf holds for a partition when its dataset was updated for it: a needed inlet partition is present and the partition
is missing, or the inlet partition changed since. Where the declared bounds leave the dataset nothing for a partition,
the leaf counts neither way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkassets.core.conditions import Condition, ConditionResult, TimeLeaf, UpdateLeaf, evaluate_condition
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.condition_causes import PassedTick, has_news, next_tick
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirement_reasons import explain_refused
from sparkassets.core.planner.requirements import feedable_partitions, partitions_with_input, split_refused_partitions
from sparkassets.core.planner.wording import describe_unmet
from sparkassets.core.spec.model import AssetSpec, InletSpec


def evaluate_readiness(
    context: PlanningContext,
    asset: AssetSpec,
    condition: Condition,
    state: AssetState,
    found: PendingPartitions,
    ticks: Mapping[TimeLeaf, PassedTick | None],
) -> ConditionResult[PartitionSet]:
    """Returns the partitions that the condition, and each leaf of it, makes ready."""
    due = found.due_partitions | found.by_trigger

    def ready(leaf: UpdateLeaf | TimeLeaf) -> PartitionSet:
        if isinstance(leaf, TimeLeaf):
            return due if ticks[leaf] is not None else _unanswered_partitions(asset, state, leaf.source_text, due)
        return _ready(context, asset, state, found, leaf)

    return evaluate_condition(condition, ready, lambda leaf: _never_fed_partitions(context, asset, leaf, due))


def explain_unready(
    context: PlanningContext,
    asset: AssetSpec,
    verdict: ConditionResult[PartitionSet],
    blocks: PartitionSet,
    found: PendingPartitions,
) -> tuple[Waiting, ...]:
    """Why ``blocks``, for which the condition does not hold, wait; quietly where their input never existed."""
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values():
        refused = NOTHING
        if context.dependency(asset, inlet).is_mapped:
            refused = split_refused_partitions(context, asset, inlet, blocks & (found.missing - found.holes))[0]
        quiet = [said for said in explain_refused(context, asset, inlet, refused) if said.quiet] if refused else []
        waiting += quiet
        blocks = blocks - PartitionSet.union(said.blocks for said in quiet)
    return (*waiting, *_group_by_lacking(context, asset, verdict, blocks))


def _group_by_lacking(
    context: PlanningContext, asset: AssetSpec, verdict: ConditionResult[PartitionSet], blocks: PartitionSet
) -> tuple[Waiting, ...]:
    """Groups ``blocks`` by the leaves that they lack; one waiting reason for each group."""
    parts: list[tuple[PartitionSet, tuple[UpdateLeaf | TimeLeaf, ...]]] = [(blocks, ())]
    for leaf, ready in _leaves(verdict):
        split = [(part & ready, wanted) for part, wanted in parts]
        parts = split + [(part - ready, (*wanted, leaf)) for part, wanted in parts]
        parts = [(part, wanted) for part, wanted in parts if part]
    waiting = []
    for part, wanted in sorted(parts, key=lambda each: each[0].first):
        until = next_tick(context, context.state_of(asset), [leaf for leaf in wanted if isinstance(leaf, TimeLeaf)])
        said = describe_unmet(verdict.node, set(wanted).__contains__)
        waiting.append(Waiting(asset.name, f"waits for {said} ({asset.schedule.text})", until, part))
    return tuple(waiting)


def _leaves(verdict: ConditionResult[PartitionSet]) -> Iterator[tuple[UpdateLeaf | TimeLeaf, PartitionSet]]:
    """Yields each leaf with the partitions that need not wait for it."""
    if isinstance(verdict.node, UpdateLeaf | TimeLeaf):
        yield verdict.node, verdict.value | (verdict.never_decidable or NOTHING)
    for child in verdict.children:
        yield from _leaves(child)


def _mapped_inlets(context: PlanningContext, asset: AssetSpec, leaf: UpdateLeaf) -> list[InletSpec]:
    """The inlets of the leaf's dataset that map an update to partitions, by their time at least."""
    uri = context.uri(asset.name, leaf)
    own = (inlet for inlet in asset.inlets.values() if inlet.uri == uri)
    needs = ((inlet, context.dependency(asset, inlet)) for inlet in own)
    return [inlet for inlet, need in needs if need.is_mapped and need.tells_time]


def _ready(
    context: PlanningContext, asset: AssetSpec, state: AssetState, found: PendingPartitions, leaf: UpdateLeaf
) -> PartitionSet:
    due, mapped = found.due_partitions | found.by_trigger, _mapped_inlets(context, asset, leaf)
    if not mapped:
        return (
            due
            if has_news(context, leaf, state)
            else _unanswered_partitions(asset, state, context.uri(asset.name, leaf), due)
        )
    ready = NOTHING
    for inlet in mapped:
        there = partitions_with_input(context, asset, inlet, found.missing)
        there = there - split_refused_partitions(context, asset, inlet, there)[0]
        ready = ready | there | found.stale.get(inlet.name, NOTHING)
    return ready


def _never_fed_partitions(
    context: PlanningContext, asset: AssetSpec, leaf: UpdateLeaf | TimeLeaf, due: PartitionSet
) -> PartitionSet:
    """The ``due`` partitions for which a leaf's dataset can never have any data."""
    mapped = _mapped_inlets(context, asset, leaf) if isinstance(leaf, UpdateLeaf) else []
    never = due if mapped else NOTHING
    for inlet in mapped:
        never = never - feedable_partitions(context, asset, inlet, never)
    return never


def _unanswered_partitions(asset: AssetSpec, state: AssetState, key: str, due: PartitionSet) -> PartitionSet:
    """The ``due`` partitions that have still to answer an event or a tick."""
    return asset.partitioning.cover(due & state.unanswered_partitions(key)) & due
