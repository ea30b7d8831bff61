"""The runs and events of a report, each as small as can be: what its pages lay out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkassets.core.journal.runs import RunRecord
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.wording import labels
from sparkassets.core.spec.model import AssetSpec, ProjectSpec

MOST_RUNS = 6_000
"""The newest runs that a report has."""
MOST_EVENTS = 4_000
"""The newest events that it has."""
MOST_TEXT = 2_000
"""Characters of an error, and of what else nobody bounds."""
_SHOWN = 4


def run_row(run: RunRecord, project: ProjectSpec) -> dict[str, Any]:
    """One run; what is not known of it is left out."""
    asset = project.assets.get(run.asset)
    told = {
        "run": run.run,
        "asset": run.asset,
        "kind": run.kind,
        "status": run.status,
        "started": run.started,
        "ended": run.ended,
        "seconds": None if run.seconds is None else round(run.seconds, 2),
        "slices": named(run.blocks, asset),
        "count": counted(run.blocks, asset),
        "unchanged": counted(run.unchanged, asset) if run.unchanged else None,
        "rows": run.rows,
        "version": run.version,
        "attempts": run.attempts if run.attempts not in (None, 1) else None,
        "reason": short(run.reason),
        "error": short(run.error),
        "hint": short(run.hint),
        "details": short(run.details),
        "adopted": run.adopted,
        "interval": run.interval,
        "definition": run.request.definition[:8],
        "events": list(run.request.events[-_SHOWN:]),
        "reads": [
            known({"asset": name, "slices": named(pin.parts, project.assets.get(name)), "version": pin.version})
            for name, pin in run.request.pins.items()
        ],
    }
    return known(told)


def known(told: Mapping[str, Any]) -> dict[str, Any]:
    """The same without what nobody knows, or is empty: most is."""
    return {name: value for name, value in told.items() if value not in (None, "", [], {})}


def event_row(event: Mapping[str, Any]) -> dict[str, Any]:
    """One event; what is not known of it is left out."""
    told = {
        "seq": event["seq"],
        "at": event["at"],
        "asset": event["asset"],
        "uri": event["uri"],
        "slices": event["slices"],
        "run": event["run"],
        "extra": {name: short(str(value)) for name, value in list(event["extra"].items())[:8]},
        "triggered": event["triggered"][:_SHOWN],
        "included_in": event["included_in"][:_SHOWN],
    }
    return known(told)


def named(parts: PartitionSet, asset: AssetSpec | None) -> str:
    """Partitions by the first of their keys; nothing for the whole of an asset, or of what is none any more."""
    if asset is None or not asset.partitioning.is_partitioned or not asset.partitioning.can_list(parts):
        return ""
    return labels(parts, asset.partitioning)


def counted(parts: PartitionSet, asset: AssetSpec | None) -> int | None:
    """How many partitions these are; None for the whole of an asset, or of what is none any more."""
    if asset is None or not asset.partitioning.is_partitioned or not asset.partitioning.can_list(parts):
        return None
    return asset.partitioning.count(parts)


def short(text: str) -> str:
    """The beginning of a text that nobody bounds."""
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"
