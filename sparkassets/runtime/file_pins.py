"""The files or tables that a run is to read of a source with many, as they were when it was claimed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from sparkassets.core.branches.base_mirror import BASE
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.patterns import FileSlot, KnownFile, PathPattern, is_of_file
from sparkassets.core.runs import InletPin, RunRequest
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.spec.view_ids import view_id

_KINDS = ("csv", "json", "parquet", "tables")
_DIGEST_SIZE = 16


def find_pinned_files(
    project: ProjectSpec, state: State, reader: AssetSpec, pins: Mapping[str, InletPin]
) -> dict[str, Any]:
    """For each inlet that is read from files, the keys of its cursor for the pinned time, as the state has them."""
    inlets = {name: project.inlet_with_mapping(reader, name) for name in pins}
    return {
        name: _slot_fingerprints(inlet, state.assets[name].position, pins[name].parts)
        if inlet.in_paths is None
        else _view_fingerprints(next(iter(inlet.views)), state.assets[name].position, pins[name].parts)
        for name, inlet in inlets.items()
        if inlet.source is not None and inlet.source.kind in _KINDS
    }


def pin_files(project: ProjectSpec, state: State, request: RunRequest) -> RunRequest:
    """The request whose pins tell these files from any others."""
    found = find_pinned_files(project, state, project.assets[request.asset], request.pins)
    told = {name: replace(request.pins[name], files=_digest(files)) for name, files in found.items()}
    return replace(request, pins={**request.pins, **told}) if told else request


def changed_file_inlets(files: Mapping[str, Any], pins: Mapping[str, InletPin]) -> tuple[str, ...]:
    """The inlets whose files are not those that were pinned."""
    return tuple(name for name, each in files.items() if pins[name].files not in ("", _digest(each)))


def _digest(files: Mapping[str, Any]) -> str:
    return blake2b(json.dumps(files, sort_keys=True).encode(), digest_size=_DIGEST_SIZE).hexdigest()


def _slot_fingerprints(source: AssetSpec, position: Mapping[str, Any], parts: PartitionSet) -> dict[str, Any]:
    """The fingerprints of the pinned time of a file source; a file may span several partitions of it."""
    partitioning = source.partitioning
    if parts.is_everything or not partitioning.is_partitioned or source.storage is None:
        return {key: seen for key, seen in position.items() if seen and key != BASE and not is_of_file(key)}
    pattern = PathPattern.parse(source.storage.as_path, partitioning.segment_columns)
    slots = {key: FileSlot.of_key(key, partitioning) for key in position}
    return {
        key: position[key]
        for key, slot in slots.items()
        if slot is not None and position[key] and parts.overlaps(slot.parts(pattern, partitioning))
    }


def _view_fingerprints(uri: str, position: Mapping[str, Any], parts: PartitionSet) -> dict[str, str]:
    """The fingerprints of the files that hold rows of the pinned partitions of a view, by its identity."""
    view = view_id(uri)
    known = {key: KnownFile.decode(value) for key, value in position.items() if is_of_file(key)}
    return {key: each.seen for key, each in known.items() if parts.is_everything or each.parts(view).overlaps(parts)}
