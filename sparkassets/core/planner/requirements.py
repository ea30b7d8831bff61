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
    counts_removed: bool = False,
) -> tuple[PartitionSet, PartitionSet]:
    """Two parts of ``partitions``: held back by ``require``, and let through only because the tolerance is over.

    ``due`` is when the run was due, Unix seconds, from which the tolerance counts; None for each partition's own end.
    """
    lacking = lacking_partitions(context, asset, inlet, partitions, counts_removed=counts_removed)
    going_on = tolerated_partitions(context, asset, inlet, lacking, due)
    return lacking - going_on, going_on


def tolerated_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: PartitionSet, due: int | None = None
) -> PartitionSet:
    """Partitions of ``refused`` that may continue without this inlet because its tolerance is over.

    The tolerance counts from ``due`` (Unix seconds), or without it from the end of each partition. None is tolerated
    before the inlet's first update.
    """
    if not refused or inlet.tolerance is None or not context.dataset(inlet).seq:
        return NOTHING
    if due is not None:
        tolerance_over = tolerance_end(inlet, due, asset)
        return refused if tolerance_over is not None and context.now >= tolerance_over else NOTHING
    return refused & asset.partitioning.finished_partitions((-inlet.tolerance).add_to(context.now, asset.timezone))


def lacking_partitions(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    partitions: PartitionSet,
    *,
    counts_removed: bool = False,
) -> PartitionSet:
    """Partitions of ``partitions`` that must wait, as ``inlet`` has too little of what its ``require`` demands.

    Inlet partitions that can never exist, by the declared bounds of all upstream assets, are not required. An inlet
    that is read as a whole needs one update. ``counts_removed`` counts removed inlet partitions as present, see
    `countable_partitions`.
    """
    if not inlet.requires_partitions:
        return NOTHING
    dependency = context.dependency(asset, inlet)
    if not dependency.is_mapped:
        return NOTHING if context.dataset(inlet).seq else partitions
    present = countable_partitions(context, inlet, counts_removed=counts_removed)
    if inlet.require.kind == "all":
        # where all time is needed, only partitions that ever existed are required: some of these must be present
        lacking_everything = (
            dependency.lacking_all_inputs(partitions, present, context.possible_inlet_partitions(inlet))
            if dependency.is_open
            else NOTHING
        )
        return (
            dependency.affected_partitions(required_partitions(context, asset, inlet, partitions) - present)
            & partitions
        ) | lacking_everything
    if dependency.goes_by_newest:
        return dependency.needing_inlet(partitions) - context.project.dependency(asset, inlet).affected_partitions(
            present
        )
    return _lacking_some_inputs(
        dependency,
        partitions,
        present,
        context.possible_inlet_partitions(inlet),
        max(1, inlet.require.count),  # `any` has the count 0 and requires one
    )


def _lacking_some_inputs(
    dependency: Dependency, partitions: PartitionSet, present: PartitionSet, possible_inputs: PartitionSet, least: int
) -> PartitionSet:
    """Partitions with fewer than ``least`` of their inputs in ``present``.

    Near the inlet's bounds fewer than ``least`` may be possible at all; there, all ``possible_inputs`` are enough.
    These few partitions are counted one by one, the others by ranges.
    """
    mapped = dependency.required_partitions(partitions)
    mapped_possible = mapped & possible_inputs
    checkable = dependency.affected_partitions(mapped_possible) & partitions
    at_bounds = dependency.affected_partitions(mapped - mapped_possible) & checkable
    inner = checkable - at_bounds
    lacking_at_bounds = PartitionSet.union(
        each
        for each in dependency.consumer.each_partition(at_bounds)
        if _has_too_few_inputs(dependency, each, mapped_possible, present, least)
    )
    return (inner - dependency.having_enough(inner, present, least)) | lacking_at_bounds


