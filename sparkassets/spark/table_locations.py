"""A table where its location says: its name in SQL, and its rows read and saved by Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.table_names import quote_table_name
from sparkassets.errors import RunError
from sparkassets.spark import sqltext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def location_of(asset: AssetSpec) -> StorageLocation:
    """Where the asset's table is.

    Raises:
        RunError: Nowhere: it is only known by its events.
    """
    if asset.storage is None:
        raise RunError(f"{asset.name} has no path")
    return asset.storage


def path_of(asset: AssetSpec) -> str:
    """The asset's path.

    Raises:
        RunError: It has none.
    """
    return location_of(asset).path


def table_sql(location: StorageLocation) -> str:
    """The table's name in a statement.

    >>> table_sql(StorageLocation("/lake/a`b", "a")), table_sql(StorageLocation.of_table(("main", "a")))
    ('delta.`/lake/a``b`', '`main`.`a`')
    """
    return quote_table_name(location.table) if location.table else f"delta.{sqltext.name(location.path)}"


def save_rows(
    location: StorageLocation,
    rows: DataFrame,
    options: Mapping[str, str],
    *,
    mode: Literal["append", "overwrite"] = "append",
    layout: Sequence[str] = (),
    exists: bool = True,
) -> None:
    """Commits rows to the table.

    Args:
        location: The table's.
        rows: The rows.
        options: Options of Delta's writer.
        mode: Whether rows are added, or replace those that the options select.
        layout: The columns that folders are named by.
        exists: Whether the table exists; creating one in a catalog leaves its first commit without ``userMetadata``.
    """
    if location.table and exists and "overwriteSchema" not in options:
        _save_to_catalog(location, rows, options, mode=mode)
        return
    if location.table and exists and layout:  # Spark's own catalog has these columns last
        others = [name for name in rows.columns if name not in layout]
        rows = rows.select(*map(sqltext.name, [*others, *layout]))
    writer = rows.write.format("delta").mode(mode).options(**options)
    writer = writer.partitionBy(*layout) if layout else writer
    if location.table:
        writer.saveAsTable(table_sql(location))
    else:
        writer.save(location.path)


def _save_to_catalog(
    location: StorageLocation, rows: DataFrame, options: Mapping[str, str], *, mode: Literal["append", "overwrite"]
) -> None:
    from pyspark.sql import functions as sql

    resolved = rows.select("*")  # what a query calls its inlets is resolved again otherwise, and gone by now
    writer = resolved.writeTo(table_sql(location)).options(**options)
    if mode == "append":
        writer.append()
    else:
        writer.overwrite(sql.lit(True))  # noqa: FBT003  what the options say


def read_rows(location: StorageLocation, session: SparkSession, version: int) -> DataFrame:
    """The rows of a version."""
    if location.table:
        return session.sql(f"SELECT * FROM {table_sql(location)} VERSION AS OF {version:d}")  # noqa: S608  quoted
    return session.read.format("delta").option("versionAsOf", version).load(location.path)


def read_feed(location: StorageLocation, session: SparkSession, first: int, last: int) -> DataFrame:
    """The change feed of these versions."""
    reader = session.read.format("delta").option("readChangeFeed", "true")
    reader = reader.option("startingVersion", first).option("endingVersion", last)
    return reader.table(table_sql(location)) if location.table else reader.load(location.path)
