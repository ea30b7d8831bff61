"""Whether a run's columns fit its target and its declaration, with every difference named."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sparkassets.errors import RunError
from sparkassets.spark import sqltext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


def spark_schema(delta_schema: str) -> StructType:
    """A table's schema, from the JSON that its log holds."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(delta_schema))


def declared_schema(session: SparkSession, columns: Mapping[str, str]) -> StructType:
    """The schema of column names and Spark SQL types.

    Raises:
        RunError: Naming a column whose type Spark does not know.
    """
    from pyspark.errors import PySparkException

    ddl = [f"{sqltext.name(name)} {kind}" for name, kind in columns.items()]
    try:
        return session.createDataFrame([], ", ".join(ddl)).schema
    except PySparkException:
        for name, kind in columns.items():
            try:
                session.createDataFrame([], f"{sqltext.name(name)} {kind}")
            except PySparkException:
                raise RunError(f"the column {name!r} is declared as {kind!r}, which is no type of Spark") from None
        raise


def column_type(schema: StructType, column: str, *, owner: str) -> tuple[str, str]:
    """The column's name as it is written there, and its type as ``simpleString``; upper and lower case do not matter.

    Raises:
        RunError: There is none of that name.
    """
    from sparkassets.core.suggestions import did_you_mean

    for field in schema.fields:
        if field.name.lower() == column.lower():
            return field.name, field.dataType.simpleString()
    raise RunError(f"{owner} has no column {column!r}", hint=did_you_mean(column, schema.names))


def refuse_unwritable(asset: str, schema: StructType) -> None:
    """Refuses columns that no table can hold.

    Raises:
        RunError: A name that is there twice, or a column without a type.
    """
    names = [field.name.lower() for field in schema.fields]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise RunError(f"{asset}: the result has the column {', '.join(map(repr, doubled))} more than once")
    untyped = [field.name for field in schema.fields if field.dataType.simpleString() == "void"]
    if untyped:
        raise RunError(
            f"{asset}: the column {', '.join(map(repr, untyped))} has no type, as it is NULL throughout",
            hint="cast it, such as CAST(NULL AS STRING)",
        )


def refuse_misfit(asset: str, actual: StructType, wanted: StructType, *, against: str) -> None:
    """Refuses columns that are missing, too many, or of another type; their order does not matter.

    Args:
        asset: For the message.
        actual: What the run computes.
        wanted: What it has to be.
        against: What ``wanted`` is, such as ``the target``.

    Raises:
        RunError: With every difference.
    """
    found = differences(actual, wanted, against=against)
    if found:
        raise RunError(f"{asset}: the result does not fit {against}: {'; '.join(found)}")


def differences(actual: StructType, wanted: StructType, *, against: str) -> Sequence[str]:
    """Every difference of two schemas as a phrase; nullability and order do not count."""
    have = {field.name.lower(): field for field in actual.fields}
    want = {field.name.lower(): field for field in wanted.fields}
    missing = [f"column {field.name!r} is missing" for name, field in want.items() if name not in have]
    extra = [f"column {field.name!r} is not in {against}" for name, field in have.items() if name not in want]
    changed = []
    for name in have.keys() & want.keys():
        is_now, should_be = have[name].dataType.simpleString(), want[name].dataType.simpleString()
        if is_now != should_be:
            changed.append(f"column {want[name].name!r} is {is_now}, but {should_be} in {against}")
    return [*missing, *extra, *sorted(changed)]
