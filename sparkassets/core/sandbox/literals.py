"""Values as Spark SQL literals that mean the same under every setting of Spark's parser."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from jinja2 import TemplateRuntimeError

_LARGEST_INT, _LARGEST_BIGINT = 2**31 - 1, 2**63 - 1
_DIGITS: Final = 38
"""Digits of Spark's largest decimal."""
_NOT_PLAIN: Final = frozenset("'\"`\\${}")
"""Characters that end a literal, escape in one, or name a variable: Spark replaces ``${x}`` within quotes, too."""


class ValueInSqlError(TemplateRuntimeError):
    """A template prints a value where SQL has no place for it.

    Attributes:
        line: Of the rendered text, counted from 1.
        hint: What to write instead.
    """

    def __init__(self, message: str, *, line: int | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.hint = hint


def is_plain(text: str) -> bool:
    """Whether a text stands for itself between quotes of any kind, under every setting of the parser.

    >>> is_plain("2025-01-02 00:00:00+01:00"), is_plain("it's"), is_plain("${x}")
    (True, False, False)
    """
    return text.isprintable() and _NOT_PLAIN.isdisjoint(text)


def text_literal(text: str) -> str:
    """A string; what could be read in another way is spelled by its bytes.

    >>> text_literal("east"), text_literal("it's")
    ("'east'", "CAST(X'69742773' AS STRING)")
    """
    if is_plain(text):
        return f"'{text}'"
    try:
        return f"CAST(X'{text.encode().hex().upper()}' AS STRING)"
    except UnicodeEncodeError:
        raise ValueInSqlError("SQL cannot contain text with half of a surrogate pair") from None


def identifier(name: str, *, quote: str = "`") -> str:
    """A name in backquotes, or in double quotes.

    >>> identifier("a`b")
    '`a``b`'

    Raises:
        ValueInSqlError: It is empty, or no name.
    """
    if not name or "${" in name or not name.isprintable():
        raise ValueInSqlError(f"{name!r} is not allowed as a name in SQL")
    return f"{quote}{name.replace(quote, 2 * quote)}{quote}"


def literal(value: Any) -> str:  # noqa: ANN401  whatever a template has
    """A literal of the value's type; of a list its elements, separated by commas.

    >>> literal(["a", 1]), literal(None), literal(date(2025, 1, 2)), literal(Decimal("1.50"))
    ("'a', 1", 'NULL', "DATE'2025-01-02'", '1.50BD')

    Raises:
        ValueInSqlError: SQL has no such literal.
    """
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple | range):
        if not value:
            raise ValueInSqlError("the list is empty, which SQL does not allow", hint="guard it by {% if … %}")
        return ", ".join(map(literal, value))
    for kind, written in _LITERALS:
        if isinstance(value, kind):
            return written(value)
    what = "a mapping" if isinstance(value, Mapping) else f"a value of type {type(value).__name__}"
    raise ValueInSqlError(f"{what} cannot be written in SQL", hint="print one of its members")


def _whole(value: int) -> str:
    if abs(value) <= _LARGEST_INT:
        return str(int(value))
    return f"{int(value)}L" if abs(value) <= _LARGEST_BIGINT else _decimal(Decimal(value))


def _decimal(value: Decimal) -> str:
    written = f"{value:f}"
    if not value.is_finite() or sum(each.isdigit() for each in written) > _DIGITS:
        raise ValueInSqlError(f"the number has more than {_DIGITS} digits or is not finite, which SQL cannot represent")
    return f"{written}BD"


def _moment(value: datetime) -> str:
    if value.tzinfo is None:
        return f"TIMESTAMP_NTZ'{value.isoformat()}'"
    return f"TIMESTAMP'{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z'"


def _interval(value: timedelta) -> str:
    """The literal of a duration: months, as pendulum's durations may have, are of another type than exact time."""
    months = 0 if hasattr(value, "start") else 12 * getattr(value, "years", 0) + getattr(value, "months", 0)
    if months:
        if value != type(value)(months=months):  # type: ignore[call-arg]  # pendulum's
            raise ValueInSqlError("SQL cannot represent a duration of both months and days", hint="add them one by one")
        sign, months = "-" if months < 0 else "", abs(months)
        return f"INTERVAL '{sign}{months // 12}-{months % 12}' YEAR TO MONTH"
    exact = round(value.total_seconds() * 1_000_000)  # pendulum's cannot be divided by a timedelta
    seconds, micros = divmod(abs(exact), 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}"
    return f"INTERVAL '{'-' if exact < 0 else ''}{days} {clock}' DAY TO SECOND"


_LITERALS: Final[tuple[tuple[type, Callable[[Any], str]], ...]] = (
    (str, text_literal),
    (bool, lambda value: str(value).lower()),
    (int, _whole),
    (float, lambda value: f"{value!r}D" if math.isfinite(value) else f"double('{value}')"),
    (Decimal, _decimal),
    (bytes, lambda value: f"X'{value.hex().upper()}'"),
    (datetime, _moment),
    (date, lambda value: f"DATE'{value.isoformat()}'"),
    (timedelta, _interval),
)
"""How to write values by type; a type stands before its base class: bool before int, datetime before date."""
