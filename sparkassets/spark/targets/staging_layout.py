"""Columns and folders that tell staged rows apart: taken by rules, or copied from mixed files.

Spark names such a folder by a column, `sparkassets_taken=0`. Other readers take every `name=value` in a path for a
column of the table, so files are moved out of these folders before they are committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.delta.live_files import LiveFile
from sparkassets.delta.staging import StagedFile, discard_folders, move_files
from sparkassets.spark import sqltext
from sparkassets.spark.delta_files import UNREADABLE, can_read_files, read_files
from sparkassets.spark.table_locations import path_of
from sparkassets.spark.validation.row_rules import STAYS, TAKEN, RowRules
from sparkassets.spark.writes import PlannedWrite

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import Column, DataFrame

    from sparkassets.spark.partition_guard import PartitionGuard

MARK = "sparkassets_copied"
"""The column that separates copied rows from the run's own, in folders and files of their own."""
_IS_COPIED_VALUE = "true"
_IS_OWN_VALUE = "false"
OWN, COPIED = (f"{MARK}={value}" for value in (_IS_OWN_VALUE, _IS_COPIED_VALUE))
"""The folders of the run's own rows and of copied rows, as Spark names them."""
RESERVED = "it has a column with the name of one that separates rows"
"""Why Spark has to commit to a table with such a column, as the end of a sentence."""
IS_OWN = f"{MARK} = '{_IS_OWN_VALUE}'"
"""Whether a row is the run's own, as SQL."""


def can_copy(planned: PlannedWrite, table: DeltaTable) -> bool:
    """Whether rows of any of the table's files can be copied."""
    return not _has_copied_column(planned.landing.rows) and can_read_files(table, path=path_of(planned.asset))


def add_copied(
    rows: DataFrame, planned: PlannedWrite, table: DeltaTable, *, files: Sequence[LiveFile], most: int | None = None
) -> DataFrame | str:
    """The run's rows and those of ``files`` outside its partitions, distinguished by the column `MARK`.

    Or why Spark has to commit: only Delta can read the files, as of `read_files`, or the table has such a column.
    """
    from pyspark.sql import functions as sql

    if planned.partitions is None or _has_copied_column(rows):
        return RESERVED
    file_rows = read_files(rows.sparkSession, table, files, path=path_of(planned.asset), most=most)
    if file_rows is None:
        return UNREADABLE
    copied = planned.partitions.find_outside_rows(file_rows).select("*", _copied_column(copied=True))
    own_rows = rows.select("*", _copied_column(copied=False))
    return own_rows.unionByName(copied.withColumn(TAKEN, sql.lit(STAYS)) if TAKEN in rows.columns else copied)


def mark_outside(rows: DataFrame, partitions: PartitionGuard) -> DataFrame | None:
    """The rows of files, those outside the partitions marked as copied; None where they have such a column."""
    from pyspark.sql import functions as sql

    if _has_copied_column(rows):
        return None
    outside = f"CASE WHEN {partitions.predicate} THEN '{_IS_OWN_VALUE}' ELSE '{_IS_COPIED_VALUE}' END"
    return rows.withColumn(MARK, sql.expr(outside))


def count_copied(files: Sequence[StagedFile]) -> int:
    """How many of the staged rows are copied."""
    return sum(file.rows for file in files if is_copied(file))


def is_copied(file: StagedFile) -> bool:
    """Whether its rows are copied."""
    return file.partition.get(MARK) == _IS_COPIED_VALUE


def _has_copied_column(rows: DataFrame) -> bool:
    return MARK in (name.lower() for name in rows.columns)


def _copied_column(*, copied: bool) -> Column:
    from pyspark.sql import functions as sql

    return sql.lit(_IS_COPIED_VALUE if copied else _IS_OWN_VALUE).alias(MARK)


_SEPARATING_TYPES = {TAKEN: "integer", MARK: "string"}
"""The separating columns with their types, in the order of the folders."""
_FINAL_FOLDERS = {f"{TAKEN}={STAYS}": "stays", OWN: "own", COPIED: "copied"}
"""The final names of folders whose files are committed."""


def flag_taken_rows(rows: DataFrame, rules: RowRules | None) -> DataFrame | None:
    """Adds `TAKEN` where rules take rows away; None where the rows have such a column themselves."""
    from pyspark.sql import functions as sql

    if rules is None or not rules.takes_rows:
        return rows
    if TAKEN in (name.lower() for name in rows.columns):
        return None
    joined = rules.join_foreign_keys(rows)
    return joined.select(
        *(sql.col(sqltext.name(name)) for name in rows.columns), rules.number_taking_rule(joined).alias(TAKEN)
    )


def separating_columns(rows: DataFrame) -> list[str]:
    """The columns among the rows' that separate them."""
    return [name for name in _SEPARATING_TYPES if name in rows.columns]


def folder_kinds(files: Sequence[StagedFile]) -> Mapping[str, str]:
    """The separating columns of staged files, with their types."""
    return {name: kind for name, kind in _SEPARATING_TYPES.items() if any(name in file.partition for file in files)}


def own_folder(files: Sequence[StagedFile]) -> str:
    """The folder, within the attempt's, of the run's own rows that stay."""
    values = {TAKEN: f"{TAKEN}={STAYS}", MARK: OWN}
    return "".join(f"/{values[name]}" for name in folder_kinds(files))


def drop_copied(rows: DataFrame, kinds: Mapping[str, str]) -> DataFrame:
    """The run's own rows among staged ones."""
    return rows.filter(IS_OWN).drop(MARK) if MARK in kinds else rows


def move_committed(table: str, files: Sequence[StagedFile]) -> list[StagedFile]:
    """Moves files to commit out of the folders that are named by separating columns.

    Args:
        table: Its path or URI.
        files: All files of the attempt to commit; others in those folders are removed.

    Raises:
        OSError: As of `move_files`.
    """
    paths = {file.path: _final_path(file.path) for file in files}
    moves = {old: new for old, new in paths.items() if new != old}
    if not moves:
        return list(files)
    move_files(table, moves)
    discard_folders(table, {_separating_folder(path) for path in moves})
    return [replace(file, path=paths[file.path]) for file in files]


def _separating_folder(path: str) -> str:
    """The topmost folder of a path that is named by a separating column.

    >>> _separating_folder("run.1.1/sparkassets_copied=true/day=2013-01-01/part-0.parquet")
    'run.1.1/sparkassets_copied=true'
    """
    names = path.split("/")
    first = next(number for number, name in enumerate(names) if name in _FINAL_FOLDERS)
    return "/".join(names[: first + 1])


def _final_path(path: str) -> str:
    """The path of a file with the final names of these folders.

    >>> _final_path("run.1.1/sparkassets_taken=0/sparkassets_copied=true/day=2013-01-01/part-0.parquet")
    'run.1.1/stays/copied/day=2013-01-01/part-0.parquet'
    """
    return "/".join(_FINAL_FOLDERS.get(each, each) for each in path.split("/"))


def is_taken(file: StagedFile) -> bool:
    """Whether a rule takes the file's rows away."""
    return file.partition.get(TAKEN, str(STAYS)) != str(STAYS)