def _has_too_few_inputs(
    dependency: Dependency, partition: PartitionSet, possible_inputs: PartitionSet, present: PartitionSet, least: int
) -> bool:
    """Whether one partition has neither all of its ``possible_inputs`` nor ``least`` of them in ``present``."""
    possible_here = dependency.inlet.inside(dependency.required_partitions(partition) & possible_inputs)
    partitioning = dependency.inlet
    present_inputs = partitioning.inside(possible_here & present)
    return present_inputs != possible_here and not partitioning.has_at_least(present_inputs, least)


def countable_partitions(context: PlanningContext, inlet: InletSpec, *, counts_removed: bool = False) -> PartitionSet:
    """Inlet partitions that count as input: present ones whose interval is over.

    Removed partitions count too with ``counts_removed``, or where ``on_removed: rerun`` computes their consumers
    without them. With `NewestMapping` the newest partition counts before it is over.
    """
    dataset = context.dataset(inlet)
    counts = dataset.ever_present if counts_removed or inlet.on_removed == "rerun" else dataset.coverage
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
    dependency = context.dependency(asset, inlet)
    if not dependency.is_mapped:
        return NOTHING
    mapped = dependency.required_partitions(partitions) & context.possible_inlet_partitions(inlet)
    return mapped & _ever_present(context, inlet) if dependency.is_open else mapped


def _ever_present(context: PlanningContext, inlet: InletSpec) -> PartitionSet:
    """Partitions that the inlet ever had and that are over, or all of them with `NewestMapping`."""
    ever_present = context.dataset(inlet).ever_present
    return (
        ever_present
        if isinstance(inlet.mapping, NewestMapping)
        else ever_present & context.finished_partitions(context.partitioning(inlet))
    )


def feedable_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> PartitionSet:
    """Partitions of ``partitions`` for which a mapped inlet can ever have data."""
    dependency = context.project.dependency(asset, inlet)
    return (
        dependency.affected_partitions(
            dependency.required_partitions(partitions) & context.possible_inlet_partitions(inlet)
        )
        & partitions
    )


