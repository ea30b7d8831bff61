"""Checks ``require``, how many needed inlet partitions must be present, and ``tolerance``, how long to wait for it."""

from __future__ import annotations

from sparkassets.core.partitions import NOTHING, Dependency, NewestMapping, PartitionSet
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, InletSpec


def split_refused_partitions(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    blocks: PartitionSet,
    due: int | None = None,
    *,
    emptied: bool = False,
) -> tuple[PartitionSet, PartitionSet]:
    """Partitions of ``blocks`` that ``require`` holds back, and those that run only because the tolerance is over."""
    lacking = lacking_partitions(context, asset, inlet, blocks, emptied=emptied)
    going_on = tolerated_partitions(context, asset, inlet, lacking, due)
    return lacking - going_on, going_on


def tolerated_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: PartitionSet, due: int | None = None
) -> PartitionSet:
    """Partitions of ``refused`` whose tolerance is over; none before the inlet's first update."""
    if not refused or inlet.tolerance is None or not context.dataset(inlet).seq:
        return NOTHING
    if due is not None:
        over = tolerance_end(inlet, due, asset)
        return refused if over is not None and context.now >= over else NOTHING
    return refused & asset.partitioning.finished_partitions((-inlet.tolerance).add_to(context.now, asset.timezone))


def lacking_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: PartitionSet, *, emptied: bool = False
) -> PartitionSet:
    """Partitions of ``blocks`` for which ``inlet`` lacks partitions that ``require`` demands.

    Partitions that the inlet can never have, by the declared bounds of all its upstream assets, are not required.
    """
    if inlet.require.kind == "none" or inlet.aligned:  # an aligned inlet waits for its own run
        return NOTHING
    needed = context.dependency(asset, inlet)
    if not needed.is_mapped:
        return NOTHING if context.dataset(inlet).seq else blocks
    there = countable_partitions(context, inlet, emptied=emptied)
    if inlet.require.kind == "all":
        bare = (
            needed.lacking_all_inputs(blocks, there, context.possible_inlet_partitions(inlet))
            if needed.is_open
            else NOTHING
        )
        return (needed.affected_partitions(required_partitions(context, asset, inlet, blocks) - there) & blocks) | bare
    if needed.goes_by_newest:
        return needed.needing_inlet(blocks) - context.project.dependency(asset, inlet).affected_partitions(there)
    return _lacking_some(needed, blocks, there, context.possible_inlet_partitions(inlet), max(1, inlet.require.count))


def _lacking_some(
    needed: Dependency, blocks: PartitionSet, there: PartitionSet, possible: PartitionSet, least: int
) -> PartitionSet:
    """Partitions with fewer than ``least`` of their inputs; at the inlet's bounds, fewer than all possible ones."""
    mapped = needed.required_partitions(blocks)
    able = mapped & possible
    asked = needed.affected_partitions(able) & blocks
    cut = needed.affected_partitions(mapped - able) & asked
    inner = asked - cut
    few = PartitionSet.union(
        each for each in needed.consumer.each_partition(cut) if _lacks(needed, each, able, there, least)
    )
    return (inner - needed.having_enough(inner, there, least)) | few


def _lacks(needed: Dependency, block: PartitionSet, able: PartitionSet, there: PartitionSet, least: int) -> bool:
    mapped, inlet = needed.inlet.inside(needed.required_partitions(block) & able), needed.inlet
    whole = inlet.inside(mapped & there)
    return whole != mapped and not inlet.has_at_least(whole, least)


def countable_partitions(context: PlanningContext, inlet: InletSpec, *, emptied: bool = False) -> PartitionSet:
    """Inlet partitions that count: present (or removed, where that does not matter) and over.

    With `NewestMapping` the newest partition counts before it is over.
    """
    dataset = context.dataset(inlet)
    counts = dataset.ever_present if emptied or inlet.on_removed == "rerun" else dataset.coverage
    if isinstance(inlet.mapping, NewestMapping):
        return counts
    return counts & context.finished_partitions(context.partitioning(inlet).without_open_segments)


def required_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: PartitionSet
) -> PartitionSet:
    """Partitions of a mapped inlet that ``blocks`` need and that it can have; for open time, those that it ever had."""
    needed = context.dependency(asset, inlet)
    if not needed.is_mapped:
        return NOTHING
    mapped = needed.required_partitions(blocks) & context.possible_inlet_partitions(inlet)
    return mapped & _ever_present(context, inlet) if needed.is_open else mapped


def _ever_present(context: PlanningContext, inlet: InletSpec) -> PartitionSet:
    """Partitions that the inlet ever had and that are over, or all of them with `NewestMapping`."""
    ever = context.dataset(inlet).ever_present
    return (
        ever
        if isinstance(inlet.mapping, NewestMapping)
        else ever & context.finished_partitions(context.partitioning(inlet))
    )


def feedable_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: PartitionSet
) -> PartitionSet:
    """Partitions of ``blocks`` for which a mapped inlet can ever have data."""
    needed = context.project.dependency(asset, inlet)
    return (
        needed.affected_partitions(needed.required_partitions(blocks) & context.possible_inlet_partitions(inlet))
        & blocks
    )


def waived_inputs(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: PartitionSet) -> PartitionSet:
    """Skipped partitions of a mapped inlet that ``blocks`` would need otherwise."""
    needed, waives = context.dependency(asset, inlet), context.waived_partitions
    if not waives or not needed.is_mapped:
        return NOTHING
    skipped = waives.get(inlet.name, NOTHING) | context.inherited_skips(context.project.assets[inlet.name])
    return needed.required_partitions(blocks) & skipped if skipped else NOTHING


def partitions_with_input(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: PartitionSet
) -> PartitionSet:
    """Partitions of ``blocks`` for which at least one partition of a mapped inlet counts."""
    there = countable_partitions(context, inlet) & required_partitions(context, asset, inlet, blocks)
    return context.dependency(asset, inlet).affected_partitions(there) & blocks


def newest_input_end(context: PlanningContext, asset: AssetSpec) -> int | None:
    """The end of the newest partition that any inlet by time has or had; None before the first, or without an end."""
    inlets = [inlet for inlet in asset.inlets.values() if context.dependency(asset, inlet).tells_time]
    datasets = [context.dataset(inlet) for inlet in inlets]
    extents = [parts.extent for each in datasets for parts in (each.coverage, each.gone)]
    return max((extent[1] for extent in extents if extent is not None), default=None)


def tolerance_end(inlet: InletSpec, due: int, asset: AssetSpec) -> int | None:
    """When the inlet's tolerance is over for a run due at ``due``, Unix seconds; None without a tolerance."""
    return None if inlet.tolerance is None else inlet.tolerance.add_to(due, asset.timezone)
