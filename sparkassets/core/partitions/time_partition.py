"""Time partitions: slots of one grain on the wall clock of a zone, and their keys."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from sparkassets.core.instants import DAY, Duration, day_number, local_date, local_datetime, local_seconds, zone_offsets
from sparkassets.core.partitions.grains import NAMED_GRAINS, YEARS, PartitionError
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.time_grids import HourGrid, SliceGrid
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.partitions.excluding_grid import ExcludingGrid, PlainGrid

    Grid = PlainGrid | ExcludingGrid


@frozen
class TimePartition:
    """The partitioning of an asset by time.

    Slots abut and are never empty. A day begins where its zone's clocks leave the old date for good; a date that they
    skip has no slot. An hour never spans a clock change, so that a repeated hour is two slots.

    Attributes:
        by: The grain: one of `NAMED_GRAINS`, or a cron, whose slots begin at its ticks.
        timezone: IANA name; slots follow its wall clock.
        column: Column of the target that holds the partition.
        start, end: Bounds of the wanted partitions, Unix seconds, half-open, None is open. The methods ignore them:
            the grid goes on outside.
        offset: Seconds by which each slot begins later on the wall clock; only for days and longer grains.
        ahead: A duration; a slot counts as over this long before its end.
        exclude: Excluded slots, as a text of `excluded_text`. The slot before reaches up to the next slot that is
            kept, so that slots abut; `stop` and `exact` have its real time.
    """

    by: str
    timezone: str
    column: str | None = None
    start: int | None = None
    end: int | None = None
    offset: int = 0
    ahead: str | None = None
    exclude: str = ""

    # ----------------------------------------------------------------- the grain

    @property
    def grain(self) -> str:
        """The grain for people.

        >>> TimePartition("0 6 * * *", "UTC").grain, TimePartition("day", "UTC", offset=-3600).grain
        ("'0 6 * * *'", 'day - 1h')
        """
        if not self.offset:
            return self.by if self.by in NAMED_GRAINS else f"'{self.by}'"
        days, seconds = divmod(abs(self.offset), DAY)
        return f"{self.by} {'-' if self.offset < 0 else '+'} {Duration(days=days, seconds=seconds).text}"

    @property
    def noun(self) -> str:
        """What a slot is called, for people: ``day``, or ``slot of '0 6 * * *'``."""
        return self.by if self.by in NAMED_GRAINS else f"slot of '{self.by}'"

    @property
    def nouns(self) -> str:
        """The plural of `noun`."""
        return f"{self.by}s" if self.by in NAMED_GRAINS else f"slots of '{self.by}'"

    @property
    def name(self) -> str:
        """The grain as a single word, such as for a column of slots: ``day``, or ``slot`` for a cron."""
        return self.by if self.by in NAMED_GRAINS else "slot"

    @property
    def precision(self) -> str:
        """The unit of local time that identifies a slot: one of `NAMED_GRAINS`, or ``minute``."""
        return self._grid.precision

    @property
    def has_dates(self) -> bool:
        """Whether a local date identifies a slot."""
        return self.precision not in ("hour", "minute")

    @property
    def longest(self) -> Duration:
        """A length on the wall clock that no slot exceeds."""
        return self._grid.longest

    # ----------------------------------------------------------------- edges of slots

    def floor(self, unix: int) -> int:
        """The start of the slot that holds an instant; excluded time belongs to the slot before it."""
        return self._grid.floor(unix)

    def next(self, unix: int) -> int:
        """The start of the slot after the one that holds an instant; excluded time belongs to the slot before it."""
        return self._grid.next(unix)

    def ceil(self, unix: int) -> int:
        """The first start of a slot at an instant or after it."""
        start = self.floor(unix)
        return start if start == unix else self.next(unix)

    def previous(self, unix: int) -> int:
        """The start of the slot before the one that holds an instant."""
        return self.floor(self.floor(unix) - 1)

    def stop(self, start: int) -> int:
        """The real end of the slot with that start: before any excluded time, while `next` is after it.

        >>> TimePartition("day", "UTC", exclude="* * * * FRI,SAT").stop(0) // 86400
        1
        """
        grid = self._excluding
        return self._grid.next(start) if grid is None else grid.stop(start)

    def exact(self, ranges: RangeSet) -> RangeSet:
        """The part of ``ranges`` (bounded) that is not excluded."""
        grid = self._excluding
        return ranges if grid is None else grid.exact(ranges)

    def slot_of_instant(self, unix: int) -> tuple[int, int] | None:
        """The slot that holds an instant, as (start, end); None where it is excluded."""
        grid = self._excluding
        return (self.floor(unix), self.next(unix)) if grid is None else grid.slot_of_instant(unix)

    def local_start(self, start: int) -> datetime:
        """The wall-clock time, naive, at which the slot with that start begins.

        A day begins at 00:00 even where the clocks skip it.
        """
        return local_datetime(self._grid.nominal(start))

    def local_last(self, start: int) -> datetime:
        """The wall-clock time, naive, in the last second of the slot with that start."""
        last = self.stop(start) - 1
        return local_datetime(last + zone_offsets(self.timezone).offset_at(last))

    def first_date(self, start: int) -> date:
        """The first local date of the slot with that start, which a column of dates holds for its rows."""
        return local_date(self._grid.first_day(start))

    def key_date(self, start: int) -> date:
        """The first day of the period that the slot's key names; unlike `first_date`, before any offset of days."""
        return local_date(self._grid.key_day(start))

    def slot_of_key_date(self, day: date) -> tuple[int, int] | None:
        """The slot whose key names a day, or a longer period that holds the day; None where there is none."""
        if day.year not in YEARS:
            return None
        return self._grid.slot_of_key_date(day_number(day))

    def slot_of_date(self, day: date) -> tuple[int, int] | None:
        """The slot that holds a local date, as (start, end).

        None where there is no such slot, and for grains by hour or minute, of which a date identifies no slot.

        >>> TimePartition("week", "UTC").slot_of_date(date(1970, 1, 4))
        (-259200, 345600)
        """
        if day.year not in YEARS:
            return None
        return self._grid.slot_of_date(day_number(day))

    def slot_of_local_time(self, local: datetime) -> tuple[int, int] | None:
        """The slot that holds a naive local time, as (start, end); None where clocks skip it.

        Where the clocks repeat the time, all slots of it together.
        """
        if local.year not in YEARS:
            return None
        return self._grid.slot_of_local_time(local_seconds(local))

    def slots_of_local_start(self, start: int) -> tuple[int, int]:
        """The time of all slots that begin at the same local time as the slot with that start.

        These are both slots of a repeated hour; else it is the slot alone.
        """
        return self.slot_of_local_time(self.local_start(start)) or (start, self.next(start))

    def shift(self, edge: int, duration: Duration, *, late: bool = False) -> int:
        """The instant ``duration`` after an edge of a slot: calendar units on the wall clock, then elapsed seconds.

        An edge of days or longer slots stands for 00:00 even where the clocks skip it, so that days added to the edge
        of a day give the edge of a day. The result never descends when the edge ascends.

        Args:
            edge: Start or end of a slot; Unix seconds.
            duration: How far; negative is back.
            late: Whether to return the latest result rather than the earliest, where several hours have the same
                wall-clock time, or months end on the same day.
        """
        return self._grid.shift(edge, duration, late=late)

    # ----------------------------------------------------------------- what counts

    def counts_at(self, edge: int) -> int:
        """When the slot that ends at ``edge`` counts as over: at its real end, or ``ahead`` of it."""
        if self.exclude:
            edge = self.stop(self.floor(edge - 1))
        return edge if self.ahead is None else self.shift(edge, -Duration.parse(self.ahead))

    def last_counted_end(self, now: int) -> int:
        """The end of the last slot that counts as over at an instant; with ``ahead`` that can be a slot still to come.

        >>> TimePartition("day", "UTC", ahead="2d").last_counted_end(5 * 86400) // 86400
        7
        """
        if self.ahead is None:
            return self.last_finished_end(now)
        edge = self.floor(Duration.parse(self.ahead).add_to(now, self.timezone))
        # months and clock changes can put the estimate a slot too far or too near
        while self.counts_at(edge) > now:
            edge = self.previous(edge)
        while self.counts_at(following := self.next(edge)) <= now:
            edge = following
        return edge

    def last_finished_end(self, now: int) -> int:
        """The end of the last slot that is really over at an instant, whatever ``ahead`` is."""
        edge = self.floor(now)
        return self.next(now) if self.exclude and self.stop(edge) <= now else edge

    # ----------------------------------------------------------------- sets of slots

    def same_grid(self, other: TimePartition) -> bool:
        """Whether both have the same slots."""
        if self is other:
            return True
        has_same_zone = self.timezone == other.timezone and self.offset == other.offset
        return has_same_zone and self.by == other.by and self.exclude == other.exclude

    def same_slots(self, other: TimePartition) -> bool:
        """Whether a slot of both holds the same rows, whichever slots are wanted or excluded.

        >>> days = TimePartition("day", "UTC", "day")
        >>> days.same_slots(TimePartition("day", "Asia/Tokyo", "day")), days.same_slots(TimePartition("day", "UTC"))
        (False, False)
        """
        has_same_zone = self.timezone == other.timezone and self.offset == other.offset
        return has_same_zone and self.by == other.by and (self.column or "").lower() == (other.column or "").lower()

    def cover(self, ranges: RangeSet) -> RangeSet:
        """The time of every slot that holds an instant of ``ranges``."""
        if self._is_aligned(ranges):
            return ranges
        grid, ranges = self._grid, self.exact(ranges)  # excluded time makes no slot part of the result
        floor, following = grid.floor, grid.next
        starts: list[int] = []
        ends: list[int] = []
        covered_to = -(1 << 63)
        for start, end in ranges.pairs():
            if end <= covered_to:
                continue
            # a range that begins in the slot covered last goes on from its end
            low = floor(start) if start >= covered_to else covered_to
            covered_to = end if floor(end) == end else following(end)
            if ends and low == ends[-1]:
                ends[-1] = covered_to
            else:
                starts.append(low)
                ends.append(covered_to)
        return RangeSet(tuple(starts), tuple(ends))

    def inside(self, ranges: RangeSet) -> RangeSet:
        """The time of every slot that lies wholly in one of the ranges."""
        if self._is_aligned(ranges):
            return ranges
        grid = self._grid
        floor, following = grid.floor, grid.next
        whole_slots: list[tuple[int, int]] = []
        for start, end in ranges.pairs():
            low, high = start if floor(start) == start else following(start), self.last_finished_end(end)
            if low < high:
                whole_slots.append((low, high))
        return RangeSet.from_pairs(whole_slots)

    def _is_aligned(self, ranges: RangeSet) -> bool:
        """Whether all of the ranges begin and end at edges; remembered for a single range, which most sets are."""
        if len(ranges.starts) == 1:
            first, last = ranges.starts[0], ranges.ends[0]
            return _cached_are_edges(self.by, self.timezone, self.offset, self.exclude, first, last)
        grid = self._grid
        return grid.are_edges(ranges.starts) and grid.are_edges(ranges.ends)

    def slots(self, ranges: RangeSet) -> Iterator[tuple[int, int]]:
        """Yields the slots that lie wholly in one of the ranges, as (start, end), oldest first."""
        grid = self._grid
        for start, high in self.inside(ranges).pairs():
            low = start
            for end in grid.edges(low, high):
                yield low, end
                low = end

    def count(self, ranges: RangeSet) -> int:
        """Number of slots that lie wholly in one of the ranges; takes time by ranges, not by slots."""
        grid = self._grid
        return sum(grid.count(start, end) for start, end in self.inside(ranges).pairs())

    def split_into_chunks(self, ranges: RangeSet, most: int) -> list[RangeSet]:
        """The slots that lie wholly in one of the ranges, in consecutive chunks of at most ``most``, oldest first."""
        return list(self._chunks(ranges, most))

    def oldest(self, ranges: RangeSet, most: int) -> RangeSet:
        """The oldest ``most`` of the slots that lie wholly in one of the ranges; takes time by what it returns."""
        return next(self._chunks(ranges, most), RangeSet())

    def newest(self, ranges: RangeSet, most: int) -> RangeSet:
        """The newest ``most`` of the slots that lie wholly in one of the ranges; takes time by what it returns."""
        grid, newest = self._grid, list[tuple[int, int]]()
        for start, high in reversed([*self.inside(ranges).pairs()]):
            count, low = grid.count(start, high), start
            if count > most:  # only the newest of the range, stepping back from its end
                low = high
                for _ in range(most):
                    low = grid.floor(low - 1)
            newest.append((low, high))
            most -= count
            if most <= 0:
                break
        return RangeSet.from_pairs(newest)

    def _chunks(self, ranges: RangeSet, most: int) -> Iterator[RangeSet]:
        """Yields the slots wholly in one of the ranges, in consecutive chunks of ``most``; the last may be smaller."""
        grid = self._grid
        chunk: list[tuple[int, int]] = []
        room = most
        for start, high in self.inside(ranges).pairs():
            low, left = start, grid.count(start, high)  # left: slots of the range that are in no chunk yet
            edges = grid.edges(start, high) if left > room else iter(())
            while left > room:
                end = next(islice(edges, room - 1, None))
                yield RangeSet.from_pairs([*chunk, (low, end)])
                chunk, low, left, room = [], end, left - room, most
            chunk.append((low, high))
            room -= left
            if not room:
                yield RangeSet.from_pairs(chunk)
                chunk, room = [], most
        if chunk:
            yield RangeSet.from_pairs(chunk)

    # ----------------------------------------------------------------- keys

    def key(self, start: int) -> str:
        """The key of the slot with that start: its local beginning at the grain's precision.

        Both occurrences of a repeated local hour carry their UTC offset.

        >>> TimePartition("hour", "America/New_York").key(1730610000)
        '2024-11-03T01-04:00'
        """
        return self._grid.key(start)

    def parse_key(self, text: str) -> tuple[int, int]:
        """The slot with that key, as (start, end).

        Raises:
            PartitionError: It is no key of this grain, the clocks skip it, or they repeat it and it lacks its offset.
        """
        return self._grid.parse_key(text)

    def parse_keys(self, text: str) -> tuple[int, int]:
        """The time of ``KEY`` or ``A..B``, inclusive, as (start, end).

        Raises:
            PartitionError: A key is wrong, or B lies before A.
        """
        first, dots, last = text.partition("..")
        start, end = self.parse_key(first)
        if dots:
            _, end = self.parse_key(last)
        if end <= start:
            raise PartitionError(f"partition range '{text}' ends before it starts; expected the older key first")
        return start, end

    def labels(self, ranges: RangeSet) -> list[str]:
        """Labels of the slots that lie wholly in one of the ranges: ``A..B`` of keys, inclusive, or ``A`` for one."""
        grid = self._grid
        texts: list[str] = []
        for start, end in self.inside(ranges).pairs():
            last = grid.floor(end - 1)
            texts.append(grid.key(start) if last == start else f"{grid.key(start)}..{grid.key(last)}")
        return texts

    def keys(self, low: int, high: int) -> Iterator[str]:
        """The keys of the slots between two edges, oldest first."""
        grid = self._grid
        start = low
        for end in grid.edges(low, high):
            yield grid.key(start)
            start = end

    @property
    def _identity(self) -> tuple[str, str, int, str]:
        """The fields that determine the slots, as a key for shared grids."""
        return self.by, self.timezone, self.offset, self.exclude

    @property
    def _grid(self) -> Grid:
        return _shared_grid(*self._identity)

    @property
    def _excluding(self) -> ExcludingGrid | None:
        """The grid that leaves slots out; None where nothing is excluded."""
        return _excluding_grid(*self._identity) if self.exclude else None


