"""The fields of files' paths, as columns of their rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.core.patterns import FileSlot
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.path_columns import path_columns
from sparkassets.spark import predicates, sqltext
from sparkassets.spark.pinned_files import FoundFile
from sparkassets.spark.versions import from_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

PATH_COLUMN: Final = "__sparkassets_path"
"""The column with a row's file, by which rows get the fields of its path."""
_SCHEME = re.compile("^(?:[A-Za-z][A-Za-z0-9+.-]*:)?/*")
"""Spark writes ``file:/a`` or ``file:///a``, depending on the reader."""


def without_scheme(path: str) -> str:
    """A local path without its scheme, however Spark writes that; for comparison.

    >>> without_scheme("file:///a/b.csv") == without_scheme("file:/a/b.csv") == "a/b.csv"
    True
    """
    return _SCHEME.sub("", path)


def add_path_fields(
    session: SparkSession,
    frame: DataFrame,
    files: Sequence[FoundFile],
    *,
    asset: AssetSpec,
    schema: StructType | None = None,
) -> DataFrame:
    """The rows with the fields of their file's path as columns, in place of columns of the same names.

    ``schema`` is that of the rows, where it is known already.

    If all files have the same fields these are constants. Otherwise each row is joined to its file by Spark's
    ``_metadata.file_path``, which is encoded as a URL; a file that was not listed fails the job.
    """
    from pyspark.sql import functions as sql

    fields = path_columns(asset)
    if not fields:
        return frame
    columns = frame.columns if schema is None else schema.names
    other_columns = name_other_columns(columns, fields)
    slots = {file.slot for file in files}
    if len(slots) <= 1:
        literals = field_literals(slots.pop() if slots else None, asset)
        constants = [f"CAST({literals[name]} AS {kind}) AS {sqltext.name(name)}" for name, kind in fields.items()]
        return frame.selectExpr(*other_columns, *constants)
    table = _make_field_table(session, [without_scheme(file.path) for file in files], files, asset)
    encoded = sql.replace(sql.col("_metadata.file_path"), sql.lit("+"), sql.lit("%2B"))
    read_from = sql.regexp_replace(sql.url_decode(encoded), _SCHEME.pattern, "")
    unlisted = sql.raise_error(sql.concat(sql.lit("a file that was not listed was read: "), sql.col(PATH_COLUMN)))
    field_columns = [
        sql.coalesce(sql.col(sqltext.name(name)), unlisted).cast(kind.lower()).alias(name)
        for name, kind in fields.items()
    ]
    return (
        frame.select(*other_columns, read_from.alias(PATH_COLUMN))
        .join(sql.broadcast(table), PATH_COLUMN, "left")
        .select(*other_columns, *field_columns)
    )


def join_path_fields(
    session: SparkSession, linked: DataFrame, files: Sequence[FoundFile], *, asset: AssetSpec, columns: Sequence[str]
) -> DataFrame:
    """The rows of `read_linked`, which have these ``columns``, with the fields of their file's path as columns."""
    from pyspark.sql import functions as sql

    fields = path_columns(asset)
    table = _make_field_table(session, [*map(str, range(len(files)))], files, asset)
    added = [sql.col(sqltext.name(name)).cast(kind.lower()).alias(name) for name, kind in fields.items()]
    others = name_other_columns(columns, fields)
    return linked.select(*others, PATH_COLUMN).join(sql.broadcast(table), PATH_COLUMN).select(*others, *added)


def name_other_columns(columns: Sequence[str], fields: Collection[str]) -> list[str]:
    """The columns, as SQL, that no field of the path replaces."""
    replaced = {name.lower() for name in fields}
    return [sqltext.name(column) for column in columns if column.lower() not in replaced]


def _make_field_table(
    session: SparkSession, keys: Sequence[str], files: Sequence[FoundFile], asset: AssetSpec
) -> DataFrame:
    """The fields of each file's path, beside a key for each file."""
    import pyarrow as pa

    fields = _build_field_arrays([file.slot for file in files], asset)
    return from_arrow(session, pa.table({PATH_COLUMN: pa.array(keys, pa.string()), **fields}))


def field_literals(slot: FileSlot | None, asset: AssetSpec) -> dict[str, str]:
    """SQL for the value of each field of the path; NULL without a slot."""
    fields, time = path_columns(asset), asset.path_partitioning.time
    if slot is None:
        return dict.fromkeys(fields, "NULL")
    texts = map(sqltext.text, slot.segment)
    segments = dict(zip(asset.path_partitioning.segment_columns, texts, strict=True))
    if time is None or slot.start is None:
        return segments
    return {next(iter(fields)): predicates.literal(time, slot.start), **segments}


def _build_field_arrays(slots: Sequence[FileSlot], asset: AssetSpec) -> dict[str, pa.Array]:
    """The values of each field as a column, a row for each of ``slots``."""
    import pyarrow as pa

    fields, time = path_columns(asset), asset.path_partitioning.time
    columns = enumerate(asset.path_partitioning.segment_columns)
    segments = {column: pa.array([slot.segment[index] for slot in slots], pa.string()) for index, column in columns}
    if time is None:
        return segments
    starts = [predicates.column_value(time, slot.start or 0) for slot in slots]
    return {next(iter(fields)): pa.array(starts, predicates.arrow_type(time)), **segments}
