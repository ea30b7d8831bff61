"""A list of instants, each a tick."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.frozen import frozen

_SHOWN = 3


@frozen
class InstantTicks:
    """Exactly these instants.

    Attributes:
        instants: Unix seconds; ascending, no two equal.
        timezone: The zone that they are told in.
    """

    instants: tuple[int, ...] = ()
    timezone: str = "UTC"

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None when there is none."""
        at = bisect_right(self.instants, unix)
        return self.instants[at] if at < len(self.instants) else None

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        at = bisect_left(self.instants, unix)
        return self.instants[at - 1] if at else None

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        return list(self.instants[bisect_left(self.instants, start) : bisect_left(self.instants, end)])

    def describe(self) -> str:
        """The first of them, and how many more there are.

        >>> InstantTicks((0, 60)).describe()
        '1970-01-01T00:00Z, 1970-01-01T00:01Z'
        """
        shown = ", ".join(format_zoned(from_unix(each), self.timezone) for each in self.instants[:_SHOWN])
        more = len(self.instants) - _SHOWN
        return f"{shown} and {more} more" if more > 0 else shown
