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
_SegmentBounds = tuple[tuple[str | None, str | None, bool] | None, ...]
"""For each segment dimension: least and greatest, and whether all rows have it; None where unknown."""


@frozen
class FileSplit:
    """The files of a version, split by a set of partitions.

    Attributes:
        inside: Every row is in the partitions.
        mixed: Some rows may be in them, others may not.
        outside: No row is in them.
    """

    inside: tuple[LiveFile, ...] = ()
    mixed: tuple[LiveFile, ...] = ()
    outside: tuple[LiveFile, ...] = ()

    def without(self, paths: Container[str]) -> FileSplit:
        """The split without inside and mixed files of these paths."""
        inside, mixed = (tuple(file for file in files if file.path not in paths) for files in (self.inside, self.mixed))
        return FileSplit(inside, mixed, self.outside)


def split_files(table: DeltaTable, parts: PartitionSet, *, partitioning: Partitioning) -> FileSplit:
    """Splits the live files of the loaded version by ``parts``, whole partitions; reads no file.

    Uses partition values and statistics. A row without a time is only in a partition of all time; a row without a
    segment only in partitions where all segments have the same time.

    Raises:
        SourceError: deltalake cannot list the files.
    """
    return TableFiles.load_files(table).split_files(parts, partitioning=partitioning)


@dataclass(slots=True, eq=False, repr=False)
class TableFiles:
    """The live files of a version, for repeated splits by different partitions.

    Attributes:
        schema: The table's schema as JSON.
    """

    adds: Table
    files: list[LiveFile]
    schema: str
    _files_by_partitioning: dict[Partitioning, _FilesByTime] = field(default_factory=dict)

    @classmethod
    def load_files(cls, table: DeltaTable) -> TableFiles:
        """The live files of the loaded version.

        Raises:
            SourceError: deltalake cannot list the files.
        """
        adds = flat_adds(table)
        return cls(adds, live_files(adds), table.schema().to_json())

    def split_files(self, parts: PartitionSet, *, partitioning: Partitioning) -> FileSplit:
        """Splits the files by ``parts``, like the function `split_files`."""
        files = self.files
        if parts.is_everything or not parts:
            return FileSplit(inside=tuple(files)) if parts else FileSplit(outside=tuple(files))
        restricted, rest_parts = partitioning.without_whole_dimensions(parts)
        if restricted is not partitioning:  # rows without a segment may be among those of the whole
            split = self.split_files(rest_parts, partitioning=restricted)
            return FileSplit(mixed=(*split.inside, *split.mixed), outside=split.outside)
        known_files = self._read_parts(parts, partitioning)
        if known_files is None:
            return FileSplit(mixed=tuple(files))
        check = _HoldingCheck(parts, known_files.file_parts)
        groups: dict[bool | None, list[LiveFile]] = {True: [], None: [], False: []}
        for file, part in zip(files, known_files.parts, strict=True):
            groups[
                check.check_file(part, file.partition.get(known_files.folder) if known_files.folder else None)
            ].append(file)
        return FileSplit(tuple(groups[True]), tuple(groups[None]), tuple(groups[False]))

    def find_holding(self, parts: PartitionSet, *, partitioning: Partitioning) -> list[LiveFile]:
        """The files that may hold rows of ``parts``, in no order: those that a split puts inside or mixed.

        The cost depends on the number of files near ``parts``, not on that of all files.
        """
        partitioning, parts = partitioning.without_whole_dimensions(parts)
        files = self._read_parts(parts, partitioning) if parts.extent is not None else None
        if files is None or parts.extent is None:
            split = self.split_files(parts, partitioning=partitioning)
            return [*split.inside, *split.mixed]
        check, folder = _HoldingCheck(parts, files.file_parts), files.folder
        near_files = ((self.files[place], files.parts[place]) for place in files.iterate_near(*parts.extent))
        return [
            file
            for file, part in near_files
            if check.check_file(part, file.partition.get(folder) if folder else None) is not False
        ]

    def _read_parts(self, parts: PartitionSet, partitioning: Partitioning) -> _FilesByTime | None:
        """The partitions of each file, cached; None if the table lacks a column for them."""
        columns = find_columns(self.schema, partitioning) if partitioning.is_partitioned else None
        if columns is None:
            return None
        resolved = partitioning.with_segments_of(parts)
        if resolved not in self._files_by_partitioning:
            file_parts = FileParts.from_columns(columns, resolved)
            folder = None if columns.time is None else columns.time.name
            self._files_by_partitioning[resolved] = _FilesByTime(
                file_parts, list(file_parts.read_live(self.adds).values()), folder
            )
        return self._files_by_partitioning[resolved]


