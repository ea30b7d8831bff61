"""Pins the files that a run reads when it is claimed, and finds the partitions that an unreadable file spoils."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from sparkassets.core.journal.state import State
from sparkassets.core.partitions import NOTHING, Dependency, PartitionSet
from sparkassets.core.patterns import JOURNAL_CURSOR, FileSlot, KnownFile, is_of_file, is_of_slot
from sparkassets.core.runs import InletPin, RunRequest
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.source_views import source_pattern, view_id
from sparkassets.digests import blake2b
from sparkassets.errors import RunError
from sparkassets.ports import RunOrder

_DIGEST_SIZE = 16


def find_pinned_files(
    project: ProjectSpec, state: State, reader: AssetSpec, pins: Mapping[str, InletPin]
) -> dict[str, Any]:
    """Inlet to the recorded fingerprints of the files that its pin covers; only for inlets read from files.

    The keys are those of the source's ``position`` in the state: one a time slot, or one a file for a view.
    """
    inlets = {name: project.inlet_with_mapping(reader, name) for name in pins}
    return {
        name: _slot_fingerprints(inlet, state.assets[name].position, pins[name].parts)
        if inlet.in_paths is None
        else _view_fingerprints(next(iter(inlet.views)), state.assets[name].position, pins[name].parts)
        for name, inlet in inlets.items()
        if inlet.source is not None and inlet.source.varies
    }


def pin_files(project: ProjectSpec, state: State, request: RunRequest) -> RunRequest:
    """The request with a digest of the pinned files in each pin, so that the run notices a changed file."""
    files_by_inlet = find_pinned_files(project, state, project.assets[request.asset], request.pins)
    pins = {name: replace(request.pins[name], files=_digest(files)) for name, files in files_by_inlet.items()}
    return replace(request, pins={**request.pins, **pins}) if pins else request


def changed_file_inlets(files: Mapping[str, Any], pins: Mapping[str, InletPin]) -> tuple[str, ...]:
    """Inlets whose files differ from the pinned ones; a pin without a digest is never reported."""
    return tuple(name for name, each in files.items() if pins[name].files not in ("", _digest(each)))


def _digest(files: Mapping[str, Any]) -> str:
    return blake2b(json.dumps(files, sort_keys=True).encode(), digest_size=_DIGEST_SIZE).hexdigest()


def _slot_fingerprints(source: AssetSpec, position: Mapping[str, Any], parts: PartitionSet) -> dict[str, Any]:
    """Position key of a time slot to its fingerprint, for the slots of a file source that ``parts`` overlaps.

    All slots without a partitioning, or if everything is pinned. One file may span several partitions of its source.
    """
    partitioning = source.partitioning
    recorded = {key: each for key, each in position.items() if each and key != JOURNAL_CURSOR and is_of_slot(key)}
    if parts.is_everything or not partitioning.is_partitioned:
        return recorded
    pattern = source_pattern(source)
    slots = {key: FileSlot.of_key(key, partitioning) for key in recorded}
    pinned = (
        key for key, slot in slots.items() if slot is not None and parts.overlaps(slot.parts(pattern, partitioning))
    )
    return {key: recorded[key] for key in pinned}


def _view_fingerprints(uri: str, position: Mapping[str, Any], parts: PartitionSet) -> dict[str, str]:
    """File key to fingerprint, for the files that hold rows of the pinned ``parts`` of the view with this URI."""
    view = view_id(uri)
    files = {key: KnownFile.decode(value) for key, value in position.items() if is_of_file(key)}
    return {key: file.seen for key, file in files.items() if parts.is_everything or file.parts(view).overlaps(parts)}


def bad_partitions(order: RunOrder, error: BaseException) -> PartitionSet:
    """The run's partitions that read a file which the error names; nothing if paths do not say the partition."""
    if not issubclass(type(error), RunError) or not isinstance(error, RunError) or order.partitions.is_everything:
        return NOTHING
    partitions = [
        _partitions_that_read(order, upstream, path) for upstream in order.inlets.values() for path in error.files
    ]
    return PartitionSet.union(partitions) & order.partitions


def _partitions_that_read(order: RunOrder, upstream: AssetSpec, path: str) -> PartitionSet:
    """The partitions whose mapping requires the file; nothing if the inlet has no mapping or is a view."""
    inlet = order.asset.inlets.get(upstream.name)
    if inlet is None or inlet.mapping is None or inlet.view is not None:
        return NOTHING
    dependency = Dependency(inlet.mapping, order.asset.partitioning, upstream.partitioning, inlet.matches)
    return dependency.affected_partitions(_partitions_of_file(upstream, path))


def _partitions_of_file(source: AssetSpec, path: str) -> PartitionSet:
    """The source's partition that a file is in by its path; nothing if the path does not say, or is another's."""
    if source.source is None or source.storage is None or source.in_paths is not None:
        return NOTHING
    pattern = source_pattern(source)
    root = _without_scheme(pattern.root).rstrip("/") + "/"
    for candidate in (_without_scheme(path), _without_scheme(unquote(path))):
        if pattern.fields and candidate.startswith(root):
            slot = pattern.slot_of_path(candidate.removeprefix(root), source.path_partitioning)
            if slot is not None:
                return PartitionSet.from_slots([slot])
    return NOTHING


def _without_scheme(path: str) -> str:
    """A path without its scheme, which Spark writes as ``file:/a`` and ``file:///a``."""
    scheme, colon, rest = path.partition(":")
    return (rest if colon and "/" not in scheme else path).lstrip("/")
