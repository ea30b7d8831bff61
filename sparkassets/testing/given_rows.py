"""Given rows as data frames; types are declared by the asset or taken from a column's first value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkassets.core.cases import GivenRows
from sparkassets.core.source_formats import FORMATS
from sparkassets.core.spec.model import CHANGE_COLUMNS, AssetSpec
from sparkassets.errors import InputError, RunError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_TYPES = {bool: "boolean", int: "bigint", float: "double", str: "string"}


def frame_of(session: SparkSession, asset: AssetSpec, given: GivenRows) -> DataFrame:
    """The given rows of an asset as a data frame.

    Raises:
        InputError: The type of a column is not known, or there is no such file.
        RunError: A value is not of its column's type.
    """
    if given.file:
        return _of_file(session, asset, given)
    return as_frame(session, given.rows, _infer_types(asset, given), owner=f"the rows of {asset.name!r}")


def _infer_types(asset: AssetSpec, given: GivenRows) -> dict[str, str]:
    """Column to its type: the declared one, else that of its first value; text if all values are null.

    Raises:
        InputError: A value's type is not clear, or there are no columns at all.
    """
    types = dict(given.columns)
    time = asset.partitioning.time
    for row in given.rows:
        for name, value in row.items():
            if name in types or value is None:
                continue
            known = _infer_type(name, value, time_column=time.column if time is not None else None)
            if known is None:
                message = f"{given.location}: the type of the column {name!r} is not known"
                raise InputError(message, hint=f"declare the columns of {asset.name!r}, or give 'columns'")
            types[name] = known
    for row in given.rows:
        for name in row.keys() - types.keys():
            types[name] = "string"
    if not types:
        message = f"{given.location}: the columns of {asset.name!r} are not known"
        raise InputError(message, hint=f"declare the columns of {asset.name!r}, or give 'columns'")
    return types


def _infer_type(column: str, value: object, *, time_column: str | None) -> str | None:
    """A column's type by its first value; None if the value does not say."""
    if column in CHANGE_COLUMNS:
        return CHANGE_COLUMNS[column]
    if column == time_column and isinstance(value, str) and _is_date(value):
        return "date"
    return _TYPES.get(type(value))


def _is_date(text: str) -> bool:
    """Whether the text is a date without a time, such as ``2025-01-02``."""
    from datetime import date

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def as_frame(
    session: SparkSession,
    rows: Sequence[Mapping[str, Any]],
    types: Mapping[str, str],
    *,
    owner: str,
    schema: Any = None,  # noqa: ANN401
) -> DataFrame:
    """The rows as a data frame of these types, read from JSON, so that dates and times may be given as text.

    The rows are read at once, and one by one if that fails, to name the row that does not fit. ``owner`` begins that
    message; ``schema`` takes the place of ``types``.

    Raises:
        RunError: A value is not of its column's type; names the row.
    """
    from pyspark.sql import functions as sql

    from sparkassets.spark.capabilities import capabilities_of
    from sparkassets.spark.schemas import declared_schema

    schema = declared_schema(session, types) if schema is None else schema
    if not rows or not schema.names:
        return session.createDataFrame([], schema)
    if not capabilities_of(session).parses_json_strictly:
        return _cast_texts(session, rows, schema, owner=owner)
    texts = session.createDataFrame([(json.dumps(row, default=str),) for row in rows], "value string")
    read = sql.from_json("value", schema, {"mode": "FAILFAST"})
    frame = texts.select(read.alias("row")).select("row.*")
    try:
        found = frame.collect()
    except Exception:
        for row in rows:
            try:
                one = session.createDataFrame([(json.dumps(row, default=str),)], "value string")
                one.select(read.alias("row")).collect()
            except Exception:  # noqa: BLE001  Spark raises various classes
                raise _misfit(row, schema, owner=owner) from None
        raise
    return session.createDataFrame(found, frame.schema)


def _cast_texts(
    session: SparkSession, rows: Sequence[Mapping[str, Any]], schema: StructType, *, owner: str
) -> DataFrame:
    """The rows as a data frame of these types, each value cast from its text; what is nested is read from JSON.

    For an engine whose ``from_json`` does not take ISO times or does not refuse values of another type, such as Sail.

    Raises:
        RunError: A value is not of its column's type; names the row.
    """
    from pyspark.sql import functions as sql

    from sparkassets.spark.versions import from_arrow, to_arrow

    columns = [
        (
            sql.from_json(f"c{number}", field.dataType)
            if field.dataType.simpleString().endswith(">")  # array<…>, map<…> and struct<…>
            else sql.col(f"c{number}").cast(field.dataType)
        ).alias(field.name)
        for number, field in enumerate(schema.fields)
    ]

    def cast(some: Sequence[Mapping[str, Any]]) -> pa.Table:
        texts = [tuple(_to_text(row.get(field.name)) for field in schema.fields) for row in some]
        types = ", ".join(f"c{number} string" for number in range(len(schema.fields)))
        return to_arrow(session.createDataFrame(texts, types).select(*columns))

    try:
        found = cast(rows)
    except Exception:
        for row in rows:
            try:
                cast([row])
            except Exception:  # noqa: BLE001  the engine raises various classes
                raise _misfit(row, schema, owner=owner) from None
        raise
    return from_arrow(session, found, schema)


def _to_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def _misfit(row: Mapping[str, Any], schema: StructType, *, owner: str) -> RunError:
    """The error for a row with a value that is not of its column's type."""
    schema_text = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)
    return RunError(f"{owner}: {json.dumps(row, default=str)} does not fit {schema_text}")


def _of_file(session: SparkSession, asset: AssetSpec, given: GivenRows) -> DataFrame:
    """The rows of a file as a data frame; its ending tells the format.

    Columns have declared types where the file itself holds none; in a file with a header, others are text.

    Raises:
        InputError: There is no such file.
    """
    from sparkassets.spark.schemas import declared_schema

    if not Path(given.file).is_file():
        raise InputError(f"{given.location}: the file {given.file} does not exist")
    form = FORMATS[Path(given.file).suffix[1:]]
    columns = {**asset.column_types, **given.columns}
    reader = session.read.format(form.reader)
    if form.columns == "header":
        reader = reader.option("header", value=True)
        columns = {name: columns.get(name, "string") for name in reader.load(given.file).columns} if columns else {}
    if columns and form.columns != "own":
        reader = reader.schema(declared_schema(session, columns)).option("mode", "FAILFAST")
    return reader.load(given.file)
