"""What a segment's text means in a column of some type: its value, and back, without loss."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from decimal import Decimal

SegmentValue: TypeAlias = "str | int | date | Decimal"
"""Of a column of segments; of one that is boolean, a bool."""

_BITS: Final = {
    "byte": 8,
    "tinyint": 8,
    "short": 16,
    "smallint": 16,
    "integer": 32,
    "int": 32,
    "long": 64,
    "bigint": 64,
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"(?!-0$)(-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?)")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FLAGS: Final = {"true": True, "false": False}
_EXACT_DIGITS: Final = 15
"""So many digits of a number survive in a float."""


def holds_segments(kind: str) -> bool:
    """Whether every value of such a column has one text: strings, whole numbers, decimals, dates and booleans.

    Args:
        kind: Of the column, as Spark or Delta calls it.
    """
    return kind in _BITS or kind in ("string", "date", "boolean") or _DECIMAL.fullmatch(kind) is not None


def segment_value(segment: str, kind: str) -> SegmentValue | None:
    """The value in a column of that kind; None where the text is that of no such value, or not the one that it has.

    >>> segment_value("-7", "tinyint"), segment_value("007", "tinyint"), segment_value("128", "tinyint")
    (-7, None, None)
    >>> segment_value("1.5", "decimal(9,2)"), segment_value("1.50", "decimal(9,2)"), segment_value("true", "boolean")
    (Decimal('1.5'), None, True)
    """
    if kind == "string":
        return segment
    if kind == "boolean":
        return _FLAGS.get(segment)
    if kind == "date":
        return _day(segment)
    if kind in _BITS:
        most = 1 << (_BITS[kind] - 1)
        number = int(segment) if _WHOLE.fullmatch(segment) and len(segment) <= len(str(most)) + 1 else None
        return number if number is not None and -most <= number < most else None
    return _decimal(segment, kind)


def segment_of(value: object, kind: str) -> str | None:
    """The segment that a value of such a column is, or the text that Delta's log has of it; None where it is none.

    >>> from decimal import Decimal
    >>> segment_of(Decimal("1.50"), "decimal(9,2)"), segment_of("1.50", "decimal(9,2)"), segment_of(False, "boolean")
    ('1.5', '1.5', 'false')
    >>> segment_of("2025-03-01", "date"), segment_of(date(2025, 3, 1), "date"), segment_of(None, "date")
    ('2025-03-01', '2025-03-01', None)
    """
    if value is None:
        return None
    if isinstance(value, bool):
        text = str(value).lower()
    elif (found := _DECIMAL.fullmatch(kind)) is not None:
        if isinstance(value, float) and int(found[1]) > _EXACT_DIGITS:
            return None
        text = _canonical(str(value))
    else:
        text = str(value)
    return text if segment_value(text, kind) is not None else None


def _canonical(text: str) -> str:
    """A decimal number without what its value does not need."""
    from decimal import Decimal, InvalidOperation  # most projects have none

    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    plain = f"{number:f}"
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain == "-0" else plain


def _decimal(segment: str, kind: str) -> Decimal | None:
    found = _DECIMAL.fullmatch(kind)
    if found is None or _NUMBER.fullmatch(segment) is None:
        return None
    precision, scale = int(found[1]), int(found[2])
    whole, _, fraction = segment.lstrip("-").partition(".")
    from decimal import Decimal

    fits = len(whole.lstrip("0")) <= precision - scale and len(fraction) <= scale
    return Decimal(segment) if fits else None


def _day(segment: str) -> date | None:
    try:
        return date.fromisoformat(segment) if _DAY.fullmatch(segment) else None
    except ValueError:
        return None
