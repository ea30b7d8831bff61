"""The types that dbt gives to the columns of a seed: the first of its types that fits every value."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

_NO_VALUES: Final = frozenset({"", "null"})
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_KINDS: Final[Mapping[str, Callable[[str], Any]]] = {
    "bigint": int,
    "double": lambda value: _DECIMAL.fullmatch(value)[0],  # type: ignore[index]
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "boolean": {"true": True, "false": False}.__getitem__,
}


def read_seed(path: Path, delimiter: str) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a seed.

    Raises:
        OSError: There is no such file.
        ValueError: It is empty, or not in UTF-8.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file, delimiter=delimiter)
    return header, rows


def infer_types(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """The Spark SQL type of each column, by its name: the first of `_KINDS` that every value but NULL fits, else text.

    >>> infer_types(["id", "paid", "note"], [["1", "2.5", "x"], ["2", "", "null"]])
    {'id': 'bigint', 'paid': 'double', 'note': 'string'}
    """
    return {name: _infer_type([row[at] for row in rows if at < len(row)]) for at, name in enumerate(header)}


def holds_null_text(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a value is the text ``null``, which dbt reads as NULL."""
    return any(value.lower() == "null" for row in rows for value in row)


def _infer_type(values: Sequence[str]) -> str:
    known = [value.lower() for value in values if value.lower() not in _NO_VALUES]
    return next((kind for kind, parse in _KINDS.items() if all(_fits(parse, value) for value in known)), "string")


def _fits(parse: Callable[[str], Any], value: str) -> bool:
    try:
        parse(value)
    except (KeyError, TypeError, ValueError):
        return False
    return True
