"""Splits a table's files by the partitions they hold: inside, outside, mixed; and by newest value."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import Partitioning, PartitionSet, RangeSet, TimePartition
from sparkassets.delta.file_parts import FilePart, FileParts
from sparkassets.delta.live_files import LiveFile, PartitionValue, flat_adds, live_files
from sparkassets.delta.log import FileAction
from sparkassets.delta.partition_columns import NOWHEN, FileTime, Span, find_columns
from sparkassets.delta.staging import StagedFile
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from arro3.core import Table
    from deltalake import DeltaTable

_ALWAYS = RangeSet.always()
_Told = tuple[tuple[str | None, str | None, bool] | None, ...]
"""Of each dimension of segments the least and the greatest, and whether all rows have that one; None where untold."""


@frozen
class FileSplit:
    """Every live file, once.

    Attributes:
        inside: Every row is in the partitions.
        mixed: Some rows may be, others may not.
        outside: No row is.
    """

    inside: tuple[LiveFile, ...] = ()
    mixed: tuple[LiveFile, ...] = ()
    outside: tuple[LiveFile, ...] = ()

    def without(self, paths: Container[str]) -> FileSplit:
        """Those of other paths."""
        inside, mixed = (tuple(file for file in files if file.path not in paths) for files in (self.inside, self.mixed))
        return FileSplit(inside, mixed, self.outside)


def split_files(table: DeltaTable, parts: PartitionSet, *, partitioning: Partitioning) -> FileSplit:
    """The live files of ``table``, at the version that is loaded, against ``parts``, whole partitions.

    A row without a time is in no partition, but of one that is always; nor is one without a segment, but where all
    have the same time. By partition values and statistics alone: no file is read.

    Raises:
        SourceError: deltalake cannot tell the files.
    """
    return TableFiles.load_files(table).split_files(parts, partitioning=partitioning)


@dataclass(slots=True, eq=False, repr=False)
class TableFiles:
    """The live files of a version of a table, for who asks of several sets of partitions where they lie.

    Attributes:
        schema: The table's, as JSON.
    """

    adds: Table
    files: list[LiveFile]
    schema: str
    _told: dict[Partitioning, _FilesByTime] = field(default_factory=dict)

    @classmethod
    def load_files(cls, table: DeltaTable) -> TableFiles:
        """Those of the version that is loaded.

        Raises:
            SourceError: deltalake cannot tell the files.
        """
        adds = flat_adds(table)
        return cls(adds, live_files(adds), table.schema().to_json())

    def split_files(self, parts: PartitionSet, *, partitioning: Partitioning) -> FileSplit:
        """They against ``parts``, as `split_files` has it."""
        files = self.files
        if parts.is_everything or not parts:
            return FileSplit(inside=tuple(files)) if parts else FileSplit(outside=tuple(files))
        apart, rest = partitioning.without_whole_dimensions(parts)
        if apart is not partitioning:  # rows without a segment may be among those of the whole
            found = self.split_files(rest, partitioning=apart)
            return FileSplit(mixed=(*found.inside, *found.mixed), outside=found.outside)
        told = self._read_parts(parts, partitioning)
        if told is None:
            return FileSplit(mixed=tuple(files))
        holding = _HoldingCheck(parts, told.told)
        held: dict[bool | None, list[LiveFile]] = {True: [], None: [], False: []}
        for file, part in zip(files, told.parts, strict=True):
            held[holding.check_file(part, file.partition.get(told.folder) if told.folder else None)].append(file)
        return FileSplit(tuple(held[True]), tuple(held[None]), tuple(held[False]))

    def find_holding(self, parts: PartitionSet, *, partitioning: Partitioning) -> list[LiveFile]:
        """Those that `split_files` has inside or mixed, in no order; takes time by what lies near ``parts``."""
        partitioning, parts = partitioning.without_whole_dimensions(parts)
        told = self._read_parts(parts, partitioning) if parts.extent is not None else None
        if told is None or parts.extent is None:
            found = self.split_files(parts, partitioning=partitioning)
            return [*found.inside, *found.mixed]
        holding, folder = _HoldingCheck(parts, told.told), told.folder
        near = ((self.files[place], told.parts[place]) for place in told.near(*parts.extent))
        return [
            file
            for file, part in near
            if holding.check_file(part, file.partition.get(folder) if folder else None) is not False
        ]

    def _read_parts(self, parts: PartitionSet, partitioning: Partitioning) -> _FilesByTime | None:
        """What is told of the files' partitions; None where nothing can be."""
        columns = find_columns(self.schema, partitioning) if partitioning.is_partitioned else None
        if columns is None:
            return None
        knowing = partitioning.with_segments_of(parts)
        if knowing not in self._told:
            told = FileParts.from_columns(columns, knowing)
            folder = None if columns.time is None else columns.time.name
            self._told[knowing] = _FilesByTime(told, list(told.read_live(self.adds).values()), folder)
        return self._told[knowing]


