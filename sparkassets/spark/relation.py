"""A Delta table as Spark addresses it: by its name in a catalog, or by its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from sparkassets.core.spec.model import AssetSpec, StorageLocation
from sparkassets.core.table_names import quote_table_name
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@frozen
class TableRelation:
    """One table.

    >>> TableRelation(StorageLocation("/lake/a`b", "a")).sql, TableRelation(StorageLocation.of_table(("main", "a"))).sql
    ('delta.`/lake/a``b`', '`main`.`a`')
    """

    storage: StorageLocation

    @property
    def sql(self) -> str:
        """The table's name in a statement."""
        named = self.storage.table
        return quote_table_name(named) if named else f"delta.{sqltext.name(self.storage.path)}"

    def save_rows(
        self,
        rows: DataFrame,
        options: Mapping[str, str],
        *,
        mode: Literal["append", "overwrite"] = "append",
        layout: Sequence[str] = (),
        there: bool = True,
    ) -> None:
        """Commits rows to the table.

        Args:
            rows: The rows.
            options: Options of Delta's writer.
            mode: Whether rows are added, or replace those that the options select.
            layout: The columns that folders are named by.
            there: Whether the table exists; creating one in a catalog leaves its first commit without ``userMetadata``.
        """
        if self.storage.table and there and "overwriteSchema" not in options:
            from pyspark.sql import functions as sql

            resolved = rows.select("*")  # what a query calls its inlets is resolved anew otherwise, and gone by now
            writing = resolved.writeTo(self.sql).options(**options)
            if mode == "append":
                writing.append()
            else:
                writing.overwrite(sql.lit(True))  # noqa: FBT003  what the options say
            return
        if self.storage.table and there and layout:  # Spark's own catalog has these columns last
            others = [name for name in rows.columns if name not in layout]
            rows = rows.select(*map(sqltext.name, [*others, *layout]))
        writer = rows.write.format("delta").mode(mode).options(**options)
        writer = writer.partitionBy(*layout) if layout else writer
        if self.storage.table:
            writer.saveAsTable(self.sql)
        else:
            writer.save(self.storage.path)

    def read_rows(self, session: SparkSession, version: int) -> DataFrame:
        """The rows of a version."""
        if self.storage.table:
            return session.sql(f"SELECT * FROM {self.sql} VERSION AS OF {version:d}")  # noqa: S608  quoted
        return session.read.format("delta").option("versionAsOf", version).load(self.storage.path)

    def read_feed(self, session: SparkSession, first: int, last: int) -> DataFrame:
        """The change feed of these versions."""
        reader = session.read.format("delta").option("readChangeFeed", "true")
        reader = reader.option("startingVersion", first).option("endingVersion", last)
        return reader.table(self.sql) if self.storage.table else reader.load(self.storage.path)


def relation_of(asset: AssetSpec) -> TableRelation:
    """The asset's table."""
    if asset.storage is None:
        raise RunError(f"{asset.name} has no path")
    return TableRelation(asset.storage)
