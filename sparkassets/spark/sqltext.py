"""Values and names as Spark SQL text."""

from __future__ import annotations

from datetime import date, datetime

from sparkassets.core.instants import instant


def name(text: str) -> str:
    """An identifier in backquotes.

    >>> name("a`b")
    '`a``b`'
    """
    return "`" + text.replace("`", "``") + "`"


def text(value: str) -> str:
    r"""A string literal.

    >>> print(text("it's"))
    'it\'s'
    """
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def day(value: date) -> str:
    """A DATE literal."""
    return f"DATE'{value.isoformat()}'"


def moment(token: int) -> str:
    """A TIMESTAMP literal of an instant, Unix seconds.

    >>> moment(0)
    "TIMESTAMP'1970-01-01T00:00:00Z'"
    """
    return f"TIMESTAMP'{instant(token).replace(tzinfo=None).isoformat()}Z'"


def wall_clock(value: datetime) -> str:
    """A TIMESTAMP_NTZ literal of a naive local time."""
    return f"TIMESTAMP_NTZ'{value.replace(tzinfo=None).isoformat()}'"
