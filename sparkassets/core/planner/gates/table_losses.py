"""Decisions and notes for tables that lost rows, cannot be observed, or were changed by other writers."""

from __future__ import annotations

from sparkassets.core.journal.asset_records import TableLoss
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_findings import ForeignCommit
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.plan import AssetNote, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext, UpstreamBlocker
from sparkassets.core.planner.run_slots import explain_partition_change
from sparkassets.core.planner.wording import label_prefix
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.frozen import replace


def decide_held_back(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetDecision | None:
    """Decision for an asset that cannot run because of its own table; None where the table is fine.

    Its table or an outlet's cannot be observed, lost what no run can compute again, or has another partitioning.
    """
    faults, stuck = context.faults, False
    reason = next((faults[name] for name in (asset.name, *asset.outlets) if name in faults), None) if faults else None
    if reason is None and (reason := _explain_needs_person(asset, state)):
        stuck = not (asset.paused or state.paused) and context.is_selected(asset)
    if reason is None:
        return None
    blocker = UpstreamBlocker(EVERYTHING, f"{asset.name}: {reason}")
    return AssetDecision((), (Waiting(asset.name, reason, stuck=stuck),), blockers=(blocker,))


def _explain_needs_person(asset: AssetSpec, state: AssetState) -> str | None:
    """Why the asset does not run before a person acts; None where it may run."""
    if state.loss is not None and state.loss.stuck:
        return loss_advice(asset, state.loss)
    return explain_partition_change(asset, state)


def loss_advice(asset: AssetSpec, loss: TableLoss) -> str:
    """Reason of an asset whose table lost what no run can compute again, and how a person repairs it."""
    name = asset.written_by or asset.name
    if not asset.appends:
        return f"{loss.reason}: restore another version, or `sparkassets backfill {name} --rebuild` rebuilds the table"
    return (
        f"{loss.reason}; appended rows cannot be recomputed: restore the table, or continue with the rows left by "
        f"`sparkassets backfill {name}`"
    )


def partitions_reading_loss(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> PartitionSet:
    """The given partitions that read lost rows of the inlet's table; all of them where the table cannot be observed.

    Nothing where the table is whole.
    """
    if not _explain_not_whole(context, inlet):
        return NOTHING
    loss = _find_loss(context, inlet)
    # a partition that reads the newest inlet partition would read a lost one, if that was the newest
    dependency = context.dependency(asset, inlet, also=loss.lost_partitions if loss is not None else NOTHING)
    is_mapped = dependency.is_mapped and inlet.view is None
    return (
        partitions & dependency.affected_partitions(loss.partitions) if loss is not None and is_mapped else partitions
    )


def explain_lost_input(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet = EVERYTHING
) -> Waiting | None:
    """Reason to wait until the inlet's table is whole again; None where nothing is lost."""
    reason = _explain_not_whole(context, inlet)
    return Waiting(asset.name, f"waits for {inlet.name}: {reason}", None, partitions) if reason else None


def add_loss_notes(
    context: PlanningContext, asset: AssetSpec, state: AssetState, decision: AssetDecision
) -> AssetDecision:
    """Adds notes on the asset's table to the decision: losses, unlisted segments, changes by other writers."""
    unlisted_notes = unlisted_segment_notes(asset, state)
    if state.loss is None and not state.foreign_commits and not unlisted_notes:
        return decision
    notes = (*foreign_change_notes(context, asset, state), *unlisted_notes)
    if (loss := _loss_in_listed_segments(asset, state.loss)) is not None and not loss.stuck:
        return _note_repairs(asset, loss, decision, notes)
    return replace(decision, notes=notes) if notes else decision


def _note_repairs(
    asset: AssetSpec, loss: TableLoss, decision: AssetDecision, notes: tuple[AssetNote, ...]
) -> AssetDecision:
    """Notes in the decision which of its runs compute lost partitions again, and what stays missing until later."""
    runs = tuple(
        _with_further_reason(run, loss.reason) if run.partitions.overlaps(loss.partitions) else run
        for run in decision.runs
    )
    if unrepaired := _unrepaired_loss(loss, runs):
        notes = (
            AssetNote(asset.name, f"{loss.reason}; missing until it is recomputed", unrepaired),
            *notes,
        )
    return replace(decision, runs=runs, notes=notes)


def _unrepaired_loss(loss: TableLoss, runs: tuple[PlannedRun, ...]) -> PartitionSet:
    """The lost partitions that these runs do not compute again; any run repairs an asset without partitions."""
    if loss.partitions.is_everything:
        return NOTHING if runs else EVERYTHING
    return loss.partitions - PartitionSet.union(run.partitions for run in runs)


def describe_table(context: PlanningContext, asset: AssetSpec, state: AssetState) -> tuple[str, ...]:
    """Sentences about an asset's own table: faults, losses, other partitioning, foreign changes, unlisted segments.

    Empty where the table is as the state records it.
    """
    fault, loss = context.faults.get(asset.name), _loss_in_listed_segments(asset, state.loss)
    sentences = [fault] if fault else []
    if loss is not None:
        labels = label_prefix(loss.partitions, asset.partitioning)
        sentences.append(loss_advice(asset, loss) if loss.stuck else f"{labels}{loss.reason}")
    if partition_change := explain_partition_change(asset, state):
        sentences.append(partition_change)
    notes = [*foreign_change_notes(context, asset, state), *unlisted_segment_notes(asset, state)]
    return (*sentences, *(label_prefix(note.partitions, asset.partitioning) + note.text for note in notes))


def unlisted_segment_notes(asset: AssetSpec, state: AssetState) -> list[AssetNote]:
    """Notes about present partitions whose segment is no longer listed or was removed; usually empty."""
    if not asset.partitioning.segments:
        return []
    found = asset.partitioning.unknown_partitions(asset.partitioning.inside(state.coverage))
    of_what = "known segment" if asset.partitioning.is_open else "segment of the list"
    text = f"no longer a {of_what}; its rows stay, and nothing recomputes them"
    return [AssetNote(asset.name, text, found)] if found else []


def foreign_change_notes(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[AssetNote]:
    """Notes about changes of the asset's table by other writers."""
    return [
        AssetNote(asset.name, _describe_foreign_change(context, asset, commit), commit.partitions or EVERYTHING)
        for commit in state.foreign_commits
    ]


def _describe_foreign_change(context: PlanningContext, asset: AssetSpec, commit: ForeignCommit) -> str:
    """Text of a note on another writer's commit: what it did, when, and how to compute the partitions again."""
    at = f" at {context.format_instant(commit.at)}" if commit.at is not None else ""
    what = f"changed by another writer: {commit.operation} in version {commit.version}{at}"
    if asset.appends:
        return f"{what}; kept"
    force = " --partition … --force" if asset.partitioning.is_partitioned else ""
    return f"{what}; recompute it by `sparkassets backfill {asset.written_by or asset.name}{force}`"


def _with_further_reason(run: PlannedRun, reason: str) -> PlannedRun:
    """The run with ``reason`` added to its own."""
    return replace(run, request=replace(run.request, reason=f"{run.reason}; {reason}"))


def _find_loss(context: PlanningContext, inlet: InletSpec) -> TableLoss | None:
    """What the inlet's table lost, without unlisted segments; None where nothing is lost."""
    state = context.state.assets.get(inlet.name)
    return _loss_in_listed_segments(context.project.assets[inlet.name], state.loss) if state is not None else None


def _loss_in_listed_segments(asset: AssetSpec, loss: TableLoss | None) -> TableLoss | None:
    """The loss without partitions of unlisted segments: these are not wanted, so nothing waits for them.

    None where nothing else is lost. A loss that a person has to settle stays whole.
    """
    if loss is None or loss.stuck or not (unlisted := asset.partitioning.unknown_partitions(loss.lost_partitions)):
        return loss
    listed = loss.partitions - unlisted
    return replace(loss, partitions=listed) if listed else None


def _explain_not_whole(context: PlanningContext, inlet: InletSpec) -> str:
    """Why the inlet's table is not whole; empty where it is.

    Empty for sources too, whose faults do not stop runs: these read what earlier looks found.
    """
    if context.project.assets[inlet.name].source is not None:
        return ""
    asset, loss = context.project.assets[inlet.name], _find_loss(context, inlet)
    partition_change = explain_partition_change(asset, context.state_of(asset))
    return context.faults.get(inlet.name) or (loss.reason if loss is not None else partition_change or "")
