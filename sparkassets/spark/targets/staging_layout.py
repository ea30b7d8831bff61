"""What the first folders of an attempt keep apart of its rows: those that rules take away, and copied ones.

Spark names such a folder by a column, `sparkassets_taken=0`. Readers other than Spark take every `name=value` in a path
for a column of the table, so that files get paths without it before they are committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.delta.staging import StagedFile, discard_folders, move_files
from sparkassets.spark import sqltext
from sparkassets.spark.targets import copied_rows
from sparkassets.spark.validation.row_rules import STAYS, TAKEN, RowRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KINDS = {TAKEN: "integer", copied_rows.MARK: "string"}
"""By column, in the order of the folders."""
_PLAIN = {f"{TAKEN}={STAYS}": "stays", copied_rows.OWN: "own", copied_rows.COPIED: "copied"}
"""What the folders are called in the end, whose files are committed."""


def mark_taken(rows: DataFrame, asked: RowRules | None) -> DataFrame | None:
    """The rows with `TAKEN`, where rules take some away; None where they have such a column themselves."""
    from pyspark.sql import functions as sql

    if asked is None or not asked.takes_rows:
        return rows
    if TAKEN in (name.lower() for name in rows.columns):
        return None
    known = asked.with_others(rows)
    return known.select(*(sql.col(sqltext.name(name)) for name in rows.columns), asked.taking(known).alias(TAKEN))


def separating_columns(rows: DataFrame) -> list[str]:
    """The columns of these that keep rows apart."""
    return [name for name in _KINDS if name in rows.columns]


def folder_kinds(files: Sequence[StagedFile]) -> Mapping[str, str]:
    """Those of the folders of staged files, with their types."""
    return {name: kind for name, kind in _KINDS.items() if any(name in file.partition for file in files)}


def own_folder(files: Sequence[StagedFile]) -> str:
    """Where the run's own rows that stay are, in the attempt's folder."""
    values = {TAKEN: f"{TAKEN}={STAYS}", copied_rows.MARK: copied_rows.OWN}
    return "".join(f"/{values[name]}" for name in folder_kinds(files))


def drop_copied(rows: DataFrame, kinds: Mapping[str, str]) -> DataFrame:
    """Of staged rows the run's own."""
    return rows.filter(copied_rows.IS_OWN).drop(copied_rows.MARK) if copied_rows.MARK in kinds else rows


def move_committed(table: str, files: Sequence[StagedFile]) -> list[StagedFile]:
    """The files that are to be committed, moved out of the folders that are named by columns of ours.

    Args:
        table: Its path or URI.
        files: All of the attempt's that a commit will hold; what else is in those folders is removed.

    Raises:
        OSError: As of `move_files`.
    """
    paths = {file.path: _plain(file.path) for file in files}
    moves = {old: new for old, new in paths.items() if new != old}
    if not moves:
        return list(files)
    move_files(table, moves)
    discard_folders(table, {_above(path) for path in moves})
    return [replace(file, path=paths[file.path]) for file in files]


def _above(path: str) -> str:
    """The topmost folder of a path that is named by a column of ours.

    >>> _above("run.1.1/sparkassets_copied=true/day=2013-01-01/part-0.parquet")
    'run.1.1/sparkassets_copied=true'
    """
    names = path.split("/")
    first = next(number for number, name in enumerate(names) if name in _PLAIN)
    return "/".join(names[: first + 1])


def _plain(path: str) -> str:
    """The path of a file with other names for our folders.

    >>> _plain("run.1.1/sparkassets_taken=0/sparkassets_copied=true/day=2013-01-01/part-0.parquet")
    'run.1.1/stays/copied/day=2013-01-01/part-0.parquet'
    """
    return "/".join(_PLAIN.get(each, each) for each in path.split("/"))


def is_taken(file: StagedFile) -> bool:
    """Whether a rule takes the file's rows away."""
    return file.partition.get(TAKEN, str(STAYS)) != str(STAYS)
