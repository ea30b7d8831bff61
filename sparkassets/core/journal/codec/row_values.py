"""The rows of the journal's two tables as Spark SQL sees them, and the smaller values that they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, PartitionSet, RangeSet
from sparkassets.core.partitions.json_form import encode_partitions, from_plain, to_plain
from sparkassets.core.partitions.segments import encode_segment
from sparkassets.frozen import frozen, replace


@frozen
class JournalRow:
    """One entry of ``<state>/journal``.

    Attributes:
        seq: Number of the entry, ascending by one through the whole journal.
        at: When it was decided, by its driver's clock; for people, never for order. Aware, UTC.
        segment: The encoded tuple of segments of the entry's partitions; None for several tuples or none.
        starts, ends: Half-open time ranges of the entry's partitions; Unix seconds, disjoint, ascending. With segments,
            the time that any of them has; the time of each is in the body.
        id: The announcer's identifier of an event, unique in its dataset.
        extra: JSON object of an event.
        body: JSON object with everything else, its format version under ``v``.
    """

    seq: int
    at: datetime
    driver: str
    kind: str
    asset: str | None = None
    uri: str | None = None
    run: str | None = None
    segment: str | None = None
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    table_id: str | None = None
    version: int | None = None
    id: str | None = None
    extra: str | None = None
    body: str = "{}"


@frozen
class SnapshotRow:
    """One row of ``<state>/watermarks``: the state of an asset, of a dataset, or of neither of what belongs to none.

    Attributes:
        seq, commit: The journal's sequence and commit number that the row stands for; equal in all rows of a snapshot.
        segment: The encoded tuple of covered segments; None for several tuples or none.
        starts, ends: Covered time; Unix seconds, half-open, disjoint, ascending. With segments, that of any of them.
        stale_inlets, stale_starts, stale_ends, stale_seqs: Parallel lists: the inlet that made time stale, the time,
            and the number of the newest cause. With segments, the body has the time of each.
        watermarks: JSON object, inlet to how far it is read.
        cursor: JSON object, the `position` in a source.
        body: JSON object with the rest, its format version under ``v``.
    """

    asset: str | None
    uri: str | None
    segment: str | None
    seq: int
    commit: int
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    stale_inlets: tuple[str, ...] = ()
    stale_starts: tuple[int, ...] = ()
    stale_ends: tuple[int, ...] = ()
    stale_seqs: tuple[int, ...] = ()
    watermarks: str = "{}"
    cursor: str = "{}"
    body: str = "{}"


def encode_extra(value: Mapping[str, Any]) -> str:
    """Encodes an extra, with sorted keys; its numbers may have any length."""
    return json.dumps(dict(value), sort_keys=True, ensure_ascii=False)


def make_partition_columns(parts: PartitionSet) -> dict[str, Any]:
    """The columns ``segment``, ``starts`` and ``ends`` of a row of the journal, by which people query its partitions.

    They hold the time ranges of all segments together (nothing for all time), and the segment where there is only one.
    Where that is not the exact set, the row's body has it: `make_partition_body`.
    """
    time = parts.any_time()
    if time == EVERYTHING.time:
        time = RangeSet()
    sole_segment = parts.apart[0][0] if len(parts.apart) == 1 and not parts.time else ()
    return {"segment": ",".join(map(encode_segment, sole_segment)) or None, "starts": time.starts, "ends": time.ends}


def make_partition_body(parts: PartitionSet) -> dict[str, Any]:
    """The partitions in the body of a row; empty where its columns have exactly this set."""
    is_exact = bool(parts) and not parts.apart and not parts.is_everything
    return {} if is_exact else {"parts": encode_partitions(parts)}


def stored_partitions(row: JournalRow | SnapshotRow, body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The partitions of a row, as {field name: partitions}; empty where the field has its default."""
    if "parts" in body:
        return {name: body["parts"]}
    return {name: PartitionSet(RangeSet(tuple(row.starts), tuple(row.ends)))} if row.starts else {}


def encode_spec(spec: FoldSpec) -> dict[str, Any]:
    """Encodes a spec as a JSON object that `decode_spec` reads back; the asset's partitioning is in it only once."""
    plain: dict[str, Any] = to_plain(unbind_spec(spec))
    return plain


def decode_spec(plain: Mapping[str, Any]) -> FoldSpec:
    """Decodes the spec of a JSON object."""
    return bind_spec(from_plain(plain, FoldSpec))


def unbind_spec(spec: FoldSpec) -> FoldSpec:
    """The spec without the asset's partitioning in each inlet, which would repeat it."""
    return replace(spec, inlets=tuple(inlet.with_consumer_partitioning(UNPARTITIONED) for inlet in spec.inlets))


def bind_spec(spec: FoldSpec) -> FoldSpec:
    """The spec with the asset's partitioning in each inlet; undoes `unbind_spec`."""
    return replace(spec, inlets=tuple(inlet.with_consumer_partitioning(spec.partitioning) for inlet in spec.inlets))
