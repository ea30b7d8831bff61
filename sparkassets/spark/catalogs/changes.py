"""The changes of a table in a catalog as rows: by its change feed, or as what was appended while it keeps none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
from sparkassets.core.spec.model import CHANGE_COLUMNS
from sparkassets.delta.table_properties import keeps_feed
from sparkassets.errors import SourceChangedError
from sparkassets.spark import sqltext
from sparkassets.spark.catalogs.commits import changes_rows, commits_since, only_appends
from sparkassets.spark.catalogs.named_table import NamedTable
from sparkassets.spark.changes import (
    InletChanges,
    drop_equal_pairs,
    is_comparable,
    mark_inserted,
    refuse_taken,
    without_changes,
)
from sparkassets.spark.failures import first_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_TELLS_ROWS: Final = ("DELETE", "UPDATE", "MERGE")
"""Operations whose changed rows the feed holds exactly, and no other rows."""


def named_changes(session: SparkSession, table: NamedTable, pin: InletPin, *, name: str, by_keys: bool) -> InletChanges:
    """Changes in the inlet ``name`` after its pin's position, up to its version; everything without a position.

    Args:
        session: In UTC.
        table: Of any version.
        pin: Of a version.
        name: Of the inlet, for messages.
        by_keys: Whether they go into an upsert.

    Raises:
        SourceChangedError: It cannot be told any more.
    """
    version, owner = pin.version or 0, f"the inlet {name!r}"
    position = TablePosition(pin.table_id or table.table_id, version)
    frame = table.relation.read_rows(session, version)
    refuse_taken(frame.columns, owner)
    if pin.low is None:
        return InletChanges(
            mark_inserted(frame, version, _commit_time(table, version)), position, after=None, only_inserts=True
        )
    after = TablePosition.parse(pin.low)
    if after is None or after.table_id != position.table_id or after.version > version:
        raise SourceChangedError(
            f"{owner} was read up to {pin.low}, from where its changes cannot be told", source=name
        )
    told, commits = find_told_changes(table, after, version)
    if told.kind != "told":
        raise SourceChangedError(f"the changes of {owner} cannot be told: {told.reason}", source=name)
    only = all(only_appends(each) for each in commits)
    if not commits:
        return InletChanges(without_changes(frame), position, after.version, only_inserts=True)
    rows = partial(_read_feed, by_keys=by_keys) if keeps_feed(table.properties) else _read_appended
    try:
        found = rows(session, table, commits, names=[*frame.columns, *CHANGE_COLUMNS])
        found.schema  # noqa: B018  Spark looks whether the feed was on only now
    except Exception as error:
        if not only or not keeps_feed(table.properties):
            raise SourceChangedError(
                f"the changes of {owner} cannot be told: {first_line(error)}", source=name
            ) from error
        found = _read_appended(
            session, table, commits, names=[*frame.columns, *CHANGE_COLUMNS]
        )  # it came before the feed was on
    return InletChanges(found, position, after.version, only)


def find_told_changes(
    table: NamedTable, after: TablePosition, version: int
) -> tuple[ChangeAvailability, Sequence[Mapping[str, Any]]]:
    """Whether the changes after a position, up to ``version``, can be read; and the commits that changed rows."""
    if after.table_id != table.table_id:
        return ChangeAvailability("lost", "another table has its name by now"), ()
    later = commits_since(table, after.version)
    if later is None:
        return ChangeAvailability("lost", f"its history no longer tells what came after version {after.version}"), ()
    commits = [each for each in later if each["version"] <= version and changes_rows(each)]
    other = next((each for each in commits if not only_appends(each)), None)
    if other is not None and not keeps_feed(table.properties):
        which = f"version {other['version']} ({other['operation']})"
        return ChangeAvailability("untold", f"{which} changed or removed rows"), ()
    return ChangeAvailability(), commits


def _read_feed(
    session: SparkSession,
    table: NamedTable,
    commits: Sequence[Mapping[str, Any]],
    *,
    names: Sequence[str],
    by_keys: bool,
) -> DataFrame:
    """Reads the feed version by version: a version that rewrote equal rows has changed none."""
    found = []
    for each in commits:
        rows = table.relation.read_feed(session, each["version"], each["version"])
        rows = rows.select(*(sqltext.name(name) for name in names))
        told = (
            only_appends(each)
            or each["operation"] in _TELLS_ROWS
            or not is_comparable(rows.drop(*CHANGE_COLUMNS).schema)
        )
        found.append(rows if told else drop_equal_pairs(rows, by_keys=by_keys))
    return reduce(lambda one, other: one.unionByName(other), found)


def _read_appended(
    session: SparkSession, table: NamedTable, commits: Sequence[Mapping[str, Any]], *, names: Sequence[str]
) -> DataFrame:
    """The rows of the files that each commit added."""
    found = []
    for each in commits:
        version = each["version"]
        rows = table.relation.read_rows(session, version)
        if version:
            rows = rows.withColumn("__file", _file())
            before = table.relation.read_rows(session, version - 1).select(_file().alias("__file")).distinct()
            rows = rows.join(before, "__file", "left_anti").drop("__file")
        at = each["timestamp"]
        told = mark_inserted(rows, version, None if at is None else int(at.timestamp() * 1000))
        found.append(told.select(*(sqltext.name(name) for name in names)))
    return reduce(lambda one, other: one.unionByName(other), found)


def _file() -> Any:  # noqa: ANN401  a column
    from pyspark.sql import functions as sql

    return sql.col("_metadata.file_path")


def _commit_time(table: NamedTable, version: int) -> int | None:
    """When a version was committed, in milliseconds since 1970; None where the history does not say."""
    for commit in table.iterate_commits():
        if commit["version"] == version:
            at = commit["timestamp"]
            return None if at is None else int(at.timestamp() * 1000)
        if commit["version"] < version:
            break
    return None
