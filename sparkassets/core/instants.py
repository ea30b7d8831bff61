"""Aware instants, time zones with their clock changes, and durations; in bulk an instant is Unix seconds (UTC)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterator
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from sparkassets.errors import InputError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

DAY = 86_400
"""Seconds of a day without a clock change."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - wall-clock time without a zone is what it stands for
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DATE = r"\d{4}-\d\d-\d\d"
_OFFSET = r"(?:Z|[+-]\d\d:?\d\d(?::\d\d)?)"
_INSTANT = rf"\d{{4}}-\d\d-\d\d(?:[T ]\d\d(?::\d\d(?::\d\d(?:\.\d{{1,6}})?)?)?{_OFFSET}?)?"
"""Pattern of an instant's text, in ASCII; compiled at its first use."""


class InstantError(InputError):
    """A text is not an instant, a time zone or a duration."""


def to_unix(instant: datetime) -> int:
    """Seconds since 1970-01-01T00:00Z; a part of a second is dropped towards the past.

    >>> to_unix(datetime(2025, 3, 21, 6, tzinfo=UTC))
    1742536800
    """
    since = instant - _EPOCH
    return since.days * DAY + since.seconds


def from_unix(unix: int) -> datetime:
    """The instant as an aware UTC datetime.

    >>> from_unix(1742536800).isoformat()
    '2025-03-21T06:00:00+00:00'
    """
    return datetime.fromtimestamp(unix, UTC)


def format_instant(instant: datetime) -> str:
    """ISO 8601 in UTC to the second.

    >>> format_instant(datetime(2025, 3, 21, 6, tzinfo=UTC))
    '2025-03-21T06:00:00Z'
    """
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def format_zoned(instant: datetime, timezone: str, *, seconds: bool = False) -> str:
    """The instant for people: ISO 8601 on the wall clock of a zone, with its offset.

    ``seconds`` shows seconds even if they are 0.

    >>> format_zoned(datetime(2025, 3, 21, 6, tzinfo=UTC), "Europe/Berlin"), format_zoned(datetime(2025, 3, 21, 6,
    ...     tzinfo=UTC), "UTC")
    ('2025-03-21T07:00+01:00', '2025-03-21T06:00Z')
    """
    try:
        there = instant.astimezone(zone_offsets(timezone).zone)
    except OverflowError:  # the last hours of the year 9999 in the east, the first of the year 1 in the west
        there = instant
    text = there.isoformat(timespec="seconds" if seconds or there.second else "minutes")
    return text if there.utcoffset() else text.removesuffix("+00:00") + "Z"


def parse_instant(text: str, *, zone: str) -> datetime:
    """The instant that a person wrote: an ISO date, or a date and time with or without an offset; aware, UTC.

    Without an offset it is wall-clock time in ``zone``, which must show it exactly once; a date alone is where its day
    begins.

    Raises:
        InstantError: The text has another form, there is no such date, or the zone's clocks skip or repeat it.

    >>> format_instant(parse_instant("2025-03-21 06:00", zone="Europe/Berlin"))
    '2025-03-21T05:00:00Z'
    """
    expected = "expected an ISO date or time, such as 2025-03-21 or 2025-03-21T06:00Z"
    if not re.fullmatch(_INSTANT, text, re.ASCII):
        raise InstantError(f"'{text}' is not an instant; {expected}")
    try:
        parsed = datetime.fromisoformat(text)
        if parsed.tzinfo is None:
            return from_unix(_resolve_local_time(text, parsed, zone))
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InstantError(f"'{text}' is not an instant: {error}; {expected}") from error


def _resolve_local_time(text: str, local: datetime, zone: str) -> int:
    """The instant of a wall-clock time without an offset; of a date alone its day's first, if the day exists."""
    clock, wall = zone_offsets(zone), local_seconds(local)
    first, second = clock.readings_of(wall)
    if first == second:
        return first
    begin = clock.boundary(wall)
    if re.fullmatch(_DATE, text, re.ASCII) and begin + clock.offset_at(begin) < wall + DAY:
        return begin
    change = clock.changes(min(first, second), max(first, second) + 1)[-1]
    before, after = (_clock_text(local_datetime(change.at + offset)) for offset in (change.before, change.after))
    if second < first:
        hint = f"write {_clock_text(local_datetime(first + clock.offset_at(first)))}"
        raise InstantError(f"'{text}' does not exist in {zone}: the clocks skip from {before} to {after}", hint=hint)
    both = " or ".join(_clock_text(from_unix(each).astimezone(clock.zone)) for each in (first, second))
    message = f"'{text}' happens twice in {zone}: the clocks go back from {before} to {after}"
    raise InstantError(message, hint=f"write {both}")