class _FilesByTime:
    """The partitions of files, searchable by time.

    Attributes:
        file_parts: Determines the partitions.
        parts: The partitions of each file.
        folder: The time column, by which folders may be named; None without one.
    """

    def __init__(self, file_parts: FileParts, parts: list[FilePart], folder: str | None) -> None:
        self.file_parts, self.parts, self.folder = file_parts, parts, folder
        timed = [(part.span, place) for place, part in enumerate(parts) if _has_certain_time(part)]
        self._by_start = sorted(timed)
        self._others = [place for place, part in enumerate(parts) if not _has_certain_time(part)]
        self._greatest_length = max((end - start for (start, end), _ in timed), default=0)

    def iterate_near(self, start: int, end: int) -> Iterator[int]:
        """Indices of the files that may have rows in ``[start, end)``.

        Files sorted by their start are searched from ``start`` minus the longest span, since no earlier one reaches so
        far.
        """
        yield from self._others
        first = bisect_left(self._by_start, ((start - self._greatest_length, start - self._greatest_length), -1))
        for (low, high), place in self._by_start[first:]:
            if low >= end:
                return
            if high > start:
                yield place


@frozen
class StagedSplit:
    """Staged files, split by a set of partitions as in `FileSplit`."""

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
    """Splits staged files by ``parts``, whole partitions, as `split_files` does.

    Args:
        fields: The columns of their table, as Delta's JSON.
        files: The files, each with rows.
        parts: Partitions of ``partitioning``.
        partitioning: Determines by its columns which partition a row is in.
    """
    if parts.is_everything or not parts:
        return StagedSplit(inside=tuple(files)) if parts else StagedSplit(outside=tuple(files))
    columns = find_columns(json.dumps({"type": "struct", "fields": list(fields)}), partitioning)
    if columns is None:
        return StagedSplit(mixed=tuple(files))
    file_parts = FileParts.from_columns(columns, partitioning.with_segments_of(parts))
    check, folder = _HoldingCheck(parts, file_parts), None if columns.time is None else columns.time.name
    groups: dict[bool | None, list[StagedFile]] = {True: [], None: [], False: []}
    for file in files:
        part = file_parts.read_action(file.partition, json.loads(file.stats))
        groups[check.check_file(part, file.partition.get(folder) if folder else None)].append(file)
    return StagedSplit(tuple(groups[True]), tuple(groups[None]), tuple(groups[False]))


def _has_certain_time(part: FilePart) -> bool:
    """Whether all rows of a file certainly have a time between known bounds."""
    time = part.time
    return time is not None and time.exact and not time.nulls and time.start < time.end


def make_touch_test(
    table: DeltaTable, parts: PartitionSet, *, partitioning: Partitioning, split: FileSplit
) -> Callable[[FileAction], bool]:
    """Returns a test whether a file added or removed after the loaded version may have rows of ``parts``.

    A removed file is looked up in ``split``, the split of the loaded version, because its action mostly lacks
    statistics; one that was added later was tested then.
    """
    partitioning, parts = partitioning.without_whole_dimensions(parts)
    columns = find_columns(table.schema().to_json(), partitioning)
    if parts.is_everything or columns is None or not partitioning.is_partitioned:
        return lambda _: bool(parts)
    file_parts = FileParts.from_columns(columns, partitioning.with_segments_of(parts))
    folder = None if columns.time is None else columns.time.physical
    check = _HoldingCheck(parts, file_parts)
    present = frozenset(file.place for file in (*split.inside, *split.mixed))

    def touches(file: FileAction) -> bool:
        if not file.added:
            return unquote(file.path) in present
        partition = file.partition or {}
        part = file_parts.read_action(partition, file.stats)
        return check.check_file(part, partition.get(folder) if folder else None) is not False

    return touches


