"""Documents of an asset's status, of its partitions, and of an explanation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import instant_text, key_ranges
from sparkassets.core.documents.plan import late_document
from sparkassets.core.documents.runs import judged_document
from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode
    from sparkassets.core.planner.explain.lateness import InletWatermark
    from sparkassets.core.planner.explain.status import AssetStatus, ClaimHolder
    from sparkassets.core.spec.project_spec import ProjectSpec

COUNTS = ("current", "kept", "stale", "missing", "requested", "failed", "withheld", "skipped")
"""The partition statuses that are counted, in the order of display."""
MOST_URGENT_FIRST = ("failed", "withheld", "missing", "stale", "requested", "current", "skipped")
"""Partition statuses that may stand for a whole asset, the most urgent first."""


@frozen
class ProjectStatus:
    """The status of every asset, upstream first; iterable, sized and indexed by asset name.

    Attributes:
        at: Instant of the status, Unix seconds.
    """

    at: int
    assets: tuple[AssetStatus, ...]

    def __iter__(self) -> Iterator[AssetStatus]:
        return iter(self.assets)

    def __len__(self) -> int:
        return len(self.assets)

    def __getitem__(self, name: str) -> AssetStatus:
        status = next((each for each in self.assets if each.asset == name), None)
        if status is None:
            raise KeyError(name)
        return status

    def __repr__(self) -> str:
        return "\n".join([f"<{self._format_title()}>", *map(repr, self.assets)])

    def _format_title(self) -> str:
        return f"status at {format_zoned(from_unix(self.at), 'UTC')}"

    def _repr_html_(self) -> str:
        """The status in a notebook."""
        from sparkassets.core.notebook import HtmlTable, render_tables

        rows = [
            (
                each.asset,
                each.covered_text,
                summarize_status(each)[0],
                _format_instant(each.last_at),
                _format_instant(each.next_at),
                each.error or "",
            )
            for each in self.assets
        ]
        notes = [(each.asset, note) for each in self.assets for note in each.notes]
        return render_tables(
            self._format_title(),
            HtmlTable("", ("asset", "partitions", "state", "last", "next", "error"), rows),
            HtmlTable("noticed", ("asset", "what"), notes),
        )


def _format_instant(seconds: int | None) -> str:
    return "" if seconds is None else format_zoned(from_unix(seconds), "UTC")


def status_document(status: AssetStatus, project: ProjectSpec) -> dict[str, Any]:
    """One asset at a glance; ``partitions`` is null for an asset without partitions."""
    partition = project.assets[status.asset].partitioning
    return {
        "asset": status.asset,
        "kind": status.kind,
        "schedule": status.schedule,
        "partitions": {"ranges": key_ranges(status.covered, partition), **status_counts(status)}
        if partition.is_partitioned
        else None,
        "last_run": status.last_run,
        "last_at": instant_text(status.last_at),
        "rows": status.rows,
        "error": status.error,
        "running": status.running,
        "holders": [_holder_document(each) for each in status.holders],
        "next_at": instant_text(status.next_at),
        "paused": status.paused,
        "notes": list(status.notes),
        "withheld": [judged_document(each, project.assets[status.asset]) for each in status.withheld_runs],
        "late": late_document(status.late, project) if status.late is not None else None,
        "watermarks": [_watermark_document(each) for each in status.watermarks],
    }


def _holder_document(holder: ClaimHolder) -> dict[str, Any]:
    """A driver that holds a claim; ``gone`` means that its process has ended and the next run settles the claim."""
    return {
        "run": holder.run,
        "driver": holder.driver,
        "since": instant_text(holder.since),
        "silent_seconds": holder.silent_seconds,
        "lease_seconds": holder.lease_seconds,
        "gone": holder.gone,
    }


def _watermark_document(watermark: InletWatermark) -> dict[str, Any]:
    """How far an inlet was read: up to a version of ``newest``, or a ``high`` value of a column.

    ``behind`` counts versions, or updates of the inlet; it is null where that is unknown.
    """
    document: dict[str, Any] = {"inlet": watermark.inlet}
    if watermark.column is None:
        document |= {"version": None if watermark.high is None else int(watermark.high), "newest": watermark.newest}
    else:
        document |= {"column": watermark.column, "high": watermark.high}
    return {**document, "behind": watermark.behind, "newest_at": instant_text(watermark.newest_at)}


def status_counts(status: AssetStatus) -> dict[str, int]:
    """How many partitions of an asset are in each status."""
    return {name: getattr(status, name) for name in COUNTS}


def summarize_status(status: AssetStatus) -> tuple[str, str]:
    """The headline of an asset's status in a few words, and the status code that styles it."""
    counts = status_counts(status)
    counts_text = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    if status.running or status.paused:
        state = "running" if status.running else "paused"
        return ", ".join(filter(None, [state, counts_text])), state
    if status.error:
        return (counts_text if counts["failed"] else ", ".join(filter(None, ["failed", counts_text]))), "failed"
    if status.stuck:
        return "waits for a person", "stuck"
    if counts_text:
        return counts_text, next(name for name in MOST_URGENT_FIRST if counts[name])
    if status.withheld_runs:
        return "withheld", "withheld"
    if status.last_at is None:
        return "never", "never"
    return ("there" if status.last_run is None else "success"), "success"


def partition_document(key: str, status: str, definition: str | None = None) -> dict[str, str | None]:
    """One partition of an asset, with its status and the definition that computed it."""
    return {"partition": key, "status": status, "definition": definition}


def node_document(node: ExplanationNode) -> dict[str, Any]:
    """One line of an explanation and what is below it."""
    return {"text": node.text, "holds": node.holds, "children": [node_document(child) for child in node.children]}
