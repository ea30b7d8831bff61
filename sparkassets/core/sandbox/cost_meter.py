"""Counts the steps and characters of a rendering, and stops a template that takes too many."""

from __future__ import annotations

from collections import deque
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from contextlib import contextmanager
from typing import Final, TypeVar

from jinja2 import TemplateRuntimeError, Undefined

T = TypeVar("T")

MOST_STEPS: Final = 1_000_000
"""Turns of loops, calls, and values that operators, filters and calls look at."""
MOST_CHARACTERS: Final = 10_000_000
"""Limit for the text made while rendering, the query included."""
MOST_CALLS: Final = 100
"""Limit for nested macros, blocks and loops: below what Python's stack holds, however high its limit was set."""
CHARACTERS_A_STEP: Final = 64
"""A long text counts as so many more steps for whoever looks at it."""
_CHARACTERS_A_VALUE: Final = 32
"""Most characters of a number, a bracket or a date printed inside a list."""

_LISTS: Final = (list, tuple, set, frozenset, deque, KeysView, ValuesView, ItemsView)


class TooMuchError(TemplateRuntimeError):
    """A template takes more than rendering may cost."""


class CostMeter:
    """Counts what one rendering costs.

    Attributes:
        steps, characters, calls: Those that are left; of calls, how many may still be made inside of the present one.
    """

    __slots__ = ("_limits", "calls", "characters", "steps")

    def __init__(self, *, steps: int = MOST_STEPS, characters: int = MOST_CHARACTERS) -> None:
        self.steps, self.characters = self._limits = steps, characters
        self.calls = MOST_CALLS

    def step(self, count: int = 1) -> None:
        """Counts steps.

        Raises:
            TooMuchError: These are too many.
        """
        self.steps -= count
        if self.steps < 0:
            raise TooMuchError(f"the template takes more than {self._limits[0]:,} steps")

    def write(self, characters: int) -> None:
        """Counts text that is about to be made.

        Raises:
            TooMuchError: It is too much.
        """
        self.characters -= characters
        if self.characters < 0:
            raise TooMuchError(f"the template makes more than {self._limits[1]:,} characters")

    @contextmanager
    def call(self) -> Iterator[None]:
        """Counts a call for as long as it lasts.

        Raises:
            TooMuchError: It is inside of too many.
        """
        if not self.calls:
            raise TooMuchError("the template calls itself too deep")
        self.calls -= 1
        try:
            yield
        finally:
            self.calls += 1

    def weigh(self, *values: object) -> int:
        """Counts a look at values and at all that is in them; returns how many characters they take when printed.

        A value that several lists share counts in each of them, as it is printed in each.
        """
        characters, left = 0, list(values)
        while left:
            self.step()
            value = left.pop()
            if isinstance(value, str | bytes):
                characters += len(value)
                self.step(len(value) // CHARACTERS_A_STEP)
                continue
            characters += _CHARACTERS_A_VALUE
            if isinstance(value, int):
                characters += value.bit_length() // 3
            elif isinstance(value, dict):
                self.step(len(value))
                left += value.keys()
                left += value.values()
            elif isinstance(value, _LISTS):
                self.step(len(value))
                left += value
        return characters

    def count_items(self, values: Iterable[T]) -> Iterable[T]:
        """The values, of which each is a step when it is taken; what says itself that it is undefined stays that."""
        return values if isinstance(values, Undefined) else self._iterate_counted(values)

    def _iterate_counted(self, values: Iterable[T]) -> Iterator[T]:
        for value in values:
            self.step()
            yield value