class _FilesByTime:
    """The partitions of files.

    Attributes:
        told: Tells them.
        parts: One for each file.
        folder: The column of time by which folders may be named.
    """

    def __init__(self, told: FileParts, parts: list[FilePart], folder: str | None) -> None:
        self.told, self.parts, self.folder = told, parts, folder
        timed = [(part.span, place) for place, part in enumerate(parts) if _is_plain(part)]
        self._timed = sorted(timed)
        self._others = [place for place, part in enumerate(parts) if not _is_plain(part)]
        self._longest = max((end - start for (start, end), _ in timed), default=0)

    def near(self, start: int, end: int) -> Iterator[int]:
        """The places of all files but such whose rows all lie before ``start`` or not before ``end``."""
        yield from self._others
        first = bisect_left(self._timed, ((start - self._longest, start - self._longest), -1))
        for (low, high), place in self._timed[first:]:
            if low >= end:
                return
            if high > start:
                yield place


@frozen
class StagedSplit:
    """Staged files: those whose rows all are in some partitions, those with such and others, and all others."""

    inside: tuple[StagedFile, ...] = ()
    mixed: tuple[StagedFile, ...] = ()
    outside: tuple[StagedFile, ...] = ()


def split_staged(
    fields: Sequence[Mapping[str, Any]],
    files: Sequence[StagedFile],
    parts: PartitionSet,
    *,
    partitioning: Partitioning,
) -> StagedSplit:
    """How files that are not committed yet lie against ``parts``, whole partitions, as `split_files` has it.

    Args:
        fields: The columns of their table, as Delta has them in JSON.
        files: With rows.
        parts: Of ``partitioning``.
        partitioning: Tells by which column a row is of a partition.
    """
    if parts.is_everything or not parts:
        return StagedSplit(inside=tuple(files)) if parts else StagedSplit(outside=tuple(files))
    columns = find_columns(json.dumps({"type": "struct", "fields": list(fields)}), partitioning)
    if columns is None:
        return StagedSplit(mixed=tuple(files))
    told = FileParts.from_columns(columns, partitioning.with_segments_of(parts))
    holding, folder = _HoldingCheck(parts, told), None if columns.time is None else columns.time.name
    held: dict[bool | None, list[StagedFile]] = {True: [], None: [], False: []}
    for file in files:
        part = told.read_action(file.partition, json.loads(file.stats))
        held[holding.check_file(part, file.partition.get(folder) if folder else None)].append(file)
    return StagedSplit(tuple(held[True]), tuple(held[None]), tuple(held[False]))


def _is_plain(part: FilePart) -> bool:
    """Whether all rows of a file surely have a time, and it is told between which two they lie."""
    time = part.time
    return time is not None and time.exact and not time.nulls and time.start < time.end


def make_touch_test(
    table: DeltaTable, parts: PartitionSet, *, partitioning: Partitioning, found: FileSplit
) -> Callable[[FileAction], bool]:
    """Tells of a file that came or went after the loaded version whether rows of ``parts`` may be in it.

    What leaves is mostly told without statistics: it was ``found`` there, or came meanwhile and was judged then.
    """
    partitioning, parts = partitioning.without_whole_dimensions(parts)
    columns = find_columns(table.schema().to_json(), partitioning)
    if parts.is_everything or columns is None or not partitioning.is_partitioned:
        return lambda _: bool(parts)
    told, folder = (
        FileParts.from_columns(columns, partitioning.with_segments_of(parts)),
        None if columns.time is None else columns.time.physical,
    )
    holding = _HoldingCheck(parts, told)
    there = frozenset(file.place for file in (*found.inside, *found.mixed))

    def touches(file: FileAction) -> bool:
        if not file.added:
            return unquote(file.path) in there
        partition = file.partition or {}
        part = told.read_action(partition, file.stats)
        return holding.check_file(part, partition.get(folder) if folder else None) is not False

    return touches


class _HoldingCheck:
    """Whether a set of partitions holds the rows of a file: all, none, or (None) some or perhaps some."""

    def __init__(self, parts: PartitionSet, told: FileParts) -> None:
        """``told`` tells the partitions of the files."""
        self._parts = parts
        self._told = told
        self._together = parts.by_time()
        time = told.partitioning.time
        self._excluding = time if time is not None and time.exclude else None
        self._usual = self._time(parts.time)
        self._known: dict[_Told, tuple[_HoldingTimeCheck, bool]] = {}

    def check_file(self, part: FilePart, folder: PartitionValue) -> bool | None:
        """The same of a file, and the value of time that its folder is named by, if it is."""
        if not self._parts.apart:
            return self._usual.check_time(part.time, folder)
        told = tuple(
            None if each is None else (each.low, each.high, each.exact and not each.nulls) for each in part.segments
        )
        if told not in self._known:
            self._known[told] = self._times(part)
        time, exact = self._known[told]
        held = time.check_time(part.time, folder)
        return held if exact or held is False else None

    def _times(self, part: FilePart) -> tuple[_HoldingTimeCheck, bool]:
        """The time of the tuples that rows of such a file may be of, and whether all of them are of one."""
        if any(each is not None and each.low is None for each in part.segments):  # without one, or with an unknown one
            return self._time(self._parts.time), False
        if part.segment is not None and not any(each is None or each.nulls for each in part.segments):
            return self._time(self._parts.time_of(part.segment)), True
        times = [
            time
            for time, segments in self._together.items()
            if any(self._told.may_be(segment, part) for segment in segments)
        ]
        return self._time(RangeSet.union([self._parts.time, *times])), False

    def _time(self, ranges: RangeSet) -> _HoldingTimeCheck:
        return _HoldingTimeCheck(ranges, self._excluding)


