"""Rows that a table's own constraints refuse, told with the constraint and the values of one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from sparkassets.errors import RunError
from sparkassets.spark.failures import whole_message

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_CHECK = re.compile(
    r"CHECK constraint (?P<name>.+?) \((?P<expression>.+)\) violated by row with values:(?P<values>(?:\n - .*)*)"
)
_VALUE = re.compile(r"\n - (?P<column>[^\n]*?) : (?P<value>[^\n]*)")
_NOT_NULL = re.compile(r"NOT NULL constraint violated for column: (?P<column>[^\n]+?)\.?(?:\n|$|\s+SQLSTATE)")
_INVARIANT = re.compile(r"`?(?P<column>.+?)`? IS NOT NULL", re.IGNORECASE)
_OF_THE_WRITE = "EXPRESSION("
"""Delta's name for the condition of a ``replaceWhere``, which it checks as it does a table's constraints."""
_GENERATED = "Generated Column"


def violation(error: BaseException, schema: StructType, *, asset: str) -> RunError | None:
    """The refusal by one of the target's constraints; None where it was none of them."""
    message = whole_message(error)
    if found := _CHECK.search(message):
        if nulls := _INVARIANT.fullmatch(found["expression"]):
            return _refusal(asset, f"NOT NULL of the column {nulls['column']}", "")
        if found["name"].startswith(_OF_THE_WRITE):
            return None
        return _refusal(asset, _rule(found["name"], found["expression"]), _values(found["values"], schema))
    if found := _NOT_NULL.search(message):
        return _refusal(asset, f"NOT NULL of the column {found['column']}", "")
    return None


def _refusal(asset: str, rule: str, values: str) -> RunError:
    shown = f": {values}" if values else ""
    return RunError(
        f"{asset}: the target refuses a row by its {rule}{shown}; nothing was written",
        hint="mend or filter such rows in the query, or change the table's constraint",
    )


def _rule(name: str, expression: str) -> str:
    return f"generated column {expression}" if name == _GENERATED else f"constraint {name} ({expression})"


def _values(text: str, schema: StructType) -> str:
    kinds = {field.name.lower(): field.dataType.simpleString() for field in schema.fields}
    return ", ".join(
        f"{each['column']} is {_format_value(each['value'], kinds, each['column'])}" for each in _VALUE.finditer(text)
    )


def _format_value(value: str, kinds: Mapping[str, str], column: str) -> str:
    """A value as people write it: Delta tells dates in days and timestamps in microseconds since 1970."""
    try:
        match kinds.get(column.lower()):
            case "date":
                return str(date(1970, 1, 1) + timedelta(days=int(value)))
            case "timestamp" | "timestamp_ntz":
                return str((datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(value))).replace(tzinfo=None))
    except (ValueError, OverflowError):
        pass
    return "NULL" if value == "null" else value
