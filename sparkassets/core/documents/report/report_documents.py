"""The documents of a whole report, without credentials: its assets, runs and events, and a page an asset."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sparkassets.core.documents.graph import build_graph, graph_document
from sparkassets.core.documents.project_status import COUNTS, summarize_status
from sparkassets.core.documents.rendered_run import RenderedRun, rendered_document
from sparkassets.core.documents.report.asset_page import PartitionLinks, asset_document
from sparkassets.core.documents.report.history import (
    MOST_EVENTS,
    MOST_RUNS,
    ReportHistory,
    drop_empty,
    event_row,
    partition_count,
    partition_text,
    run_row,
    shorten,
)
from sparkassets.core.planner.due.withheld_partitions import find_withheld
from sparkassets.core.planner.explain.lateness import describe_lateness
from sparkassets.core.planner.explain.status import asset_status
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.redaction import redact
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen

_HARMLESS = re.compile(r"[A-Za-z0-9_.]{0,14}|\d{4}-[0-9T:.,-]{0,40}")
"""Texts that cannot hold a credential: short words and keys of time, which most texts of a large report are."""

_KEYS_AND_NUMBERS = frozenset({"times", "cells", "codes"})
"""Names whose values are only keys and numbers, hundreds of thousands of them, so that they are not examined."""


class CredentialMask:
    """Masks credentials and values of the project's variables in JSON; each text is examined once."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._known: dict[str, str] = {}

    def mask(self, value: Any) -> Any:  # noqa: ANN401  any JSON
        """The same JSON with masked texts; names of objects stay as they are."""
        if isinstance(value, str):
            return self._mask_once(value)
        if isinstance(value, dict):
            return {name: each if name in _KEYS_AND_NUMBERS else self.mask(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask(each) for each in value]
        return value

    def _mask_once(self, text: str) -> str:
        if text not in self._known:
            self._known[text] = self._mask_text(text)
        return self._known[text]

    def _mask_text(self, text: str) -> str:
        if not self._variables and _HARMLESS.fullmatch(text):
            return text
        return redact(text, variables=self._variables)


FORMAT = 1
"""Version of the documents' format; the site's scripts are written beside them, so it only tells versions apart."""
MOST_SLICES = 400_000
"""About how many partitions all assets of a report show together."""
FEWEST_SLICES = 400
"""Number of partitions that one asset shows at least."""
RECENT = 40
"""Number of runs on the first page."""
MOST_DESCRIPTION = 160
"""Number of characters of a description in lists."""

MOST_RENDERED = 400
"""Number of planned runs of which a report shows what they would execute."""

Planned = TypeVar("Planned", PlannedRun, Waiting)


@frozen
class ReportDocuments:
    """The documents of a report's site.

    Attributes:
        at: Instant of the report, Unix seconds.
        index: What every page needs.
        past: Runs and events.
        assets: Asset name to its page, in the order of the project.
    """

    at: int
    project: str
    index: Mapping[str, Any]
    past: Mapping[str, Any]
    assets: Mapping[str, Mapping[str, Any]]


def build_report(
    context: PlanningContext,
    plan: Plan,
    report_history: ReportHistory,
    *,
    render: Callable[[PlannedRun], RenderedRun] | None = None,
) -> ReportDocuments:
    """Builds the report of a project.

    Args:
        context: The view with which ``plan`` was planned.
        plan: The plan.
        report_history: The newest entries of the journal.
        render: Returns what a run would execute; None leaves that out.
    """
    project, masks = context.project, CredentialMask(context.project.variables)
    runs, events = report_history.runs[-MOST_RUNS:], report_history.events(project, last=MOST_EVENTS)
    index = {
        "format": FORMAT,
        "project": project.name,
        "timezone": project.timezone,
        "assets": [*_asset_rows(context, report_history)],
        "waiting": [
            _waiting_row(context, item)
            for item in plan.waiting
            if not (item.quiet or _is_shown_elsewhere(context, item))
        ],
        "planned": [_planned_row(context, run) for run in plan.runs],
        "notes": [{"asset": note.asset, "text": shorten(note.text)} for note in plan.notes],
        "warnings": [shorten(problem.message) for problem in project.warnings],
        "graph": graph_document(build_graph(project)),
        "datasets": [*_iterate_datasets(context)],
        "recent": [run_row(run, project) for run in runs[-RECENT:]],
        "counts": {
            "runs": len(runs),
            "events": len(events),
            "whole": report_history.whole and len(runs) == len(report_history.runs),
        },
    }
    history = {"runs": [run_row(run, project) for run in runs], "events": [event_row(event) for event in events]}
    pages = AssetPages(context, plan, report_history, masks, render=render)
    return ReportDocuments(context.clock, project.name, masks.mask(index), masks.mask(history), pages)


class AssetPages(Mapping[str, Mapping[str, Any]]):
    """Asset name to its page; each is built when it is asked for, as a reader of 10,000 assets opens few."""

    def __init__(
        self,
        context: PlanningContext,
        plan: Plan,
        report_history: ReportHistory,
        masks: CredentialMask,
        *,
        render: Callable[[PlannedRun], RenderedRun] | None,
    ) -> None:
        self._context, self._plan, self._history, self._masks = context, plan, report_history, masks
        self._links = PartitionLinks(context)
        self._render, self._renders_left = render, MOST_RENDERED
        self._runs, self._waiting = _group_by_asset(plan.runs), _group_by_asset(plan.waiting)
        self._most_slices = max(FEWEST_SLICES, MOST_SLICES // max(1, len(context.project.assets)))

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        asset = self._context.project.assets[name]
        writer = asset.written_by or name
        plan = Plan(self._plan.at, tuple(self._runs.get(writer, ())), tuple(self._waiting.get(writer, ())))
        page = asset_document(
            self._context, asset, plan=plan, history=self._history, links=self._links, most=self._most_slices
        )
        if plan.runs and self._render is not None and self._renders_left:
            self._renders_left -= 1
            page["rendered"] = rendered_document(self._render(plan.runs[0]))
        return self._masks.mask(page)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._context.project.assets)

    def __len__(self) -> int:
        return len(self._context.project.assets)


def _group_by_asset(items: Sequence[Planned]) -> dict[str, list[Planned]]:
    """Planned runs, or waiting reasons, by asset name."""
    items_by_asset: dict[str, list[Planned]] = {}
    for item in items:
        items_by_asset.setdefault(item.asset, []).append(item)
    return items_by_asset


def _asset_rows(context: PlanningContext, report_history: ReportHistory) -> Iterator[dict[str, Any]]:
    """Yields each asset as lists and the search show it; unknown values are left out."""
    newest_runs = {run.asset: run for run in report_history.runs}
    for asset in context.project.assets.values():
        status = asset_status(context, asset)
        words, state = summarize_status(status)
        last_run = newest_runs.get(asset.written_by or asset.name)
        row = {
            "name": asset.name,
            "type": asset.type,
            "kind": status.kind,
            "source": asset.source is not None,
            "owner": asset.owner,
            "tags": list(asset.tags),
            "description": asset.description[:MOST_DESCRIPTION],
            "state": state,
            "words": words,
            "counts": {name: count for name in COUNTS if (count := getattr(status, name))},
            "partitions": asset.partitioning.description,
            "schedule": status.schedule,
            "last_at": status.last_at,
            "last_run": status.last_run,
            "last_status": last_run.status if last_run is not None else None,
            "rows": status.rows,
            "next_at": status.next_at,
            "running": status.running,
            "error": shorten(status.error) if status.error else None,
            "withheld": [shorten(each.text) for each in status.withheld_runs],
            "late": describe_lateness(status.late, asset).removeprefix("late: ") if status.late is not None else None,
            "late_since": status.late.by if status.late is not None else None,
            "paused": status.paused,
            "notes": [shorten(note) for note in status.notes],
            "columns": [
                [name, shorten(each.description)] if each.description else [name]
                for name, each in [*asset.listed_columns.items()][:60]
            ],
            "inlets": [*asset.inlets],
            "writer": asset.written_by,
        }
        yield {name: value for name, value in drop_empty(row).items() if value is not False}


def _is_shown_elsewhere(context: PlanningContext, item: Waiting) -> bool:
    """Whether it waits because it is being computed, or because it is withheld: the report shows both elsewhere.

    ``resting`` are the partitions that are withheld without a new cause, so that they are not due.
    """
    asset = context.project.assets[item.asset]
    state = context.state_of(asset)
    resting = find_withheld(context, asset, state).resting
    return any(link.entry.partitions == item.partitions for link in context.live_claims(state)) or bool(
        resting and resting.covers(item.partitions)
    )


def _waiting_row(context: PlanningContext, item: Waiting) -> dict[str, Any]:
    """One reason why something does not run; unknown values are left out."""
    asset = context.project.assets.get(item.asset)
    row = {
        "asset": item.asset,
        "reason": shorten(f"waits for a person: {item.reason}" if item.stuck else item.reason),
        "stuck": item.stuck or None,
        "until": item.until,
        "partitions": partition_text(item.partitions, asset),
        "count": partition_count(item.partitions, asset),
    }
    return drop_empty(row)


def _planned_row(context: PlanningContext, run: PlannedRun) -> dict[str, Any]:
    """One planned run; unknown values are left out."""
    asset = context.project.assets.get(run.asset)
    row = {
        "asset": run.asset,
        "reason": shorten(run.reason),
        "partitions": partition_text(run.partitions, asset),
        "count": partition_count(run.partitions, asset),
    }
    return drop_empty(row)


def _iterate_datasets(context: PlanningContext) -> Iterator[dict[str, Any]]:
    """Yields each dataset with its assets, writers and readers."""
    assets = context.project.assets
    assets_by_uri: dict[str, list[AssetSpec]] = {}
    for asset in assets.values():
        if not asset.outlets:
            assets_by_uri.setdefault(asset.uri, []).append(asset)
    readers_by_uri: dict[str, list[str]] = {}
    for asset in assets.values():
        for inlet in asset.inlets.values():
            readers_by_uri.setdefault(assets[inlet.name].uri, []).append(asset.name)
    for uri, members in assets_by_uri.items():
        state = context.state.dataset(uri)
        yield {
            "uri": uri,
            "assets": [asset.name for asset in members],
            "writers": [*dict.fromkeys(asset.written_by or asset.name for asset in members if asset.source is None)],
            "readers": [*dict.fromkeys(readers_by_uri.get(uri, ()))],
            "updated": state.last_fresh_at or None,
            "partitions": members[0].partitioning.count(members[0].partitioning.admissible_partitions(state.coverage))
            if members[0].partitioning.is_partitioned
            else None,
        }
