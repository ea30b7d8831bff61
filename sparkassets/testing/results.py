"""Results of tests, and descriptions of rows that differ from the expected ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal

from sparkassets.errors import FileLocation
from sparkassets.frozen import frozen

MOST_PARTITIONS_SHOWN: Final = 20
"""Rows of a difference that are shown, of each kind."""

MOST_WIDE: Final = 60
"""Characters of a value that are shown."""

Row = Mapping[str, Any]


@frozen
class CaseResult:
    """The result of one test.

    Attributes:
        outcome: ``failed`` if the result differs from the expected one, ``error`` if the test could not be run.
        message: Why it did not pass, in one or more lines; empty if it passed.
        seconds: Its duration.
    """

    name: str
    location: FileLocation
    about: str
    outcome: Literal["passed", "failed", "error"]
    message: str = ""
    seconds: float = 0.0

    @property
    def has_passed(self) -> bool:
        """Whether the test passed."""
        return self.outcome == "passed"


def describe_difference(expected: Sequence[Row], found: Sequence[Row], *, tolerance: float = 0.0) -> str:
    """The differences between found and expected rows, in any order, as lines; empty if there are none.

    Args:
        expected: Rows of equal columns.
        found: Rows of the run, with the same columns.
        tolerance: The greatest difference between equal numbers; NaN is equal to itself.
    """
    left = list(found)
    missing = [row for row in expected if not _take_equal(row, left, tolerance)]
    if not missing and not left:
        return ""
    columns = list((missing or left)[0])  # all rows have the same
    counted = f"{_rows(len(missing))} missing, {len(left):,} unexpected, {len(expected) - len(missing):,} as expected"
    lines = [*_sign_rows("-", missing), *_sign_rows("+", left)]
    return "\n".join(
        [counted, *_table(["", *columns], [[sign, *map(_format_value, row.values())] for sign, row in lines])]
    )


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _sign_rows(sign: str, rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """The first rows, each with its sign, and a row that counts the rest."""
    for row in rows[:MOST_PARTITIONS_SHOWN]:
        yield sign, row
    if len(rows) > MOST_PARTITIONS_SHOWN:
        rest = f"and {len(rows) - MOST_PARTITIONS_SHOWN:,} more"
        yield sign, dict.fromkeys(rows[0], "") | {next(iter(rows[0])): rest}


def _take_equal(row: Row, left: list[Row], tolerance: float) -> bool:
    """Removes an equal row from ``left``, and returns whether there was one."""
    for index, other in enumerate(left):
        if all(_equal(value, other[name], tolerance) for name, value in row.items()):
            del left[index]
            return True
    return False


def _equal(one: object, other: object, tolerance: float) -> bool:
    """Whether two values are equal, numbers up to ``tolerance``; a boolean is not a number here."""
    if isinstance(one, float | int | Decimal) and isinstance(other, float | int | Decimal):
        if isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
            return True
        # without a tolerance Decimals are compared exactly, not as floats
        if isinstance(one, bool) or isinstance(other, bool) or not tolerance:
            return one == other
        return abs(float(one) - float(other)) <= tolerance
    return one == other


def _format_value(value: object) -> str:
    """The value as text for people, cut to `MOST_WIDE` characters."""
    if value is None:
        return "NULL"
    text = str(value)
    return text if len(text) <= MOST_WIDE else f"{text[: MOST_WIDE - 1]}…"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a table whose columns are as wide as their longest cell."""
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    for row in [head, *rows]:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