class _HoldingCheck:
    """Tests whether partitions contain the rows of a file: all (True), none (False), or perhaps some (None)."""

    def __init__(self, parts: PartitionSet, file_parts: FileParts) -> None:
        """``file_parts`` determines the partitions of files."""
        self._parts = parts
        self._files_by_partitioning = file_parts
        self._segments_by_time = parts.by_time()
        time = file_parts.partitioning.time
        self._excluding_dimension = time if time is not None and time.exclude else None
        self._usual_check = self._make_time_check(parts.time)
        self._checks: dict[_SegmentBounds, tuple[_HoldingTimeCheck, bool]] = {}

    def check_file(self, part: FilePart, folder: PartitionValue) -> bool | None:
        """Whether the partitions contain the file's rows; ``folder`` is the time value of its folder, or None."""
        if not self._parts.apart:
            return self._usual_check.check_time(part.time, folder)
        segments = tuple(
            None if each is None else (each.low, each.high, each.exact and not each.nulls) for each in part.segments
        )
        if segments not in self._checks:
            self._checks[segments] = self._find_time_check(part)
        time, is_exact = self._checks[segments]
        holds = time.check_time(part.time, folder)
        return holds if is_exact or holds is False else None

    def _find_time_check(self, part: FilePart) -> tuple[_HoldingTimeCheck, bool]:
        """A test for the time of the segments that the file may have, and whether all its rows have one segment."""
        if any(each is not None and each.low is None for each in part.segments):  # without one, or with an unknown one
            return self._make_time_check(self._parts.time), False
        if part.segment is not None and not any(each is None or each.nulls for each in part.segments):
            return self._make_time_check(self._parts.time_of(part.segment)), True
        times = [
            time
            for time, segments in self._segments_by_time.items()
            if any(self._files_by_partitioning.may_be(segment, part) for segment in segments)
        ]
        return self._make_time_check(RangeSet.union([self._parts.time, *times])), False

    def _make_time_check(self, ranges: RangeSet) -> _HoldingTimeCheck:
        return _HoldingTimeCheck(ranges, self._excluding_dimension)


@frozen
class _HoldingTimeCheck:
    """Tests whether ranges of time contain the times of files; answers are cached by span.

    Attributes:
        excluding: The time dimension, if it excludes times: rows between two slots may then be in none.
    """

    ranges: RangeSet
    excluding: TimePartition | None
    _checks: dict[Span, bool | None] = field(default_factory=dict)

    def check_time(self, file_time: FileTime | None, folder: PartitionValue) -> bool | None:
        """Whether the ranges contain all of a file's times (True), none (False), or perhaps some (None).

        Unrestricted time also contains rows without one.
        """
        if self.ranges in (RangeSet(), _ALWAYS):
            return bool(self.ranges)
        if file_time is None or (file_time is NOWHEN and folder not in (None, "")):  # a date that clocks skip, say
            return None
        if file_time.start == file_time.end:
            return False
        if file_time.span not in self._checks:
            self._checks[file_time.span] = self._check_span(*file_time.span)
        holds = self._checks[file_time.span]
        return None if holds and (file_time.nulls or not file_time.plain) else holds

    def _check_span(self, start: int, end: int) -> bool | None:
        """Whether the ranges contain all of a span (True), none (False), or some (None)."""
        span = RangeSet.span(start, end)
        if self.ranges.covers(span) and not self._has_gaps(start, end):
            return True
        return None if self.ranges.overlaps(span) else False

    def _has_gaps(self, start: int, end: int) -> bool:
        time = self.excluding
        if time is None:
            return False
        slot_range = RangeSet.span(start, time.stop(time.floor(end - 1)))
        return time.exact(slot_range) != slot_range


