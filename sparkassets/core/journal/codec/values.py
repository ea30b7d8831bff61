"""The small values of entries and of the state as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.core.partitions import EVERYTHING, PartitionSet, RangeSet
from sparkassets.core.partitions.plain import parts_from, parts_to
from sparkassets.core.runs import Pin


def extra_to(value: Mapping[str, Any]) -> str:
    """What people told, by its keys."""
    return json.dumps(dict(value), sort_keys=True, ensure_ascii=False)


def extra_from(row: JournalRow) -> Mapping[str, Any]:
    """What people told."""
    told: Mapping[str, Any] = json.loads(row.extra) if row.extra else {}
    return told


def columns_to(parts: PartitionSet) -> dict[str, Any]:
    """The columns of a row that hold time; everything needs none."""
    time = RangeSet() if parts.is_everything else time_of(parts)
    return {"starts": time.starts, "ends": time.ends}


def columns_from(row: JournalRow | SnapshotRow) -> PartitionSet:
    """What a row's columns hold."""
    return PartitionSet(RangeSet(tuple(row.starts), tuple(row.ends)))


def time_of(parts: PartitionSet) -> RangeSet:
    """The time of a set that has no other dimension: rows with a segment are for those that have."""
    if parts.apart:
        raise ValueError("a set of segments has a row for each of them")
    return parts.time


def flat_to(parts: PartitionSet) -> list[tuple[int, ...]] | None:
    """A set of time as starts and ends, which cost a half of pairs; everything is null."""
    return None if parts.is_everything else [time_of(parts).starts, time_of(parts).ends]


def flat_from(flat: Sequence[Sequence[int]] | None) -> PartitionSet:
    """The set of `flat_to`."""
    return EVERYTHING if flat is None else PartitionSet(RangeSet(tuple(flat[0]), tuple(flat[1])))


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
            "ranges": parts_to(pin.parts),
            "low": pin.low,
        }
        for name, pin in pins.items()
    }


def pins_from(body: Mapping[str, Any]) -> dict[str, Pin]:
    """The pins of `pins_to`."""
    return {
        name: Pin(pin["uri"], pin["seq"], pin["table_id"], pin["version"], parts_from(pin["ranges"]), pin["low"])
        for name, pin in body.items()
    }