@lru_cache(maxsize=1024)
def _shared_grid(by: str, timezone: str, offset: int, exclude: str) -> Grid:
    """The grid of a grain in a zone, shared by all partitions of that kind."""
    return _excluding_grid(by, timezone, offset, exclude) if exclude else _plain_grid(by, timezone, offset)


@lru_cache(maxsize=1024)
def _excluding_grid(by: str, timezone: str, offset: int, exclude: str) -> ExcludingGrid:
    """The grid without the excluded slots.

    Few projects need it, or crons, so their modules load on first use.
    """
    from sparkassets.core.partitions.excluding_grid import ExcludingGrid

    return ExcludingGrid(_plain_grid(by, timezone, offset), exclude)


def _plain_grid(by: str, timezone: str, offset: int) -> PlainGrid:
    """The grid with all slots, excluded ones among them."""
    if by not in NAMED_GRAINS:
        from sparkassets.core.partitions.cron_grid import CronGrid

        return CronGrid(by, timezone)
    return HourGrid(timezone) if by == "hour" else SliceGrid(by, timezone, offset)


@lru_cache(maxsize=4096)
def _cached_are_edges(by: str, timezone: str, offset: int, exclude: str, start: int, end: int) -> bool:
    """Whether one range begins and ends at edges; most ranges are asked about again and again."""
    return _shared_grid(by, timezone, offset, exclude).are_edges((start, end))