def _clock_text(time: datetime) -> str:
    return time.isoformat(timespec="auto" if time.second else "minutes")


@cache
def find_zone(name: str) -> ZoneInfo:
    """The IANA time zone of that name.

    Raises:
        InstantError: There is none.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        found = None if _names_no_place(name) else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        found = None
    if found is None:
        from sparkassets.core.suggestions import find_nearest_zone

        meant = find_nearest_zone(name, (each for each in available_timezones() if not _names_no_place(each)))
        hint = f"did you mean '{meant}'?" if meant else None
        raise InstantError(f"unknown time zone '{name}'; expected an IANA name such as Europe/Berlin", hint=hint)
    return found


_OTHER_FILES = frozenset({"Factory", "localtime", "posix", "posixrules", "right"})
"""Files beside the zones: some differ between machines, others are copies that count leap seconds."""


def _names_no_place(name: str) -> bool:
    return name.partition("/")[0] in _OTHER_FILES


@frozen
class ClockChange:
    """One change of a zone's UTC offset.

    Attributes:
        at: Its first instant with the new offset; Unix seconds.
        before, after: The offsets, seconds east of UTC.
    """

    at: int
    before: int
    after: int


class SteadySpan(NamedTuple):
    """A time ``[start, end)`` in which the clocks of a zone do not change.

    Attributes:
        start, end: Unix seconds.
        offset: The UTC offset, seconds east of UTC.
    """

    start: int
    end: int
    offset: int


_Chunk = tuple[list[int], list[int], list[ClockChange]]
"""The instants of a chunk's clock changes, the offsets around them (one more), and the changes themselves."""


