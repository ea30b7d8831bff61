"""The tree of a condition: leaves are updates and times, joints are ``&`` and ``|``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Final

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


@frozen
class AllOf:
    """Every child holds. Children are at least two, different, and no ``AllOf``."""

    children: tuple[UpdateLeaf | TimeLeaf | AnyOf, ...]

    def text(self) -> str:
        """The children joined by ``&``; an inner ``|`` stands in parentheses.

        >>> AllOf((UpdateLeaf("a"), AnyOf((UpdateLeaf("b"), UpdateLeaf("c"))))).text()
        'a & (b | c)'
        """
        return " & ".join(f"({each.text()})" if isinstance(each, AnyOf) else each.text() for each in self.children)

    def leaves(self) -> Iterator[UpdateLeaf]:
        """The updates, left to right."""
        for child in self.children:
            yield from child.leaves()

    def times(self) -> Iterator[TimeLeaf]:
        """The times, left to right."""
        for child in self.children:
            yield from child.times()


@frozen
class AnyOf:
    """At least one child holds. Children are at least two, different, and no ``AnyOf``."""

    children: tuple[UpdateLeaf | TimeLeaf | AllOf, ...]

    def text(self) -> str:
        """The children joined by ``|``; ``&`` binds tighter, so nothing needs parentheses."""
        return " | ".join(each.text() for each in self.children)

    def leaves(self) -> Iterator[UpdateLeaf]:
        """The updates, left to right."""
        for child in self.children:
            yield from child.leaves()

    def times(self) -> Iterator[TimeLeaf]:
        """The times, left to right."""
        for child in self.children:
            yield from child.times()


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
