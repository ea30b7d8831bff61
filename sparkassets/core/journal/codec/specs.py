"""The spec of an asset as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from sparkassets.core.definitions import Definition
from sparkassets.core.instants import Duration
from sparkassets.core.journal.specs import FoldInlet, FoldSpec
from sparkassets.core.partitions import (
    UNPARTITIONED,
    Dependency,
    Match,
    Named,
    Newest,
    Overlap,
    Partitioning,
    PartitionMapping,
    SegmentPartition,
    TimePartition,
    Whole,
    WindowMapping,
)
from sparkassets.core.partitions.plain import parts_from, parts_to

_NEWER: Final = frozenset({"offset", "ahead", "exclude"})
"""What partitions by time may have that they did not always have: where it is not there, nothing is written."""


def spec_to(spec: FoldSpec) -> dict[str, Any]:
    """A JSON object that `spec_from` reads back."""
    return {
        "uri": spec.uri,
        "partition": partitioning_to(spec.partitioning),
        "inlets": [_inlet_to(inlet) for inlet in spec.inlets],
        "listens": list(spec.listens),
        "named": list(spec.named),
        "storage": spec.storage,
        "appends": spec.appends,
        **({"definition": definition_to(spec.definition)} if spec.definition is not None else {}),
        **({"learns": True} if spec.learns else {}),
        **({"outlets": [list(each) for each in spec.outlets]} if spec.outlets else {}),
        **({"maker": spec.maker} if spec.maker else {}),
        **({"refreshes": True} if spec.refreshes else {}),
    }


def spec_from(body: Mapping[str, Any]) -> FoldSpec:
    """The spec of a JSON object."""
    partitioning = partitioning_from(body["partition"])
    return FoldSpec(
        uri=body["uri"],
        partitioning=partitioning,
        inlets=tuple(_inlet_from(inlet, partitioning) for inlet in body["inlets"]),
        listens=tuple(body["listens"]),
        named=tuple(body["named"]),
        storage=body["storage"],
        appends=body["appends"],
        definition=definition_from(body["definition"]) if "definition" in body else None,
        learns=body.get("learns", False),
        outlets=tuple((name, place) for name, place in body.get("outlets", ())),
        maker=body.get("maker", ""),
        refreshes=body.get("refreshes", False),
    )


def definition_to(definition: Definition) -> list[Any]:
    """JSON that `definition_from` reads back."""
    return [definition.id, definition.text, dict(definition.parts)]


def definition_from(told: Sequence[Any]) -> Definition:
    """The definition of JSON."""
    return Definition(told[0], told[1], told[2])


def _inlet_to(inlet: FoldInlet) -> dict[str, Any]:
    return {
        "name": inlet.name,
        "uri": inlet.uri,
        "mapping": _mapping_to(inlet.needs.mapping),
        "matches": None if (said := inlet.needs.matches) is None else [_match_to(match) for match in said],
        "partition": partitioning_to(inlet.needs.inlet),
        "on_update": inlet.on_update,
        "settle": inlet.settle,
        "aligned": inlet.aligned,
        "on_removed": inlet.on_removed,
    }


def _inlet_from(inlet: Mapping[str, Any], partitioning: Partitioning) -> FoldInlet:
    said = inlet.get("matches")
    matches = None if said is None else tuple(map(_match_from, said))
    mapping, up = _mapping_from(inlet["mapping"]), partitioning_from(inlet["partition"])
    return FoldInlet(
        inlet["name"],
        inlet["uri"],
        Dependency(mapping, partitioning, up, matches),
        inlet["on_update"],
        inlet["settle"],
        inlet["aligned"],
        inlet["on_removed"],
    )


def partitioning_to(partitioning: Partitioning) -> dict[str, Any] | None:
    """A JSON object that `partitioning_from` reads back; None for no partitions."""
    if not partitioning.is_partitioned:
        return None
    time = asdict(partitioning.time) if partitioning.time is not None else {}
    time = {key: value for key, value in time.items() if value or key not in _NEWER}
    if not partitioning.segments:
        return time
    segments = [_segments_to(each) for each in partitioning.segments]
    return {**time, "segments": segments, "time_at": partitioning.time_at}


def _segments_to(dimension: SegmentPartition) -> list[Any]:
    told = [dimension.column, dimension.keys]
    if not dimension.in_rows:
        return [*told, dimension.is_open, False]
    return [*told, True] if dimension.is_open else told


def partitioning_from(body: Mapping[str, Any] | None) -> Partitioning:
    """The partitions of a JSON object."""
    if body is None:
        return UNPARTITIONED
    time = {key: value for key, value in body.items() if key not in ("segments", "time_at")}
    segments = tuple(SegmentPartition(column, tuple(keys), *more) for column, keys, *more in body.get("segments", ()))
    return Partitioning(TimePartition(**time) if time else None, segments, body.get("time_at", 0))


def _mapping_to(mapping: PartitionMapping | None) -> dict[str, Any] | None:
    match mapping:
        case None:
            return None
        case Overlap():
            return {"kind": "overlap"}
        case Whole():
            return {"kind": "all"}
        case Newest():
            return {"kind": "latest"}
        case Named(parts):
            return {"kind": "named", "parts": parts_to(parts)}
        case WindowMapping(low, high, from_end):
            return {"kind": "window", "low": low.text, "high": high.text, "from_end": from_end}


def _mapping_from(body: Mapping[str, Any] | None) -> PartitionMapping | None:
    if body is None:
        return None
    if body["kind"] == "named":
        return Named(parts_from(body["parts"]))
    plain: Mapping[str, PartitionMapping] = {"overlap": Overlap(), "all": Whole(), "latest": Newest()}
    if body["kind"] != "window":
        return plain[body["kind"]]
    return WindowMapping(Duration.parse(body["low"]), Duration.parse(body["high"]), body["from_end"])


def _match_to(match: Match) -> list[Any]:
    return [match.column, match.inlet, match.keys]


def _match_from(body: Sequence[Any]) -> Match:
    column, inlet, keys = body
    return Match(column, inlet, None if keys is None else tuple((key, tuple(others)) for key, others in keys))
