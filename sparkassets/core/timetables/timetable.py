"""Timetables, the shapes of their intervals, and how the runs of two align."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, Literal, Protocol, TypeVar

from sparkassets.core.instants import DAY, Duration, format_zoned, from_unix
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

V = TypeVar("V")
R = TypeVar("R")

Catchup = Literal["all", "latest", "rollup"]
"""Which missed intervals run: every one in order, only the newest, or one run that spans all of them."""


class TimetableError(InputError):
    """A schedule is not a timetable, or can never fire.

    Attributes:
        path: Keys and indices from the schedule's value to the value at fault.
        at_key: Whether the last key of the path is at fault, rather than its value.
        lacks: Whether a key is missing; not reported where another key was refused, which may be a misspelling of it.
        others: Further errors in the same schedule.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        path: tuple[str | int, ...] = (),
        at_key: bool = False,
        lacks: bool = False,
        others: Sequence[TimetableError] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.at_key = at_key
        self.lacks = lacks
        self.others = others

    @property
    def all_errors(self) -> Sequence[TimetableError]:
        """This error and the others."""
        return (self, *self.others)

    def at_path(self, *path: str | int, beside: Collection[object] = ()) -> TimetableError:
        """The same error, as of a value at ``path`` in a larger value.

        An error at one of the keys ``beside`` that value keeps its own path.
        """
        prefix = () if self.path and self.path[0] in beside else path
        return TimetableError(
            str(self.args[0]),
            hint=self.hint,
            path=(*prefix, *self.path),
            at_key=self.at_key,
            lacks=self.lacks,
            others=[each.at_path(*path, beside=beside) for each in self.others],
        )


def read_all_or_raise(values: Iterable[V], read: Callable[[V], R]) -> list[R]:
    """Applies ``read`` to each value, so that all faults are reported together.

    Raises:
        TimetableError: The error of the first refused value, with the errors of the others.
    """
    results: list[R] = []
    faults: list[TimetableError] = []
    for value in values:
        try:
            results.append(read(value))
        except TimetableError as error:
            faults += error.all_errors
    if faults:
        faults[0].others = faults[1:]
        raise faults[0]
    return results


@frozen
class Slot:
    """One run's place in time; all aware, UTC.

    Attributes:
        run_after: The earliest time that the run may start.
        start, end: The data interval ``[start, end)``; ``start`` is the logical date.
    """

    run_after: datetime
    start: datetime
    end: datetime


class TickSequence(Protocol):
    """The instants that a rule names, whatever its bounds: ascending, no two equal; all in Unix seconds."""

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None when there is none."""

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""

    def describe(self) -> str:
        """The rule for people, without zone and bounds."""


class Timetable(Protocol):
    """A rule that yields slots, ascending by ``run_after``."""

    @property
    def text(self) -> str:
        """The rule as it was written."""

    @property
    def timezone(self) -> str:
        """The zone whose wall clock it follows."""

    @property
    def start(self) -> int | None:
        """No interval begins before it; Unix seconds, None is open."""

    @property
    def end(self) -> int | None:
        """No interval begins at it or after; Unix seconds, None is open."""

    @property
    def catchup(self) -> Catchup | None:
        """What becomes of missed intervals; None where it is not written."""

    @property
    def abutting(self) -> bool:
        """Whether each interval begins where the one before ended."""

    def first_after(self, t: datetime) -> Slot | None:
        """The first slot with ``run_after`` later than ``t``; None when there is none."""

    def last_at(self, t: datetime) -> Slot | None:
        """The newest slot with ``run_after`` not later than ``t``; None when there is none."""

    def last_over(self, t: datetime) -> Slot | None:
        """The newest slot whose interval is over at ``t``, whatever delays its run; None when there is none."""

    def between(self, a: datetime, b: datetime) -> Iterator[Slot]:
        """The slots with ``a <= run_after <= b``, oldest first."""

    def describe(self) -> str:
        """The rule for people, with its zone and bounds."""


class ModifiedTimetable(Timetable, Protocol):
    """A timetable with the modifiers that shift and widen its slots."""

    @property
    def delay(self) -> Duration:
        """Time from an interval's end until its run may start."""

    @property
    def window(self) -> Duration | None:
        """Length of the intervals in place of their own; None keeps these."""


def describe_timetable(timetable: ModifiedTimetable) -> str:
    """The rule for people, with its zone, bounds and modifiers."""
    parts = [timetable.text, f"({timetable.timezone})"]
    bounds = (("from", timetable.start), ("until", timetable.end))
    parts += [
        f"{word} {format_zoned(from_unix(bound), timetable.timezone)}" for word, bound in bounds if bound is not None
    ]
    parts += [f"delayed by {timetable.delay.text}"] if timetable.delay != Duration() else []
    parts += [f"over {timetable.window.text}"] if timetable.window else []
    parts += [f"catchup {timetable.catchup}"] if timetable.catchup else []
    return " ".join(parts)


_SHORTEST_MONTH, _LONGEST_MONTH = 28, 31
_CLOCK_CHANGES = 2 * DAY
"""More seconds than clock changes within a calendar length can add or take away."""


