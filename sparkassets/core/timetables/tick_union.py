"""Several rules as one: a tick of any of them is a tick."""

from __future__ import annotations

from sparkassets.core.timetables.base import TickSequence
from sparkassets.frozen import frozen


@frozen
class UnionTicks:
    """The ticks of all the parts; one that several share counts once."""

    parts: tuple[TickSequence, ...]

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None when there is none."""
        return min((tick for part in self.parts if (tick := part.after(unix)) is not None), default=None)

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        return max((tick for part in self.parts if (tick := part.before(unix)) is not None), default=None)

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        return sorted({tick for part in self.parts for tick in part.between(start, end)})

    def describe(self) -> str:
        """The rules for people.

        >>> UnionTicks(()).describe()
        ''
        """
        return ", ".join(dict.fromkeys(part.describe() for part in self.parts))


def unite_ticks(parts: list[TickSequence]) -> TickSequence:
    """The ticks of all the parts; a single one is itself."""
    return parts[0] if len(parts) == 1 else UnionTicks(tuple(parts))
