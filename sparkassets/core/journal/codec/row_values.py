"""The smaller values that rows of the journal and of the snapshot hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, PartitionSet, RangeSet
from sparkassets.core.partitions.json_form import encode_partitions, from_plain, to_plain
from sparkassets.core.partitions.segments import encode_segment
from sparkassets.frozen import replace


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
    # `parts.time` is the time of all segments that are not listed, so a single one is alone only without it
    sole_segment = parts.apart[0][0] if len(parts.apart) == 1 and not parts.time else ()
    return {"segment": ",".join(map(encode_segment, sole_segment)) or None, "starts": time.starts, "ends": time.ends}


def make_partition_body(parts: PartitionSet) -> dict[str, Any]:
    """The partitions in the body of a row; empty where its columns have exactly this set.

    Empty columns can mean no partitions or all of time, so in these two cases the body says which.
    """
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
