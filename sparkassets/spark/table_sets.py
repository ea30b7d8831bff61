"""Reads the Delta tables of one source with a path or name pattern as one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

from sparkassets.core.patterns import FileSlot, KnownTable, known_tables
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.source import path_columns
from sparkassets.core.spec.table_sets import TableSet
from sparkassets.errors import RunError, SourceChangedError
from sparkassets.spark import sqltext
from sparkassets.spark.current_table import open_relation
from sparkassets.spark.failures import run_error
from sparkassets.spark.pinned_files import field_literals
from sparkassets.spark.relation import TableRelation
from sparkassets.spark.schemas import declared_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_tables(session: SparkSession, asset: AssetSpec, pinned: Mapping[str, Any]) -> DataFrame:
    """The rows of the pinned tables, each at its version, with the fields of their paths or names as columns.

    They replace columns of these names in the tables. A column that a table lacks is NULL in its rows.

    Args:
        session: In UTC.
        asset: The source.
        pinned: The cursor's keys for the tables to read.

    Raises:
        RunError: The tables do not fit each other, or there are no tables and no declared columns.
        SourceChangedError: A table is gone or was re-created since the run was planned.
    """
    tables = sorted(known_tables(pinned, asset.partitioning), key=lambda each: each.relative)
    if not tables:
        return _with_fields(_no_rows(session, asset), None, asset)
    several = TableSet.of(asset)
    frames = [_with_fields(_rows(session, asset, several, each), each.slot, asset) for each in tables]
    try:
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    except Exception as error:
        raise run_error(error, what=f"the tables of the source {asset.name!r} do not fit each other") from error


def _rows(session: SparkSession, asset: AssetSpec, tables: TableSet, known: KnownTable) -> DataFrame:
    place = tables.place(known.relative)
    table = open_relation(session, TableRelation(place))
    if table is None or table.table_id != known.table_id:
        what = "is gone" if table is None else "was re-created"
        raise SourceChangedError(
            f"the table {place.display_text!r} of {asset.name!r} {what} since the run was planned", source=asset.name
        )
    return table.read_rows(session, known.version)[0]


def _no_rows(session: SparkSession, asset: AssetSpec) -> DataFrame:
    if not asset.columns:
        raise RunError(
            f"the source {asset.name!r} has no tables for this run, so its columns are unknown",
            hint=f"declare the 'columns' of {asset.name!r}",
        )
    return session.createDataFrame([], declared_schema(session, asset.columns))


def _with_fields(frame: DataFrame, slot: FileSlot | None, asset: AssetSpec) -> DataFrame:
    fields, literals = path_columns(asset), field_literals(slot, asset)
    names = {name.lower() for name in fields}
    own = [sqltext.name(column) for column in frame.columns if column.lower() not in names]
    constants = [f"CAST({literals[name]} AS {kind}) AS {sqltext.name(name)}" for name, kind in fields.items()]
    return frame.selectExpr(*own, *constants)
