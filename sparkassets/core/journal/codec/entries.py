"""Entries as rows of the journal, and rows as entries.

The columns that people query (asset, uri, run, ranges, version, extra) stand in the row itself, the rest in its JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sparkassets.core.journal.codec import found, iterations, marks, runs
from sparkassets.core.journal.codec.formats import body_from, body_to
from sparkassets.core.journal.codec.rows import JournalRow
from sparkassets.core.journal.codec.specs import spec_from, spec_to
from sparkassets.core.journal.codec.values import (
    columns_from,
    columns_to,
    extra_from,
    extra_to,
    interval_from,
    segments_to,
)
from sparkassets.core.journal.entries import (
    ClaimEntry,
    Entry,
    EventEntry,
    FailureEntry,
    LateEntry,
    Numbered,
    ObservedEntry,
    OutletEntry,
    PauseEntry,
    RenewEntry,
    SegmentEntry,
    SkippedEntry,
    SpecEntry,
    SuccessEntry,
    TickPassedEntry,
    Viewed,
)
from sparkassets.core.journal.found import TargetEntry
from sparkassets.core.journal.iterations import RetiredEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.requests import BackfillEntry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.partitions.plain import parts_from, parts_to
from sparkassets.errors import StateError

Body = Mapping[str, Any]


def to_row(numbered: Numbered) -> JournalRow:
    """The row of an entry."""
    columns = _WRITTEN[type(numbered.entry)](numbered.entry)
    body = body_to(columns.pop("body"))
    return JournalRow(seq=numbered.seq, at=numbered.at, driver=numbered.driver, body=body, **columns)


def from_row(row: JournalRow) -> Numbered:
    """The entry of a row.

    Raises:
        StateError: The row is damaged, or was written by a newer version.
    """
    try:
        body = body_from(row.body, row.kind, what=f"journal entry {row.seq}")
        return Numbered(_READ.get(row.kind, _unknown)(row, body), row.seq, row.at, row.driver)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise StateError(
            f"journal entry {row.seq} (kind {row.kind!r}) is damaged: {error}",
            hint="restore the journal's folder from a copy, or go back to an earlier version of the Delta table",
        ) from error


def _spec_to(entry: SpecEntry) -> dict[str, Any]:
    return {"kind": "spec", "asset": entry.asset, "uri": entry.spec.uri, "body": spec_to(entry.spec)}


def _spec_from(row: JournalRow, body: Body) -> SpecEntry:
    return SpecEntry(row.asset or "", spec_from(body))


def _event_to(entry: EventEntry) -> dict[str, Any]:
    told = {"at": entry.at, "interval": entry.interval, **segments_to(entry.parts)}
    return {
        "kind": "event",
        "asset": entry.asset,
        "uri": entry.uri,
        "run": entry.run,
        "id": entry.id,
        **columns_to(entry.parts),
        "extra": extra_to(entry.extra),
        "body": {key: value for key, value in told.items() if value is not None},
    }


def _event_from(row: JournalRow, body: Body) -> EventEntry:
    return EventEntry(
        uri=row.uri or "",
        asset=row.asset,
        parts=columns_from(row, body) or EVERYTHING,
        extra=extra_from(row),
        id=row.id,
        at=body.get("at"),
        run=row.run,
        interval=interval_from(body.get("interval")),
    )


def _observed_to(entry: ObservedEntry) -> dict[str, Any]:
    return {
        "kind": "observed",
        "asset": entry.asset,
        "uri": entry.uri,
        **columns_to(entry.changed),
        "table_id": entry.table_id,
        "version": entry.version,
        "extra": extra_to(entry.extra),
        "body": {
            "removed": parts_to(entry.removed),
            "whole": entry.whole,
            "cursor": dict(entry.cursor),
            **({"views": {uri: _viewed_to(seen) for uri, seen in entry.views.items()}} if entry.views else {}),
            **segments_to(entry.changed),
        },
    }


def _observed_from(row: JournalRow, body: Body) -> ObservedEntry:
    return ObservedEntry(
        asset=row.asset or "",
        uri=row.uri or "",
        changed=columns_from(row, body),
        removed=parts_from(body["removed"]),
        whole=body["whole"],
        table_id=row.table_id,
        version=row.version,
        cursor=body["cursor"],
        extra=extra_from(row),
        views={uri: Viewed(*map(parts_from, seen)) for uri, seen in body.get("views", {}).items()},
    )


def _viewed_to(seen: Viewed) -> list[Any]:
    return [parts_to(seen.changed), parts_to(seen.removed)]


def _renew_to(entry: RenewEntry) -> dict[str, Any]:
    told = {"claims": entry.claims, "enlisted": entry.enlisted}
    return {"kind": "renew", "body": {key: [list(each) for each in value] for key, value in told.items() if value}}


def _renew_from(_: JournalRow, body: Body) -> RenewEntry:
    claims = tuple((name, token) for name, token in body.get("claims", ()))
    return RenewEntry(claims, tuple((pid, started) for pid, started in body.get("enlisted", ())))


def _pause_to(entry: PauseEntry) -> dict[str, Any]:
    return {"kind": "pause" if entry.paused else "resume", "asset": entry.asset, "body": {}}


def _pause_from(row: JournalRow, _: Body) -> PauseEntry:
    return PauseEntry(row.asset or "", row.kind == "pause")


def _segment_to(entry: SegmentEntry) -> dict[str, Any]:
    body = {"column": entry.column, "added": list(entry.added), "removed": list(entry.removed)}
    return {"kind": "segment", "asset": entry.asset, "body": body}


def _segment_from(row: JournalRow, body: Body) -> SegmentEntry:
    return SegmentEntry(row.asset or "", body["column"], tuple(body["added"]), tuple(body["removed"]))


def _backfill_to(entry: BackfillEntry) -> dict[str, Any]:
    told = {"newest_first": entry.newest_first, "limited": entry.limited}
    parts = {"asked": parts_to(entry.asked), **segments_to(entry.blocks)}
    return {"kind": "backfill", "asset": entry.asset, **columns_to(entry.blocks), "body": {**told, **parts}}


def _backfill_from(row: JournalRow, body: Body) -> BackfillEntry:
    blocks, asked = columns_from(row, body), parts_from(body["asked"])
    return BackfillEntry(row.asset or "", asked, blocks, body["newest_first"], body["limited"])


def _late_to(entry: LateEntry) -> dict[str, Any]:
    body = {"by": entry.by, "over": entry.over, **segments_to(entry.blocks)}
    return {"kind": "late", "asset": entry.asset, **columns_to(entry.blocks), "body": body}


def _late_from(row: JournalRow, body: Body) -> LateEntry:
    return LateEntry(row.asset or "", body["by"], columns_from(row, body) or EVERYTHING, body["over"])


def _tick_passed_to(entry: TickPassedEntry) -> dict[str, Any]:
    return {"kind": "tick", "asset": entry.asset, "body": {"cursor": list(entry.cursor)}}


def _tick_passed_from(row: JournalRow, body: Body) -> TickPassedEntry:
    start, end = body["cursor"]
    return TickPassedEntry(row.asset or "", (start, end))


def _unknown(row: JournalRow, _: Body) -> Entry:
    raise ValueError(f"unknown kind {row.kind!r}")


_WRITTEN: Mapping[type[Entry], Callable[[Any], dict[str, Any]]] = {
    SpecEntry: _spec_to,
    EventEntry: _event_to,
    ObservedEntry: _observed_to,
    TargetEntry: found.target_to,
    ClaimEntry: runs.claim_to,
    RenewEntry: _renew_to,
    SuccessEntry: runs.success_to,
    OutletEntry: runs.outlet_to,
    FailureEntry: runs.failure_to,
    SkippedEntry: runs.skipped_to,
    PauseEntry: _pause_to,
    MarkEntry: marks.mark_to,
    SegmentEntry: _segment_to,
    BackfillEntry: _backfill_to,
    RetiredEntry: iterations.retired_to,
    LateEntry: _late_to,
    TickPassedEntry: _tick_passed_to,
}
"""By kind of entry: the columns of its row, and the body as an object."""

_READ: Mapping[str, Callable[[JournalRow, Body], Entry]] = {
    "spec": _spec_from,
    "event": _event_from,
    "observed": _observed_from,
    "target": found.target_from,
    "claim": runs.claim_from,
    "renew": _renew_from,
    "success": runs.success_from,
    "outlet": runs.outlet_from,
    "failure": runs.failure_from,
    "unfenced": runs.failure_from,
    "skipped": runs.skipped_from,
    "pause": _pause_from,
    "resume": _pause_from,
    "mark": marks.mark_from,
    "segment": _segment_from,
    "backfill": _backfill_from,
    "retired": iterations.retired_from,
    "late": _late_from,
    "tick": _tick_passed_from,
}
