"""The nodes of an explanation, and those of an asset's partitions: why each is current, missing, stale or held."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.journal.asset_records import FailedPartitions
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import WithheldPartitions
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.batch.run_reasons import trigger_reasons
from sparkassets.core.planner.due.due_partitions import find_triggered_partitions
from sparkassets.core.planner.due.pending_partitions import (
    PendingPartitions,
    cut_off_partitions,
    explain_cut_off,
    find_pending,
    partitions_by_mark,
)
from sparkassets.core.planner.due.redo_requests import remaining_request, requested_partitions
from sparkassets.core.planner.due.withheld_partitions import find_withheld, instance_span, restrict_record
from sparkassets.core.planner.gates.inlet_gates import describe_removed_input, find_kept_partitions
from sparkassets.core.planner.planner import find_upcoming_partitions
from sparkassets.core.planner.planning_context import PlanningContext, partitions_in_bounds
from sparkassets.core.planner.wording import label_partitions, label_prefix, name_partitions, plural
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import frozen


@frozen
class ExplanationNode:
    """One line of an explanation.

    Attributes:
        holds: True for a reason to run, False for a reason not to; None for a mere fact.
    """

    text: str
    holds: bool | None = None
    children: tuple[ExplanationNode, ...] = ()

    def __repr__(self) -> str:
        mark = {True: "+ ", False: "- ", None: ""}[self.holds]
        below = (f"  {line}" for child in self.children for line in repr(child).splitlines())
        return "\n".join([f"{mark}{self.text}", *below])


def explain_partitions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, partitions: PartitionSet
) -> ExplanationNode:
    """Node for some of an asset's partitions: how many are current, missing, stale, withheld or failed, and why.

    Each row is (what is said of the partitions, the partitions, whether that is a reason to run: `ExplanationNode`).
    """
    partitioning = asset.partitioning
    pending, present = find_pending(context, asset, state), partitioning.inside(state.coverage)
    unlisted = partitioning.unknown_partitions(present)
    requested = requested_partitions(context, asset, state) - pending.due_partitions
    by_trigger = find_triggered_partitions(context, asset, state, pending)
    current = (
        present - unlisted - pending.all_stale - by_trigger - pending.skipped - pending.withheld.resting - requested
    )
    shown = pending.wanted | present | pending.withheld.resting if partitions.is_everything else partitions
    rows = [
        ("current", current, None),
        *(
            (f"of these {describe_removed_input(context, inlet, removed_inputs)}", kept, None)
            for inlet, kept, removed_inputs in find_kept_partitions(context, asset, current)
        ),
        ("missing", pending.missing, True),
        ("missing once the upstream runs end", find_upcoming_partitions(context, asset) - pending.missing, None),
        *(
            (f"stale, {name} changed{_stale_since(context, asset, state, name, stale & partitions)}", stale, True)
            for name, stale in pending.stale.items()
        ),
        ("stale, its code changed", pending.outdated, True),
        (trigger_reasons(asset), by_trigger, True),
        *_requested_rows(context, asset, state, requested),
        ("not over yet", pending.later, None),
        ("no longer listed", unlisted, None),
        *_marked_rows(context, asset, state, pending, current),
    ]
    children = [
        ExplanationNode(
            f"{plural(partitioning.count(parts), 'partition')} {what}: {label_partitions(parts, partitioning)}", holds
        )
        for what, row_partitions, holds in rows
        if (parts := row_partitions & partitions)
    ]
    children += _explain_withheld_records(asset, pending, partitions)
    children += [
        ExplanationNode(
            f"failed {label_partitions(item.partitions & shown, partitioning)} in {describe_failure(context, item)}",
            holds=False,
        )
        for item in state.failed
        if item.partitions & shown and not item.partitions.is_everything
    ]
    return ExplanationNode("partitions", None, tuple(children) or (ExplanationNode("none is wanted yet"),))


def explain_withheld(
    asset: AssetSpec, record: WithheldPartitions, parts: PartitionSet, *, span: str = ""
) -> ExplanationNode:
    """Node for withheld partitions, with the failed rules and sample rows."""
    rules = tuple(_explain_rule(asset, verdict) for verdict in record.verdicts)
    named = name_partitions("withheld", parts, asset.partitioning) + (f" {span}" if span else "")
    text = f"{named} by {record.run}; retried after new data, changed rules or `sparkassets accept`"
    return ExplanationNode(text, holds=False, children=rules)


def _explain_rule(asset: AssetSpec, verdict: RuleVerdict) -> ExplanationNode:
    """Node for a failed rule, by partition where it counts them apart, with sample rows."""
    by_partition = verdict.by_partition
    if len(by_partition) == 1:
        return ExplanationNode(verdict.text, holds=False, children=tuple(map(_explain_sample, verdict.samples)))
    children = tuple(
        ExplanationNode(
            label_prefix(each.partitions, asset.partitioning) + each.text,
            holds=False,
            children=tuple(map(_explain_sample, each.samples)),
        )
        for each in by_partition
    )
    return ExplanationNode(verdict.text, holds=False, children=children)


def _explain_withheld_records(
    asset: AssetSpec, pending: PendingPartitions, partitions: PartitionSet
) -> list[ExplanationNode]:
    """Nodes for all withheld and skipped records of the partitions."""
    records = [(restrict_record(record, partitions), parts & partitions) for record, parts in pending.withheld.records]
    skips = ((record, parts & partitions) for record, parts in pending.withheld.skips)
    return [
        *(explain_withheld(asset, record, parts) for record, parts in records if parts),
        *(
            ExplanationNode(
                f"{name_partitions('skipped', parts, asset.partitioning)} by {record.run}: {record.skipped}",
                holds=False,
            )
            for record, parts in skips
            if parts
        ),
    ]


def _explain_sample(values: Mapping[str, str]) -> ExplanationNode:
    return ExplanationNode(", ".join(f"{name}={value}" for name, value in values.items()))


def _requested_rows(
    context: PlanningContext, asset: AssetSpec, state: AssetState, requested: PartitionSet
) -> list[tuple[str, PartitionSet, bool | None]]:
    """Rows (text, partitions, whether a reason to run) for what forced backfills still have to compute.

    The text has the time of the request.
    """
    remaining = [(each.at, remaining_request(context, asset, each) & requested) for each in state.redo_requests]
    return [(f"requested (backfill asked {context.format_instant(at)})", parts, True) for at, parts in remaining]


def _stale_since(context: PlanningContext, asset: AssetSpec, state: AssetState, name: str, stale: PartitionSet) -> str:
    """Clause for the newest event of an inlet that made ``stale`` partitions stale, with its time if known.

    Empty where no event is known.
    """
    newest = max((seq for parts, seq in state.stale[name].items() if parts.overlaps(stale)), default=None)
    if newest is None:
        return ""
    dataset = context.dataset(asset.inlets[name])
    times = {ref.seq: ref.at for ref in dataset.recent.with_numbers({newest})} | {dataset.seq: dataset.at}
    return f" (event {newest} at {context.format_instant(times[newest])})" if newest in times else f" (event {newest})"


def _marked_rows(
    context: PlanningContext, asset: AssetSpec, state: AssetState, pending: PendingPartitions, current: PartitionSet
) -> list[tuple[str, PartitionSet, bool | None]]:
    """Rows for marks that still hold, with their times, and for the partitions whose inputs are all skipped.

    A mark holds while its partitions are what it says: those done, for example, while they are current.
    """
    partitions_by_kind = {
        "done": current,
        "missing": pending.missing,
        "skip": pending.skipped,
        "accept": pending.withheld.accepted,
    }
    marks = partitions_by_mark(asset, state.marks)
    rows = [
        (f"{mark.text} (at {context.format_instant(mark.at)})", marked & partitions_by_kind[mark.kind])
        for mark, marked in marks
    ]
    if cut_off := cut_off_partitions(context, asset, state):
        rows.append((explain_cut_off(context, asset, cut_off), cut_off))
    return [(text, parts, None) for text, parts in rows]


def describe_failure(context: PlanningContext, item: FailedPartitions) -> str:
    """The run that failed, its error, and when it was planned."""
    at = f" (planned at {context.format_instant(item.planned)})" if item.planned else ""
    return f"{item.run}: {item.error}{at}"


def newest_error(context: PlanningContext, asset: AssetSpec, state: AssetState) -> str | None:
    """The error of the newest failure, of the whole asset or of partitions that are still the asset's or requested."""
    known = partitions_in_bounds(asset) | requested_partitions(context, asset, state)
    failures = (each for each in reversed(state.failed) if each.partitions.is_everything or each.partitions & known)
    return next((each.error for each in failures), None)


def explain_withheld_runs(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[ExplanationNode]:
    """Nodes for withheld runs of an asset without partitions."""
    records = () if asset.partitioning.is_partitioned else find_withheld(context, asset, state).records
    return [explain_withheld(asset, record, parts, span=instance_span(context, record)) for record, parts in records]
