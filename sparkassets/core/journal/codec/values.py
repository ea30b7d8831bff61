"""Encodes the smaller values of rows, and decodes them: extras, partitions and specs."""

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
    """Encodes an extra, with sorted keys; its numbers may have any length."""
    return json.dumps(dict(value), sort_keys=True, ensure_ascii=False)


def columns_to(parts: PartitionSet) -> dict[str, Any]:
    """The columns of a row for its partitions, for queries by people; with segments the body has the exact set.

    The columns have the time of all tuples together, and the tuple where there is only one. All time needs no columns.
    """
    time = parts.any_time()
    if time == EVERYTHING.time:
        time = RangeSet()
    one = parts.apart[0][0] if len(parts.apart) == 1 and not parts.time else ()
    return {"segment": ",".join(map(encode_segment, one)) or None, "starts": time.starts, "ends": time.ends}


def beside_columns(parts: PartitionSet) -> dict[str, Any]:
    """The partitions in a row's body; empty where the columns of `columns_to` have the exact set."""
    is_exact = bool(parts) and not parts.apart and not parts.is_everything
    return {} if is_exact else {"parts": encode_partitions(parts)}


def parts_from(row: JournalRow | SnapshotRow, body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The partitions of a row under the name of their field; empty where the field has its default."""
    if "parts" in body:
        return {name: body["parts"]}
    return {name: PartitionSet(RangeSet(tuple(row.starts), tuple(row.ends)))} if row.starts else {}


def spec_to(spec: FoldSpec) -> dict[str, Any]:
    """Encodes a spec as a JSON object that `spec_from` reads back; the asset's partitioning is in it only once."""
    plain: dict[str, Any] = to_plain(unbound(spec))
    return plain


def spec_from(plain: Mapping[str, Any]) -> FoldSpec:
    """Decodes the spec of a JSON object."""
    return bound(from_plain(plain, FoldSpec))


def unbound(spec: FoldSpec) -> FoldSpec:
    """The spec without the asset's partitioning in each inlet, which would repeat it."""
    return replace(spec, inlets=tuple(inlet.with_consumer_partitioning(UNPARTITIONED) for inlet in spec.inlets))


def bound(spec: FoldSpec) -> FoldSpec:
    """The spec with the asset's partitioning in each inlet; undoes `unbound`."""
    return replace(spec, inlets=tuple(inlet.with_consumer_partitioning(spec.partitioning) for inlet in spec.inlets))
