"""A plain reader of tidy CSV and JSON files, in the place of Spark."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.patterns import PathPattern
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.file_parts import ALWAYS, FileParts
from sparkassets.delta.partition_columns import columns_of
from sparkassets.errors import SourceError
from sparkassets.files.object_stores import local_path, open_store
from sparkassets.ports import FileContent

AS: Mapping[str, Callable[[str], Any]] = {"date": date.fromisoformat, "timestamp": datetime.fromisoformat}


class PlainTexts:
    """Implements `ports.TextFiles`; ``ready`` is whether there is a session."""

    def __init__(self, *, ready: bool = True) -> None:
        self.ready = ready

    def read_contents(
        self, asset: AssetSpec, view: Partitioning, paths: Sequence[str]
    ) -> Mapping[str, FileContent] | None:
        return {path: content(asset, view, path) for path in paths} if self.ready else None


def content(asset: AssetSpec, view: Partitioning, path: str) -> FileContent:
    """What one file holds."""
    assert asset.storage is not None
    assert asset.source is not None
    pattern = PathPattern.parse(asset.storage.path, asset.path_partitioning.segment_columns)
    given = dict(zip(asset.path_partitioning.segment_columns, pattern.segments_of_path(path) or (), strict=True))
    text = _bytes(pattern.root, path)
    lines = io.StringIO((gzip.decompress(text) if path.endswith(".gz") else text).decode())
    rows: Iterable[Mapping[str, Any]] = map(json.loads, lines)
    kinds = dict(asset.columns)
    if asset.source.kind == "csv":
        rows = table = csv.DictReader(lines, delimiter=asset.source.options.get("sep", ","))
        kinds = {name: kinds[name] for name in table.fieldnames or () if name in kinds}
    kinds |= dict.fromkeys(given, "string")
    fields = [{"name": name, "type": kind, "metadata": {}} for name, kind in kinds.items()]
    try:
        told = FileParts.from_columns(columns_of(json.dumps({"fields": fields}), view, source=asset.name), view)
    except SourceError as error:
        raise SourceError(f"{error.args[0]} (in the file '{path}')", hint=error.hint) from error
    cells = []
    for row in rows:
        segment = told.segment_of([given.get(name, row.get(name)) for name in view.segment_columns])
        span = ALWAYS if told.times is None else _span(told, row.get(told.times.column.name))
        if segment is not None and span is not None:
            cells.append((segment, span))
    return FileContent(
        PartitionSet.from_slots(cells), {name: sorted(some) for name, some in told.ignored_values.items()}
    )


def _bytes(root: str, path: str) -> bytes:
    if local_path(root) is not None:
        return Path(root, path).read_bytes()
    store, folder = open_store(root)
    with store.open_input_stream(f"{folder}/{path}", compression=None) as file:
        return bytes(file.read())


def _span(told: FileParts, text: str | None) -> tuple[int, int] | None:
    assert told.times is not None
    try:
        return told.times.of_value(AS[told.times.column.kind](text or ""))
    except ValueError:
        told.times.leave_out("NULL")
        return None
