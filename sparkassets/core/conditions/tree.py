"""Conditions as trees of updates and times, and which of them hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import reduce
from operator import and_, or_
from typing import Final, Generic, TypeVar

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.timetables import Timetable
from sparkassets.frozen import frozen

BARE_URI: Final = re.compile(r"[^\s&|(){}]*://[^\s&|(){}]*")


@frozen
class UpdateLeaf:
    """One dataset was updated.

    Attributes:
        ref: An asset's name or a dataset URI.
    """

    ref: str
    is_uri: bool = False

    def text(self) -> str:
        """The update as people write it: bare where the text form allows it, else ``{uri: …}``."""
        return self.ref if not self.is_uri or BARE_URI.fullmatch(self.ref) else f"{{uri: {self.ref}}}"

    def leaves(self) -> Iterator[UpdateLeaf]:
        """Itself."""
        yield self

    def times(self) -> Iterator[TimeLeaf]:
        """None."""
        yield from ()


@frozen
class TimeLeaf:
    """A tick of a timetable has passed.

    Attributes:
        source_text: As the text form has it: a preset, a cron in quotes, or a map as JSON; its identity in the journal.
        timetable: Of a timer the grid of its spans, before it is anchored.
        without: Of a timer the dataset from whose last update on its spans count; None of any other time.
        span: Of a timer how long each is, as it is written.
    """

    source_text: str
    timetable: Timetable = field(compare=False)
    without: UpdateLeaf | None = None
    span: str = ""

    def text(self) -> str:
        """The time as people write it."""
        return self.source_text

    def leaves(self) -> Iterator[UpdateLeaf]:
        """None."""
        yield from ()

    def times(self) -> Iterator[TimeLeaf]:
        """Itself."""
        yield self


class _JoinedConditions:
    __slots__ = ()
    children: tuple[Condition, ...]

    def leaves(self) -> Iterator[UpdateLeaf]:
        """The updates, left to right."""
        for child in self.children:
            yield from child.leaves()

    def times(self) -> Iterator[TimeLeaf]:
        """The times, left to right."""
        for child in self.children:
            yield from child.times()


@frozen
class AllOf(_JoinedConditions):
    """Every child holds. Children are at least two, different, and no ``AllOf``."""

    children: tuple[UpdateLeaf | TimeLeaf | AnyOf, ...]

    def text(self) -> str:
        """The children joined by ``&``; an inner ``|`` stands in parentheses.

        >>> AllOf((UpdateLeaf("a"), AnyOf((UpdateLeaf("b"), UpdateLeaf("c"))))).text()
        'a & (b | c)'
        """
        return " & ".join(f"({each.text()})" if isinstance(each, AnyOf) else each.text() for each in self.children)


@frozen
class AnyOf(_JoinedConditions):
    """At least one child holds. Children are at least two, different, and no ``AnyOf``."""

    children: tuple[UpdateLeaf | TimeLeaf | AllOf, ...]

    def text(self) -> str:
        """The children joined by ``|``; ``&`` binds tighter, so nothing needs parentheses."""
        return " | ".join(each.text() for each in self.children)


Condition = UpdateLeaf | TimeLeaf | AllOf | AnyOf


def datasets(condition: Condition) -> list[UpdateLeaf]:
    """The datasets that a condition names: datasets whose updates count first, then those of its timers."""
    return [*condition.leaves(), *(each.without for each in condition.times() if each.without is not None)]


def join_all(conditions: Iterable[Condition]) -> Condition:
    """All of the conditions, flattened and without repetition; a single one is itself."""
    children: dict[UpdateLeaf | TimeLeaf | AnyOf, None] = {}
    for each in conditions:
        children |= dict.fromkeys(each.children if isinstance(each, AllOf) else (each,))
    return next(iter(children)) if len(children) == 1 else AllOf(tuple(children))


def join_any(conditions: Iterable[Condition]) -> Condition:
    """Any of the conditions, flattened and without repetition; a single one is itself."""
    children: dict[UpdateLeaf | TimeLeaf | AllOf, None] = {}
    for each in conditions:
        children |= dict.fromkeys(each.children if isinstance(each, AnyOf) else (each,))
    return next(iter(children)) if len(children) == 1 else AnyOf(tuple(children))


def times_true_alone(condition: Condition) -> tuple[TimeLeaf, ...]:
    """The times whose tick alone makes the condition true, left to right; timers included.

    >>> times_true_alone(AnyOf((UpdateLeaf("a"), UpdateLeaf("b"))))
    ()
    """
    choices = condition.children if isinstance(condition, AnyOf) else (condition,)
    return tuple(each for each in choices if isinstance(each, TimeLeaf))


T = TypeVar("T", bool, PartitionSet)


@frozen
class ConditionResult(Generic[T]):
    """The result of evaluating a condition.

    Attributes:
        node: The condition.
        value: Its truth.
        children: The verdicts of its children, in their order; none for a leaf.
        never_decidable: For what it can neither be true nor false: it is left out there; None where nobody asked.
    """

    node: Condition
    value: T
    children: tuple[ConditionResult[T], ...] = ()
    never_decidable: T | None = None

    @property
    def true_or_undecidable(self) -> T:
        """What keeps nothing from being true under ``&``."""
        return self.value if self.never_decidable is None else self.value | self.never_decidable

    def leaves(self) -> Iterator[tuple[UpdateLeaf | TimeLeaf, T]]:
        """The leaves with their truth, from left to right."""
        if isinstance(self.node, UpdateLeaf | TimeLeaf):
            yield self.node, self.value
        for child in self.children:
            yield from child.leaves()

    def used_leaves(self) -> Mapping[UpdateLeaf | TimeLeaf, T]:
        """The leaves that made it true, each with what it is used for.

        A leaf is used where every part above it holds, too. Elsewhere it is kept for a later decision, unless none can
        ever be made of it (``never_decidable``): there it is used up with whatever made the whole condition true.
        """
        found: dict[UpdateLeaf | TimeLeaf, T] = {}
        queue = [(self, self.value)]
        while queue:
            part, above = queue.pop()
            held = above & part.value
            if isinstance(part.node, UpdateLeaf | TimeLeaf) and part.never_decidable is not None:
                held = held | (part.never_decidable & self.value)
            if held and isinstance(part.node, UpdateLeaf | TimeLeaf):
                found[part.node] = found[part.node] | held if part.node in found else held
            queue += [(child, held) for child in reversed(part.children)]
        return found


def evaluate_condition(
    condition: Condition,
    truth: Callable[[UpdateLeaf | TimeLeaf], T],
    void: Callable[[UpdateLeaf | TimeLeaf], T] | None = None,
) -> ConditionResult[T]:
    """The verdict on ``condition``; asks for the truth of every leaf, whatever the others say.

    Args:
        condition: A parsed condition.
        truth: A leaf's truth; sets of partitions are intersected under ``&`` and united under ``|``.
        void: For what a leaf counts neither way, apart from its truth: neither asked for under ``&`` nor enough
            under ``|``.
    """
    match condition:
        case UpdateLeaf() | TimeLeaf():
            return ConditionResult(condition, truth(condition), (), void(condition) if void is not None else None)
        case AllOf(parts):
            children = tuple(evaluate_condition(part, truth, void) for part in parts)
            required = reduce(and_, (child.true_or_undecidable for child in children))
            some = reduce(or_, (child.value for child in children))
            # parts that can be neither true nor false make nothing true by themselves: some part must be true
            return ConditionResult(condition, required & some, children, _void_of_children(children))
        case AnyOf(choices):
            children = tuple(evaluate_condition(choice, truth, void) for choice in choices)
            some = reduce(or_, (child.value for child in children))
            return ConditionResult(condition, some, children, _void_of_children(children))


def _void_of_children(children: tuple[ConditionResult[T], ...]) -> T | None:
    voids = [child.never_decidable for child in children if child.never_decidable is not None]
    return reduce(and_, voids) if voids else None
