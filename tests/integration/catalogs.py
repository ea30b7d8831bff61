"""Tables in the session's own catalog, in a schema of each test's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.table_names import quote_table_name
from tests.integration import orders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def schema(spark: SparkSession, folder: Path) -> Iterator[str]:
    """A schema with a name that needs quoting nowhere, gone afterwards with all that is in it."""
    name = f"s{uuid4().hex[:12]}"
    spark.sql(f"CREATE SCHEMA {name} LOCATION '{folder}/warehouse'")
    try:
        yield name
    finally:
        spark.catalog.setCurrentDatabase("default")
        spark.sql(f"DROP SCHEMA {name} CASCADE")


def named(asset: AssetSpec, *table: str) -> AssetSpec:
    """The asset, in a catalog."""
    place = StorageLocation.of_table(table)
    return replace(asset, storage=place, uri=place.given)


def table(name: str, where: str, **more: Any) -> AssetSpec:
    """An asset whose table has its name in a schema."""
    return named(orders.table(name, Path("/nowhere"), **more), where, name)


def rows(spark: SparkSession, asset: AssetSpec, *columns: str) -> list[tuple[Any, ...]]:
    """Its rows, in order; none where there is no table."""
    assert asset.storage is not None
    if not spark.catalog.tableExists(quote_table_name(asset.storage.table)):
        return []
    found = spark.table(quote_table_name(asset.storage.table)).selectExpr(*columns or ("*",)).collect()
    return sorted(tuple(row) for row in found)