class IntervalShape(Protocol):
    """How ticks become intervals, one for each tick; all in Unix seconds."""

    @property
    def abutting(self) -> bool:
        """Whether each interval begins where the one before ended."""

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the most that an interval's end lies after its tick; equal where it is always the same."""

    def intervals(self, ticks: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """``(start, end)`` of the intervals of the ticks in ``[start, end)``, in the order of the ticks."""

    def tick_of(self, ticks: TickSequence, begin: int) -> int | None:
        """The tick whose interval begins at the tick ``begin``; None when that interval never ends."""


@frozen
class AbuttingIntervals:
    """Each interval reaches from the tick before to its tick."""

    abutting: bool = True
    reach: tuple[int, int] = (0, 0)

    def intervals(self, ticks: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields the interval from the tick before to each tick in ``[start, end)``; none for the first tick of all."""
        begin = ticks.before(start)  # None at the first tick of all, which has no interval
        for tick in ticks.between(start, end):
            if begin is not None:
                yield begin, tick
            begin = tick

    def tick_of(self, ticks: TickSequence, begin: int) -> int | None:
        """The tick after ``begin``, where that interval ends."""
        return ticks.after(begin)


@frozen
class InstantIntervals:
    """Each interval is empty: its tick is both start and end."""

    abutting: bool = False
    reach: tuple[int, int] = (0, 0)

    def intervals(self, ticks: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields the empty intervals of the ticks in ``[start, end)``."""
        for tick in ticks.between(start, end):
            yield tick, tick

    def tick_of(self, _: TickSequence, begin: int) -> int | None:
        """The tick ``begin`` itself."""
        return begin


@frozen
class FixedLengthIntervals:
    """Each interval begins at its tick and has a fixed length, whatever the next tick is.

    Attributes:
        length: Above 0.
        timezone: Of its days and months.
    """

    length: Duration
    timezone: str
    abutting: bool = False

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the most seconds that the length can last."""
        return duration_range(self.length)

    def intervals(self, ticks: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields the intervals of the ticks in ``[start, end)``."""
        for tick in ticks.between(start, end):
            yield tick, self.length.add_to(tick, self.timezone)

    def tick_of(self, _: TickSequence, begin: int) -> int | None:
        """The tick ``begin`` itself."""
        return begin


def duration_range(length: Duration) -> tuple[int, int]:
    """The least and the most seconds that a length can last, given months and clock changes; it is not negative.

    >>> duration_range(Duration(seconds=60))
    (60, 60)
    """
    clock_changes = _CLOCK_CHANGES if length.months or length.days else 0
    # 28 and 31 days bound every month, and the sum of several
    least_days, most_days = (length.months * month + length.days for month in (_SHORTEST_MONTH, _LONGEST_MONTH))
    return least_days * DAY + length.seconds - clock_changes, most_days * DAY + length.seconds + clock_changes


def import_optional(module: str, *, need: str, extra: str) -> Any:  # noqa: ANN401 - a module
    """Imports and returns a module of an optional dependency.

    Args:
        module: Its name.
        need: What cannot be computed without it, such as ``the calendar 'DE'``.
        extra: The extra of sparkassets that installs it.

    Raises:
        TimetableError: It is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise TimetableError(
            f"{need} needs the package '{package}', which is not installed",
            hint=f"pip install 'sparkassets[{extra}]'",
        ) from error


def names_no_asset(text: str) -> bool:
    """Whether a text can only be a preset or a cron, and not the name of an asset.

    >>> names_no_asset("@daily"), names_no_asset("0 6 * * *"), names_no_asset("daily_delays")
    (True, True, False)
    """
    return not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text)


@frozen
class RunAlignment:
    """A run of the downstream and the upstream run that it takes its data from.

    Attributes:
        delta_seconds: The downstream's logical date minus the upstream's.
        case: 1 where both intervals end at the same instant, 2 where the upstream's ends earlier.
        at: The instant that was asked for; the downstream may have no tick there.
        zones: Time zone of the upstream's timetable, and of the downstream's.
    """

    upstream: Slot
    downstream: Slot
    delta_seconds: int
    case: Literal[1, 2]
    at: datetime
    zones: tuple[str, str]

    def __repr__(self) -> str:
        upstream_text = format_zoned(self.upstream.start, self.zones[0])
        downstream_text = format_zoned(self.downstream.start, self.zones[1])
        delta = delta_text(self.delta_seconds)
        return f"<run of {downstream_text} takes the one of {upstream_text}: execution delta {delta}, case {self.case}>"


def align_runs(upstream: Timetable, downstream: Timetable, at: datetime, *, names: tuple[str, str]) -> RunAlignment:
    """The newest run of ``downstream`` whose interval is over at ``at``, with the upstream run that it reads.

    Args:
        upstream: Timetable of the asset that is read.
        downstream: Timetable of the asset that reads it.
        at: Aware.
        names: Names of the upstream and the downstream, for messages.

    Raises:
        InputError: One of them has no run by then.
    """
    downstream_slot, zones = downstream.last_over(at), (upstream.timezone, downstream.timezone)
    if downstream_slot is None:
        raise InputError(f"{names[1]!r} has no run by {format_zoned(at, downstream.timezone)}: {downstream.describe()}")
    upstream_slot = upstream.last_over(downstream_slot.end)
    if upstream_slot is None:
        when_text = f"{format_zoned(downstream_slot.end, downstream.timezone)}, when {names[1]!r} runs"
        raise InputError(f"{names[0]!r} has no run by {when_text}: {upstream.describe()}")
    delta = downstream_slot.start - upstream_slot.start
    case: Literal[1, 2] = 1 if upstream_slot.end == downstream_slot.end else 2
    return RunAlignment(upstream_slot, downstream_slot, delta.days * 86_400 + delta.seconds, case, at, zones)


def delta_text(seconds: int) -> str:
    """An execution delta for people: hours, minutes and seconds, with a sign where it is negative.

    >>> delta_text(162_000), delta_text(-90)
    ('45:00:00', '-0:01:30')
    """
    minutes, rest = divmod(abs(seconds), 60)
    return f"{'-' if seconds < 0 else ''}{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
