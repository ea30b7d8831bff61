"""Time partitions: slots of one grain on the wall clock of a zone, and their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sparkassets.core.instants import (
    DAY,
    Duration,
    Offsets,
    local_datetime,
    local_seconds,
    offsets,
)
from sparkassets.core.partitions.grains import GRAINS, By, Grain, PartitionError
from sparkassets.core.partitions.ranges import RangeSet

HOUR = 3600
_HOUR_KEY = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)([+-]\d\d:\d\d(?::\d\d)?)?", re.ASCII)
_HOUR_EXAMPLE = "2013-01-05T06"


@dataclass(frozen=True, slots=True)
class TimePartition:
    """The partitioning of an asset by time.

    Slots abut and are never empty. A day begins where its zone's clocks leave the old date for good; a date that they
    skip has no slot. An hour never spans a clock change, so that a repeated hour is two slots.

    Attributes:
        by: The grain.
        timezone: IANA name; slots follow its wall clock.
        column: Column of the target that holds the partition.
        start, end: Bounds of what is wanted, epoch seconds, half-open, None is open. The methods know nothing of them:
            the grid goes on outside.
    """

    by: By
    timezone: str
    column: str | None = None
    start: int | None = None
    end: int | None = None

    # ----------------------------------------------------------------- edges of slots

    def floor(self, epoch: int) -> int:
        """The start of the slot that holds that instant."""
        if self.by == "hour":
            return self._hour(epoch)[0]
        return self._edge(self._number(epoch))

    def next(self, epoch: int) -> int:
        """The end of the slot that holds that instant."""
        if self.by == "hour":
            return self._hour(epoch)[1]
        return self._edge(self._number(epoch) + 1)

    def ceil(self, epoch: int) -> int:
        """The first start of a slot at that instant or after."""
        start = self.floor(epoch)
        return start if start == epoch else self.next(epoch)

    def previous(self, epoch: int) -> int:
        """The start of the slot before the one that holds that instant."""
        return self.floor(self.floor(epoch) - 1)

    def local_start(self, start: int) -> datetime:
        """The wall-clock time, naive, that the key of the slot with that start stands for.

        A day begins at 00:00 even where the clocks skip it.
        """
        return local_datetime(self._nominal(start))

    def shift(self, edge: int, duration: Duration, *, late: bool = False) -> int:
        """The instant that long after an edge of a slot: calendar units on the wall clock, then elapsed seconds.

        An edge of days or longer slots stands for 00:00 even where the clocks skip it, so that days added to the edge
        of a day give the edge of a day. The result never descends when the edge ascends.

        Args:
            edge: Start or end of a slot; epoch seconds.
            duration: How far; negative is back.
            late: Whether an edge in a stretch that the clocks repeat counts as the stretch's end; else its beginning.
        """
        if duration.months or duration.days:
            edge = self._clock.boundary(duration.add_to_local(self._shown(edge, late=late)))
        return edge + duration.seconds

    # ----------------------------------------------------------------- sets of slots

    def cover(self, ranges: RangeSet) -> RangeSet:
        """The time of every slot that holds an instant of ``ranges``."""
        starts: list[int] = []
        ends: list[int] = []
        for start, end in ranges.pairs():
            if not ends or start >= ends[-1]:
                low = self.floor(start)
                if ends and low == ends[-1]:
                    ends[-1] = self.ceil(end)
                else:
                    starts.append(low)
                    ends.append(self.ceil(end))
            elif end > ends[-1]:
                ends[-1] = self.ceil(end)
        return RangeSet(tuple(starts), tuple(ends))

    def inside(self, ranges: RangeSet) -> RangeSet:
        """The time of every slot that lies in one of the ranges wholly."""
        return RangeSet.of((self.ceil(start), self.floor(end)) for start, end in ranges.pairs())

    def slots(self, ranges: RangeSet) -> Iterator[tuple[int, int]]:
        """The slots that lie in one of the ranges wholly, as (start, end), oldest first."""
        for low, high in self.inside(ranges).pairs():
            start = low
            for end in self._edges(low, high):
                yield start, end
                start = end

    def count(self, ranges: RangeSet) -> int:
        """How many slots lie in one of the ranges wholly; takes time by ranges and clock changes, not by slots."""
        return sum(self._count(start, end) for start, end in self.inside(ranges).pairs())

    def split(self, ranges: RangeSet, most: int) -> list[RangeSet]:
        """The slots that lie in one of the ranges wholly, in consecutive chunks of at most ``most``, oldest first."""
        chunks: list[RangeSet] = []
        chunk: list[tuple[int, int]] = []
        room = most
        for low, high in self.inside(ranges).pairs():
            start = low
            while (left := self._count(start, high)) > room:
                end = self._forward(start, room, high)
                chunks.append(RangeSet.of([*chunk, (start, end)]))
                chunk, room, start = [], most, end
            chunk.append((start, high))
            room -= left
            if not room:
                chunks.append(RangeSet.of(chunk))
                chunk, room = [], most
        return [*chunks, RangeSet.of(chunk)] if chunk else chunks

    # ----------------------------------------------------------------- keys

    def key(self, start: int) -> str:
        """The key of the slot with that start: its local beginning at the grain's precision.

        Both occurrences of a repeated local hour carry their UTC offset.

        >>> TimePartition("hour", "America/New_York").key(1730610000)
        '2024-11-03T01-04:00'
        """
        if self.by != "hour":
            return self._grain.key(self._grain.first_day(self._number(start)))
        local = self._nominal(start)
        text = local_datetime(local).isoformat()[:13]
        return text + _offset(self._clock.at(start)) if len(self._hours(local)) > 1 else text

    def parse_key(self, text: str) -> tuple[int, int]:
        """The slot with that key, as (start, end).

        Raises:
            PartitionError: It is no key of this grain, the clocks skip it, or they repeat it and it lacks its offset.
        """
        if self.by == "hour":
            return self._parse_hour(text)
        grain = self._grain
        if not grain.pattern.fullmatch(text):
            raise self._not_a_key(text)
        try:
            number = grain.index(grain.read(text))
            start, end = self._edge(number), self._edge(number + 1)
        except ValueError as error:
            raise PartitionError(f"partition key '{text}' is not in the calendar: {error}") from error
        if start == end:
            raise PartitionError(f"partition key '{text}' does not exist: the clocks of {self.timezone} skip it")
        return start, end

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
        """The slots that lie in one of the ranges wholly: ``A..B`` of keys, inclusive, or ``A`` for a single slot."""
        texts: list[str] = []
        for start, end in self.inside(ranges).pairs():
            last = self.floor(end - 1)
            texts.append(self.key(start) if last == start else f"{self.key(start)}..{self.key(last)}")
        return texts

    # ----------------------------------------------------------------- inside

    @property
    def _clock(self) -> Offsets:
        return offsets(self.timezone)

    @property
    def _grain(self) -> Grain:
        return GRAINS[self.by]

    def _number(self, epoch: int) -> int:
        """The number of the slice whose slot holds that instant (grains of a day or more)."""
        number = self._grain.index((epoch + self._clock.at(epoch)) // DAY)
        while self._edge(number) > epoch:  # a short first reading of a midnight that the clocks repeat
            number -= 1
        return number

    def _edge(self, number: int) -> int:
        """The start of a slice; equal to the next one's where the clocks skip it."""
        return self._clock.boundary(self._grain.first_day(number) * DAY)

    def _hour(self, epoch: int) -> tuple[int, int]:
        """The hour that holds that instant, cut at the clock changes."""
        clock = self._clock
        into = (epoch + clock.at(epoch)) % HOUR
        start, end = epoch - into, epoch - into + HOUR
        for change in clock.changes(start, end):
            start, end = (change.at, end) if change.at <= epoch else (start, min(end, change.at))
        return start, end

    def _hours(self, local: int) -> list[tuple[int, int]]:
        """The slots whose local beginning lies in the local hour ``local``, oldest first: none, one or two."""
        pieces = self._clock.stretches(local - 2 * DAY, local + 2 * DAY)
        shown = ((max(start, local - offset), min(end, local - offset + HOUR)) for start, end, offset in pieces)
        return [(start, end) for start, end in shown if start < end]

    def _nominal(self, start: int) -> int:
        """The local beginning of the slice of the slot with that start, in seconds on the wall clock."""
        if self.by != "hour":
            return self._grain.first_day(self._number(start)) * DAY
        return (start + self._clock.at(start)) // HOUR * HOUR

    def _shown(self, edge: int, *, late: bool) -> int:
        """The wall clock at an edge, in seconds; it ascends with the edges.

        Args:
            edge: Start or end of a slot; epoch seconds.
            late: At an hour's edge, the latest hour that the clock has reached; else the earliest still to come.
        """
        local = self._nominal(edge)
        if self.by != "hour":
            return local
        if late:
            passed = self._clock.changes(edge - 2 * DAY, edge + 1)
            return max([local, *(-(-(change.at + change.before) // HOUR) * HOUR for change in passed)])
        coming = self._clock.changes(edge, edge + 2 * DAY)
        return min([local, *((change.at + change.after) // HOUR * HOUR for change in coming)])

    def _edges(self, low: int, high: int) -> Iterator[int]:
        """The ends of the slots between two edges."""
        if self.by == "hour":
            for start, end, offset in self._clock.stretches(low, high):
                yield from range(start - (start + offset) % HOUR + HOUR, end, HOUR)
                yield end
            return
        number = self._number(low)
        while low < high:
            number += 1
            edge = self._edge(number)
            if edge > low:
                yield edge
            low = edge

    def _count(self, low: int, high: int) -> int:
        """The number of slots between two edges."""
        clock = self._clock
        if self.by == "hour":
            cut = clock.stretches(low, high)
            return sum(-(-(end + offset) // HOUR) - (start + offset) // HOUR for start, end, offset in cut)
        skipped = 0
        if self.by == "day":
            for change in clock.changes(low + 1, high + 1):
                gone_from, gone_to = change.at + change.before, change.at + change.after
                skipped += max(0, gone_to // DAY + -gone_from // DAY)
        return self._number(high) - self._number(low) - skipped

    def _forward(self, low: int, slots: int, high: int) -> int:
        """The end of the last of that many slots from the edge ``low``, at most ``high``."""
        for _, edge in zip(range(slots), self._edges(low, high), strict=False):
            low = edge
        return low

    def _parse_hour(self, text: str) -> tuple[int, int]:
        match = _HOUR_KEY.fullmatch(text)
        if not match:
            raise self._not_a_key(text)
        try:
            local = local_seconds(datetime.fromisoformat(match[1]))
        except ValueError as error:
            raise PartitionError(f"partition key '{text}' is not in the calendar: {error}") from error
        hours = self._hours(local)
        if not hours:
            raise PartitionError(f"partition key '{text}' does not exist: the clocks of {self.timezone} skip it")
        offsets = [_offset(self._clock.at(start)) for start, _ in hours]
        if match[2] is None and len(hours) == 1:
            return hours[0]
        if match[2] in offsets:
            return hours[offsets.index(match[2])]
        choices = " or ".join(f"'{match[1]}{offset}'" for offset in offsets)
        what = "is repeated there" if match[2] is None else "has no such offset there"
        raise PartitionError(f"partition key '{text}': the hour {what} ({self.timezone}); expected {choices}")

    def _not_a_key(self, text: str) -> PartitionError:
        example = _HOUR_EXAMPLE if self.by == "hour" else self._grain.example
        return PartitionError(f"'{text}' is not a partition key by {self.by}; expected one such as {example}")


def _offset(seconds: int) -> str:
    """A UTC offset as ``-04:00``, with seconds where it has some."""
    hours, rest = divmod(abs(seconds), HOUR)
    minutes, rest = divmod(rest, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02}:{minutes:02}" + (f":{rest:02}" if rest else "")
