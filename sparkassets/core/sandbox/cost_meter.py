"""Limits the cost of a template: work that is counted, and sizes of results estimated before they exist."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, Sized, ValuesView
from contextlib import contextmanager
from typing import Any, Final, TypeVar

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
    """Counts what rendering one template costs, and stops it at a limit.

    Attributes:
        steps, characters: How many are left.
        calls: How many calls may still be nested inside the present one.
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
            raise TooMuchError(f"the template produces more than {self._limits[1]:,} characters")

    @contextmanager
    def call(self) -> Iterator[None]:
        """Counts a call while the context lasts.

        Raises:
            TooMuchError: Too many calls are nested.
        """
        if not self.calls:
            raise TooMuchError("the template recurses too deeply")
        self.calls -= 1
        try:
            yield
        finally:
            self.calls += 1

    def weigh(self, *values: object) -> int:
        """Counts a step for each value and everything in it; returns how many characters they take when printed.

        A value in several lists counts once for each of them, because it is printed in each.
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
        """The values, each of which counts a step when it is taken; an undefined value is returned as it is."""
        return values if isinstance(values, Undefined) else self._iterate_counted(values)

    def _iterate_counted(self, values: Iterable[T]) -> Iterator[T]:
        for value in values:
            self.step()
            yield value


MOST_BITS: Final = 4_096
"""Largest size of a whole number: some 1,200 digits."""
_STEPS_OF_A_CALL: Final = 10
"""A macro takes as long as so many turns of a loop."""
_MULTIPLYING: Final = frozenset(
    {"batch", "indent", "join", "ljust", "replace", "rjust", "round", "slice", "tojson", "zfill"}
)
"""Methods and filters whose result may be as large as what they are of, times their largest argument."""
_NUMBER: Final = re.compile(r"[0-9]+")
_MOST_DIGITS: Final = 9
"""Most digits of a width; a longer width is always too large."""
_VALUES_AS_WIDTHS: Final = re.compile(r"\*|\{[^{}]+\{")
"""What makes a format take widths from its values."""


def charge_operator(meter: CostMeter, operator: str, left: Any, right: Any) -> None:  # noqa: ANN401  whatever a template has
    """Counts the result of an operator before it is computed.

    Raises:
        TooMuchError: It would be too large.
    """
    characters = meter.weigh(left, right)
    if operator == "%" and isinstance(left, str):
        meter.write(_formatted_size(left, right))
    elif operator == "+" and not isinstance(left, int | float):
        meter.write(characters)
    elif operator in ("*", "**") and isinstance(left, int) and isinstance(right, int):
        one = left.bit_length()
        bits = one + right.bit_length() if operator == "*" else one * abs(right) if abs(left) > 1 else 1
        if bits > MOST_BITS:
            raise TooMuchError(f"the template computes a number of more than {MOST_BITS:,} bits")
    elif operator == "*":
        for many, count in ((left, right), (right, left)):
            if isinstance(count, int) and isinstance(many, str | bytes | list | tuple):
                meter.write(max(0, count) * meter.weigh(many))


def charge_call(meter: CostMeter, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Counts a call, and the result of a method of a text, before it is made.

    Raises:
        TooMuchError: It would be too large.
    """
    meter.step(_STEPS_OF_A_CALL)
    method = getattr(function, "__wrapped__", function)  # Jinja wraps `format`
    owner, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
    characters = meter.weigh(*args, *kwargs.values())
    if isinstance(owner, str | bytes):
        meter.write(_result_size(meter, name, owner, [*args, *kwargs.values()]))
        meter.step(len(owner) + characters)
    elif isinstance(owner, list | tuple | dict | set):
        meter.weigh(owner)


def charge_filter(meter: CostMeter, name: str, value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Counts the result of a filter before it is applied.

    Raises:
        TooMuchError: It would be too large.
    """
    meter.write(meter.weigh(value, *args, *kwargs.values()))
    meter.write(_result_size(meter, name, value, [*args, *kwargs.values()]))


def _result_size(meter: CostMeter, name: str, value: Any, given: Sequence[Any]) -> int:  # noqa: ANN401
    """An upper bound of a result's size, in characters or items; ``given`` are the arguments."""
    if name == "format" and isinstance(value, str):
        return _formatted_size(value, given)
    if name == "tojson" or (name == "sum" and _holds_lists(value)):
        steps = meter.steps
        meter.weigh(value)
        size = (steps - meter.steps) ** 2  # values are indented by their depth; lists are copied for each one added
    elif name in _MULTIPLYING:
        size = len(value) if isinstance(value, Sized) else 1
    else:
        return 3 * len(value) if isinstance(value, str) else 1  # no letter has more than three as its other case
    return (size + 1) * (1 + max(map(_size, given), default=0))


def _holds_lists(value: object) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(each, list | tuple) for each in value)


def _size(value: object) -> int:
    """The factor by which an argument may multiply a result: a number may be a width, else its length counts."""
    return abs(value) if isinstance(value, int) else len(value) if isinstance(value, Sized) else 1


def _formatted_size(text: str, values: object) -> int:
    """An upper bound of a formatted text's length: the format, all widths in it, and its values at each place."""
    widths = sum(10**_MOST_DIGITS if len(each) > _MOST_DIGITS else int(each) for each in _NUMBER.findall(text))
    printed = CostMeter().weigh(values) * (text.count("%") + text.count("{"))
    return len(text) + widths + printed + (_sum_of_numbers(values) if _VALUES_AS_WIDTHS.search(text) else 0)


def _sum_of_numbers(values: object) -> int:
    if isinstance(values, int):
        return abs(values)
    if isinstance(values, dict):
        return sum(map(_sum_of_numbers, values.values()))
    return sum(map(_sum_of_numbers, values)) if isinstance(values, list | tuple) else 0
