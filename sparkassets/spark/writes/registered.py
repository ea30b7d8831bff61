"""Rows of a write mode that a package registered: a run's rows, combined with those that the table has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sparkassets.core.entry_points import PLUGIN_FAILURES
from sparkassets.core.phrases import kind_of
from sparkassets.core.writes import REGISTRY, RegisteredWrite, build_combiner
from sparkassets.errors import RunError, SparkAssetsError
from sparkassets.plugins import InstalledFactories
from sparkassets.ports import RunOrder
from sparkassets.spark.frame_conversion import is_frame
from sparkassets.spark.partition_guard import guard_for
from sparkassets.spark.process_state import preserve_process_state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ReadTable = Callable[[RunOrder, "DataFrame"], "DataFrame"]


def combine_rows(order: RunOrder, rows: DataFrame, read_table: ReadTable) -> DataFrame:
    """The rows that land: the run's rows, combined by the registered mode with the table's rows of its partitions.

    Like SQL that reads its own table, they depend on the table as it was read: if another writer changes that, the
    commit is refused. Rows of an asset with another write mode are returned unchanged.

    Args:
        order: The run.
        rows: The rows as the asset's code returned them.
        read_table: Reads the table's rows of the run's partitions, and maybe others. Without such rows, it returns no
            rows in the columns of the frame that it is given.

    Raises:
        RunError: The package is not installed any more, or its mode fails.
    """
    write, name = order.asset.write, order.asset.name
    if not isinstance(write, RegisteredWrite):
        return rows
    try:
        mode = build_combiner(write.name, write.parameters, installed=InstalledFactories(REGISTRY))
        table_rows = rows.limit(0) if order.rebuilds else read_table(order, rows)
        partitions = None if order.rebuilds else guard_for(order, table_rows.schema)
        if partitions is not None:
            table_rows = table_rows.filter(partitions.predicate)
        with preserve_process_state(lambda: False):
            result = mode.combine(rows, _with_new_columns(table_rows, rows))
    except SparkAssetsError as error:
        raise RunError(f"{name}: {error.args[0]}", hint=error.hint) from error
    except PLUGIN_FAILURES as error:
        raise RunError(f"{name}: the write mode '{write.name}' failed: {type(error).__name__}: {error}") from error
    if not is_frame(result):
        raise RunError(f"{name}: the write mode '{write.name}' returned {kind_of(result)}; expected a DataFrame")
    combined: DataFrame = result
    return combined


def _with_new_columns(table_rows: DataFrame, rows: DataFrame) -> DataFrame:
    """The table's rows, with NULL in each column that only the run's rows have: ``schema`` may let it be added."""
    from pyspark.sql import functions as sql

    known = {name.lower() for name in table_rows.columns}
    added = (field for field in rows.schema if field.name.lower() not in known)
    return table_rows.select("*", *(sql.lit(None).cast(field.dataType).alias(field.name) for field in added))
