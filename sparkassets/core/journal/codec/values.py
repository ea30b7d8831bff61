"""The small values of entries and of the state as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparkassets.core.journal.rows import FORMAT, JournalRow
from sparkassets.core.partitions import RangeSet
from sparkassets.core.runs import Pin


def body_to(value: Mapping[str, Any]) -> str:
    """A JSON object with the format's number."""
    return json.dumps({"v": FORMAT, **value}, sort_keys=True, ensure_ascii=False)


def extra_to(value: Mapping[str, Any]) -> str:
    """What people told, by its keys."""
    return json.dumps(dict(value), sort_keys=True, ensure_ascii=False)


def extra_from(row: JournalRow) -> Mapping[str, Any]:
    """What people told."""
    told: Mapping[str, Any] = json.loads(row.extra) if row.extra else {}
    return told


def columns_to(ranges: RangeSet | None) -> dict[str, Any]:
    """The columns of a row that hold time."""
    return {} if ranges is None else {"starts": ranges.starts, "ends": ranges.ends}


def columns_from(row: JournalRow) -> RangeSet:
    """The time that a row's columns hold."""
    return RangeSet(tuple(row.starts), tuple(row.ends))


def pairs_to(ranges: RangeSet | None) -> list[list[int]] | None:
    """Time as pairs of Unix seconds."""
    return None if ranges is None else [[start, end] for start, end in ranges.pairs()]


def pairs_from(pairs: Sequence[Sequence[int]] | None) -> RangeSet | None:
    """The time of `pairs_to`."""
    return None if pairs is None else RangeSet.of((start, end) for start, end in pairs)


def interval_from(pair: Sequence[int] | None) -> tuple[int, int] | None:
    """An interval, which JSON has as a list of two."""
    return None if pair is None else (pair[0], pair[1])


def pins_to(pins: Mapping[str, Pin]) -> dict[str, Any]:
    """Pins by inlet."""
    return {
        name: {
            "uri": pin.uri,
            "seq": pin.seq,
            "table_id": pin.table_id,
            "version": pin.version,
            "ranges": pairs_to(pin.ranges),
            "low": pin.low,
        }
        for name, pin in pins.items()
    }


def pins_from(body: Mapping[str, Any]) -> dict[str, Pin]:
    """The pins of `pins_to`."""
    return {
        name: Pin(pin["uri"], pin["seq"], pin["table_id"], pin["version"], pairs_from(pin["ranges"]), pin["low"])
        for name, pin in body.items()
    }