def waived_inputs(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> PartitionSet:
    """Inlet partitions that ``partitions`` would need but that are skipped, so that nothing waits for them."""
    dependency, waived = context.dependency(asset, inlet), context.waived_partitions
    if not waived or not dependency.is_mapped:
        return NOTHING
    skipped = waived.get(inlet.name, NOTHING) | context.inherited_skips(context.project.assets[inlet.name])
    return dependency.required_partitions(partitions) & skipped if skipped else NOTHING


def partitions_with_input(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> PartitionSet:
    """Partitions of ``partitions`` for which at least one input partition counts as present."""
    present_inputs = countable_partitions(context, inlet) & required_partitions(context, asset, inlet, partitions)
    return context.dependency(asset, inlet).affected_partitions(present_inputs) & partitions


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
    dataset, dependency = context.dataset(inlet), context.dependency(asset, inlet)
    if not dependency.is_mapped or not dataset.ever_present:
        return (explain_never_fed(context, asset, inlet, refused),)
    before_first, lacking_between, beyond_newest = _split_lacking(context, asset, inlet, refused)
    never_fed = _never_fed_segments(before_first.clip(None, newest_input_end(context, asset)), dataset.ever_present)
    before_first = before_first - never_fed
    without_segment = dependency.affected_partitions(never_fed) & refused
    refused = refused - without_segment
    computed = refused & context.state_of(asset).coverage
    # they lack an input that was never there and may still come, or are computed already and wait for a removed one too
    waiting = (dependency.affected_partitions(lacking_between - dataset.gone) & refused) | (
        dependency.affected_partitions(lacking_between) & computed
    )
    before_begin = dependency.affected_partitions(before_first) & (refused - waiting)
    if inlet.require.kind != "all":  # inputs that are still to come may be enough
        before_begin = before_begin - dependency.affected_partitions(beyond_newest)
    removed = dependency.affected_partitions(lacking_between) & (refused - waiting - before_begin)
    loss = context.state_of(asset).loss
    lost = removed & (loss.lost_partitions if loss is not None else NOTHING)
    begin_clause = f", before the first partition of {inlet.name}"
    if dependency.inlet.time is None or dependency.inlet.time.start is None:
        begin_clause += f"; declare `start` where {inlet.name} begins"
    force_clause = (
        f", which was removed; `sparkassets backfill {asset.name} --partition … --force` computes it without them"
    )
    causes = (  # (partitions, end of the sentence, whether the reason is quiet)
        (without_segment, f"; {_segment_labels(never_fed, dependency.inlet)} never had data", False),
        (waiting, "", False),
        (before_begin, begin_clause, True),
        (lost, force_clause, False),
        (removed - lost, ", which was removed before it was used", True),
        (refused - waiting - before_begin - removed, "", True),
    )
    return tuple(
        describe_lacking(context, asset, inlet, partitions, clause, quiet=quiet)
        for partitions, clause, quiet in causes
        if partitions
    )


def _never_fed_segments(parts: PartitionSet, ever_present: PartitionSet) -> PartitionSet:
    """Partitions of ``parts`` whose segment never had data at any time; ``ever_present`` are all that ever had some."""
    # a segment that ever had data is subtracted for all time
    return parts - ever_present.map_time(lambda time: EVERYTHING.time if time else time)


def _segment_labels(parts: PartitionSet, partitioning: Partitioning) -> str:
    """Labels of the segments of ``parts``, without their time."""
    return label_partitions(parts.map_time(lambda time: EVERYTHING.time if time else time), partitioning.timeless)


def _split_lacking(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: PartitionSet
) -> tuple[PartitionSet, PartitionSet, PartitionSet]:
    """Lacking inlet partitions as (before the inlet's first one, up to the newest of all inlets, after that)."""
    lacking = required_partitions(context, asset, inlet, refused) - countable_partitions(context, inlet)
    from_first, newest_end = context.dataset(inlet).ever_present.from_first_on(), newest_input_end(context, asset)
    return lacking - from_first, (lacking & from_first).clip(None, newest_end), lacking.clip(newest_end, None)


def describe_lacking(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    refused: PartitionSet,
    clause: str = "",
    *,
    quiet: bool = False,
) -> Waiting:
    """Waiting reason that counts the needed partitions that are present and names the missing ones.

    ``clause`` is a clause that follows, such as "; which was removed". The wait ends by itself where the data is there
    and only its interval is not over.
    """
    inlet_partitioning, dataset = context.partitioning(inlet), context.dataset(inlet)
    if not context.dependency(asset, inlet).is_mapped or not dataset.ever_present:
        return explain_never_fed(context, asset, inlet, refused)
    present, required = countable_partitions(context, inlet), required_partitions(context, asset, inlet, refused)
    if not required:
        return explain_never_fed(context, asset, inlet, refused)
    count, missing = inlet_partitioning.count, required - present
    share = f"{count(required & present):,} of {plural(count(required), 'partition')}"
    missing_text = label_partitions(missing, inlet_partitioning)
    require_clause = "" if inlet.require.kind == "all" else f" (require: {_require_text(inlet)})"
    reason = f"waits for {inlet.name}: {share}, missing {missing_text}{clause}{require_clause}"
    unfinished = missing & dataset.coverage  # its data is coming in, but it is not over
    until = inlet_partitioning.last_finish_time(unfinished) if unfinished and missing.last <= unfinished.last else None
    return Waiting(asset.name, reason, until, refused, quiet)


def _require_text(inlet: InletSpec) -> str:
    """The inlet's ``require`` as in YAML: ``any``, or ``at_least 3``."""
    return f"at_least {inlet.require.count}" if inlet.require.kind == "at_least" else inlet.require.kind


def explain_never_fed(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> Waiting:
    """Why partitions wait for an inlet that never had data or cannot be observed."""
    fault = context.faults.get(inlet.name)
    reason = f"waits for {inlet.name}: " + (fault or "no data yet")
    return Waiting(asset.name, reason, None, partitions)
