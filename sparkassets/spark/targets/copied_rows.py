"""Copies rows that share a file with a run's partitions, and stay although their file is removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.delta.live_files import LiveFile
from sparkassets.delta.staging import StagedFile
from sparkassets.spark.delta_files import can_read_files, read_files
from sparkassets.spark.target_table import path_of
from sparkassets.spark.validation.row_rules import STAYS, TAKEN
from sparkassets.spark.writes import PlannedWrite

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import Column, DataFrame

MARK = "sparkassets_copied"
"""The column that separates copied rows from the run's own, in folders and files of their own."""
_COPIED = "true"
_OWN = "false"
OWN, COPIED = (f"{MARK}={value}" for value in (_OWN, _COPIED))
"""The folders of the run's own rows and of copied rows, as Spark names them."""
IS_OWN = f"{MARK} = '{_OWN}'"
"""Whether a row is the run's own, as SQL."""


def can_copy(work: PlannedWrite, table: DeltaTable) -> bool:
    """Whether rows of any of the table's files can be copied."""
    return not _has_mark(work.landing.rows) and can_read_files(table, path=path_of(work.asset))


def add_copied(
    rows: DataFrame, work: PlannedWrite, table: DeltaTable, *, files: Sequence[LiveFile], most: int | None = None
) -> DataFrame | None:
    """The run's rows and those of ``files`` outside its partitions, distinguished by the column `MARK`.

    None where only Delta can read the files, as of `read_files`, or the table has such a column.
    """
    from pyspark.sql import functions as sql

    if work.blocks is None or _has_mark(rows):
        return None
    there = read_files(rows.sparkSession, table, files, path=path_of(work.asset), most=most)
    if there is None:
        return None
    staying = work.blocks.find_outside_rows(there).select("*", _mark(copied=True))
    own = rows.select("*", _mark(copied=False))
    return own.unionByName(staying.withColumn(TAKEN, sql.lit(STAYS)) if TAKEN in rows.columns else staying)


def count_copied(files: Sequence[StagedFile]) -> int:
    """How many of the staged rows are copied."""
    return sum(file.rows for file in files if is_copied(file))


def is_copied(file: StagedFile) -> bool:
    """Whether its rows are copied."""
    return file.partition.get(MARK) == _COPIED


def _has_mark(rows: DataFrame) -> bool:
    return MARK in (name.lower() for name in rows.columns)


def _mark(*, copied: bool) -> Column:
    from pyspark.sql import functions as sql

    return sql.lit(_COPIED if copied else _OWN).alias(MARK)
