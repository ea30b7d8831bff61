"""Checks ``require`` and ``tolerance`` of inlets, and says what partitions that they hold back wait for."""

from __future__ import annotations

from sparkassets.core.partitions import EVERYTHING, NOTHING, Dependency, NewestMapping, Partitioning, PartitionSet
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import label_partitions, plural
from sparkassets.core.spec.model import AssetSpec, InletSpec


def split_refused_partitions(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    partitions: PartitionSet,
    due: int | None = None,
    *,
    emptied: bool = False,
) -> tuple[PartitionSet, PartitionSet]:
    """Two parts of ``partitions``: held back by ``require``, and let through only because the tolerance is over.

    ``due`` is when the run was due, Unix seconds, from which the tolerance counts; None for each partition's own end.
    """
    lacking = lacking_partitions(context, asset, inlet, partitions, emptied=emptied)
    going_on = tolerated_partitions(context, asset, inlet, lacking, due)
    return lacking - going_on, going_on


def tolerated_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: PartitionSet, due: int | None = None
) -> PartitionSet:
    """Partitions of ``refused`` that may go on without this inlet because its tolerance is over.

    The tolerance counts from ``due`` (Unix seconds), or without it from the end of each partition. None is tolerated
    before the inlet's first update.
    """
    if not refused or inlet.tolerance is None or not context.dataset(inlet).seq:
        return NOTHING
    if due is not None:
        over = tolerance_end(inlet, due, asset)
        return refused if over is not None and context.now >= over else NOTHING
    return refused & asset.partitioning.finished_partitions((-inlet.tolerance).add_to(context.now, asset.timezone))


def lacking_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet, *, emptied: bool = False
) -> PartitionSet:
    """Partitions of ``partitions`` that must wait, as ``inlet`` has too little of what its ``require`` demands.

    Inlet partitions that can never exist, by the declared bounds of all upstream assets, are not required. ``emptied``
    counts removed inlet partitions as present, see `countable_partitions`.
    """
    if inlet.require.kind == "none" or inlet.aligned:  # an aligned inlet waits for its own run
        return NOTHING
    needed = context.dependency(asset, inlet)
    if not needed.is_mapped:
        return NOTHING if context.dataset(inlet).seq else partitions
    there = countable_partitions(context, inlet, emptied=emptied)
    if inlet.require.kind == "all":
        bare = (
            needed.lacking_all_inputs(partitions, there, context.possible_inlet_partitions(inlet))
            if needed.is_open
            else NOTHING
        )
        return (
            needed.affected_partitions(required_partitions(context, asset, inlet, partitions) - there) & partitions
        ) | bare
    if needed.goes_by_newest:
        return needed.needing_inlet(partitions) - context.project.dependency(asset, inlet).affected_partitions(there)
    return _lacking_some(
        needed, partitions, there, context.possible_inlet_partitions(inlet), max(1, inlet.require.count)
    )


def _lacking_some(
    needed: Dependency, partitions: PartitionSet, there: PartitionSet, possible: PartitionSet, least: int
) -> PartitionSet:
    """Partitions with fewer than ``least`` of their inputs in ``there``.

    Near the inlet's bounds fewer than ``least`` may be possible at all; there, all ``possible`` inputs are enough.
    These few partitions are counted one by one, the others by ranges.
    """
    mapped = needed.required_partitions(partitions)
    able = mapped & possible
    asked = needed.affected_partitions(able) & partitions
    cut = needed.affected_partitions(mapped - able) & asked
    inner = asked - cut
    few = PartitionSet.union(
        each for each in needed.consumer.each_partition(cut) if _lacks(needed, each, able, there, least)
    )
    return (inner - needed.having_enough(inner, there, least)) | few


def _lacks(needed: Dependency, partition: PartitionSet, able: PartitionSet, there: PartitionSet, least: int) -> bool:
    """Whether one partition has neither all of its possible inputs (``able``) nor ``least`` of them in ``there``."""
    mapped, inlet = needed.inlet.inside(needed.required_partitions(partition) & able), needed.inlet
    whole = inlet.inside(mapped & there)
    return whole != mapped and not inlet.has_at_least(whole, least)


