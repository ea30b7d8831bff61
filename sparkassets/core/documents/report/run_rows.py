"""The runs and events of a report, each as small as can be: what its pages lay out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkassets.core.documents.report.row_values import drop_empty, partition_count, partition_text, shorten
from sparkassets.core.documents.report.validations import verdict_rows
from sparkassets.core.journal.run_records import RunRecord
from sparkassets.core.spec.model import ProjectSpec

MOST_RUNS = 6_000
"""The newest runs that a report has."""
MOST_EVENTS = 4_000
"""The newest events that it has."""
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
        "slices": partition_text(run.blocks, asset),
        "count": partition_count(run.blocks, asset),
        "unchanged": partition_count(run.unchanged, asset) if run.unchanged else None,
        "withheld": (partition_count(run.withheld, asset) or 1) if run.withheld else None,
        "verdicts": verdict_rows([each for each in run.verdicts if each.outcome != "passed"], asset),
        "rows": run.rows,
        "version": run.version,
        "attempts": run.attempts if run.attempts not in (None, 1) else None,
        "reason": shorten(run.reason),
        "error": shorten(run.error),
        "hint": shorten(run.hint),
        "details": shorten(run.details),
        "adopted": run.adopted,
        "skipped": shorten(run.skipped),
        "interval": run.interval,
        "definition": run.request.definition[:8],
        "events": list(run.request.events[-_SHOWN:]),
        "reads": [
            drop_empty(
                {"asset": name, "slices": partition_text(pin.parts, project.assets.get(name)), "version": pin.version}
            )
            for name, pin in run.request.pins.items()
        ],
    }
    return drop_empty(told)


def event_row(event: Mapping[str, Any]) -> dict[str, Any]:
    """One event; what is not known of it is left out."""
    told = {
        "seq": event["seq"],
        "at": event["at"],
        "asset": event["asset"],
        "uri": event["uri"],
        "slices": event["slices"],
        "run": event["run"],
        "extra": {name: shorten(str(value)) for name, value in list(event["extra"].items())[:8]},
        "triggered": event["triggered"][:_SHOWN],
        "included_in": event["included_in"][:_SHOWN],
    }
    return drop_empty(told)
