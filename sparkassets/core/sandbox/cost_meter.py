"""Limits what rendering a template may take: turns of loops, calls, and the text and lists that it makes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Final, TypeVar

from jinja2 import TemplateRuntimeError, Undefined

T = TypeVar("T")

MOST_STEPS: Final = 1_000_000
"""Limit for turns of loops and calls together."""
MOST_CHARACTERS: Final = 10_000_000
"""Limit for the characters and list items made while rendering, intermediate results included."""
MOST_CALLS: Final = 100
"""Limit for nested macros, blocks and loops: below what Python's stack holds, however high its limit was set."""
MOST_BITS: Final = 4_096
"""Largest size of a whole number: some 1,200 digits."""
_MULTIPLYING: Final = frozenset({"*", "batch", "indent", "join", "ljust", "replace", "rjust", "slice", "zfill"})
"""Operators, filters and methods whose result may be as large as two of their operands multiplied."""


class TooMuchError(TemplateRuntimeError):
    """A template takes more than rendering may cost."""


class CostMeter:
    """Counts what rendering one template costs, and stops it at a limit.

    It stops what an author does by mistake, such as a macro that calls itself. An author who means harm has SQL.

    Attributes:
        steps, characters: How many are left.
        calls: How many calls may still be nested inside the present one.
    """

    __slots__ = ("_limits", "calls", "characters", "steps")

    def __init__(self, *, steps: int = MOST_STEPS, characters: int = MOST_CHARACTERS) -> None:
        self.steps, self.characters = self._limits = steps, characters
        self.calls = MOST_CALLS

    def step(self) -> None:
        """Counts one step.

        Raises:
            TooMuchError: It is one too many.
        """
        self.steps -= 1
        if self.steps < 0:
            raise TooMuchError(f"the template takes more than {self._limits[0]:,} steps")

    def write(self, characters: int) -> None:
        """Counts text that is made.

        Raises:
            TooMuchError: It is too much.
        """
        self.characters -= characters
        if self.characters < 0:
            raise TooMuchError(f"the template produces more than {self._limits[1]:,} characters")

    def count_result(self, result: T) -> T:
        """Returns the result of an operator, a filter or a call, after its length was counted.

        Raises:
            TooMuchError: It is too long.
        """
        if isinstance(result, str | bytes | list | tuple):
            self.write(len(result))
        return result

    @contextmanager
    def call(self) -> Iterator[None]:
        """Counts a call while the context lasts.

        Raises:
            TooMuchError: Too many calls are nested, or it is one step too many.
        """
        self.step()
        if not self.calls:
            raise TooMuchError("the template recurses too deeply")
        self.calls -= 1
        try:
            yield
        finally:
            self.calls += 1

    def count_items(self, values: Iterable[T]) -> Iterable[T]:
        """The values, each of which counts a step when it is taken; an undefined value is returned as it is."""
        return values if isinstance(values, Undefined) else self._iterate_counted(values)

    def _iterate_counted(self, values: Iterable[T]) -> Iterator[T]:
        for value in values:
            self.step()
            yield value

    def check_number(self, operator: str, left: object, right: object) -> None:
        """Checks the size of a product or a power of whole numbers before it is computed.

        Raises:
            TooMuchError: It would be too large.
        """
        if operator not in ("*", "**") or not isinstance(left, int) or not isinstance(right, int):
            return
        bits = left.bit_length()
        if abs(left) > 1 and (bits * abs(right) if operator == "**" else bits + right.bit_length()) > MOST_BITS:
            raise TooMuchError(f"the template computes a number of more than {MOST_BITS:,} bits")

    def check_product(self, name: str, value: object, args: Collection[object]) -> None:
        """Checks the size of a text or list that may be as large as its operands multiplied, before it is made.

        Args:
            name: Of an operator, a filter or a method.
            value: What it is applied to.
            args: The other operand or the arguments, of which the largest counts; a number is a count or a width.

        Raises:
            TooMuchError: It would be too large.
        """
        if name in _MULTIPLYING and any(isinstance(each, Sized) for each in (value, *args)):
            size = _size(value) * max(map(_size, args), default=1)
            if size > self.characters:
                self.write(size)


def _size(value: object) -> int:
    """The factor by which an operand may multiply the size of a result."""
    return max(1, abs(value) if isinstance(value, int) else len(value) if isinstance(value, Sized) else 1)
