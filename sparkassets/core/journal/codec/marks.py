"""Marks as rows of the journal and in a snapshot, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparkassets.core.journal.codec.rows import JournalRow
from sparkassets.core.journal.codec.values import (
    columns_from,
    columns_to,
    extra_from,
    extra_to,
    interval_from,
    segments_to,
)
from sparkassets.core.journal.marks import InstanceMark, Mark, MarkEntry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.partitions.plain import parts_from, parts_to
from sparkassets.core.runs import Consumption


def mark_to(entry: MarkEntry) -> dict[str, Any]:
    """The columns of a mark, its body as an object."""
    using = entry.consumption
    told = {
        "blocks": not entry.blocks.is_everything,
        "came": parts_to(entry.came),
        "consumes": dict(using.consumes),
        "ticks": dict(using.ticks),
        **({"skips": list(using.skips)} if using.skips else {}),
        "events": list(entry.events),
        "cursor": entry.cursor,
        "watermarks": dict(entry.watermarks),
        **({"only_answers": True} if entry.only_answers else {}),
        **({"run": entry.run} if entry.run else {}),
        **({"instance": entry.instance} if entry.instance is not None else {}),
        **segments_to(entry.blocks),
    }
    return {
        "kind": "mark",
        "asset": entry.asset,
        "uri": entry.uri,
        **columns_to(entry.blocks),
        "extra": extra_to(entry.extra),
        "body": told,
    }


def mark_from(row: JournalRow, body: Mapping[str, Any]) -> MarkEntry:
    """The mark of a row."""
    extra = extra_from(row)
    return MarkEntry(
        asset=row.asset or "",
        uri=row.uri or "",
        kind=extra["mark"],
        blocks=columns_from(row, body) if body["blocks"] else EVERYTHING,
        reason=extra["reason"],
        by=extra["by"],
        came=parts_from(body["came"]),
        consumption=Consumption(body["consumes"], body["ticks"], tuple(body.get("skips", ()))),
        events=tuple(body["events"]),
        cursor=interval_from(body["cursor"]),
        watermarks=body.get("watermarks", {}),
        only_answers=body.get("only_answers", False),
        run=body.get("run", ""),
        instance=interval_from(body.get("instance")),
    )


def marks_to(marks: Iterable[Mark]) -> list[Any]:
    """What holds of marks, as plain values."""
    return [[each.kind, parts_to(each.blocks), each.reason, each.by, each.seq, each.at] for each in marks]


def marks_from(plain: Iterable[Sequence[Any]]) -> tuple[Mark, ...]:
    """The marks of `marks_to`."""
    return tuple(Mark(kind, parts_from(parts), reason, by, seq, at) for kind, parts, reason, by, seq, at in plain)


def instances_to(marks: Iterable[InstanceMark]) -> list[Any]:
    """What was said of instances, as plain values."""
    return [[each.kind, each.interval, each.of_tick, each.reason, each.by, each.seq, each.at] for each in marks]


def instances_from(plain: Iterable[Sequence[Any]]) -> tuple[InstanceMark, ...]:
    """The marks of `instances_to`."""
    return tuple(InstanceMark(kind, (start, end), *rest) for kind, (start, end), *rest in plain)
