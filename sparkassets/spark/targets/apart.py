"""What the first folders of an attempt keep apart of its rows: those that rules take away, and copied ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sparkassets.delta.staged import StagedFile
from sparkassets.spark import sqltext
from sparkassets.spark.targets import copied
from sparkassets.spark.validating.failing import STAYS, TAKEN, Asked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KINDS = {TAKEN: "integer", copied.MARK: "string"}
"""By column, in the order of the folders."""


def with_taken(rows: DataFrame, asked: Asked | None) -> DataFrame | None:
    """The rows with `TAKEN`, where rules take some away; None where they have such a column themselves."""
    from pyspark.sql import functions as sql

    if asked is None or not asked.takes_rows:
        return rows
    if TAKEN in (name.lower() for name in rows.columns):
        return None
    known = asked.with_others(rows)
    return known.select(*(sql.col(sqltext.name(name)) for name in rows.columns), asked.taking(known).alias(TAKEN))


def columns(rows: DataFrame) -> list[str]:
    """The columns of these that keep rows apart."""
    return [name for name in _KINDS if name in rows.columns]


def folder_kinds(files: Sequence[StagedFile]) -> Mapping[str, str]:
    """Those of the folders of staged files, with their types."""
    return {name: kind for name, kind in _KINDS.items() if any(name in file.partition for file in files)}


def own_folder(files: Sequence[StagedFile]) -> str:
    """Where the run's own rows that stay are, in the attempt's folder."""
    values = {TAKEN: f"{TAKEN}={STAYS}", copied.MARK: copied.OWN}
    return "".join(f"/{values[name]}" for name in folder_kinds(files))


def without_copied(rows: DataFrame, kinds: Mapping[str, str]) -> DataFrame:
    """Of staged rows the run's own."""
    return rows.filter(copied.IS_OWN).drop(copied.MARK) if copied.MARK in kinds else rows


def is_taken(file: StagedFile) -> bool:
    """Whether a rule takes the file's rows away."""
    return file.partition.get(TAKEN, str(STAYS)) != str(STAYS)
