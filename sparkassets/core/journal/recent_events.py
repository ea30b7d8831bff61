"""Remembered events of a dataset; old ones are in packs, which stay in their stored form until one event is read.

A dataset can have a million unused events. Decoding all of them at every start would take seconds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar


class HasNumber(Protocol):
    """A value with a sequence number in the journal."""

    @property
    def seq(self) -> int:
        """The sequence number."""


T = TypeVar("T", bound=HasNumber)

PACK = 1000
"""Events in a pack: many packs cost next to nothing, and one of them is decoded in some milliseconds."""


class EventPack(Generic[T]):
    """Events that are decoded together when one is needed; never empty.

    Attributes:
        first, last: The smallest and the greatest sequence number.
        count: Number of events.
    """

    __slots__ = ("_decode", "_items", "_text", "count", "first", "last")

    def __init__(self, first: int, last: int, count: int, *, text: str, decode: Callable[[str], tuple[T, ...]]) -> None:
        self.first, self.last, self.count = first, last, count
        self._items: tuple[T, ...] | None = None
        self._text, self._decode = text, decode

    @classmethod
    def from_events(cls, items: tuple[T, ...]) -> EventPack[T]:
        """A pack of decoded events, ascending."""
        pack = cls(items[0].seq, items[-1].seq, len(items), text="", decode=lambda _: items)
        pack._items = items
        return pack

    @property
    def items(self) -> tuple[T, ...]:
        """The events, ascending."""
        if self._items is None:
            self._items = self._decode(self._text)
        return self._items

    def encoded_text(self, encode: Callable[[tuple[T, ...]], str]) -> str:
        """The stored form of the events; ``encode`` encodes them where the pack was not read from a store."""
        if not self._text:
            self._text = encode(self.items)
        return self._text


class RecentEvents(Generic[T]):
    """Remembered events, ascending by sequence number: packs of old ones, and the newest one by one.

    Attributes:
        packs: Older events.
        loose: The newest events, including the last one.
    """

    __slots__ = ("loose", "packs")

    def __init__(self, packs: tuple[EventPack[T], ...] = (), loose: tuple[T, ...] = ()) -> None:
        self.packs, self.loose = packs, loose

    @classmethod
    def from_events(cls, items: Iterable[T]) -> RecentEvents[T]:
        """The value of these events, ascending."""
        return cls().with_events(items)

    def with_events(self, items: Iterable[T]) -> RecentEvents[T]:
        """Appends newer events, and packs older ones once there are many: between `PACK` and twice as many stay loose.

        A pack is encoded only once, so a snapshot of many events costs little (`EventPack`).
        """
        loose, packs = (*self.loose, *items), list(self.packs)
        packed_to = 0
        while len(loose) - packed_to > 2 * PACK:
            packs.append(EventPack.from_events(loose[packed_to : packed_to + PACK]))
            packed_to += PACK
        return RecentEvents(tuple(packs), loose[packed_to:])

    # ------------------------------------------------------------------ all of them

    def __iter__(self) -> Iterator[T]:
        for pack in self.packs:
            yield from pack.items
        yield from self.loose

    def __len__(self) -> int:
        return sum(pack.count for pack in self.packs) + len(self.loose)

    def __bool__(self) -> bool:
        return bool(self.loose)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecentEvents):
            return NotImplemented
        return (self.packs == other.packs and self.loose == other.loose) or tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash((self.first, len(self)))

    def __repr__(self) -> str:
        return f"RecentEvents.from_events({list(self)!r})"

    # ------------------------------------------------------------------ some of them

    @property
    def first(self) -> int:
        """The sequence number of the oldest event; 0 where there is none."""
        if self.packs:
            return self.packs[0].first
        return self.loose[0].seq if self.loose else 0

    @property
    def newest(self) -> T | None:
        """The newest event; None where there is none."""
        return self.loose[-1] if self.loose else None

    def between(self, after: int, up_to: int | None = None) -> Iterator[T]:
        """Yields the events numbered above ``after`` and at most ``up_to``, ascending; None is no limit."""
        for pack in self.packs:
            if pack.last > after and (up_to is None or pack.first <= up_to):
                yield from _events_between(pack.items, after, up_to)
        yield from _events_between(self.loose, after, up_to)

    def with_numbers(self, numbers: Collection[int]) -> Iterator[T]:
        """Yields the events with these numbers, ascending."""
        sorted_numbers = sorted(numbers) if self.packs else ()
        for pack in self.packs:
            if _has_number_between(sorted_numbers, pack.first, pack.last):
                yield from (each for each in pack.items if each.seq in numbers)
        yield from (each for each in self.loose if each.seq in numbers)

    def without(self, up_to: int, *, kept_numbers: Collection[int]) -> RecentEvents[T]:
        """The events without those numbered up to ``up_to``, but with ``kept_numbers`` and always the newest."""
        sorted_kept = sorted(kept_numbers) if self.packs else ()
        packs = (
            pack if pack.first > up_to else _pack_without(pack, up_to, kept_numbers, sorted_kept) for pack in self.packs
        )
        kept = tuple(each for each in self.loose[:-1] if each.seq > up_to or each.seq in kept_numbers)
        return RecentEvents(tuple(pack for pack in packs if pack is not None), (*kept, *self.loose[-1:]))


def _pack_without(
    pack: EventPack[T], up_to: int, kept_numbers: Collection[int], sorted_kept: Sequence[int]
) -> EventPack[T] | None:
    """The rest of one pack for `RecentEvents.without`; None where nothing remains.

    ``sorted_kept`` has the numbers of ``kept_numbers``, ascending.
    """
    if pack.last <= up_to and not _has_number_between(sorted_kept, pack.first, pack.last):
        return None
    kept = tuple(each for each in pack.items if each.seq > up_to or each.seq in kept_numbers)
    return pack if len(kept) == pack.count else EventPack.from_events(kept) if kept else None


def _events_between(items: tuple[T, ...], after: int, up_to: int | None) -> Iterator[T]:
    """The events numbered above ``after`` and at most ``up_to``; None is no limit."""
    return (each for each in items if each.seq > after and (up_to is None or each.seq <= up_to))


def _has_number_between(numbers: Sequence[int], first: int, last: int) -> bool:
    """Whether one of the ascending numbers is from ``first`` to ``last``, inclusive."""
    return bisect_left(numbers, first) < bisect_right(numbers, last)
