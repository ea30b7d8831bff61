"""Traces which downstream assets and partitions an update makes stale, all the way down."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.due.pending_partitions import is_computed_again, limit_open_partitions, resolve_partitions
from sparkassets.core.planner.planning_context import PlanningContext, partitions_in_bounds
from sparkassets.core.planner.wording import listing
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.frozen import frozen

ReachedByAsset = dict[str, PartitionSet]
"""Partitions by asset; everything for a whole asset, or where the partitions are unknown."""


@frozen
class ReachedPartitions:
    """Partitions of one asset that an update reaches.

    Attributes:
        partitions: Everything for the whole asset, or where the partitions are unknown.
        computed: Present partitions among them.
        through: The upstream assets through which the update reaches it.
        stays: Why they are not computed again by themselves, so that the update ends here; empty where they are. If no
            partition is reached, why not; then ``partitions`` are those not over yet, or none.
    """

    asset: str
    partitions: PartitionSet
    computed: PartitionSet
    through: tuple[str, ...]
    stays: str = ""


@frozen
class UpdateImpact:
    """The downstream effect if these partitions of an asset change, or are bad.

    Attributes:
        partitions: Everything for an asset without partitions.
        reaches: Upstream first.
    """

    asset: str
    partitions: PartitionSet
    reaches: tuple[ReachedPartitions, ...]


def recomputed_by_update(
    context: PlanningContext, updated: Mapping[str, PartitionSet], *, unread_by: Collection[str] = ()
) -> ReachedByAsset:
    """Partitions by asset that are computed again after an update, upstream first, without the updated ones.

    Outlets are left out: their multi-assets compute them. Assets in ``unread_by`` read nothing of the update.
    """
    recomputed = (reach for reach in trace_update(context, updated, unread_by=unread_by) if not reach.stays)
    return {reach.asset: reach.partitions for reach in recomputed if not context.asset(reach.asset).written_by}


def trace_impact(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet) -> UpdateImpact:
    """Traces the effect of a change of ``partitions``; where open in time, of all wanted or present partitions."""
    if asset.source is None:
        computing_asset = context.asset(asset.written_by) if asset.written_by else asset
        partitions = resolve_partitions(context, computing_asset, context.state_of(computing_asset), partitions)
    elif not asset.partitioning.can_list(partitions):
        partitions = partitions & context.state.dataset(asset.uri).coverage
    return UpdateImpact(asset.name, partitions, tuple(trace_update(context, {asset.name: partitions})))


def trace_update(
    context: PlanningContext, updated: Mapping[str, PartitionSet], *, unread_by: Collection[str] = ()
) -> list[ReachedPartitions]:
    """Partitions that an update of ``updated`` reaches in downstream assets, upstream first.

    The update ends at an inlet with ``on_update: ignore``, and at an asset without partitions that has a timetable. It
    reaches only finished partitions within an asset's bounds. Assets in ``unread_by`` read nothing of the update
    itself.
    """
    reached: ReachedByAsset = dict(updated)
    reaches: list[ReachedPartitions] = []
    for asset in context.project.assets.values():
        if asset.name not in updated and asset.source is None:
            unread = updated if asset.name in unread_by else {}
            visible = {name: parts for name, parts in reached.items() if name not in unread}
            for reach in (
                _trace_outlet(context, asset, visible) if asset.written_by else _trace_asset(context, asset, visible)
            ):
                reaches.append(reach)
                if not reach.stays:
                    reached[reach.asset] = reach.partitions
    return reaches


def _trace_outlet(context: PlanningContext, asset: AssetSpec, reached: ReachedByAsset) -> list[ReachedPartitions]:
    """The reached partitions of an outlet, which are its multi-asset's: one run computes both."""
    partitions = reached.get(asset.written_by, NOTHING)
    return [_build_reached(context, asset, partitions, (asset.written_by,))] if partitions else []


def _trace_asset(context: PlanningContext, asset: AssetSpec, reached: ReachedByAsset) -> list[ReachedPartitions]:
    """The reached partitions of one asset: first those that are computed again, then those that stay as they are.

    ``through`` are the inlets that read something reached; ``causes`` those whose updates make partitions stale. Where
    no partition is reached although inlets are, one entry says why.
    """
    uris = {context.project.assets[name].uri for name in reached}
    through = [inlet for inlet in asset.inlets.values() if _reads_reached(inlet, uris, reached)]
    causes = [inlet for inlet in through if inlet.on_update == "rerun"]
    partitions = _recomputed_partitions(context, asset, causes, reached)
    not_recomputed = _dependent_partitions(context, asset, through, reached) - partitions
    recomputed = _build_reached(context, asset, partitions, _reached_inlet_names(context, asset, causes, reached))
    staying = _build_reached(
        context,
        asset,
        not_recomputed,
        _reached_inlet_names(context, asset, through, reached),
        _explain_staying(asset, causes),
    )
    reaches = [reach for reach in (recomputed, staying) if reach.partitions]
    return reaches or _explain_unreached(context, asset, through, reached)


def _explain_unreached(
    context: PlanningContext, asset: AssetSpec, through: list[InletSpec], reached: ReachedByAsset
) -> list[ReachedPartitions]:
    """Why an update of its inlets reaches nothing of an asset; empty where no inlet of it is reached.

    Its partitions are not over yet, lie outside its bounds, or need other partitions.
    """
    if not through or not any(reached[inlet.name] for inlet in through if inlet.name in reached):
        return []
    names = _reached_inlet_names(context, asset, through, reached)
    touched = asset.partitioning.inside(_partitions_reading(context, asset, through, reached))
    if unfinished := (touched - context.finished_partitions(asset.partitioning)) & partitions_in_bounds(asset):
        at = asset.partitioning.first_finish_time(unfinished)
        return [
            _build_reached(
                context, asset, unfinished, names, f"not over before {context.format_instant(at or context.now)}"
            )
        ]
    if touched:
        return [_build_reached(context, asset, touched, names, "outside its start and end")]
    by_newest = all(context.dependency(asset, inlet).goes_by_newest for inlet in through)
    why = "reads only the newest partition (partitions: latest)" if by_newest else "none of its partitions needs these"
    return [_build_reached(context, asset, NOTHING, names, why)]


