"""The page of one asset as data: its files, status and partitions, and which partitions need which."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sparkassets.core.definitions.differences import describe_difference
from sparkassets.core.documents.graph import inlet_gates
from sparkassets.core.documents.report.grid_cells import cells_document, status_pieces
from sparkassets.core.documents.report.history import ReportHistory, partition_text, shorten, validations_document
from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal.lineage import newest_origins
from sparkassets.core.partitions import (
    EVERYTHING,
    Dependency,
    NamedMapping,
    NewestMapping,
    OverlapMapping,
    Partitioning,
    PartitionSet,
    WholeMapping,
    WindowMapping,
)
from sparkassets.core.phrases import few
from sparkassets.core.planner.due.outdated_code import own_definition_id, partitions_made_by
from sparkassets.core.planner.explain.explanation import explain_planned_asset
from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode
from sparkassets.core.planner.explain.lateness import list_watermarks
from sparkassets.core.planner.explain.preview import preview_schedule
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.code_bodies import PythonBody, SqlBody
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter, ReadChanges
from sparkassets.core.validations import MASKED

MOST_LOOKUPS = 12_000
"""About how many partitions all links of a report look up one by one."""
FEWEST, MOST = 12, 400
"""Least and most partitions that one link looks up."""
SHOWN = 3
"""Number of labels that are shown for what one partition needs."""


class PartitionLinks:
    """Which partitions need which others, for the pages of a report; the number of lookups in all is limited.

    Attributes:
        consumers: Asset name to the assets that read it, each with its inlet.
    """

    def __init__(self, context: PlanningContext) -> None:
        self._context = context
        self.consumers: dict[str, list[tuple[AssetSpec, InletSpec]]] = {}
        lookup_links = 1
        for asset in context.project.assets.values():
            for inlet in asset.inlets.values():
                self.consumers.setdefault(inlet.name, []).append((asset, inlet))
                lookup_links += 2 * (self._link_kind(asset, inlet) == "some")  # one from each side
        self._each = max(FEWEST, min(MOST, MOST_LOOKUPS // lookup_links))

    def upstream_links(self, asset: AssetSpec, present: PartitionSet) -> list[dict[str, Any]]:
        """One link for each inlet of an asset: what its newest partitions in ``present`` need.

        ``kind`` is ``all`` of the inlet, its ``newest`` partition, the partition of the ``same`` key, or ``some``: then
        ``of`` maps each key to the needed partitions as text, and the first key of these.
        """
        asset = self._context.asset(asset.written_by) if asset.written_by else asset
        return [self._make_link(asset, inlet, present, is_upstream=True) for inlet in asset.inlets.values()]

    def downstream_links(self, asset: AssetSpec, present: PartitionSet) -> list[dict[str, Any]]:
        """One link for each consumer of an asset: which of its partitions need each of the asset's newest partitions.

        The links have the form of `upstream_links`.
        """
        pairs = self.consumers.get(asset.name, ())
        return [self._make_link(consumer, inlet, present, is_upstream=False) for consumer, inlet in pairs]

    def _make_link(
        self, asset: AssetSpec, inlet: InletSpec, present: PartitionSet, *, is_upstream: bool
    ) -> dict[str, Any]:
        """One link; ``is_upstream`` looks from the consumer to its inlet, else from the inlet to the consumer."""
        kind = self._link_kind(asset, inlet)
        link: dict[str, Any] = {"asset": inlet.name if is_upstream else asset.name, "kind": kind}
        if kind == "some":
            dependency = self._context.dependency(asset, inlet)
            consumer_partitioning, inlet_partitioning = dependency.consumer, dependency.inlet
            direction = (
                (consumer_partitioning, inlet_partitioning, dependency.required_partitions)
                if is_upstream
                else (inlet_partitioning, consumer_partitioning, dependency.affected_partitions)
            )
            link["of"] = dict(_look_up_links(*direction, present, self._each))
        return link

    def _link_kind(self, asset: AssetSpec, inlet: InletSpec) -> str:
        """The kind of a link, see `upstream_links`."""
        dependency = self._context.project.dependency(asset, inlet)
        if inlet.view is not None or not dependency.is_mapped or not asset.partitioning.is_partitioned:
            return "all"
        if isinstance(dependency.mapping, NewestMapping):
            return "newest"
        return "same" if _needs_same_key(dependency) else "some"


def _needs_same_key(dependency: Dependency) -> bool:
    """Whether each partition needs the inlet's partition of the same key, so that nothing is looked up."""
    return (
        isinstance(dependency.mapping, OverlapMapping)
        and dependency.matches is None
        and dependency.consumer.same_grid(dependency.inlet)
    )


