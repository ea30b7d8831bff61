"""Writes the rows of a replay into a Delta table of its own."""

from __future__ import annotations

from sparkassets.core.documents.table_difference import ComparedTable
from sparkassets.core.partitions import PartitionSet
from sparkassets.errors import InputError, RunError, SparkAssetsError
from sparkassets.spark.computation import SparkComputation
from sparkassets.spark.failures import run_error
from sparkassets.spark.open_tables import open_table


def write_scratch_table(computation: SparkComputation, folder: str, partitions: PartitionSet) -> ComparedTable:
    """Computes the rows and writes them into ``folder``; returns the table for a comparison of these partitions.

    Raises:
        InputError: The folder holds a table already.
        RunError: The rows cannot be computed or written.
        SourceError: A file that is read has changed meanwhile.
    """
    if open_table(folder) is not None:
        raise InputError(f"there is a table in {folder!r} already", hint="name another folder")
    asset = computation.order.asset
    try:
        computation.frame.write.format("delta").mode("error").save(folder)
        computation.inlets.check_files()
    except SparkAssetsError:
        raise
    except Exception as error:
        raise run_error(error, what=asset.name) from error
    table = open_table(folder)
    if table is None:
        raise RunError(f"the replayed rows of {asset.name} cannot be found in {folder!r}")
    return ComparedTable(folder, str(table.metadata().id), table.version(), partitions)
