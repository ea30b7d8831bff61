"""Changes of code: what differs, which consumers it reaches or leaves alone, and what recomputing costs."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.asset_records import DefinitionOutput
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.phrases import few, listing
from sparkassets.core.planner.batch.cost_estimates import forecast_run
from sparkassets.core.planner.batch.run_batches import partition_limit
from sparkassets.core.planner.due.outdated_code import (
    outputs_of_other_code,
    outputs_of_rewritten_code,
    own_definition_id,
    partitions_made_by,
)
from sparkassets.core.planner.due.unaffected_readers import find_unaffected_readers
from sparkassets.core.planner.explain.impact import recomputed_by_update
from sparkassets.core.planner.plan import ChangeCategory, CodeChange
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import plural
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec

if TYPE_CHECKING:
    from sparkassets.core.definitions.differences import ColumnEffect


def find_code_changes(context: PlanningContext, names: Collection[str] | None = None) -> tuple[CodeChange, ...]:
    """Assets of which other code than their own computed some partitions, upstream first.

    Args:
        context: The view of the plan.
        names: Only these assets, even if they ignore code changes; by default all that do not ignore them.
    """
    changes = []
    for asset in context.project.assets.values():
        is_shown = asset.name in names if names is not None else asset.on_code_change != "forward_only"
        if (
            is_shown
            and asset.source is None
            and (state := context.state_of(asset)).definition_outputs
            and (other_outputs := outputs_of_other_code(asset, state) or outputs_of_rewritten_code(asset, state))
        ):
            changes.append(_build_change(context, asset, state, other_outputs))
    return tuple(changes)


def _build_change(
    context: PlanningContext, asset: AssetSpec, state: AssetState, other_outputs: tuple[DefinitionOutput, ...]
) -> CodeChange:
    """The code change of one asset; ``other_outputs`` is what other code than its own has computed."""
    newest = max(other_outputs, key=lambda each: each.since)
    definition = asset.definition if asset.definition is not None else AssetDefinition("")
    since = next((each.since for each in state.definition_outputs if each.definition.id == definition.id), 0)
    from sparkassets.core.definitions.differences import describe_difference, find_column_effect
    from sparkassets.core.planner.explain.column_reach import find_reached_columns  # with sqlglot

    partitions = PartitionSet.union(each.partitions for each in other_outputs)
    touched = find_column_effect(newest.definition, definition)
    reached = find_reached_columns(context, asset, touched)
    readers = tuple(name for name in reached if _reads(context.project.assets[name], asset))
    category = _categorize(newest.definition, definition, touched, is_read=bool(readers))
    is_recomputed = category != "none"
    return CodeChange(
        asset=asset.name,
        on_code_change=asset.on_code_change,
        partitions=partitions,
        definition=own_definition_id(asset),
        made=_find_present_outputs(asset, state),
        newer=newest.since > since,
        difference=describe_difference(newest.definition, definition),
        category=category,
        effect=touched,
        reached=reached,
        readers=readers,
        runs=_count_runs(asset, partitions) if is_recomputed else 0,
        seconds=_forecast_seconds(asset, state, partitions) if is_recomputed else None,
        downstream=recomputed_by_update(
            context, {asset.name: partitions}, unread_by=find_unaffected_readers(context, asset, partitions)
        )
        if is_recomputed
        else {},
    )


def _find_present_outputs(asset: AssetSpec, state: AssetState) -> tuple[DefinitionOutput, ...]:
    """What each definition computed that is still there."""
    outputs = ((each, partitions_made_by(asset, state, each)) for each in state.definition_outputs)
    return tuple(
        DefinitionOutput(each.definition, each.since, partitions, each.run, each.at)
        for each, partitions in outputs
        if partitions
    )


def _forecast_seconds(asset: AssetSpec, state: AssetState, partitions: PartitionSet) -> float | None:
    """How long the runs that compute the partitions again take; None if no run tells."""
    forecast = forecast_run(asset, state, partitions)
    return None if forecast is None else forecast.seconds


def _count_runs(asset: AssetSpec, partitions: PartitionSet) -> int:
    """How many runs compute the partitions again."""
    if partitions.is_everything:
        return 1
    return len(asset.partitioning.split_into_chunks(partitions, partition_limit(asset)))


def _categorize(old: AssetDefinition, new: AssetDefinition, touched: ColumnEffect, *, is_read: bool) -> ChangeCategory:
    """The category of the change; a query whose structure is hidden, and a function, leave it unknown.

    Where every column may change, it is ``breaking`` if only the SQL differs (``parts`` has all else, such as
    parameters) and both queries can be split into their clauses.
    """
    from sparkassets.core.definitions.query_parts import returns_same_rows, split_query

    if returns_same_rows(old, new):
        return "none"
    if not touched.affects_everything:
        return "breaking" if is_read else "non-breaking"
    is_plain = old.parts == new.parts and split_query(old.text) is not None and split_query(new.text) is not None
    return "breaking" if is_plain else "unknown"


def _reads(consumer: AssetSpec, asset: AssetSpec) -> bool:
    """Whether the consumer reads a table that the asset writes."""
    return any(name in consumer.inlets and not consumer.inlets[name].waits_only for name in asset.written_assets)


def describe_code_change(change: CodeChange) -> str:
    """What a change of code means downstream, as a clause for people."""
    if change.category == "none":
        return "it is written in another way and returns the same rows"
    touched = change.effect
    if touched.affects_everything:
        readers_text = f"; {listing(change.readers, last='and')} would see the change" if change.readers else ""
        return f"it may affect every column{readers_text}{_describe_indirect_readers(change)}"
    parts = [("adds", touched.added), ("drops", touched.removed), ("changes", touched.changed)]
    changes_text = ", ".join(f"{word} {few(names)}" for word, names in parts if names)
    if change.readers:
        readers_text = listing(change.readers, last="and")
        return f"it {changes_text}, which {readers_text} may read{_describe_indirect_readers(change)}"
    only = "" if touched.removed or touched.changed else "only "
    return f"it {only}{changes_text}, which nothing downstream reads"


def _describe_indirect_readers(change: CodeChange) -> str:
    """The assets that the change reaches through readers, as the end of a clause; empty for none."""
    indirect = [name for name in change.reached if name not in change.readers]
    return f", and through them {listing(indirect, last='and')}" if indirect else ""


def describe_recompute_cost(change: CodeChange, project: ProjectSpec) -> str:
    """What it takes to compute the partitions again, as a clause: runs, seconds, and the assets that become due."""
    if change.category == "none":
        return "nothing is recomputed"
    asset = project.assets[change.asset]
    partitions_text = (
        "a run" if change.partitions.is_everything else plural(asset.partitioning.count(change.partitions), "partition")
    )
    runs_text = "" if change.partitions.is_everything else f" in {plural(change.runs, 'run')}"
    seconds_text = f", about {change.seconds:,.0f} s" if change.seconds is not None else ""
    downstream = [_asset_with_count(project.assets[name], partitions) for name, partitions in change.downstream.items()]
    downstream_text = f", and makes {listing(downstream, last='and')} due" if downstream else ""
    return f"recomputing takes {partitions_text}{runs_text}{seconds_text}{downstream_text}"


def _asset_with_count(asset: AssetSpec, partitions: PartitionSet) -> str:
    """The asset's name with the number of partitions; the name alone for a whole asset."""
    if partitions == EVERYTHING or not asset.partitioning.is_partitioned:
        return asset.name
    return f"{asset.name} ({plural(asset.partitioning.count(partitions), 'partition')})"
