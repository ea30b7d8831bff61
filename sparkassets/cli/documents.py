"""What ``--json`` prints: one document, made of plain values (DESIGN section 9)."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import format_instant, instant
from sparkassets.core.journal import events
from sparkassets.core.journal.announce import partition_of

if TYPE_CHECKING:
    from sparkassets.core.journal.runs import RunRecord
    from sparkassets.core.partitions import RangeSet
    from sparkassets.core.planner.explain import Node
    from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
    from sparkassets.core.planner.preview import Preview
    from sparkassets.core.planner.status import AssetStatus
    from sparkassets.core.spec.model import AssetSpec, ProjectSpec
    from sparkassets.core.timetables.align import Alignment
    from sparkassets.runtime.progress import RunResult, Summary


def print_json(document: object) -> None:
    """Prints one document and a line end on stdout."""
    sys.stdout.write(json_text(document))


def json_text(document: object) -> str:
    """One document and a line end."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plan_document(plan: Plan, project: ProjectSpec) -> dict[str, Any]:
    """A plan; ``partitions`` is null for an asset without partitions."""
    return {
        "at": instant_text(plan.at),
        "runs": [_planned(run, project) for run in plan.runs],
        "waiting": [waiting_document(item, project) for item in plan.waiting],
        "notes": [
            {
                "asset": note.asset,
                "note": note.text,
                "partitions": partitions_document(note.blocks, project.assets.get(note.asset)),
            }
            for note in plan.notes
        ],
    }


def downstream_document(after: Mapping[str, RangeSet | None] | None, project: ProjectSpec) -> dict[str, Any]:
    """What a backfill makes due after it, beside its plan; nothing where that was not asked."""
    if after is None:
        return {}
    items = after.items()
    found = [{"asset": name, "partitions": partitions_document(blocks, project.assets[name])} for name, blocks in items]
    return {"downstream": found}


def summary_document(summary: Summary, project: ProjectSpec) -> dict[str, Any]:
    """What an invocation did."""
    return {
        "runs": [_result(result, project) for result in summary.runs],
        "waiting": [waiting_document(item, project) for item in summary.waiting],
        "faults": [{"asset": asset, "reason": reason} for asset, reason in summary.faults],
        "interrupted": summary.interrupted,
    }


def waiting_document(item: Waiting, project: ProjectSpec) -> dict[str, Any]:
    """Why an asset, or some of its partitions, does not run; ``quiet`` where nothing is wanted of it now."""
    return {
        "asset": item.asset,
        "reason": item.reason,
        "until": instant_text(item.until),
        "partitions": partitions_document(item.blocks, project.assets.get(item.asset)),
        "quiet": item.quiet,
    }


def status_document(status: AssetStatus, project: ProjectSpec) -> dict[str, Any]:
    """One asset at a glance; ``partitions`` is null for an asset without partitions."""
    partition = project.assets[status.asset].partition
    counts = {name: getattr(status, name) for name in ("current", "kept", "stale", "missing", "failed")}
    return {
        "asset": status.asset,
        "kind": status.kind,
        "schedule": status.schedule,
        "partitions": {"ranges": spans(status.covered), **counts} if partition else None,
        "last_run": status.last_run,
        "last_at": instant_text(status.last_at),
        "rows": status.rows,
        "error": status.error,
        "running": status.running,
        "next_at": instant_text(status.next_at),
        "paused": status.paused,
        "notes": list(status.notes),
    }


def preview_document(preview: Preview) -> list[dict[str, Any]]:
    """The coming runs of one asset, oldest first."""
    return [
        {
            "asset": preview.asset,
            "run_after": format_instant(slot.run_after),
            "data_interval": {"start": format_instant(slot.start), "end": format_instant(slot.end)},
            "logical_date": format_instant(slot.start),
        }
        for slot in preview.slots
    ]


def alignment_document(alignment: Alignment) -> dict[str, Any]:
    """Two runs that belong together; the delta in seconds."""
    return {
        "upstream_logical_date": format_instant(alignment.upstream.start),
        "downstream_logical_date": format_instant(alignment.downstream.start),
        "execution_delta": alignment.delta_seconds,
        "case": alignment.case,
    }


def run_document(run: RunRecord, project: ProjectSpec) -> dict[str, Any]:
    """One run of the journal."""
    return {
        "run": run.run,
        "asset": run.asset,
        "kind": run.kind,
        "status": run.status,
        "started": instant_text(run.started),
        "at": instant_text(run.ended),
        "seconds": run.seconds,
        "partitions": partitions_document(run.blocks, project.assets.get(run.asset)),
        "rows": run.rows,
        "version": run.version,
        "attempts": run.attempts,
        "reason": run.reason,
        "error": run.error,
        "hint": run.hint,
        "details": run.details,
        "adopted": run.adopted,
        "data_interval": interval_document(run.interval),
        "events": list(run.events),
    }


def event_document(event: Mapping[str, Any]) -> dict[str, Any]:
    """One event: ``{seq, asset, uri, partitions, at, extra, run}``.

    One of the journal has its ``id`` besides, and the runs that it ``triggered`` or was ``included_in``.
    """
    return {**event, "partitions": spans(event["partitions"])}


def node_document(node: Node) -> dict[str, Any]:
    """One line of an explanation and what is below it."""
    return {"text": node.text, "holds": node.holds, "children": [node_document(child) for child in node.children]}


def partitions_document(blocks: RangeSet | None, asset: AssetSpec | None) -> dict[str, Any] | None:
    """``{ranges: ["A..B", …], count}``; None without blocks or without (any more) a partition to name them by."""
    if blocks is None or asset is None or asset.partition is None:
        return None
    return {"ranges": spans(asset.partition.labels(blocks)), "count": asset.partition.count(blocks)}


def spans(labels: Sequence[str]) -> list[str]:
    """Ranges of keys, always ``A..B``, so that a reader needs one rule.

    >>> spans(["2013-01-05", "2013-01-07..2013-01-09"])
    ['2013-01-05..2013-01-05', '2013-01-07..2013-01-09']
    """
    return [label if ".." in label else f"{label}..{label}" for label in labels]


def interval_document(interval: tuple[int, int] | None) -> dict[str, str | None] | None:
    """A data interval, half-open."""
    return None if interval is None else {"start": instant_text(interval[0]), "end": instant_text(interval[1])}


def instant_text(token: int | None) -> str | None:
    """ISO with Z."""
    return None if token is None else format_instant(instant(token))


def _planned(run: PlannedRun, project: ProjectSpec) -> dict[str, Any]:
    return {
        "asset": run.asset,
        "strategy": run.strategy,
        "write": run.write,
        "reason": run.reason,
        "partitions": partitions_document(run.blocks, project.assets.get(run.asset)),
        "data_interval": interval_document(run.interval),
        "triggering_events": [
            event_document(events.of_ref(ref, partition_of(project, asset=ref.asset, uri=ref.uri)))
            for ref in run.events
        ],
    }


def _result(result: RunResult, project: ProjectSpec) -> dict[str, Any]:
    return {
        "asset": result.asset,
        "run": result.run,
        "kind": result.kind,
        "status": result.status,
        "partitions": partitions_document(result.blocks, project.assets.get(result.asset)),
        "rows": result.rows,
        "version": result.version,
        "seconds": round(result.seconds, 3),
        "attempts": result.attempts,
        "reason": result.reason,
        "error": result.error,
        "hint": result.hint,
        "details": result.details,
        "adopted": result.adopted,
    }
