"""The page of one asset as data: what its files say, how it stands, and its slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sparkassets.core.definitions.differences import difference
from sparkassets.core.documents.graph import inlet_gates
from sparkassets.core.documents.report.causes import pieces
from sparkassets.core.documents.report.cells import cells_document
from sparkassets.core.documents.report.links import Links
from sparkassets.core.documents.report.past import Past
from sparkassets.core.documents.report.rows import named, short
from sparkassets.core.documents.report.validations import validations_document
from sparkassets.core.instants import instant, unix
from sparkassets.core.journal.lineage import sources_of
from sparkassets.core.partitions import EVERYTHING, Named, Newest, Overlap, PartitionSet, Whole, WindowMapping
from sparkassets.core.phrases import few
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.explain import Node, explained
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.preview import preview
from sparkassets.core.planner.redefined import own_id, there_of
from sparkassets.core.planner.watermarks import watermarks
from sparkassets.core.spec.model import AssetSpec, InletSpec, PythonBody, ReadAfter, ReadChanges, SqlBody
from sparkassets.core.validations import MASKED

NEXT_RUNS = 8
"""Coming runs that are told."""
MOST_NODES = 60
"""Lines of an explanation that are told."""
MOST_SQL = 40_000
"""Characters of a query that are shown."""
MOST_VERSIONS = 12
"""Definitions of an asset that are told, the newest."""


def asset_document(
    context: PlanningContext,
    asset: AssetSpec,
    *,
    found: Plan,
    past: Past,
    links: Links,
    most: int,
) -> dict[str, Any]:
    """All that the page of an asset has.

    Args:
        context: Of the plan.
        asset: Whose page.
        found: What is planned of it, or of the asset whose runs write it.
        past: What is known of the past.
        links: Of the project.
        most: How many of its slices are shown, about.
    """
    there = context.state.dataset(asset.uri).coverage
    read = watermarks(context, asset)
    private = {each.high: MASKED for each in read if each.high and _is_private(context.asset(each.inlet), each.column)}
    document = {
        "name": asset.name,
        **_said(asset, context),
        "schedule": _schedule(context, asset),
        "inlets": [_inlet(context, asset, inlet) for inlet in asset.inlets.values()],
        "code": _code(asset),
        "versions": [*_versions(context, asset)],
        "watermarks": [[each.inlet, replace(each, high=private.get(each.high or "", each.high)).text] for each in read],
        "validations": validations_document(context, asset, past),
        "why": _node(explained(context, found, asset), [MOST_NODES], private),
        "up": links.up(asset, there),
        "down": links.down(asset, there),
        "slices": None,
    }
    if asset.partitioning.is_partitioned:
        origins = sources_of(context.project, context.state, past.told, asset=asset)
        told = pieces(context, asset, found.runs, found.waiting)
        document["slices"] = cells_document(asset.partitioning, told, origins, most=most)
    return document


def _said(asset: AssetSpec, context: PlanningContext) -> dict[str, Any]:
    """What its files say of it."""
    facts = {
        "Kind": f"source ({asset.source.kind})" if asset.source is not None else "",
        "Strategy": asset.strategy.name if asset.strategy is not None else "",
        "Write": asset.write.name if asset.write is not None else "",
        "Partitions": asset.partitioning.described,
        "Outlets": ", ".join(asset.outlets),
        "Written by": asset.maker,
        "Stored at": asset.storage.given if asset.storage is not None else "",
        "Identity": asset.uri,
        "Defined in": f"{asset.location.file}:{asset.location.line}" if asset.location.file else "",
        "Time zone": asset.timezone,
        "Expected": asset.expect.text if asset.expect is not None else "",
        "Wanted from": _when(context, asset.start),
        "Wanted until": _when(context, asset.end),
    }
    if asset.source is None and not asset.maker:
        facts |= {
            "Retries": str(asset.retries),
            "Timeout": f"{asset.timeout_seconds:,} s",
            "On a change of code": asset.on_code_change,
        }
    return {
        "description": short(asset.description),
        "facts": [[name, value] for name, value in facts.items() if value],
        "extra": [[str(name), short(str(value))] for name, value in list(asset.extra.items())[:40]],
        "columns": [[name, kind, _is_private(asset, name)] for name, kind in asset.columns.items()],
    }


def _is_private(asset: AssetSpec, column: str | None) -> bool:
    """Whether nobody is to see the values of a column; Spark's names know no case."""
    return column is not None and column.lower() in {name.lower() for name in asset.private}


