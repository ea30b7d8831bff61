"""Reads files whose statistics leave open whether all of their rows are in a set of partitions.

The bounds of a column say that the segments in a file lie between ``de`` and ``nl``. They do not exclude ``fr``, which
may be no segment of the asset. A file that holds all segments of a day would therefore count as one with other rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.core.partitions import Partitioning, PartitionSet, RangeSet
from sparkassets.delta.columns import find_columns
from sparkassets.delta.file_parts import FilePart, FileParts
from sparkassets.delta.file_split import FileSplit
from sparkassets.delta.live_files import LiveFile, flat_adds
from sparkassets.delta.rows import DataFiles, Rows
from sparkassets.files.object_stores import local_path

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MOST_ROWS: Final = 20_000_000
"""Of more rows, to copy those that stay takes no longer than to find that there are none."""

_TimesByKey = Sequence[Mapping[str, RangeSet]]
"""For each dimension of segments, by key, the time of all partitions with that key."""


def examine_mixed_files(
    path: str, table: DeltaTable, slices: FileSplit, parts: PartitionSet, *, partitioning: Partitioning
) -> FileSplit:
    """Moves mixed files to those inside where their segments, once read, all are in ``parts``.

    Args:
        path: Of the table.
        table: At the version of the files.
        slices: The files against ``parts``, by statistics.
        parts: Whole partitions of ``partitioning``.
        partitioning: Tells by which column a row is of a partition.

    Raises:
        SourceError: deltalake cannot list the files.
    """
    columns = find_columns(table.schema().to_json(), partitioning) if slices.mixed and partitioning.segments else None
    if columns is None or not parts.apart:
        return slices
    told = FileParts.from_columns(columns, partitioning.with_segments_of(parts))
    live, times = told.read_live(flat_adds(table)), _times_by_key(parts, dimensions=len(partitioning.segments))
    likely = {file.path: live[file.path] for file in slices.mixed if _is_likely(file, live[file.path], times)}
    if not likely or sum(file.rows or 0 for file in slices.mixed if file.path in likely) > _MOST_ROWS:
        return slices
    found = dict(zip(likely, DataFiles(local_path(path) or path, told).read_rows(likely, kept={}), strict=True))
    whole = {file.path for file in slices.mixed if file.path in found and _is_within(file, found[file.path], parts)}
    mixed = tuple(file for file in slices.mixed if file.path not in whole)
    return FileSplit((*slices.inside, *(file for file in slices.mixed if file.path in whole)), mixed, slices.outside)


def _times_by_key(parts: PartitionSet, *, dimensions: int) -> _TimesByKey:
    found: list[defaultdict[str, list[RangeSet]]] = [defaultdict(list) for _ in range(dimensions)]
    for segment, time in parts.apart:
        for number, key in enumerate(segment):
            found[number][key].append(time)
    return [{key: RangeSet.union(times) for key, times in each.items()} for each in found]


def _is_likely(file: LiveFile, part: FilePart, times: _TimesByKey) -> bool:
    """Whether the partitions include the least and the greatest segment of a file, at all of its time."""
    if file.rows is None or part.time is None or part.nulls:
        return False
    span = RangeSet.span(*part.span)
    bounds = [
        (by_key, key)
        for each, by_key in zip(part.segments, times, strict=True)
        if each is not None
        for key in (each.low, each.high)
    ]
    return all(key is not None and key in by_key and by_key[key].covers(span) for by_key, key in bounds)


def _is_within(file: LiveFile, rows: Rows | OSError, parts: PartitionSet) -> bool:
    """Whether each of a file's rows is known to be in the partitions."""
    if isinstance(rows, OSError):
        return False
    counts = [
        count or 0 for (segment, span), count in rows.items() if parts.time_of(segment).covers(RangeSet.span(*span))
    ]
    return sum(counts) == file.rows
