"""Files by partition: which came out unchanged, and which mixed files hold rows of a run.

The bounds of a column say that the segments in a file lie between ``de`` and ``nl``. They do not exclude ``fr``, which
may be no segment of the asset. A file that holds all segments of a day would therefore count as mixed; so such files
are read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet, RangeSet, Segment
from sparkassets.delta.file_parts import FilePart, FileParts
from sparkassets.delta.file_split import FileSplit
from sparkassets.delta.live_files import LiveFile, flat_adds
from sparkassets.delta.log import DeltaLog
from sparkassets.delta.partition_columns import Span, find_columns
from sparkassets.delta.rows import DataFiles, Rows
from sparkassets.delta.staging import StagedFile
from sparkassets.files.object_stores import local_path
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from deltalake import DeltaTable

_Place = tuple[Segment | None, Span]
"""A slot, and one tuple of segments; None for all of them."""


@frozen
class PartitionGroup:
    """Partitions that share files: the table's files with their rows, and the staged ones that replace these.

    Attributes:
        parts: The partitions; several if a file holds rows of several.
        single: Whether it is one partition.
    """

    parts: PartitionSet
    table_files: tuple[LiveFile, ...] = ()
    staged_files: tuple[StagedFile, ...] = ()
    single: bool = False

    @property
    def differs(self) -> bool:
        """Whether it is surely changed: one partition whose number of rows is another than before."""
        row_counts = [each.rows for each in self.table_files if each.rows is not None]
        is_counted = len(row_counts) == len(self.table_files)
        return self.single and is_counted and sum(row_counts) != sum(each.rows for each in self.staged_files)


@frozen
class UnchangedFiles:
    """The partitions that came out unchanged, with the files that need no commit.

    Attributes:
        parts: The partitions.
        table_paths: Paths of the table's files with their rows, which can stay.
        staged_paths: Paths of the staged files with their rows, which are not needed.
        rows: The number of rows in these staged files.
    """

    parts: PartitionSet = NOTHING
    table_paths: frozenset[str] = frozenset()
    staged_paths: frozenset[str] = frozenset()
    rows: int = 0

    @classmethod
    def from_groups(cls, groups: Sequence[PartitionGroup], *, beside: PartitionSet = NOTHING) -> UnchangedFiles:
        """The unchanged groups with their files; ``beside`` are unchanged partitions in files of changed ones."""
        staged = [file for group in groups for file in group.staged_files]
        return cls(
            PartitionSet.union([*(group.parts for group in groups), beside]),
            frozenset(file.path for group in groups for file in group.table_files),
            frozenset(file.path for file in staged),
            sum(file.rows for file in staged),
        )


def is_known_position(path: str, table: DeltaTable, position: tuple[str, int] | None) -> bool:
    """Whether the loaded version has the same rows as ``position``, a table's id and its version; False for None.

    Commits in between may only have moved rows to other files.
    """
    if position is None or position[0] != str(table.metadata().id) or position[1] > table.version():
        return False
    if position[1] == table.version():
        return True
    commits = [each for each in DeltaLog(path).read_after(position[1]) if each.version <= table.version()]
    has_same_rows = not any(each.files or each.metadata is not None for each in commits)
    return has_same_rows and len(commits) == table.version() - position[1]


def group_by_files(
    table: DeltaTable,
    partitions: PartitionSet,
    *,
    partitioning: Partitioning,
    table_files: Sequence[LiveFile],
    staged: Sequence[StagedFile],
) -> list[PartitionGroup]:
    """Groups the partitions so that no file holds rows of two groups.

    Partitions of one slot form one group if a file holds rows of several segments; all partitions form one if a file
    may hold rows of several slots.

    Args:
        table: At the version whose files are ``table_files``.
        partitions: The computed partitions.
        partitioning: Their partitioning.
        table_files: The table's files with rows of the partitions only.
        staged: The files that replace them.

    Raises:
        SourceError: deltalake cannot tell the table's files.
    """
    files_by_place = _group_by_place(table, partitioning.with_segments_of(partitions), table_files, staged)
    if files_by_place is None:
        return [PartitionGroup(partitions, tuple(table_files), tuple(staged), single=not partitioning.is_partitioned)]
    groups = [
        PartitionGroup(
            partitions & partitioning.cover(_place_partitions(place)),
            tuple(old),
            tuple(new),
            single=place[0] is not None or not partitioning.segments,
        )
        for place, (old, new) in files_by_place.items()
    ]
    without_files = partitions - PartitionSet.union(group.parts for group in groups)
    return [*groups, PartitionGroup(without_files)] if without_files else groups


def _place_partitions(place: _Place) -> PartitionSet:
    segment, span = place
    return PartitionSet(RangeSet.span(*span)) if segment is None else PartitionSet.from_slots([(segment, span)])


def _group_by_place(
    table: DeltaTable, partitioning: Partitioning, table_files: Sequence[LiveFile], staged: Sequence[StagedFile]
) -> dict[_Place, tuple[list[LiveFile], list[StagedFile]]] | None:
    """The table's and the staged files by the partition of all their rows, or by slot where segments share a file.

    None if the rows of some file are not known to be of one slot.
    """
    columns = find_columns(table.schema().to_json(), partitioning) if partitioning.is_partitioned else None
    if columns is None:
        return None
    file_parts = FileParts.from_columns(columns, partitioning)
    live = file_parts.read_live(flat_adds(table))
    old = [live[file.path] for file in table_files]
    new = [file_parts.read_action(staged_file.partition, json.loads(staged_file.stats)) for staged_file in staged]
    shared_slots = {part.span for part in (*old, *new) if part.cell is None}
    if not all(part.cell is not None or part.is_of_one_slot for part in (*old, *new)):
        return None
    files_by_place = defaultdict[_Place, tuple[list[LiveFile], list[StagedFile]]](lambda: ([], []))
    for part, file in zip(old, table_files, strict=True):
        files_by_place[_find_place(part, shared_slots)][0].append(file)
    for part, staged_file in zip(new, staged, strict=True):
        files_by_place[_find_place(part, shared_slots)][1].append(staged_file)
    return files_by_place


def _find_place(part: FilePart, shared_slots: Container[Span]) -> _Place:
    return (None, part.span) if part.cell is None or part.span in shared_slots else part.cell


_MOST_ROWS: Final = 20_000_000
"""Above this, copying the rows that stay takes no longer than checking that there are none."""

_TimesByKey = Sequence[Mapping[str, RangeSet]]
"""For each segment dimension, by key: the time of all partitions with that key."""


def examine_mixed_files(
    path: str, table: DeltaTable, split: FileSplit, parts: PartitionSet, *, partitioning: Partitioning
) -> FileSplit:
    """The split, with mixed files inside whose segments, once read, all turn out to be in ``parts``.

    Args:
        path: The table's path.
        table: At the version of the files.
        split: The files, split by ``parts`` from statistics alone.
        parts: Whole partitions of ``partitioning``.
        partitioning: Determines by its columns which partition a row is in.

    Raises:
        SourceError: deltalake cannot list the files.
    """
    columns = find_columns(table.schema().to_json(), partitioning) if split.mixed and partitioning.segments else None
    if columns is None or not parts.apart:
        return split
    file_parts = FileParts.from_columns(columns, partitioning.with_segments_of(parts))
    covered = _find_covered_files(path, table, split.mixed, parts, file_parts)
    inside = tuple(file for file in split.mixed if file.path in covered)
    mixed = tuple(file for file in split.mixed if file.path not in covered)
    return FileSplit((*split.inside, *inside), mixed, split.outside)


def _find_covered_files(
    path: str, table: DeltaTable, mixed: Sequence[LiveFile], parts: PartitionSet, file_parts: FileParts
) -> Collection[str]:
    """Paths of mixed files whose rows all turn out to be in ``parts``; reads only files where that is likely."""
    live, times = file_parts.read_live(flat_adds(table)), _times_by_key(parts, dimensions=len(file_parts.segments))
    likely = [file for file in mixed if _is_likely(file, live[file.path], times)]
    if not likely or sum(file.rows or 0 for file in likely) > _MOST_ROWS:
        return ()
    files = DataFiles(local_path(path) or path, file_parts)
    row_counts = files.read_rows({file.path: live[file.path] for file in likely}, kept={})
    return {file.path for file, rows in zip(likely, row_counts, strict=True) if _is_within(file, rows, parts)}


def _times_by_key(parts: PartitionSet, *, dimensions: int) -> _TimesByKey:
    found: list[defaultdict[str, list[RangeSet]]] = [defaultdict(list) for _ in range(dimensions)]
    for segment, time in parts.apart:
        for number, key in enumerate(segment):
            found[number][key].append(time)
    return [{key: RangeSet.union(times) for key, times in ranges_by_key.items()} for ranges_by_key in found]


def _is_likely(file: LiveFile, part: FilePart, times: _TimesByKey) -> bool:
    """Whether ``parts`` include the file's least and greatest segment at all its times: reading may pay off."""
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
    """Whether all of a file's rows are known to be in the partitions."""
    if isinstance(rows, OSError):
        return False
    counts = [
        count or 0 for (segment, span), count in rows.items() if parts.time_of(segment).covers(RangeSet.span(*span))
    ]
    return sum(counts) == file.rows
