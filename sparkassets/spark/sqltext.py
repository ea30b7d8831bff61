"""Values and names as Spark SQL text."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Final

from sparkassets.core.instants import from_unix
from sparkassets.core.partitions import SegmentValue
from sparkassets.core.sandbox.literals import text_literal

_SUFFIXES: Final = {"tinyint": "Y", "smallint": "S", "bigint": "L"}


def name(text: str) -> str:
    """An identifier in backquotes.

    >>> name("a`b")
    '`a``b`'
    """
    return "`" + text.replace("`", "``") + "`"


def text(value: str) -> str:
    """A string literal that means the same under every setting of Spark's parser.

    >>> print(text("its"), text("it's"))
    'its' CAST(X'69742773' AS STRING)
    """
    return text_literal(value)


def day(value: date) -> str:
    """A DATE literal."""
    return f"DATE'{value.isoformat()}'"


def moment(token: int) -> str:
    """A TIMESTAMP literal of an instant, Unix seconds.

    >>> moment(0)
    "TIMESTAMP'1970-01-01T00:00:00Z'"
    """
    return f"TIMESTAMP'{from_unix(token).replace(tzinfo=None).isoformat()}Z'"


def wall_clock(value: datetime) -> str:
    """A TIMESTAMP_NTZ literal of a naive local time."""
    return f"TIMESTAMP_NTZ'{value.replace(tzinfo=None).isoformat()}'"


def literal(value: SegmentValue, kind: str) -> str:
    """A literal of just that type, so that no column is cast to be compared with it.

    >>> literal(-7, "tinyint"), literal(Decimal("1.5"), "decimal(9,2)"), literal(True, "boolean")
    ('-7Y', '1.50BD', 'true')
    """
    match value:
        case bool():
            return str(value).lower()
        case int():
            return f"{value}{_SUFFIXES.get(kind, '')}"
        case Decimal():
            return f"{value:.{int(kind.rstrip(')').partition(',')[2])}f}BD"
        case date():
            return day(value)
    return text(value)
