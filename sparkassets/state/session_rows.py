"""Rows of the state's two tables to and from a Spark session: no clock, zone or conversion of its own is in between."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.core.table_names import quote_table_name
from sparkassets.state.table_columns import REQUIRED, Columns, Kind, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES: Final[Mapping[Kind, str]] = {
    "long": "BIGINT",
    "timestamp": "TIMESTAMP",
    "string": "STRING",
    "longs": "ARRAY<BIGINT>",
    "strings": "ARRAY<STRING>",
}


def column_definitions(columns: Columns) -> str:
    """The columns as a ``CREATE TABLE`` has them."""
    return ", ".join(
        f"{_quote(name)} {_TYPES[kind]}{' NOT NULL' if name in REQUIRED else ''}" for name, kind in columns.items()
    )


def build_frame(
    session: SparkSession, columns: Columns, rows: Sequence[JournalRow] | Sequence[SnapshotRow]
) -> DataFrame:
    """The rows as a frame, which goes to the session as one text."""
    from pyspark.sql import functions as sql

    told = [{name: _encode_value(kind, getattr(row, name)) for name, kind in columns.items()} for row in rows]
    kinds = ", ".join(f"{_quote(name)}: {_TYPES[_wire_kind(kind)]}" for name, kind in columns.items())
    parsed = sql.from_json(sql.lit(json.dumps(told)), f"array<struct<{kinds}>>", {"mode": "FAILFAST"})
    return session.range(1).select(sql.explode(parsed).alias("r")).selectExpr(*_select_expressions(columns))


def collect_rows(frame: DataFrame, columns: Columns, make: type[Row]) -> list[Row]:
    """The rows of a frame that has these columns, ascending by ``seq``."""
    taken = [f"unix_micros({_quote(name)})" if kind == "timestamp" else _quote(name) for name, kind in columns.items()]
    kinds = tuple(columns.values())
    found = [
        make(*(_decode_value(kind, value) for kind, value in zip(kinds, row, strict=True)))
        for row in frame.selectExpr(*taken).collect()
    ]
    return sorted(found, key=lambda row: row.seq)


def _quote(name: str) -> str:
    return quote_table_name((name,))


def _wire_kind(kind: Kind) -> Kind:
    return "long" if kind == "timestamp" else kind


def _select_expressions(columns: Columns) -> list[str]:
    values = []
    for name, kind in columns.items():
        value = f"timestamp_micros(r.{_quote(name)})" if kind == "timestamp" else f"r.{_quote(name)}"
        values.append(f"{value} AS {_quote(name)}")
    return values


def _encode_value(kind: Kind, value: Any) -> Any:  # noqa: ANN401  a field of a row
    return (value - _EPOCH) // timedelta(microseconds=1) if kind == "timestamp" else value


def _decode_value(kind: Kind, value: Any) -> Any:  # noqa: ANN401  likewise
    match kind:
        case "longs" | "strings":
            return tuple(value or ())
        case "timestamp":
            return _EPOCH + timedelta(microseconds=value)
        case _:
            return value
