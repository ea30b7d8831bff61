"""Partitions that other code than the asset's present definition computed: recomputed, or noted for people."""

from __future__ import annotations

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.asset_records import DefinitionOutput
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.plan import AssetNote
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext, partitions_in_bounds
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import replace


def outputs_of_other_code(asset: AssetSpec, state: AssetState) -> tuple[DefinitionOutput, ...]:
    """Present partitions by each definition that may return other rows than the asset's own.

    In the order in which the journal heard of them. Skipped partitions are left out. For an asset that appends, empty
    once a run with its own definition has succeeded, because earlier rows stay as they are.
    """
    if asset.is_recomputable or (state.definition_outputs and _newest(state).definition.id != own_definition_id(asset)):
        return _outputs_of_others(asset, state, same_rows=False)
    return ()


def outputs_of_rewritten_code(asset: AssetSpec, state: AssetState) -> tuple[DefinitionOutput, ...]:
    """Present partitions by each definition that is written in another way and certainly returns the same rows."""
    return _outputs_of_others(asset, state, same_rows=True)


def has_other_code(asset: AssetSpec, state: AssetState) -> bool:
    """Whether any definition but the asset's own has computed partitions."""
    own_id = own_definition_id(asset)
    return bool(own_id) and any(each.partitions and each.definition.id != own_id for each in state.definition_outputs)


def _outputs_of_others(asset: AssetSpec, state: AssetState, *, same_rows: bool) -> tuple[DefinitionOutput, ...]:
    """Present partitions, without skipped ones, by each definition but the asset's own.

    With ``same_rows`` only definitions that certainly return the same rows as the asset's own, else only the others.
    """
    own = asset.definition
    others = [each for each in state.definition_outputs if own is not None and each.definition.id != own.id]
    if own is None or not others:
        return ()
    from sparkassets.core.definitions.query_parts import returns_same_rows  # where code has changed

    present = (
        replace(each, partitions=partitions_made_by(asset, state, each) - state.skipped_partitions)
        for each in others
        if returns_same_rows(each.definition, own) is same_rows
    )
    return tuple(each for each in present if each.partitions)


def partitions_made_by(asset: AssetSpec, state: AssetState, made: DefinitionOutput) -> PartitionSet:
    """Present partitions that a definition computed; everything for an asset without partitions."""
    partitioning = asset.partitioning
    if not partitioning.is_partitioned:
        return EVERYTHING if made.partitions and state.last is not None else NOTHING
    if not made.partitions:
        return NOTHING
    return (
        partitioning.cover(made.partitions & state.coverage)
        & partitioning.known_partitions
        & partitions_in_bounds(asset)
    )


def outputs_of_older_code(asset: AssetSpec, state: AssetState) -> tuple[DefinitionOutput, ...]:
    """The outputs of definitions that the journal heard of before the asset's own.

    All outputs of other code where only one checkout computes the asset: then other code is always older.
    """
    if asset.sole_checkout:
        return outputs_of_other_code(asset, state)
    since = _own_definition_seq(asset, state)
    return tuple(each for each in outputs_of_other_code(asset, state) if each.since < since)