class ZoneOffsets:
    """The UTC offset of one zone as a step function of time, learnt from ``zoneinfo`` as far as it is asked for.

    A local time is written as the seconds since 1970-01-01T00:00 on the wall clock.
    """

    __slots__ = ("_chunks", "_fixed", "zone")

    def __init__(self, name: str) -> None:
        self.zone = UTC if name == "UTC" else find_zone(name)  # without the tz database, whose reader takes 2 ms
        self._fixed = self.zone.utcoffset(None) is not None
        self._chunks: dict[int, _Chunk] = {}

    def offset_at(self, unix: int) -> int:
        """Seconds east of UTC at that instant."""
        instants, offsets, _ = self._chunks.get(unix >> _BITS) or self._add_chunk(unix >> _BITS)
        return offsets[bisect_right(instants, unix)]

    def changes(self, start: int, end: int) -> list[ClockChange]:
        """The clock changes in ``[start, end)``, oldest first."""
        if self._fixed or start >= end:
            return []
        found: list[ClockChange] = []
        for number in range(max(start, _EARLIEST) >> _BITS, (min(end, _LATEST) >> _BITS) + 1):
            instants, _, changes = self._chunks.get(number) or self._add_chunk(number)
            if instants and start <= instants[-1] and instants[0] < end:
                found += changes[bisect_left(instants, start) : bisect_left(instants, end)]
        return found

    def steady_span(self, unix: int) -> SteadySpan:
        """Time around an instant in which the clocks do not change; not always the longest."""
        number = unix >> _BITS
        instants, offsets, _ = self._chunks.get(number) or self._add_chunk(number)
        i = bisect_right(instants, unix)
        start = instants[i - 1] if i else number << _BITS
        return SteadySpan(start, instants[i] if i < len(instants) else (number + 1) << _BITS, offsets[i])

    def steady_spans(self, start: int, end: int) -> Iterator[SteadySpan]:
        """``[start, end)`` cut at the clock changes, oldest first, none empty."""
        for change in self.changes(start + 1, end):
            yield SteadySpan(start, change.at, change.before)
            start = change.at
        if start < end:
            yield SteadySpan(start, end, self.offset_at(start))

    def readings_of(self, local: int) -> tuple[int, int]:
        """Both readings of a local time, as of ``fold`` 0 and 1.

        They are equal where it is unique. Where it is repeated, the second is later; where it is skipped, the first is
        later: moved forward by the gap's length, and the second back.
        """
        first, second = local - self.offset_at(local - DAY), local - self.offset_at(local + DAY)
        if first == second:
            return first, first
        before, after = self.offset_at(first) == local - first, self.offset_at(second) == local - second
        if before == after:
            return first, second
        return (first, first) if before else (second, second)

    def tick_instant(self, local: int) -> int:
        """The instant at which what is planned for a local time happens.

        A skipped time moves forward by the gap's length, a repeated one happens at its second occurrence.
        """
        return max(self.readings_of(local))

    def boundary(self, local: int) -> int:
        """The first instant from which on the wall clock never again shows less than ``local``.

        So a skipped midnight is the change itself; of a repeated one, the occurrence after which the old date is over.
        """
        first, second = self.readings_of(local)
        if first == second:
            return first
        change = self.changes(min(first, second), max(first, second) + 1)[-1]
        if change.at < second:  # the clocks go back below this time and show it once more
            return second
        return change.at if first > second else first  # skipped; or the clocks go back to it, not below it

    def _add_chunk(self, number: int) -> _Chunk:
        """Finds the clock changes of one chunk of time, and keeps them."""
        start, end = number << _BITS, (number + 1) << _BITS
        offset = first = self._probe(start - 1)  # a change may be in the chunk's first second
        found: list[tuple[int, int]] = []
        for at in () if self._fixed else range(start - 1, end - 1, _STEP):
            reached = self._probe(min(at + _STEP, end - 1))
            if reached != offset:
                found += self._narrow(at, min(at + _STEP, end - 1), offset, reached)
            offset = reached
        instants, offsets = [at for at, _ in found], [first, *(offset for _, offset in found)]
        changes = [ClockChange(at, offsets[i], offsets[i + 1]) for i, at in enumerate(instants)]
        self._chunks[number] = instants, offsets, changes
        return self._chunks[number]

    def _narrow(self, start: int, end: int, before: int, after: int) -> Iterator[tuple[int, int]]:
        """The changes in ``(start, end]`` with the offset that each begins, given the offsets at both ends."""
        if end - start == 1:
            yield end, after
            return
        middle = (start + end) // 2
        offset = self._probe(middle)
        if before != offset:
            yield from self._narrow(start, middle, before, offset)
        if offset != after:
            yield from self._narrow(middle, end, offset, after)

    def _probe(self, unix: int) -> int:
        """The offset by ``zoneinfo``; outside Python's years, that of the nearest year."""
        since = datetime.fromtimestamp(min(max(unix, _EARLIEST), _LATEST), self.zone).utcoffset() or timedelta()
        return since.days * DAY + since.seconds


_STEP = 3 * DAY
"""How far apart a zone is probed; none of the tz database goes and returns within it (tests/core/test_instants.py)."""
_BITS = 25
"""Clock changes are learnt in chunks of 2 to this power of seconds, a little more than a year."""
_EARLIEST = to_unix(datetime(2, 1, 1, tzinfo=UTC))
_LATEST = to_unix(datetime(9999, 1, 1, tzinfo=UTC))


@cache
def zone_offsets(zone: str) -> ZoneOffsets:
    """The offsets of the zone of that name, shared by all who ask.

    Raises:
        InstantError: There is no such zone.
    """
    return ZoneOffsets(zone)


def local_to_epoch(local: datetime, zone: str, *, fold: int) -> int:
    """The instant of a naive wall-clock time in ``zone``.

    A skipped time moves forward by the gap's length, whatever ``fold``; of a repeated one ``fold`` 0 takes the first
    occurrence and 1 the second.

    >>> from_unix(local_to_epoch(datetime(2025, 10, 26, 2, 30), "Europe/Berlin", fold=1)).hour
    1
    """
    first, second = zone_offsets(zone).readings_of(local_seconds(local))
    return second if fold and second > first else first


def local_seconds(local: datetime) -> int:
    """A naive wall-clock time as seconds since 1970-01-01T00:00 on the same clock."""
    since = local.replace(tzinfo=None) - _NAIVE_EPOCH
    return since.days * DAY + since.seconds


def local_datetime(local: int) -> datetime:
    """The naive wall-clock time of those seconds; the inverse of `local_seconds`."""
    return _NAIVE_EPOCH + timedelta(seconds=local)


def local_date(day: int) -> date:
    """The date of a day number, which counts from 0 at 1970-01-01."""
    return date.fromordinal(day + _EPOCH_ORDINAL)


