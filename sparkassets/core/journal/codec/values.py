"""The small values of rows as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, PartitionSet, RangeSet
from sparkassets.core.partitions.json_form import encode_partitions, from_plain, to_plain
from sparkassets.core.partitions.segments import encode_segment


def extra_to(value: Mapping[str, Any]) -> str:
    """What people told, by its keys; numbers in it may have any length."""
    return json.dumps(dict(value), sort_keys=True, ensure_ascii=False)


def columns_to(parts: PartitionSet) -> dict[str, Any]:
    """The columns of a row that tell its partitions; of segments, which its body has, they tell what people ask for.

    That is the time of all tuples together, and the tuple where there is one. All of time needs no columns.
    """
    time = parts.any_time()
    if time == EVERYTHING.time:
        time = RangeSet()
    one = parts.apart[0][0] if len(parts.apart) == 1 and not parts.time else ()
    return {"segment": ",".join(map(encode_segment, one)) or None, "starts": time.starts, "ends": time.ends}


def beside_columns(parts: PartitionSet) -> dict[str, Any]:
    """What a row's body has of its partitions: those that `columns_to` cannot tell, and nothing of others."""
    told = bool(parts) and not parts.apart and not parts.is_everything
    return {} if told else {"parts": encode_partitions(parts)}


def told_parts(row: JournalRow | SnapshotRow, body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The partitions of a row and its body under the name of their field; nothing where that has its default."""
    if "parts" in body:
        return {name: body["parts"]}
    return {name: PartitionSet(RangeSet(tuple(row.starts), tuple(row.ends)))} if row.starts else {}


def spec_to(spec: FoldSpec) -> dict[str, Any]:
    """A JSON object that `spec_from` reads back; the partitions of the asset are in it once."""
    plain: dict[str, Any] = to_plain(unbound(spec))
    return plain


def spec_from(plain: Mapping[str, Any]) -> FoldSpec:
    """The spec of a JSON object."""
    return bound(from_plain(plain, FoldSpec))


def unbound(spec: FoldSpec) -> FoldSpec:
    """The spec whose inlets do not have the asset's partitions each."""
    return replace(spec, inlets=tuple(inlet.with_consumer_partitioning(UNPARTITIONED) for inlet in spec.inlets))


def bound(spec: FoldSpec) -> FoldSpec:
    """The spec of `unbound`."""
    return replace(spec, inlets=tuple(inlet.with_consumer_partitioning(spec.partitioning) for inlet in spec.inlets))