def countable_partitions(context: PlanningContext, inlet: InletSpec, *, emptied: bool = False) -> PartitionSet:
    """Inlet partitions that count as input: present ones whose interval is over.

    Removed partitions count too with ``emptied``, or where ``on_removed: rerun`` computes their consumers without them.
    With `NewestMapping` the newest partition counts before it is over.
    """
    dataset = context.dataset(inlet)
    counts = dataset.ever_present if emptied or inlet.on_removed == "rerun" else dataset.coverage
    if isinstance(inlet.mapping, NewestMapping):
        return counts
    return counts & context.finished_partitions(context.partitioning(inlet).without_open_segments)


def required_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> PartitionSet:
    """Inlet partitions that ``partitions`` need and the inlet can have; none where the inlet is not mapped.

    Where a mapping is open in time, "all that exist" would have no end, so only partitions that the inlet ever had
    count.
    """
    needed = context.dependency(asset, inlet)
    if not needed.is_mapped:
        return NOTHING
    mapped = needed.required_partitions(partitions) & context.possible_inlet_partitions(inlet)
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
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> PartitionSet:
    """Partitions of ``partitions`` for which a mapped inlet can ever have data."""
    needed = context.project.dependency(asset, inlet)
    return (
        needed.affected_partitions(needed.required_partitions(partitions) & context.possible_inlet_partitions(inlet))
        & partitions
    )


