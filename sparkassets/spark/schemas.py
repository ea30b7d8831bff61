"""Schemas of rows and tables: declared columns, differences, defaults, and collations.

A Spark Connect client names a collation for every string that a function returns, even the default one. The server
writes it into the table's schema as ``string collate UTF8_BINARY``, a type that Delta's protocol does not have, so that
others cannot open the table. `with_plain_strings` takes it off.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.own_session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

GENERATED = "delta.generationExpression"
IDENTITY = "delta.identity."
"""Keys of a column's metadata in Delta's protocol."""
_DEFAULTS: Final = ("CURRENT_DEFAULT", "EXISTS_DEFAULT")
"""Keys of default values: a new table would need a feature for them that it may not have."""


def spark_schema(delta_schema: str) -> StructType:
    """A table's schema, from the JSON that its log holds."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(delta_schema))


def declared_schema(session: SparkSession, columns: Mapping[str, str]) -> StructType:
    """The schema of declared columns, from their names and Spark SQL types.

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
                raise RunError(f"the column {name!r} is declared as {kind!r}, which is not a Spark type") from None
        raise


def column_type(schema: StructType | Mapping[str, str], column: str, *, owner: str) -> tuple[str, str]:
    """The column's name as it is written there, and its type as ``simpleString``; case is ignored.

    Args:
        schema: The columns; without Spark by name the ``simpleString`` of each.
        column: The name.
        owner: Who has the columns, for messages.

    Raises:
        RunError: There is no column of that name.
    """
    from sparkassets.core.suggestions import did_you_mean

    if isinstance(schema, Mapping):
        kinds = schema
    else:
        kinds = {field.name: field.dataType.simpleString() for field in schema.fields}
    for name, kind in kinds.items():
        if name.lower() == column.lower():
            return name, kind
    raise RunError(f"{owner} has no column {column!r}", hint=did_you_mean(column, kinds))


def refuse_unwritable(asset: str, schema: StructType) -> None:
    """Refuses columns that no table can hold.

    Raises:
        RunError: A duplicate name, or a column without a type.
    """
    counts = Counter(field.name.lower() for field in schema.fields)
    if duplicates := sorted(name for name, count in counts.items() if count > 1):
        names = sorted({field.name for field in schema.fields if field.name.lower() in duplicates})
        cases_text = f" (case does not distinguish {', '.join(names)})" if len(names) > len(duplicates) else ""
        duplicates_text = ", ".join(map(repr, duplicates))
        raise RunError(f"{asset}: the result has the column {duplicates_text} more than once{cases_text}")
    untyped = [field.name for field in schema.fields if field.dataType.simpleString() == "void"]
    if untyped:
        raise RunError(
            f"{asset}: the type of the column {', '.join(map(repr, untyped))} is unknown: all values are NULL",
            hint="cast it, such as CAST(NULL AS STRING)",
        )


def refuse_folders(asset: str, schema: StructType, columns: Sequence[str]) -> None:
    """Refuses columns that cannot name the folders of a new table.

    Raises:
        RunError: One is missing or holds several values, or there is no other column.
    """
    for name in columns:
        column, kind = column_type(schema, name, owner=f"the result of {asset}")
        if kind.startswith(("array", "map", "struct", "variant")):
            raise RunError(
                f"{asset}: Delta cannot partition by the column {column!r}, which is {kind.upper()}",
                hint="name another column in 'partitioned_by'",
            )
    if columns and len(columns) >= len(schema):
        raise RunError(
            f"{asset}: 'partitioned_by' names every column, but the files need at least one", hint="leave one out"
        )


def listed_schema(session: SparkSession, asset: AssetSpec, actual: StructType) -> StructType:
    """The columns that a result has to have: those that `columns` lists and, where that is open, all others it has."""
    from pyspark.sql.types import NullType, StructField, StructType

    typed = declared_schema(session, asset.column_types) if asset.column_types else StructType()
    if asset.columns:
        return typed
    names = {name.lower() for name in typed.names}
    others = [field for field in actual.fields if field.name.lower() not in names]
    names |= {field.name.lower() for field in others}
    absent = [StructField(name, NullType()) for name in asset.listed_columns if name.lower() not in names]
    return StructType([*typed.fields, *others, *absent])


def refuse_undeclared(asset: str, actual: StructType, declared: StructType) -> None:
    """Refuses columns that are missing, too many, or of another type; their order is ignored.

    Raises:
        RunError: With every difference.
    """
    differences = find_differences(actual, declared)
    if not differences:
        return
    hint = None
    if differences.changed:
        have, want = differences.changed[0]
        cast = f"CAST({have.name} AS {want.dataType.simpleString()})"
        hint = f"cast it in the query, such as {cast}, or declare the type that the query returns"
    phrases = "; ".join(differences.phrases("the declared columns"))
    raise RunError(f"{asset}: the result does not match the declared columns: {phrases}", hint=hint)


@frozen
class SchemaDifferences:
    """How a run's columns differ from those wanted; case, order and nullability are ignored.

    Attributes:
        missing: Wanted, but neither computed nor filled by the table itself.
        extra: Computed, but not wanted.
        changed: Of another type: (computed, wanted), by name.
    """

    missing: tuple[StructField, ...] = ()
    extra: tuple[StructField, ...] = ()
    changed: tuple[tuple[StructField, StructField], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.changed)

    def phrases(self, against: str) -> list[str]:
        """Every difference as a phrase; ``against`` names what is wanted, such as ``the target``."""
        types = [(want.name, have.dataType.simpleString(), want.dataType.simpleString()) for have, want in self.changed]
        return [
            *(f"column {field.name!r} is missing" for field in self.missing),
            *(f"column {field.name!r} is not in {against}" for field in self.extra),
            *(f"column {name!r} is {have}, but {want} in {against}" for name, have, want in types),
        ]


def find_differences(actual: StructType, wanted: StructType) -> SchemaDifferences:
    """Every difference between computed and wanted columns."""
    have = {field.name.lower(): field for field in actual.fields}
    want = {field.name.lower(): field for field in wanted.fields}
    pairs = [(have[name], want[name]) for name in sorted(have.keys() & want.keys())]
    return SchemaDifferences(
        missing=tuple(field for name, field in want.items() if name not in have and not is_generated(field)),
        extra=tuple(field for name, field in have.items() if name not in want),
        changed=tuple(pair for pair in pairs if pair[0].dataType.simpleString() != pair[1].dataType.simpleString()),
    )


def supplied_columns(schema: StructType) -> StructType:
    """The columns that rows must have, without those that the table fills itself."""
    from pyspark.sql.types import StructType

    return StructType([field for field in schema.fields if not is_generated(field)])


def drop_defaults(frame: DataFrame) -> DataFrame:
    """The same rows without column defaults from the table that they were read from."""
    from pyspark.sql import functions as sql

    fields, names = frame.schema.fields, {name.lower() for name in frame.columns}
    if len(names) < len(fields) or not any(key in field.metadata for field in fields for key in _DEFAULTS):
        return frame
    metadata_kept = ({key: value for key, value in field.metadata.items() if key not in _DEFAULTS} for field in fields)
    columns = zip(fields, metadata_kept, strict=True)
    return frame.select(
        *(sql.col(sqltext.name(field.name)).alias(field.name, metadata=metadata) for field, metadata in columns)
    )


def is_generated(field: StructField) -> bool:
    """Whether the table computes the column where rows lack it: a generated or identity column."""
    return GENERATED in field.metadata or any(key.startswith(IDENTITY) for key in field.metadata)


def with_plain_strings(frame: DataFrame, schema: StructType) -> DataFrame:
    """The same rows with plain strings; rows of a classic session have them anyway."""
    if not is_remote(frame.sparkSession):
        return frame
    from pyspark.sql import functions as sql

    columns = []
    for field in schema.fields:
        column = sql.col(sqltext.name(field.name))
        if "string" in field.dataType.simpleString():
            column = column.cast(type_sql(field.dataType)).alias(field.name, metadata=field.metadata)
        columns.append(column)
    return frame.select(*columns)


def type_sql(kind: DataType) -> str:
    """The type as SQL, with plain strings: on Spark Connect the client adds a collation to its own types."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    match kind:
        case ArrayType():
            return f"ARRAY<{type_sql(kind.elementType)}>"
        case MapType():
            return f"MAP<{type_sql(kind.keyType)}, {type_sql(kind.valueType)}>"
        case StructType():
            fields = (f"{sqltext.name(each.name)}: {type_sql(each.dataType)}" for each in kind.fields)
            return f"STRUCT<{', '.join(fields)}>"
    return str(kind.simpleString())