def day_number(of: date) -> int:
    """Days since 1970-01-01."""
    return of.toordinal() - _EPOCH_ORDINAL


_UNITS = {"y": "months", "mo": "months", "w": "days", "d": "days", "h": "seconds", "m": "seconds", "s": "seconds"}
_SIZES = {"y": 12, "mo": 1, "w": 7, "d": 1, "h": 3600, "m": 60, "s": 1}
_DURATION = r"-?(?:\d{1,9}(?:mo|[ywdhms]))+"
_MOST_YEARS = 999
_PART = r"(\d+)(mo|[ywdhms])"


@frozen
class Duration:
    """A length of time whose days and months are those of a calendar.

    Attributes:
        months, days: Calendar time in some zone: a day may last 23 or 25 hours.
        seconds: Elapsed time. All three have the same sign.
    """

    months: int = 0
    days: int = 0
    seconds: int = 0

    def __post_init__(self) -> None:
        parts = (self.months, self.days, self.seconds)
        if min(parts) < 0 < max(parts):
            raise InstantError(
                f"a duration of {self.months} months, {self.days} days and {self.seconds} seconds has no sign"
            )

    @classmethod
    def parse(cls, text: str) -> Duration:
        """The duration of a text such as ``7d``, ``-6d``, ``1h30m``, ``2w``, ``1mo``, ``1y``.

        Raises:
            InstantError: The text is no duration.

        >>> Duration.parse("1h30m")
        Duration(months=0, days=0, seconds=5400)
        """
        if not re.fullmatch(_DURATION, text, re.ASCII):
            raise InstantError(
                f"'{text}' is not a duration; expected a number and a unit (s m h d w mo y), such as 90s, 1h30m or 7d"
            )
        sign = -1 if text.startswith("-") else 1
        parts = {"months": 0, "days": 0, "seconds": 0}
        for count, unit in re.findall(_PART, text, re.ASCII):
            parts[_UNITS[unit]] += sign * int(count) * _SIZES[unit]
        if abs(parts["months"]) / 12 + abs(parts["days"] + parts["seconds"] / DAY) / 366 > _MOST_YEARS:
            raise InstantError(f"'{text[:40]}' is longer than {_MOST_YEARS} years")
        return cls(**parts)

    @property
    def text(self) -> str:
        """The shortest text that parses back to the same duration, days as ``d`` and months as ``y`` and ``mo``.

        >>> Duration(days=-6).text
        '-6d'
        """
        years, months = divmod(abs(self.months), 12)
        hours, rest = divmod(abs(self.seconds), 3600)
        minutes, seconds = divmod(rest, 60)
        parts = {"y": years, "mo": months, "d": abs(self.days), "h": hours, "m": minutes, "s": seconds}
        sign = "-" if min(self.months, self.days, self.seconds) < 0 else ""
        return sign + ("".join(f"{count}{unit}" for unit, count in parts.items() if count) or "0s")

    def __neg__(self) -> Duration:
        return Duration(-self.months, -self.days, -self.seconds)

    def add_to(self, unix: int, zone: str) -> int:
        """The instant that long after ``unix``: months and days on the wall clock of ``zone``, then elapsed seconds.

        A day that the month does not have is its last; a skipped wall-clock time moves forward by the gap's length,
        a repeated one is its second occurrence.
        """
        if self.months or self.days:
            clock = zone_offsets(zone)
            unix = clock.tick_instant(self.add_to_local(unix + clock.offset_at(unix)))
        return unix + self.seconds

    def add_to_local(self, local: int) -> int:
        """Months and days, without the seconds, added to a local time (seconds on the wall clock)."""
        day, rest = divmod(local, DAY)
        if self.months:
            of = local_date(day)
            year, month = divmod(of.year * 12 + of.month - 1 + self.months, 12)
            if not MINYEAR <= year <= MAXYEAR:
                raise InstantError(f"'{self.text}' from {of} is outside the years {MINYEAR} to {MAXYEAR}")
            day = day_number(date(year, month + 1, min(of.day, monthrange(year, month + 1)[1])))
        return (day + self.days) * DAY + rest

    def seconds_exactly(self) -> int:
        """Elapsed seconds, a day counted as 86,400: for timeouts and ages, which have no calendar.

        Raises:
            InstantError: It has months or years, whose length varies.
        """
        if self.months:
            raise InstantError(f"'{self.text}' has no fixed length; expected seconds, minutes, hours, days or weeks")
        return self.days * DAY + self.seconds