def waived_inputs(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> PartitionSet:
    """Inlet partitions that ``partitions`` would need but that are skipped, so that nothing waits for them."""
    needed, waives = context.dependency(asset, inlet), context.waived_partitions
    if not waives or not needed.is_mapped:
        return NOTHING
    skipped = waives.get(inlet.name, NOTHING) | context.inherited_skips(context.project.assets[inlet.name])
    return needed.required_partitions(partitions) & skipped if skipped else NOTHING


def partitions_with_input(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> PartitionSet:
    """Partitions of ``partitions`` for which at least one input partition counts as present."""
    there = countable_partitions(context, inlet) & required_partitions(context, asset, inlet, partitions)
    return context.dependency(asset, inlet).affected_partitions(there) & partitions


def newest_input_end(context: PlanningContext, asset: AssetSpec) -> int | None:
    """The latest end (Unix seconds) of any partition that an inlet by time has or had.

    None before the first partition, and where no inlet is partitioned by time.
    """
    inlets = [inlet for inlet in asset.inlets.values() if context.dependency(asset, inlet).tells_time]
    datasets = [context.dataset(inlet) for inlet in inlets]
    extents = [parts.extent for each in datasets for parts in (each.coverage, each.gone)]
    return max((extent[1] for extent in extents if extent is not None), default=None)


def tolerance_end(inlet: InletSpec, due: int, asset: AssetSpec) -> int | None:
    """When the inlet's tolerance is over for a run due at ``due``, Unix seconds; None without a tolerance."""
    return None if inlet.tolerance is None else inlet.tolerance.add_to(due, asset.timezone)


def explain_refused(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: PartitionSet
) -> tuple[Waiting, ...]:
    """Splits the ``refused`` partitions by cause and returns a waiting reason for each cause.

    A reason is quiet where nobody has to act: the input lies before the inlet's first partition or after the newest of
    all inlets, or was removed before it was used. A partition that the asset's own table lost, and whose input was
    removed too, needs a forced backfill.
    """
    dataset, needed = context.dataset(inlet), context.dependency(asset, inlet)
    if not needed.is_mapped or not dataset.ever_present:
        return (explain_never_fed(context, asset, inlet, refused),)
    early, between, ahead = _lacking(context, asset, inlet, refused)
    nowhere = _never_fed_segments(early.clip(None, newest_input_end(context, asset)), dataset.ever_present)
    early = early - nowhere
    without_any = needed.affected_partitions(nowhere) & refused
    refused = refused - without_any
    computed = refused & context.state_of(asset).coverage
    loud = (needed.affected_partitions(between - dataset.gone) & refused) | (
        needed.affected_partitions(between) & computed
    )
    first = needed.affected_partitions(early) & (refused - loud)
    if inlet.require.kind != "all":  # inputs that are still to come may be enough
        first = first - needed.affected_partitions(ahead)
    removed = needed.affected_partitions(between) & (refused - loud - first)
    loss = context.state_of(asset).loss
    lost = removed & (loss.lost_partitions if loss is not None else NOTHING)
    begins = f", before the first partition of {inlet.name}"
    if needed.inlet.time is None or needed.inlet.time.start is None:
        begins += f"; declare `start` where {inlet.name} begins"
    without = f", which was removed; `sparkassets backfill {asset.name} --partition … --force` computes it without"
    parts = (
        (without_any, f"; nothing ever came of {_segments(nowhere, needed.inlet)}", False),
        (loud, "", False),
        (first, begins, True),
        (lost, without, False),
        (removed - lost, ", which was removed before it was used", True),
        (refused - loud - first - removed, "", True),
    )
    return tuple(
        describe_lacking(context, asset, inlet, part, then, quiet=quiet) for part, then, quiet in parts if part
    )


def _never_fed_segments(parts: PartitionSet, ever: PartitionSet) -> PartitionSet:
    """Partitions of ``parts`` whose segment never had data at any time; ``ever`` holds all that ever had some."""
    return parts - ever.lift(lambda time: EVERYTHING.time if time else time)


def _segments(parts: PartitionSet, partitioning: Partitioning) -> str:
    """Labels of the segments of ``parts``, without their time."""
    return label_partitions(parts.lift(lambda time: EVERYTHING.time if time else time), partitioning.timeless)


def _lacking(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: PartitionSet
) -> tuple[PartitionSet, PartitionSet, PartitionSet]:
    """Lacking inlet partitions: before the inlet's first one, up to the newest of all inlets, and after that."""
    lacking = required_partitions(context, asset, inlet, refused) - countable_partitions(context, inlet)
    since, until = context.dataset(inlet).ever_present.from_first_on(), newest_input_end(context, asset)
    return lacking - since, (lacking & since).clip(None, until), lacking.clip(until, None)


def describe_lacking(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    refused: PartitionSet,
    then: str = "",
    *,
    quiet: bool = False,
) -> Waiting:
    """Waiting reason that counts the needed partitions that are present and names the missing ones.

    ``then`` is a clause that follows, such as "; which was removed". The wait ends by itself where the data is there
    and only its interval is not over.
    """
    up, dataset = context.partitioning(inlet), context.dataset(inlet)
    if not context.dependency(asset, inlet).is_mapped or not dataset.ever_present:
        return explain_never_fed(context, asset, inlet, refused)
    there, asks = countable_partitions(context, inlet), required_partitions(context, asset, inlet, refused)
    if not asks:
        return explain_never_fed(context, asset, inlet, refused)
    have, missing = up.count(asks & there), asks - there
    asked = "" if inlet.require.kind == "all" else f" (require: {_require(inlet)})"
    share = f"{have:,} of {plural(up.count(asks), 'partition')}, missing {label_partitions(missing, up)}"
    reason = f"waits for {inlet.name}: {share}{then}{asked}"
    announced = missing & dataset.coverage  # its data is coming in, but it is not over
    until = up.last_finish_time(announced) if announced and missing.last <= announced.last else None
    return Waiting(asset.name, reason, until, refused, quiet)


def _require(inlet: InletSpec) -> str:
    """The inlet's ``require`` as in YAML: ``any``, or ``at_least 3``."""
    return f"at_least {inlet.require.count}" if inlet.require.kind == "at_least" else inlet.require.kind


def explain_never_fed(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> Waiting:
    """Why partitions wait for an inlet that never had data or cannot be observed."""
    fault = context.faults.get(inlet.name)
    reason = f"waits for {inlet.name}: " + (fault or "nothing is there yet")
    return Waiting(asset.name, reason, None, partitions)