def _look_up_links(
    partitioning: Partitioning,
    other_partitioning: Partitioning,
    find_linked: Callable[[PartitionSet], PartitionSet],
    present: PartitionSet,
    most: int,
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yields, for the newest ``most`` partitions in ``present``: the key, and what it leads to as (text, first key).

    Args:
        partitioning: Partitioning of ``present``.
        other_partitioning: Partitioning of what the partitions lead to.
        find_linked: Returns the partitions that one partition leads to.
        present: Present partitions.
        most: Number of partitions.
    """
    if not partitioning.is_partitioned or not partitioning.can_list(present):
        return
    for part in deque(partitioning.each_partition(present), maxlen=most):
        linked = find_linked(part)
        if other_partitioning.is_partitioned and other_partitioning.can_list(linked):
            first_labels = other_partitioning.labels(linked, most=1)
            text = few(
                other_partitioning.display_labels(linked, most=SHOWN),
                SHOWN,
                of=other_partitioning.display_label_count(linked),
            )
            yield partitioning.labels(part)[0], (text, _first_key(first_labels[0]) if first_labels else "")


def _first_key(label: str) -> str:
    """The first key of a label: ``A`` of ``A..B``."""
    return ",".join(part.split("..")[0] for part in label.split(","))


NEXT_RUNS = 8
"""Number of coming runs that are shown."""
MOST_NODES = 60
"""Number of lines of an explanation that are shown."""
MOST_SQL = 40_000
"""Number of characters of a query that are shown."""
MOST_VERSIONS = 12
"""Number of an asset's definitions that are shown, the newest."""


def asset_document(
    context: PlanningContext,
    asset: AssetSpec,
    *,
    plan: Plan,
    history: ReportHistory,
    links: PartitionLinks,
    most: int,
) -> dict[str, Any]:
    """The page of one asset.

    Args:
        context: The view of the plan.
        asset: The asset of the page.
        plan: Planned runs and waiting reasons of the asset, or of an outlet's multi-asset.
        history: The newest entries of the journal.
        links: Links of the project's partitions.
        most: About how many of its partitions are shown.
    """
    present = context.state.dataset(asset.uri).coverage
    watermarks = list_watermarks(context, asset)
    masks = {
        each.high: MASKED for each in watermarks if each.high and _is_private(context.asset(each.inlet), each.column)
    }
    document = {
        "name": asset.name,
        **_spec_facts(asset, context),
        "schedule": _schedule_document(context, asset),
        "inlets": [_inlet_document(context, asset, inlet) for inlet in asset.inlets.values()],
        "code": _code_document(asset),
        "versions": [*_iterate_versions(context, asset)],
        "watermarks": [
            [each.inlet, replace(each, high=masks.get(each.high or "", each.high)).text] for each in watermarks
        ],
        "validations": validations_document(context, asset, history),
        "why": _node_document(explain_planned_asset(context, plan, asset), [MOST_NODES], masks),
        "up": links.upstream_links(asset, present),
        "down": links.downstream_links(asset, present),
        "grid": None,
    }
    if asset.partitioning.is_partitioned:
        origins = newest_origins(context.project, context.state, history.dataset_entries, asset=asset)
        pieces = status_pieces(context, asset, plan.runs, plan.waiting)
        document["grid"] = cells_document(asset.partitioning, pieces, origins, most=most)
    return document


def _spec_facts(asset: AssetSpec, context: PlanningContext) -> dict[str, Any]:
    """The declared facts of an asset: description, options, extra and columns."""
    facts = {
        "Kind": f"source ({asset.source.kind})" if asset.source is not None else "",
        "Strategy": asset.strategy.name if asset.strategy is not None else "",
        "Write": asset.write.name if asset.write is not None else "",
        "Partitions": asset.partitioning.description,
        "Outlets": ", ".join(asset.outlets),
        "Written by": asset.written_by,
        "Stored at": asset.storage.given if asset.storage is not None else "",
        "Identity": asset.uri,
        "Defined in": f"{asset.location.file}:{asset.location.line}" if asset.location.file else "",
        "Time zone": asset.timezone,
        "Expected": asset.deadlines.text if asset.deadlines is not None else "",
        "Wanted from": _instant_text(context, asset.start),
        "Wanted until": _instant_text(context, asset.end),
    }
    if asset.source is None and not asset.written_by:
        facts |= {
            "Retries": str(asset.retries),
            "Timeout": f"{asset.timeout_seconds:,} s",
            "When the code changes": asset.on_code_change,
        }
    return {
        "description": shorten(asset.description),
        "facts": [[name, value] for name, value in facts.items() if value],
        "extra": [[str(name), shorten(str(value))] for name, value in list(asset.extra.items())[:40]],
        "columns": [
            [name, each.type, _is_private(asset, name), each.description] for name, each in asset.listed_columns.items()
        ],
    }


def _is_private(asset: AssetSpec, column: str | None) -> bool:
    """Whether the values of a column must not be shown; column names ignore case."""
    return column is not None and column.lower() in {name.lower() for name in asset.private}


def _instant_text(context: PlanningContext, instant: int | None) -> str:
    return "" if instant is None else context.format_instant(instant)


def _schedule_document(context: PlanningContext, asset: AssetSpec) -> dict[str, Any]:
    """The schedule, and its next runs that time alone starts."""
    paused = context.state_of(asset).paused
    preview = preview_schedule(asset, start=from_unix(context.now), count=NEXT_RUNS, paused=paused)
    timetable = asset.schedule.timetable
    return {
        "text": asset.schedule.text if asset.source is None else "others write it",
        "described": timetable.describe() if timetable is not None else "",
        "default": asset.schedule.default,
        "timezone": preview.timezone,
        "next": [[to_unix(slot.run_after), to_unix(slot.start), to_unix(slot.end)] for slot in preview.slots],
        "reason": preview.reason,
        "paused": preview.paused,
    }


def _inlet_document(context: PlanningContext, asset: AssetSpec, inlet: InletSpec) -> dict[str, Any]:
    """One inlet: which partitions and rows are read, and which gates must hold, in words."""
    read_text = ""
    if isinstance(inlet.read, ReadAfter):
        read_text = f"rows above the highest {inlet.read.column} read before"
    elif isinstance(inlet.read, ReadChanges):
        read_text = "changes since the last run"
    return {
        "name": inlet.name,
        "mapping": _mapping_text(context, asset, inlet),
        "gates": [*inlet_gates(context.project, asset, inlet)],
        "read": "waited for, but not read" if inlet.waits_only else read_text,
        "on_update": inlet.on_update,
    }


def _mapping_text(context: PlanningContext, asset: AssetSpec, inlet: InletSpec) -> str:
    """Which partitions of the inlet a partition needs, in words."""
    if not context.project.dependency(asset, inlet).is_mapped:
        return "all of it"
    match inlet.mapping:
        case WindowMapping() as window:
            return f"a window from {window.low.text} to {window.high.text} around each partition"
        case NewestMapping():
            return "its newest partition"
        case NamedMapping(parts):
            return f"its partitions {few(context.partitioning(inlet).display_labels(parts))}"
        case WholeMapping():
            return "all times of the same segments"
        case OverlapMapping():
            is_same_grid = context.partitioning(inlet).same_grid(asset.partitioning)
            return "the same partition" if is_same_grid and inlet.matches is None else "the overlapping partitions"
    return "all of it"


def _code_document(asset: AssetSpec) -> dict[str, str]:
    """The query, or the Python function with its arguments, and its place in the files; empty for a source."""
    match asset.body:
        case SqlBody() as body:
            return {"kind": "sql", "text": body.template[:MOST_SQL], "place": _place_text(body)}
        case PythonBody() as body:
            arguments = ", ".join(body.arguments)
            return {"kind": "python", "text": f"{body.module}:{body.function}({arguments})", "place": _place_text(body)}
    return {}


def _place_text(body: SqlBody | PythonBody) -> str:
    return f"{body.location.file}:{body.location.line}" if body.location.file else ""


def _iterate_versions(context: PlanningContext, asset: AssetSpec) -> Iterator[Mapping[str, Any]]:
    """Yields the definitions that computed present partitions, newest first, with the changes from the one before."""
    writer = context.asset(asset.written_by) if asset.written_by else asset
    state, own_id = context.state_of(writer), own_definition_id(writer)
    definitions = state.definition_outputs[-MOST_VERSIONS:]
    for position in range(len(definitions) - 1, -1, -1):
        made = definitions[position]
        previous = definitions[position - 1].definition if position else None
        present = partitions_made_by(writer, state, made)
        yield {
            "definition": made.definition.id[:8],
            "current": made.definition.id == own_id,
            "run": made.run,
            "at": made.at or None,
            "partitions": _describe_present(present, writer),
            "changes": [*describe_difference(previous, made.definition)][:40] if previous is not None else [],
        }


def _describe_present(parts: PartitionSet, asset: AssetSpec) -> str:
    """The partitions that one definition computed and that are present, in words."""
    if not parts:
        return "nothing now"
    return "all of it" if parts == EVERYTHING else partition_text(parts, asset)


def _node_document(node: ExplanationNode, lines_left: list[int], masks: Mapping[str, str]) -> dict[str, Any]:
    """A node of an explanation with its children, until no lines are ``lines_left``, a counter in a list.

    ``masks`` has texts to hide, each with what to show instead.
    """
    document: dict[str, Any] = {"text": shorten(node.text)}
    for value, mask in masks.items():
        document["text"] = document["text"].replace(value, mask)
    lines_left[0] -= 1
    if node.holds is not None:
        document["holds"] = node.holds
    children = [_node_document(child, lines_left, masks) for child in node.children if lines_left[0] > 0]
    return {**document, "below": children} if children else document
