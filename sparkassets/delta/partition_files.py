"""Files by partition: which came out unchanged, and which mixed files hold rows of a run."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
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
"""A slot, and the one tuple of segments whose rows are meant; None for all of them."""


@frozen
class PartitionGroup:
    """Partitions, and all files that hold rows of them: the table's, and those that are to take their place.

    Attributes:
        parts: The partitions; of several where some file holds rows of several.
        single: Whether it is one partition.
    """

    parts: PartitionSet
    table_files: tuple[LiveFile, ...] = ()
    staged_files: tuple[StagedFile, ...] = ()
    single: bool = False

    @property
    def differs(self) -> bool:
        """Whether it is one partition that surely has other rows, as more or fewer come than go."""
        known = [each.rows for each in self.table_files if each.rows is not None]
        counted = len(known) == len(self.table_files)
        return self.single and counted and sum(known) != sum(each.rows for each in self.staged_files)


@frozen
class UnchangedFiles:
    """What came out as it was.

    Attributes:
        parts: The partitions.
        table_paths: Paths of the table's files that hold them, and can stay.
        staged_paths: Those of the files that hold the same, and are not needed.
        rows: How many they hold.
    """

    parts: PartitionSet = NOTHING
    table_paths: frozenset[str] = frozenset()
    staged_paths: frozenset[str] = frozenset()
    rows: int = 0

    @classmethod
    def from_groups(cls, groups: Sequence[PartitionGroup], *, beside: PartitionSet = NOTHING) -> UnchangedFiles:
        """All of these groups, and partitions ``beside`` that share files with others."""
        staged = [file for group in groups for file in group.staged_files]
        return cls(
            PartitionSet.union([*(group.parts for group in groups), beside]),
            frozenset(file.path for group in groups for file in group.table_files),
            frozenset(file.path for file in staged),
            sum(file.rows for file in staged),
        )


def is_known_position(path: str, table: DeltaTable, told: tuple[str, int] | None) -> bool:
    """Whether the rows of the loaded version are those of ``told``, a table's id and its version.

    Others may have moved them to other files since.
    """
    if told is None or told[0] != str(table.metadata().id) or told[1] > table.version():
        return False
    if told[1] == table.version():
        return True
    commits = [each for each in DeltaLog(path).read_after(told[1]) if each.version <= table.version()]
    harmless = not any(each.files or each.metadata is not None for each in commits)
    return harmless and len(commits) == table.version() - told[1]


def group_by_files(
    table: DeltaTable,
    partitions: PartitionSet,
    *,
    partitioning: Partitioning,
    there: Sequence[LiveFile],
    staged: Sequence[StagedFile],
) -> list[PartitionGroup]:
    """The partitions by the files that hold their rows.

    Those of one slot are one group where a file holds rows of several segments; all are where a file may hold rows of
    several slots.

    Args:
        table: At the version whose files are ``there``.
        partitions: That are computed.
        partitioning: Whose.
        there: The files of the table that hold rows of the partitions, and of no others.
        staged: Those that are to take their place.

    Raises:
        SourceError: deltalake cannot tell the table's files.
    """
    found = _by_place(table, partitioning.with_segments_of(partitions), there, staged)
    if found is None:
        return [PartitionGroup(partitions, tuple(there), tuple(staged), single=not partitioning.is_partitioned)]
    groups = [
        PartitionGroup(
            partitions & partitioning.cover(_parts(place)),
            tuple(old),
            tuple(new),
            single=place[0] is not None or not partitioning.segments,
        )
        for place, (old, new) in found.items()
    ]
    bare = partitions - PartitionSet.union(group.parts for group in groups)
    return [*groups, PartitionGroup(bare)] if bare else groups


def _parts(place: _Place) -> PartitionSet:
    segment, span = place
    return PartitionSet(RangeSet.span(*span)) if segment is None else PartitionSet.from_slots([(segment, span)])


def _by_place(
    table: DeltaTable, partitioning: Partitioning, there: Sequence[LiveFile], staged: Sequence[StagedFile]
) -> dict[_Place, tuple[list[LiveFile], list[StagedFile]]] | None:
    """The files by what all of their rows are of; None where not each is known to have one slot."""
    columns = find_columns(table.schema().to_json(), partitioning) if partitioning.is_partitioned else None
    if columns is None:
        return None
    told = FileParts.from_columns(columns, partitioning)
    live = told.read_live(flat_adds(table))
    old = [live[file.path] for file in there]
    new = [told.read_action(made.partition, json.loads(made.stats)) for made in staged]
    shared = {part.span for part in (*old, *new) if part.cell is None}
    if not all(part.cell is not None or part.is_of_one_slot for part in (*old, *new)):
        return None
    found = defaultdict[_Place, tuple[list[LiveFile], list[StagedFile]]](lambda: ([], []))
    for part, file in zip(old, there, strict=True):
        found[_place(part, shared)][0].append(file)
    for part, made in zip(new, staged, strict=True):
        found[_place(part, shared)][1].append(made)
    return found


def _place(part: FilePart, shared: Container[Span]) -> _Place:
    return (None, part.span) if part.cell is None or part.span in shared else part.cell


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
