"""Prints the rows of Delta tables as the oldest Spark and DuckDB read them; run in the environment of `readers`.

It is given folders, and prints ``{reader: {folder: [{column: text}]}}`` as JSON, with the message instead of the rows
where a reader refuses the table. Nothing of sparkassets is installed there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

Rows = list[dict[str, object]]


def main(*folders: str) -> None:
    """Reads every table by each reader."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    readers = {"spark 3.5": _spark(), "duckdb": _duckdb()}
    found = {name: {folder: _attempt(read, folder) for folder in folders} for name, read in readers.items()}
    print(json.dumps(found))


def _attempt(read: Callable[[str], Rows], folder: str) -> list[dict[str, str]] | str:
    try:
        return [{name: str(value) for name, value in row.items()} for row in read(folder)]
    except Exception as error:  # noqa: BLE001 - whatever a reader says
        return str(error)


def _spark() -> Callable[[str], Rows]:
    from delta import configure_spark_with_delta_pip  # type: ignore[import-not-found, unused-ignore]
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = configure_spark_with_delta_pip(builder).getOrCreate()
    return lambda folder: [row.asDict() for row in session.read.format("delta").load(folder).collect()]


def _duckdb() -> Callable[[str], Rows]:
    import duckdb
    import duckdb_ext  # type: ignore[import-not-found, unused-ignore]

    (extension,) = Path(next(iter(duckdb_ext.__path__))).rglob("delta.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")

    def read(folder: str) -> Rows:
        table = connection.execute("SELECT * FROM delta_scan(?)", [folder])
        names = [column[0] for column in table.description]
        return [dict(zip(names, row, strict=True)) for row in table.fetchall()]

    return read


if __name__ == "__main__":
    main(*sys.argv[1:])
