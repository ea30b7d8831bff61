"""Sentences that say what partitions held back by ``require`` wait for."""

from __future__ import annotations

from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import countable_partitions, newest_input_end, required_partitions
from sparkassets.core.planner.wording import label_partitions, plural
from sparkassets.core.spec.model import AssetSpec, InletSpec


def explain_refused(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: PartitionSet
) -> tuple[Waiting, ...]:
    """Returns the reasons why the ``refused`` partitions wait.

    A reason is quiet where the input never existed: before the inlet's first partition, after the newest of all inlets,
    or removed before it was used. Partitions that the asset's own table lost cannot come back by themselves.
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
    if inlet.require.kind != "all":  # what is still to come may be enough
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
    """Partitions of ``parts`` whose segments never had data."""
    return parts - ever.lift(lambda time: EVERYTHING.time if time else time)


def _segments(parts: PartitionSet, partitioning: Partitioning) -> str:
    """The segments of ``parts``, whatever their time."""
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
    """Reason with the number of needed partitions that are present and the labels of the missing ones."""
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
    return f"at_least {inlet.require.count}" if inlet.require.kind == "at_least" else inlet.require.kind


def explain_never_fed(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: PartitionSet) -> Waiting:
    """Why partitions wait for an inlet that never had data or cannot be observed."""
    fault = context.faults.get(inlet.name)
    reason = f"waits for {inlet.name}: " + (fault or "nothing is there yet")
    return Waiting(asset.name, reason, None, blocks)