def _recomputed_partitions(
    context: PlanningContext, asset: AssetSpec, causes: list[InletSpec], reached: ReachedByAsset
) -> PartitionSet:
    """Partitions of an asset that become stale by the reached inlets ``causes`` and are computed again by themselves.

    Partitions that an asset appended stay as they are. An asset without partitions runs for an update only if it has no
    timetable.
    """
    if asset.partitioning.is_partitioned:
        partitions = _partitions_made_of(context, asset, causes, reached)
        appended = NOTHING if is_computed_again(asset) else context.state_of(asset).coverage
        return (
            partitions - asset.partitioning.inside(appended)
            if appended and not partitions.is_everything
            else partitions
        )
    uris = {context.project.assets[name].uri for name in reached}
    is_recomputed = asset.schedule.timetable is None and (causes or _condition_awaits(context, asset, uris))
    return EVERYTHING if is_recomputed else NOTHING


def _dependent_partitions(
    context: PlanningContext, asset: AssetSpec, through: list[InletSpec], reached: ReachedByAsset
) -> PartitionSet:
    """Partitions of an asset that are made of reached partitions, whether they are computed again or not.

    Where these cannot be listed, all present ones.
    """
    if not asset.partitioning.is_partitioned:
        return EVERYTHING if through else NOTHING
    partitions = _partitions_made_of(context, asset, through, reached)
    if asset.partitioning.can_list(partitions):
        return partitions
    return asset.partitioning.inside(context.state_of(asset).coverage)


def _partitions_made_of(
    context: PlanningContext, asset: AssetSpec, inlets: list[InletSpec], reached: ReachedByAsset
) -> PartitionSet:
    """Finished partitions within the asset's bounds that need reached partitions of the inlets."""
    partitions = _partitions_reading(context, asset, inlets, reached)
    if partitions.is_everything:
        return partitions
    return asset.partitioning.inside(
        (partitions & context.finished_partitions(asset.partitioning)).clip(asset.start, asset.end)
    )


def _partitions_reading(
    context: PlanningContext, asset: AssetSpec, inlets: list[InletSpec], reached: ReachedByAsset
) -> PartitionSet:
    """Partitions that need reached partitions of the inlets; everything where it cannot be determined which."""
    changes = [EVERYTHING if inlet.view is not None else reached.get(inlet.name, EVERYTHING) for inlet in inlets]
    pairs = zip(inlets, changes, strict=True)
    dependencies = [(context.dependency(asset, inlet, also=changed), changed) for inlet, changed in pairs]
    if any(not dependency.is_mapped or changed.is_everything for dependency, changed in dependencies):
        return EVERYTHING
    reading = PartitionSet.union(dependency.affected_partitions(changed) for dependency, changed in dependencies)
    return limit_open_partitions(
        context, asset, context.state_of(asset), reading
    )  # an inlet that is read as a whole affects all time


def _reads_reached(inlet: InletSpec, uris: set[str], reached: ReachedByAsset) -> bool:
    """Whether the inlet reads a reached dataset, or a view by values of one."""
    return inlet.uri in uris if inlet.view is None else inlet.name in reached


def _condition_awaits(context: PlanningContext, asset: AssetSpec, uris: set[str]) -> bool:
    """Whether its condition names one of these datasets."""
    condition = asset.schedule.condition
    return condition is not None and any(context.uri(asset.name, leaf) in uris for leaf in condition.leaves())


def _reached_inlet_names(
    context: PlanningContext, asset: AssetSpec, inlets: list[InletSpec], reached: ReachedByAsset
) -> tuple[str, ...]:
    """Names of the reached assets that the inlets read, or without inlets that the condition names."""
    uris = {context.project.assets[inlet.name].uri for inlet in inlets}
    if not uris and asset.schedule.condition is not None:
        uris = {context.uri(asset.name, leaf) for leaf in asset.schedule.condition.leaves()}
    return tuple(name for name in reached if name != asset.name and context.project.assets[name].uri in uris)


def _build_reached(
    context: PlanningContext, asset: AssetSpec, partitions: PartitionSet, through: tuple[str, ...], stays: str = ""
) -> ReachedPartitions:
    """Builds the entry of one asset, with the part of ``partitions`` that is present."""
    state = context.state_of(asset)
    if asset.partitioning.is_partitioned:
        computed = asset.partitioning.inside(state.coverage & partitions)
    else:
        computed = EVERYTHING if state.last is not None else NOTHING
    return ReachedPartitions(asset.name, partitions, computed, through, stays)


def _explain_staying(asset: AssetSpec, causes: list[InletSpec]) -> str:
    """Why reached partitions are not computed again by themselves; empty where they are."""
    if causes and not asset.partitioning.is_partitioned:
        return f"runs at its own times ({asset.schedule.text})"
    if causes and not is_computed_again(asset):
        return "already appended, and not recomputed"
    ignored = [inlet.name for inlet in asset.inlets.values() if inlet.on_update == "ignore"]
    return f"not rerun automatically (on_update: ignore of {listing(ignored)})" if ignored else ""