def outdated_partitions(asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Partitions to compute again because of changed code alone; everything for an asset without partitions.

    Outputs of newer code are left alone, except in a branch: this is then an older checkout, or a change was taken
    back, and two checkouts would compute against each other for ever.
    """
    if asset.on_code_change != "backfill" or not asset.is_recomputable:
        return NOTHING
    return PartitionSet.union(each.partitions for each in outputs_of_older_code(asset, state))


def add_code_notes(
    context: PlanningContext, asset: AssetSpec, state: AssetState, decision: AssetDecision
) -> AssetDecision:
    """Adds to the decision a note on partitions that other code computed and that no planned run computes again."""
    note = code_note(context, asset, state)
    if note is None:
        return decision
    not_recomputed = note.partitions - PartitionSet.union(run.partitions for run in decision.runs)
    return (
        replace(decision, notes=(*decision.notes, replace(note, partitions=not_recomputed)))
        if not_recomputed
        else decision
    )


def code_note(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetNote | None:
    """Note for people on partitions of other code that stay as they are.

    None where there are none, or the asset ignores changed code.
    """
    if asset.on_code_change == "forward_only":
        return None
    outputs = outputs_of_other_code(asset, state)
    if asset.on_code_change == "backfill" and asset.is_recomputable:
        recomputed = outputs_of_older_code(asset, state)
        outputs = tuple(each for each in outputs if each not in recomputed)
    if not outputs:
        return None
    partitions = PartitionSet.union(each.partitions for each in outputs)
    return AssetNote(asset.name, _describe_outputs(context, asset, state, outputs), partitions)


def _describe_outputs(
    context: PlanningContext, asset: AssetSpec, state: AssetState, outputs: tuple[DefinitionOutput, ...]
) -> str:
    """The note's text: by which code and run the outputs were made, and the command that computes them again.

    Where all of that code came after the asset's own, the asset's own is the outdated one.
    """
    newest = max(outputs, key=lambda each: (each.at, each.since))
    when_text = f"{newest.run} at {context.format_instant(newest.at)}" if newest.run else "it was computed"
    if all(each.since > _own_definition_seq(asset, state) for each in outputs):
        said = f"computed by newer code in {when_text}: this checkout is older, or a change was reverted"
    else:
        said = f"the code changed since {when_text}"
    if not asset.is_recomputable:
        return f"{said}; appended rows stay as they are"
    again = f"recompute it by `sparkassets backfill {asset.name}"
    if _needs_rebuild(asset, outputs):
        return f"{said}, and its columns differ; {again} --rebuild`"
    return f"{said}; {again}{' --all' if asset.partitioning.is_partitioned else ''}`"


def _needs_rebuild(asset: AssetSpec, outputs: tuple[DefinitionOutput, ...]) -> bool:
    """Whether only a rebuild can write the code's columns; never where each run replaces the whole table anyway."""
    takes_all = not asset.partitioning.is_partitioned and asset.write is not None and asset.write.takes_all
    return not takes_all and any(_has_other_columns(asset, each) for each in outputs)


def _has_other_columns(asset: AssetSpec, made: DefinitionOutput) -> bool:
    """Whether the query certainly lacks columns that the other code wrote, or, under ``schema: strict``, adds any.

    Only a rebuild can write its rows. False where a query's text does not show its columns, and where parameters differ
    by segment, as no single run could rebuild the table.
    """
    was, now = _stored_columns(asset, made.definition), _stored_columns(asset, asset.definition)
    if not was or not now or asset.segment_params is not None:
        return False
    return not was <= now or (asset.schema == "strict" and was != now)


def _stored_columns(asset: AssetSpec, definition: AssetDefinition | None) -> set[str]:
    """The columns that a query gives the table, casefolded; empty where its text does not show them for certain."""
    from sparkassets.core.query_text import yielded_columns  # where code has changed

    text = definition.text if definition is not None else ""
    names = yielded_columns(text) or ()
    return {name.casefold() for name in names if asset.write is None or asset.write.stores_column(name)}


def _own_definition_seq(asset: AssetSpec, state: AssetState) -> int:
    """When the journal first heard of the asset's own definition, as a sequence number; 0 where it has not."""
    return next((each.since for each in state.definition_outputs if each.definition.id == own_definition_id(asset)), 0)


def own_definition_id(asset: AssetSpec) -> str:
    """The id of the asset's own definition, as the journal records it; empty where it computes nothing."""
    return asset.definition.id if asset.definition is not None else ""


def _newest(state: AssetState) -> DefinitionOutput:
    """The output whose run was recorded last."""
    return max(state.definition_outputs, key=lambda each: (each.at, each.since))
