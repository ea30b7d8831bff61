"""Timetables as data: the coming runs of an asset, and runs of two timetables that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import format_instant

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.preview import SchedulePreview
    from sparkassets.core.timetables.align import RunAlignment


def preview_document(preview: SchedulePreview) -> list[dict[str, Any]]:
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


def alignment_document(alignment: RunAlignment) -> dict[str, Any]:
    """Two runs that belong together; the delta in seconds."""
    return {
        "upstream_logical_date": format_instant(alignment.upstream.start),
        "downstream_logical_date": format_instant(alignment.downstream.start),
        "execution_delta": alignment.delta_seconds,
        "case": alignment.case,
    }
