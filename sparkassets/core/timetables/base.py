"""What every timetable is: slots in time, each with the instant from which its run may start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from sparkassets.core.instants import Duration, format_zoned, from_unix
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

V = TypeVar("V")
R = TypeVar("R")

Catchup = Literal["all", "latest", "rollup"]
"""Every missed interval in order; only the newest; one run that spans all missed ones."""


class TimetableError(InputError):
    """A schedule is not a timetable, or can never fire.

    Attributes:
        path: Keys and indices from the schedule's value to the value at fault.
        at_key: Whether the last key of the path is at fault, else its value.
        lacks: Whether a key is missing: no fault of its own where another key was refused already.
        others: What else is wrong in the same schedule.
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
        """Itself and the others."""
        return (self, *self.others)

    def at_path(self, *path: str | int, beside: Collection[object] = ()) -> TimetableError:
        """The same error of a value that stands at a path; what is at a key beside it stays there."""
        above = () if self.path and self.path[0] in beside else path
        return TimetableError(
            str(self.args[0]),
            hint=self.hint,
            path=(*above, *self.path),
            at_key=self.at_key,
            lacks=self.lacks,
            others=[each.at_path(*path, beside=beside) for each in self.others],
        )


def read_all_or_raise(values: Iterable[V], read: Callable[[V], R]) -> list[R]:
    """What ``read`` makes of each value.

    Raises:
        TimetableError: Of the first value that is refused, with those of the others.
    """
    found: list[R] = []
    faults: list[TimetableError] = []
    for value in values:
        try:
            found.append(read(value))
        except TimetableError as error:
            faults += error.all_errors
    if faults:
        faults[0].others = faults[1:]
        raise faults[0]
    return found


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
        """So long later a run may start."""

    @property
    def window(self) -> Duration | None:
        """The length of the intervals instead; None leaves them."""


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