def _when(context: PlanningContext, moment: int | None) -> str:
    return "" if moment is None else context.when(moment)


def _schedule(context: PlanningContext, asset: AssetSpec) -> dict[str, Any]:
    """When it runs, and its next runs by time alone."""
    paused = context.state_of(asset).paused
    coming = preview(asset, start=instant(context.now), count=NEXT_RUNS, paused=paused)
    timetable = asset.schedule.timetable
    return {
        "text": asset.schedule.text if asset.source is None else "others write it",
        "described": timetable.describe() if timetable is not None else "",
        "default": asset.schedule.default,
        "timezone": coming.timezone,
        "next": [[unix(slot.run_after), unix(slot.start), unix(slot.end)] for slot in coming.slots],
        "reason": coming.reason,
        "paused": coming.paused,
    }


def _inlet(context: PlanningContext, asset: AssetSpec, inlet: InletSpec) -> dict[str, Any]:
    """One inlet, and in words what is read of it and what must hold of it."""
    read = ""
    if isinstance(inlet.read, ReadAfter):
        read = f"rows with a higher {inlet.read.column} than before"
    elif isinstance(inlet.read, ReadChanges):
        read = "what changed since the last run"
    return {
        "name": inlet.name,
        "mapping": _mapping(context, asset, inlet),
        "gates": [*inlet_gates(context.project, asset, inlet)],
        "read": "waited for, not read" if inlet.waits_only else read,
        "on_update": inlet.on_update,
    }


def _mapping(context: PlanningContext, asset: AssetSpec, inlet: InletSpec) -> str:
    """Which partitions a block needs, in words."""
    if not context.project.dependency(asset, inlet).is_mapped:
        return "all of it"
    match inlet.mapping:
        case WindowMapping() as window:
            return f"a window from {window.low.text} to {window.high.text} around each slice"
        case Newest():
            return "its newest partition"
        case Named(parts):
            return f"its partitions {few(context.partitioning(inlet).told(parts))}"
        case Whole():
            return "all time of the same segments"
        case Overlap():
            same = context.partitioning(inlet).same_grid(asset.partitioning)
            return "the same slice" if same and inlet.matches is None else "the slices that overlap"
    return "all of it"


def _code(asset: AssetSpec) -> dict[str, str]:
    match asset.body:
        case SqlBody() as body:
            return {"kind": "sql", "text": body.template[:MOST_SQL], "place": _place(body)}
        case PythonBody() as body:
            arguments = ", ".join(body.arguments)
            return {"kind": "python", "text": f"{body.module}:{body.function}({arguments})", "place": _place(body)}
    return {}


def _place(body: SqlBody | PythonBody) -> str:
    return f"{body.location.file}:{body.location.line}" if body.location.file else ""


def _versions(context: PlanningContext, asset: AssetSpec) -> Iterator[Mapping[str, Any]]:
    """The definitions that made what there is, the newest first, with what each changed."""
    maker = context.asset(asset.maker) if asset.maker else asset
    state, own = context.state_of(maker), own_id(maker)
    made = state.made[-MOST_VERSIONS:]
    for place in range(len(made) - 1, -1, -1):
        each = made[place]
        before = made[place - 1].definition if place else None
        there = there_of(maker, state, each)
        yield {
            "definition": each.definition.id[:8],
            "current": each.definition.id == own,
            "run": each.run,
            "at": each.at or None,
            "slices": _there(there, maker),
            "changes": [*difference(before, each.definition)][:40] if before is not None else [],
        }


def _there(parts: PartitionSet, asset: AssetSpec) -> str:
    """What is there by one definition, in words."""
    if not parts:
        return "nothing any more"
    return "all of it" if parts == EVERYTHING else named(parts, asset)


def _node(node: Node, left: list[int], private: Mapping[str, str]) -> dict[str, Any]:
    """A line of an explanation and what is below it, as long as lines are ``left``; ``private`` ones are hidden."""
    told: dict[str, Any] = {"text": short(node.text)}
    for value, shown in private.items():
        told["text"] = told["text"].replace(value, shown)
    left[0] -= 1
    if node.holds is not None:
        told["holds"] = node.holds
    below = [_node(child, left, private) for child in node.children if left[0] > 0]
    return {**told, "below": below} if below else told
