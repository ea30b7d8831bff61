"""Finds the wanted partitions of an asset: those whose mapping needs an inlet partition that is or was present.

All are within the asset's bounds. Without inlets by time, they begin with the last complete interval
(docs/design/planning.md#wanted-partitions), for the segments of the inlets. A partition that may run without its inlets
(``require: none``, or a ``tolerance`` that is over) is wanted once its own interval is over.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, Dependency, PartitionSet
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import (
    describe_lacking,
    explain_refused,
    newest_input_end,
    required_partitions,
    split_refused_partitions,
)
from sparkassets.core.planner.wording import listing
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.frozen import frozen, replace


@frozen
class WantedPartitions:
    """The partitions that should exist.

    Attributes:
        partitions: All of them, whether over or not.
        holes: Those whose inputs never existed, but which lie between others that have inputs.
        beyond_newest: Partitions with some inputs that lack newer ones than all inlets have; not among ``partitions``.
    """

    partitions: PartitionSet
    holes: PartitionSet = NOTHING
    beyond_newest: PartitionSet = NOTHING


def find_wanted(
    context: PlanningContext, asset: AssetSpec, state: AssetState, bounds: PartitionSet
) -> WantedPartitions:
    """Returns the partitions that should exist, within ``bounds`` (what the asset's declared start and end allow).

    Inlets by time decide which: partitions that need what these have or had. Without any, the asset's start and now do.
    """
    dependencies = [(inlet, context.dependency(asset, inlet)) for inlet in asset.inlets.values()]
    timing_inlets = [
        _TimingInlet(inlet, dependency, _partitions_fed_by(context, inlet, dependency) & bounds)
        for inlet, dependency in dependencies
        if dependency.tells_time
    ]
    if not timing_inlets:
        fed = [
            _partitions_fed_by(context, inlet, dependency) for inlet, dependency in dependencies if dependency.is_mapped
        ] or [bounds]
        return WantedPartitions(_finished_since_start(context, asset, state) & bounds & PartitionSet.union(fed))
    fed_partitions = PartitionSet.union([each.fed for each in timing_inlets])
    fed_partitions = fed_partitions | (_runnable_without_inlets(context, asset, state, timing_inlets) & bounds)
    missing = fed_partitions - state.coverage
    beyond_newest = _beyond_newest(context, asset, missing)
    if fed_partitions.is_one_stretch:  # nothing is between
        return WantedPartitions(fed_partitions - beyond_newest, beyond_newest=beyond_newest)
    stretch = _stretch_between(timing_inlets) & bounds & _fillable(context, timing_inlets)
    holes = stretch - fed_partitions
    return WantedPartitions((fed_partitions | holes) - beyond_newest, holes, beyond_newest)


@frozen
class _TimingInlet:
    """An inlet by time, the dependency on it, and the partitions for which it has or had data."""

    inlet: InletSpec
    dependency: Dependency
    fed: PartitionSet


def _runnable_without_inlets(
    context: PlanningContext, asset: AssetSpec, state: AssetState, timing_inlets: Sequence[_TimingInlet]
) -> PartitionSet:
    """Finished partitions that may run without input, by ``require: none`` or a ``tolerance`` that is over.

    Nothing unless all inlets by time allow it. They begin at the asset's start, or at the first partition that was
    computed or has an input; nothing where none of these is known.
    """
    inlets = [each.inlet for each in timing_inlets]
    if asset.partitioning.time is None or not all(each.is_dispensable for each in inlets):
        return NOTHING
    fed_or_computed = state.ever_computed | PartitionSet.union([each.fed for each in timing_inlets])
    first = asset.start if asset.start is not None else fed_or_computed.first if fed_or_computed else None
    if first is None:
        return NOTHING
    partitions = asset.partitioning.partitions_between(first, None) & context.finished_partitions(asset.partitioning)
    for inlet in inlets:
        partitions = partitions - split_refused_partitions(context, asset, inlet, partitions)[0]
    return partitions


def _stretch_between(timing_inlets: Sequence[_TimingInlet]) -> PartitionSet:
    """All partitions from the first to the last that needs a partition of an inlet, so that holes between are found.

    Inlets that map by values in rows are left out: their values have no order.
    """
    return PartitionSet.union([each.dependency.hull(each.fed) for each in timing_inlets if each.inlet.view is None])


def _fillable(context: PlanningContext, timing_inlets: Sequence[_TimingInlet]) -> PartitionSet:
    """Partitions with at least one input that is not skipped; everything where nothing is skipped."""
    if not context.waived_partitions:
        return EVERYTHING
    return PartitionSet.union(
        [each.dependency.affected_partitions(context.possible_partitions(each.inlet.name)) for each in timing_inlets]
    )


def mapped_inlets(context: PlanningContext, asset: AssetSpec) -> list[InletSpec]:
    """The inlets that map their partitions to the asset's, unlike inlets that are read as a whole."""
    return [inlet for inlet in asset.inlets.values() if context.dependency(asset, inlet).is_mapped]


def _finished_since_start(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Finished partitions of an asset without inlets by time.

    They begin at the asset's start; or else at the first partition that was ever computed; or else only the last one.
    """
    partitioning, finished = asset.partitioning, context.finished_partitions(asset.partitioning)
    if asset.start is not None:
        return partitioning.partitions_between(asset.start, None) & finished
    first = partitioning.cover(state.ever_computed or partitioning.newest_finished(context.now))
    return (
        partitioning.partitions_between(first.first, None) & finished if first else NOTHING
    )  # no segment is known yet


def _partitions_fed_by(context: PlanningContext, inlet: InletSpec, dependency: Dependency) -> PartitionSet:
    """Partitions that need an inlet partition which is or was present; a removed one still shows that data existed."""
    return dependency.affected_partitions(
        context.dataset(inlet).ever_present & context.possible_inlet_partitions(inlet)
    )


def _beyond_newest(context: PlanningContext, asset: AssetSpec, missing: PartitionSet) -> PartitionSet:
    """Missing partitions after the newest partition that all inlets have, as far as ``require`` holds them back."""
    newest_end = newest_input_end(context, asset) if missing else None
    after_newest = (
        missing & asset.partitioning.partitions_between(newest_end, None) if newest_end is not None else NOTHING
    )
    beyond = NOTHING
    for inlet in mapped_inlets(context, asset) if after_newest else ():
        beyond = beyond | split_refused_partitions(context, asset, inlet, after_newest - beyond)[0]
    return beyond


def explain_beyond_newest(
    context: PlanningContext, asset: AssetSpec, beyond_newest: PartitionSet
) -> tuple[Waiting, ...]:
    """Quiet reasons of partitions that need newer inlet partitions than there are (``beyond_newest``)."""
    waiting: list[Waiting] = []
    for inlet in mapped_inlets(context, asset) if beyond_newest else ():
        refused = split_refused_partitions(context, asset, inlet, beyond_newest)[0]
        waiting += [replace(wait, quiet=True) for wait in explain_refused(context, asset, inlet, refused) if refused]
        beyond_newest = beyond_newest - refused
    return tuple(waiting)


def explain_hole(context: PlanningContext, asset: AssetSpec, holes: PartitionSet) -> tuple[Waiting, ...]:
    """Reasons of wanted partitions for which no inlet ever had data (holes): the inlet partitions that they lack."""
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values() if holes else ():
        lacking = required_partitions(context, asset, inlet, holes) - context.dataset(inlet).coverage
        if lacking:
            dependent = context.dependency(asset, inlet).affected_partitions(lacking) & holes
            waiting.append(describe_lacking(context, asset, inlet, dependent))
            holes = holes - dependent
    return tuple(waiting)


def explain_left_out(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet) -> tuple[Waiting, ...]:
    """Quiet reason of partitions between the asset's start and the first input, which nothing can compute."""
    if asset.start is None:
        return ()
    inlets = [inlet.name for inlet in mapped_inlets(context, asset)] if partitions else []
    before_first_input = (
        asset.partitioning.partitions_between(asset.start, None) & partitions.before_first() if inlets else NOTHING
    )
    before_first_input = before_first_input & context.possible_partitions(asset.name)
    if not before_first_input:
        return ()
    names = listing(inlets)
    begins = "begins" if len(inlets) == 1 else "begin"
    reason = f"before the first partition of {names}; declare `start` where {names} {begins}"
    return (Waiting(asset.name, reason, None, before_first_input, quiet=True),)