_ROUNDING: Final = timedelta(milliseconds=1)
"""Statistics round instants down to milliseconds."""
_BOUND_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    "date": date.fromisoformat,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), lambda text: datetime.fromisoformat(text) - _ROUNDING),
    "string": str,
}
"""Types whose bounds in the log are exact, or err upwards; not decimals, which are JSON numbers there."""
_EXACT: Final = frozenset({"byte", "short", "integer", "long", "date"})
"""Types of which the log has the very bounds."""
_LONGEST_MONTH, _LONGEST_DAY = 31, timedelta(hours=25)
_DATE_MARGIN: Final = timedelta(days=2)
"""Subtracting time from a date starts at midnight, so it ends on the day before, which is included."""


@frozen
class NewerRows:
    """The rows above a watermark, for skipping files without any.

    Attributes:
        low: The watermark as Spark writes it; instants in UTC with their zone.
        overlap: Rows so far below it belong, too; None for no such rows.
    """

    column: str
    low: str
    overlap: Duration | None = None

    def find_files(self, files: TableFiles) -> list[LiveFile]:
        """The files that may hold such rows; all files if the statistics do not say."""
        bound, highest = self._find_bound(files), _read_highest(files, self.column)
        if bound is None or highest is None:
            return files.files
        bounded = zip(files.files, highest, strict=True)
        return [file for file, value in bounded if value is None or not _is_before(value, bound)]

    def _find_bound(self, files: TableFiles) -> Any:  # noqa: ANN401  of the column's type
        """The value that rows must exceed, in the type of the statistics; None for a type without exact ones."""
        fields: Sequence[Mapping[str, Any]] = json.loads(files.schema)["fields"]
        kind = next((field["type"] for field in fields if field["name"].lower() == self.column.lower()), None)
        parse = _BOUND_PARSERS.get(kind) if isinstance(kind, str) else None
        if parse is None:
            return None
        try:
            low = parse(self.low)
            return low if self.overlap is None else low - _longest_span(self.overlap)
        except (ValueError, TypeError, OverflowError):
            return None


def find_highest(files: TableFiles, column: str) -> str | None:
    """The greatest value of a column in these files as text; None where the log does not tell it exactly.

    Args:
        files: Live files without deletion vectors: else the greatest value may be of a deleted row.
        column: A column of whole numbers or dates; the log has values of other types rounded, or cut off.
    """
    fields: Sequence[Mapping[str, Any]] = json.loads(files.schema)["fields"]
    kind = next((field["type"] for field in fields if field["name"].lower() == column.lower()), None)
    highest = _read_highest(files, column) if isinstance(kind, str) and kind in _EXACT else None
    if not highest or None in highest:
        return None
    try:
        parsed = max(highest)
    except TypeError:  # written as something else than the column is now
        return None
    return str(parsed) if isinstance(parsed, date if kind == "date" else int) else None


def _read_highest(files: TableFiles, column: str) -> Sequence[Any] | None:
    """The greatest value in each file; None if the log has none for this column."""
    wanted = (f"max.{column}".lower(), f"partition.{column}".lower())
    name = next((name for name in files.adds.schema.names if name.lower() in wanted), None)
    if name is None or "." in column:  # such a name may mean a field of another column
        return None
    try:
        values: Sequence[Any] = files.adds.column(name).to_pylist()
    except (ValueError, OverflowError):
        return None
    return values


def _longest_span(span: Duration) -> timedelta:
    """The longest that a duration can take: months have 31 days, and days 25 hours."""
    return (span.months * _LONGEST_MONTH + span.days) * _LONGEST_DAY + timedelta(seconds=span.seconds) + _DATE_MARGIN


def _is_before(value: Any, bound: Any) -> bool:  # noqa: ANN401  of the column's type
    try:
        return bool(value <= bound)
    except TypeError:  # written as something else than the column is now
        return False
