"""The small values of entries and of the state as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.core.partitions import EVERYTHING, PartitionSet, RangeSet
from sparkassets.core.partitions.plain import Plain, parts_from, parts_to
from sparkassets.core.partitions.segments import encoded
from sparkassets.core.runs import Pin


def extra_to(value: Mapping[str, Any]) -> str:
    """What people told, by its keys."""
    return json.dumps(dict(value), sort_keys=True, ensure_ascii=False)


def extra_from(row: JournalRow) -> Mapping[str, Any]:
    """What people told."""
    told: Mapping[str, Any] = json.loads(row.extra) if row.extra else {}
    return told


def columns_to(parts: PartitionSet) -> dict[str, Any]:
    """The columns of a row that tell its partitions; of segments, which its body has, they tell what people ask for.

    That is the time of all tuples together, and the tuple where there is one. All of time needs no columns.
    """
    time = parts.together()
    if time == EVERYTHING.time:
        time = RangeSet()
    one = parts.apart[0][0] if len(parts.apart) == 1 and not parts.time else ()
    return {"segment": ",".join(map(encoded, one)) or None, "starts": time.starts, "ends": time.ends}


def segments_to(parts: PartitionSet) -> dict[str, Any]:
    """What a row's body has of its partitions, besides `columns_to`."""
    return {"parts": parts_to(parts)} if parts.apart else {}


def columns_from(row: JournalRow | SnapshotRow, body: Mapping[str, Any]) -> PartitionSet:
    """The partitions of a row and its body."""
    if "parts" in body:
        return parts_from(body["parts"])
    return PartitionSet(RangeSet(tuple(row.starts), tuple(row.ends)))


def flat_to(parts: PartitionSet) -> Plain:
    """A set of time as starts and ends, which cost a half of pairs; any other as `parts_to` has it."""
    return parts_to(parts) if parts.apart or parts.is_everything else [parts.time.starts, parts.time.ends]


def flat_from(flat: Plain) -> PartitionSet:
    """The set of `flat_to`."""
    if isinstance(flat, list):  # of a journal's million events each
        return PartitionSet(RangeSet(tuple(flat[0]), tuple(flat[1])))
    return parts_from(flat)


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
            **({"iteration": pin.iteration} if pin.iteration else {}),
            **({"files": pin.files} if pin.files else {}),
            **({"column": pin.column} if pin.column else {}),
        }
        for name, pin in pins.items()
    }


def pins_from(body: Mapping[str, Any]) -> dict[str, Pin]:
    """The pins of `pins_to`."""
    return {
        name: Pin(
            pin["uri"],
            pin["seq"],
            pin["table_id"],
            pin["version"],
            parts_from(pin["ranges"]),
            pin["low"],
            pin.get("iteration", ""),
            pin.get("files", ""),
            pin.get("column", ""),
        )
        for name, pin in body.items()
    }
