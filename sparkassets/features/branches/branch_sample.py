"""Samples a branch: the newest partitions of what it computes, with the partitions of its own that these need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from sparkassets.core.journal.state import State
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionError, PartitionSet
from sparkassets.core.phrases import listing
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import InputError
from sparkassets.features.branches.branch_project import BranchProject
from sparkassets.frozen import frozen


@frozen
class BranchSample:
    """The part of a branch that a check computes.

    Attributes:
        partitions: Partitions by computed asset, upstream first; everything for an asset without partitions.
        left_out: Assets of which a sample of their inlets says nothing, each with the reason.
    """

    partitions: Mapping[str, PartitionSet]
    left_out: Mapping[str, str]

    def limit(self, branch_project: BranchProject) -> BranchProject:
        """The branch that computes no other partitions."""
        assets = {
            name: replace(asset, reach=asset.reach & self.partitions.get(name, EVERYTHING))
            for name, asset in branch_project.spec.assets.items()
        }
        return replace(branch_project, spec=replace(branch_project.spec, assets=assets))


def sample_branch(
    branch_project: BranchProject, base: State, *, most: int, now: int, keys: Sequence[str] = ()
) -> BranchSample:
    """The newest ``most`` partitions of each asset that the branch computes, and what these need of the others.

    With ``keys`` those that they name, ``A..B`` or ``A``, of the assets that have such partitions. Partitions that the
    base has come first, as they can be compared. An asset that reads a sampled one as a whole is left out: its rows
    would differ for the partitions that are missing.

    Raises:
        InputError: No asset of the branch has partitions of such a key.
    """
    context = PlanningContext(branch_project.spec, base, now=now, clock=now)
    computed = [branch_project.spec.assets[name] for name in branch_project.assets_to_compute]
    available: dict[str, PartitionSet] = {}
    for asset in computed:
        writer = available.get(asset.written_by)
        available[asset.name] = _available_partitions(context, asset, available) if writer is None else writer
    if keys:
        chosen = {asset.name: _select_named(asset, available[asset.name], keys) for asset in computed}
        if computed and not any(chosen[asset.name] for asset in computed if asset.partitioning.is_partitioned):
            raise InputError(f"branch {branch_project.name!r} computes no partition {listing(keys)}")
    else:
        chosen = {asset.name: _select_newest(asset, available[asset.name], most) for asset in computed}
    _add_needed(context, computed, available, chosen)
    left_out: dict[str, str] = {}
    for asset in computed:
        chosen[asset.name] = chosen.get(asset.written_by, chosen[asset.name])
        if reason := left_out.get(asset.written_by) or _explain_left_out(context, asset, available, chosen, left_out):
            left_out[asset.name] = reason
    return BranchSample({name: parts for name, parts in chosen.items() if name not in left_out}, left_out)


def _add_needed(
    context: PlanningContext,
    computed: Sequence[AssetSpec],
    available: Mapping[str, PartitionSet],
    chosen: dict[str, PartitionSet],
) -> None:
    """Adds to the chosen partitions what they need of others, and to those of a multi-asset what its outlets have."""
    for asset in reversed(computed):
        if asset.written_by:
            chosen[asset.written_by] = chosen[asset.written_by] | chosen[asset.name]
        for name, needed in _needed_partitions(context, asset, chosen[asset.name], available):
            chosen[name] = chosen[name] | needed


def _select_newest(asset: AssetSpec, available: PartitionSet, most: int) -> PartitionSet:
    """The newest partitions of the available ones; all where they have no end, or the asset has no partitions."""
    if not asset.partitioning.is_partitioned or not asset.partitioning.can_list(available):
        return available
    return PartitionSet.union(asset.partitioning.split_into_chunks(available, 1)[-most:])


def _select_named(asset: AssetSpec, available: PartitionSet, keys: Sequence[str]) -> PartitionSet:
    """The available partitions that some of the keys name; all of an asset without partitions."""
    if not asset.partitioning.is_partitioned:
        return available
    named = NOTHING
    for key in keys:
        with suppress(PartitionError):  # an asset with other partitions has it
            named = named | asset.partitioning.parse(key)
    return named & available


def _available_partitions(
    context: PlanningContext, asset: AssetSpec, available: Mapping[str, PartitionSet]
) -> PartitionSet:
    """The partitions that the base has, else those that the inlets have; everything if neither is known."""
    if not asset.partitioning.is_partitioned:
        return EVERYTHING
    state, possible = context.state_of(asset), context.possible_partitions(asset.name)
    # what is present by another partitioning does not say which of these partitions are
    if state.spec.partitioning == asset.partitioning and (present := asset.partitioning.inside(state.coverage)):
        return present & possible
    fed = NOTHING
    for inlet in asset.inlets.values():
        dependency, there = context.dependency(asset, inlet), available.get(inlet.name, context.dataset(inlet).coverage)
        if dependency.is_mapped and not there.is_everything:
            fed = fed | dependency.affected_partitions(there)
    return fed & possible & context.finished_partitions(asset.partitioning) or EVERYTHING


def _needed_partitions(
    context: PlanningContext, asset: AssetSpec, partitions: PartitionSet, available: Mapping[str, PartitionSet]
) -> list[tuple[str, PartitionSet]]:
    """The available partitions of other computed assets that these need."""
    return [
        (
            inlet.name,
            context.dependency(asset, inlet, also=available[inlet.name]).required_partitions(partitions)
            & available[inlet.name],
        )
        for inlet in asset.inlets.values()
        if inlet.name in available and context.dependency(asset, inlet).is_mapped
    ]


def _explain_left_out(
    context: PlanningContext,
    asset: AssetSpec,
    available: Mapping[str, PartitionSet],
    chosen: Mapping[str, PartitionSet],
    left_out: Mapping[str, str],
) -> str:
    """Why a sample says nothing of the asset; empty where it does."""
    if not chosen[asset.name]:
        return "it has none of these partitions"
    for inlet in asset.inlets.values():
        if inlet.name in left_out:
            return f"it reads {inlet.name}, which is left out"
        is_cut = inlet.name in available and bool(available[inlet.name] - chosen[inlet.name])
        if is_cut and not context.dependency(asset, inlet).is_mapped:
            return f"it reads all of {inlet.name}, and the branch computes only a sample of that"
    return ""
