"""How the live files of a table lie against a set of partitions: which hold them alone, which others, which both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from sparkassets.core.partitions import Partitioning, PartitionSet, RangeSet
from sparkassets.delta.columns import told_by
from sparkassets.delta.live import LiveFile, PartitionValue, flat_adds, live_files
from sparkassets.delta.log import FileAction
from sparkassets.delta.parts import FileParts
from sparkassets.delta.times import NOWHEN, FileTime, Span
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from deltalake import DeltaTable


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


def sliced(table: DeltaTable, parts: PartitionSet, *, partitioning: Partitioning) -> Slices:
    """The live files of ``table``, at the version that is loaded, against ``parts``, whole partitions.

    A row without a time is in no partition. By partition values and statistics alone: no file is read.

    Raises:
        SourceError: deltalake cannot tell the files.
    """
    adds = flat_adds(table)
    files = live_files(adds)
    if parts.is_everything or not parts:
        return Slices(inside=tuple(files)) if parts else Slices(outside=tuple(files))
    columns = told_by(table.schema().to_json(), partitioning)
    if columns is None or columns.time is None:
        return Slices(mixed=tuple(files))
    told, column = FileParts.of(columns, partitioning), columns.time
    holding = _Holding(parts.time)
    found: dict[bool | None, list[LiveFile]] = {True: [], None: [], False: []}
    for file, part in zip(files, told.of_live(adds).values(), strict=True):
        found[holding.of(part.time, file.partition.get(column.name))].append(file)
    return Slices(tuple(found[True]), tuple(found[None]), tuple(found[False]))


@frozen
class _Holding:
    """Whether ranges hold the rows of a file: all, none, or (None) some or perhaps some; asks once for a span."""

    ranges: RangeSet
    _known: dict[Span, bool | None] = field(default_factory=dict)

    def of(self, when: FileTime | None, value: PartitionValue) -> bool | None:
        """The same of the time of a file, and the value that its folder is named by, if it is."""
        if when is None or (when is NOWHEN and value not in (None, "")):  # a date that clocks skip, say
            return None
        if when.start == when.end:
            return False
        if when.span not in self._known:
            span = RangeSet.span(*when.span)
            self._known[when.span] = True if self.ranges.covers(span) else None if self.ranges.overlaps(span) else False
        held = self._known[when.span]
        return None if held and (when.nulls or not when.plain) else held


def touching(
    table: DeltaTable, parts: PartitionSet, *, partitioning: Partitioning, found: Slices
) -> Callable[[FileAction], bool]:
    """Tells of a file that came or went after the loaded version whether rows of ``parts`` may be in it.

    What leaves is mostly told without statistics: it was ``found`` there, or came meanwhile and was judged then.
    """
    columns = told_by(table.schema().to_json(), partitioning)
    if parts.is_everything or columns is None or columns.time is None:
        return lambda _: bool(parts)
    told, column, holding = FileParts.of(columns, partitioning), columns.time, _Holding(parts.time)
    there = frozenset(file.place for file in (*found.inside, *found.mixed))

    def touches(file: FileAction) -> bool:
        if not file.added:
            return unquote(file.path) in there
        partition = file.partition or {}
        when = told.of_action(partition, file.stats).time
        return holding.of(when, partition.get(column.physical)) is not False

    return touches