@frozen
class _HoldingTimeCheck:
    """The same of ranges and the time of a file; asks once for a span.

    Attributes:
        excluding: The dimension of time, where something is excluded: rows between two slots may be in none.
    """

    ranges: RangeSet
    excluding: TimePartition | None
    _known: dict[Span, bool | None] = field(default_factory=dict)

    def check_time(self, when: FileTime | None, folder: PartitionValue) -> bool | None:
        """Always holds rows without a time too."""
        if self.ranges in (RangeSet(), _ALWAYS):
            return bool(self.ranges)
        if when is None or (when is NOWHEN and folder not in (None, "")):  # a date that clocks skip, say
            return None
        if when.start == when.end:
            return False
        if when.span not in self._known:
            span = RangeSet.span(*when.span)
            whole = self.ranges.covers(span) and not self._has_gaps(*when.span)
            self._known[when.span] = True if whole else None if self.ranges.overlaps(span) else False
        held = self._known[when.span]
        return None if held and (when.nulls or not when.plain) else held

    def _has_gaps(self, start: int, end: int) -> bool:
        time = self.excluding
        if time is None:
            return False
        own = RangeSet.span(start, time.stop(time.floor(end - 1)))
        return time.exact(own) != own


_ROUGH: Final = timedelta(milliseconds=1)
"""Statistics have instants in whole milliseconds, rounded off."""
_PARSED: Final[Mapping[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    "date": date.fromisoformat,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), lambda text: datetime.fromisoformat(text) - _ROUGH),
    "string": str,
}
"""Of the types whose bounds in the log are exact, or err upwards: not so decimals, which are numbers of JSON there."""
_LONGEST_MONTH, _LONGEST_DAY = 31, timedelta(hours=25)
_OF_DATES: Final = timedelta(days=2)
"""Time is taken off a date from its midnight on, which comes to the day before; and that day belongs."""


@frozen
class NewerRows:
    """Rows whose value of a column is above ``low``, or from ``overlap`` below it on.

    Attributes:
        low: As Spark writes it; instants with their zone, which is UTC.
    """

    column: str
    low: str
    overlap: Duration | None = None

    def find_files(self, files: TableFiles) -> list[LiveFile]:
        """The files that may hold such rows; all of them where that cannot be told."""
        bound, highest = self._bound(files), self._highest(files)
        if bound is None or highest is None:
            return files.files
        told = zip(files.files, highest, strict=True)
        return [file for file, value in told if value is None or not _is_before(value, bound)]

    def _bound(self, files: TableFiles) -> Any:  # noqa: ANN401  of the column's type
        """What newer values are above; None where this is no such column."""
        fields: Sequence[Mapping[str, Any]] = json.loads(files.schema)["fields"]
        kind = next((field["type"] for field in fields if field["name"].lower() == self.column.lower()), None)
        parsed = _PARSED.get(kind) if isinstance(kind, str) else None
        if parsed is None:
            return None
        try:
            low = parsed(self.low)
            return low if self.overlap is None else low - _longest_span(self.overlap)
        except (ValueError, TypeError, OverflowError):
            return None

    def _highest(self, files: TableFiles) -> Sequence[Any] | None:
        """The highest value in each file; None where the log has none for this column."""
        wanted = (f"max.{self.column}".lower(), f"partition.{self.column}".lower())
        name = next((name for name in files.adds.schema.names if name.lower() in wanted), None)
        if name is None or "." in self.column:  # such a name may mean a field of another column
            return None
        try:
            values: Sequence[Any] = files.adds.column(name).to_pylist()
        except (ValueError, OverflowError):
            return None
        return values


def _longest_span(span: Duration) -> timedelta:
    """As much as a length of time can be in any zone, or more."""
    return (span.months * _LONGEST_MONTH + span.days) * _LONGEST_DAY + timedelta(seconds=span.seconds) + _OF_DATES


def _is_before(value: Any, bound: Any) -> bool:  # noqa: ANN401  of the column's type
    try:
        return bool(value <= bound)
    except TypeError:  # written as something else than the column is now
        return False
