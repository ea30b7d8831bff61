"""Dataset events as people and templates see them: one JSON object an event (DESIGN section 9)."""

from __future__ import annotations

import json
from typing import Any

from sparkassets.core.instants import epoch, format_instant, instant
from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.journal.state import EventRef
from sparkassets.core.partitions import RangeSet, TimePartition

EVENT_KINDS = ("event", "observed", "success")


def of_ref(ref: EventRef, partition: TimePartition | None) -> dict[str, Any]:
    """An event that is not consumed yet, with the data interval of its source run."""
    interval = ref.interval
    source_run = None
    if ref.run is not None:
        source_run = {
            "run_id": ref.run,
            "data_interval_start": instant(interval[0]) if interval else None,
            "data_interval_end": instant(interval[1]) if interval else None,
        }
    return {**_event(ref, ref.ranges, partition), "source_run": source_run}


def of_row(row: JournalRow, partition: TimePartition | None) -> dict[str, Any] | None:
    """The event of a journal row; None for a row that announces nothing."""
    body = json.loads(row.body)
    if row.kind == "observed" and not (row.starts or body["removed"] or body["whole"]):
        return None
    ranges = RangeSet(tuple(row.starts), tuple(row.ends))
    extra = json.loads(row.extra) if row.extra else {}
    at = body.get("at")
    ref = EventRef(row.seq, row.uri or "", row.asset, epoch(row.at) if at is None else at, ranges, extra, row.run, None)
    return {**_event(ref, ranges, partition), "id": body.get("id")}


def _event(ref: EventRef, ranges: RangeSet, partition: TimePartition | None) -> dict[str, Any]:
    return {
        "seq": ref.seq,
        "asset": ref.asset,
        "uri": ref.uri,
        "partitions": labels(ranges, partition),
        "at": format_instant(instant(ref.at)),
        "extra": dict(ref.extra),
        "run": ref.run,
    }


def labels(ranges: RangeSet, partition: TimePartition | None) -> list[str]:
    """``A..B`` of keys, inclusive; instants where the asset's partition is not known (any more)."""
    if partition is not None:
        return list(partition.labels(ranges))
    return [f"{format_instant(instant(start))}..{format_instant(instant(end))}" for start, end in ranges.pairs()]
