"""How the live files of a table lie against a set of partitions: which hold them alone, which others, which both."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from sparkassets.core.partitions import Partitioning, PartitionSet, RangeSet
from sparkassets.delta.columns import told_by
from sparkassets.delta.live import LiveFile, PartitionValue, flat_adds, live_files
from sparkassets.delta.log import FileAction
from sparkassets.delta.parts import FilePart, FileParts
from sparkassets.delta.times import NOWHEN, FileTime, Span
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from arro3.core import Table
    from deltalake import DeltaTable

_ALWAYS = RangeSet.always()
_Told = tuple[tuple[str | None, str | None, bool] | None, ...]
"""Of each dimension of segments the least and the greatest, and whether all rows have that one; None where untold."""


@frozen
class Slices:
    """Every live file, once.

    Attributes:
        inside: Every row is in the partitions.
        mixed: Some rows may be, others may not.
        outside: No row is.
    """

    inside: tuple[LiveFile, ...] = ()
    mixed: tuple[LiveFile, ...] = ()
    outside: tuple[LiveFile, ...] = ()

    def without(self, paths: Container[str]) -> Slices:
        """Those of other paths."""
        inside, mixed = (tuple(file for file in files if file.path not in paths) for files in (self.inside, self.mixed))
        return Slices(inside, mixed, self.outside)


def sliced(table: DeltaTable, parts: PartitionSet, *, partitioning: Partitioning) -> Slices:
    """The live files of ``table``, at the version that is loaded, against ``parts``, whole partitions.

    A row without a time is in no partition, but of one that is always; nor is one without a segment, but where all
    have the same time. By partition values and statistics alone: no file is read.

    Raises:
        SourceError: deltalake cannot tell the files.
    """
    return TableFiles.of(table).sliced(parts, partitioning=partitioning)


@dataclass(slots=True, eq=False, repr=False)
class TableFiles:
    """The live files of a version of a table, for who asks of several sets of partitions where they lie.

    Attributes:
        schema: The table's, as JSON.
    """

    adds: Table
    files: list[LiveFile]
    schema: str
    _told: dict[Partitioning, tuple[FileParts, list[FilePart]]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: DeltaTable) -> TableFiles:
        """Those of the version that is loaded.

        Raises:
            SourceError: deltalake cannot tell the files.
        """
        adds = flat_adds(table)
        return cls(adds, live_files(adds), table.schema().to_json())

    def sliced(self, parts: PartitionSet, *, partitioning: Partitioning) -> Slices:
        """They against ``parts``, as `sliced` has it."""
        files = self.files
        partitioning, parts = partitioning.told_apart(parts)
        if parts.is_everything or not parts:
            return Slices(inside=tuple(files)) if parts else Slices(outside=tuple(files))
        columns = told_by(self.schema, partitioning)
        if columns is None or not partitioning.is_partitioned:
            return Slices(mixed=tuple(files))
        folder, knowing = None if columns.time is None else columns.time.name, partitioning.knowing(parts)
        if knowing not in self._told:
            told = FileParts.of(columns, knowing)
            self._told[knowing] = told, list(told.of_live(self.adds).values())
        told, of_files = self._told[knowing]
        holding = _Holding(parts, told)
        found: dict[bool | None, list[LiveFile]] = {True: [], None: [], False: []}
        for file, part in zip(files, of_files, strict=True):
            found[holding.of(part, file.partition.get(folder) if folder else None)].append(file)
        return Slices(tuple(found[True]), tuple(found[None]), tuple(found[False]))


def touching(
    table: DeltaTable, parts: PartitionSet, *, partitioning: Partitioning, found: Slices
) -> Callable[[FileAction], bool]:
    """Tells of a file that came or went after the loaded version whether rows of ``parts`` may be in it.

    What leaves is mostly told without statistics: it was ``found`` there, or came meanwhile and was judged then.
    """
    partitioning, parts = partitioning.told_apart(parts)
    columns = told_by(table.schema().to_json(), partitioning)
    if parts.is_everything or columns is None or not partitioning.is_partitioned:
        return lambda _: bool(parts)
    told, folder = (
        FileParts.of(columns, partitioning.knowing(parts)),
        None if columns.time is None else columns.time.physical,
    )
    holding = _Holding(parts, told)
    there = frozenset(file.place for file in (*found.inside, *found.mixed))

    def touches(file: FileAction) -> bool:
        if not file.added:
            return unquote(file.path) in there
        partition = file.partition or {}
        part = told.of_action(partition, file.stats)
        return holding.of(part, partition.get(folder) if folder else None) is not False

    return touches


class _Holding:
    """Whether a set of partitions holds the rows of a file: all, none, or (None) some or perhaps some."""

    def __init__(self, parts: PartitionSet, told: FileParts) -> None:
        """``told`` tells the partitions of the files."""
        self._parts = parts
        self._told = told
        self._together = parts.by_time()
        self._usual = _HoldingTime(parts.time)
        self._known: dict[_Told, tuple[_HoldingTime, bool]] = {}

    def of(self, part: FilePart, folder: PartitionValue) -> bool | None:
        """The same of a file, and the value of time that its folder is named by, if it is."""
        if not self._parts.apart:
            return self._usual.of(part.time, folder)
        told = tuple(
            None if each is None else (each.low, each.high, each.exact and not each.nulls) for each in part.segments
        )
        if told not in self._known:
            self._known[told] = self._times(part)
        time, exact = self._known[told]
        held = time.of(part.time, folder)
        return held if exact or held is False else None

    def _times(self, part: FilePart) -> tuple[_HoldingTime, bool]:
        """The time of the tuples that rows of such a file may be of, and whether all of them are of one."""
        if any(each is not None and each.low is None for each in part.segments):  # without one, or with an unknown one
            return _HoldingTime(self._parts.time), False
        if part.segment is not None and not any(each is None or each.nulls for each in part.segments):
            return _HoldingTime(self._parts.at(part.segment)), True
        times = [
            time
            for time, segments in self._together.items()
            if any(self._told.may_be(segment, part) for segment in segments)
        ]
        return _HoldingTime(RangeSet.union([self._parts.time, *times])), False


@frozen
class _HoldingTime:
    """The same of ranges and the time of a file; asks once for a span."""

    ranges: RangeSet
    _known: dict[Span, bool | None] = field(default_factory=dict)

    def of(self, when: FileTime | None, folder: PartitionValue) -> bool | None:
        """Always holds rows without a time too."""
        if self.ranges in (RangeSet(), _ALWAYS):
            return bool(self.ranges)
        if when is None or (when is NOWHEN and folder not in (None, "")):  # a date that clocks skip, say
            return None
        if when.start == when.end:
            return False
        if when.span not in self._known:
            span = RangeSet.span(*when.span)
            self._known[when.span] = True if self.ranges.covers(span) else None if self.ranges.overlaps(span) else False
        held = self._known[when.span]
        return None if held and (when.nulls or not when.plain) else held
