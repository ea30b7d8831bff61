"""The memory of upserts beside a table: deleted keys, and the order of rows where the table does not store it.

It is a Delta table with a row for each thing that was seen: the key, its `newest_by`, whether it was deleted then, and
when that was remembered. A commit of the target names the valid version of it; rows added after that version
are of runs that never reached their commit, and are removed by the next run that remembers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.instants import Duration
from sparkassets.core.runs import asset_app
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.delta.scratch_folders import REMEMBERED
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitStamp
from sparkassets.spark import sqltext
from sparkassets.spark.commit_stamps import format_stamp, read_own_stamp, read_stamp
from sparkassets.spark.open_tables import OpenedTable, find_table, open_table
from sparkassets.spark.scratch import companion_location
from sparkassets.spark.table_locations import read_rows, save_rows, table_sql
from sparkassets.spark.upserts.staged_rows import DELETED, UpsertRows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from sparkassets.spark.open_tables import TableDescription

AT: Final = "at"
_COMPACT_EVERY: Final = 16


@frozen
class UpsertMemory:
    """The valid version of the memory beside a table.

    Attributes:
        location: The memory's table.
        version: The valid version; None where nothing is remembered.
        keep: How long deletions are remembered.
    """

    location: StorageLocation
    version: int | None
    rows: UpsertRows
    keep: Duration | None = None

    @classmethod
    def load_memory(
        cls,
        session: SparkSession,
        rows: UpsertRows,
        location: StorageLocation,
        table: TableDescription | None,
        *,
        app: str,
        keep: Duration | None,
    ) -> UpsertMemory:
        """The memory as ``table``'s newest run left it; empty without such a run, or if all is rebuilt."""
        memory_location = companion_location(location, REMEMBERED)
        version = None if table is None else _find_named_version(session, location, memory_location, table.version, app)
        return cls(memory_location, version, rows, keep)

    def read_remembered(self, session: SparkSession) -> DataFrame | None:
        """The remembered rows, in the columns of `columns`, `DELETED` and `AT`; None for none.

        Rows remembered by other key columns, or another `newest_by`, are ignored.
        """
        if self.version is None:
            return None
        table = find_table(session, self.location)
        if table is None:
            return None
        frame = self._load_version(session, self.version, newest=table.version)
        if set(frame.columns) != {*self.columns, DELETED, AT}:
            return None
        return frame if self.keep is None else frame.filter(f"NOT {DELETED} OR {AT} >= {_oldest_kept_sql(self.keep)}")

    def _load_version(self, session: SparkSession, version: int, *, newest: int) -> DataFrame:
        """A version of the memory; an older one exists only until it is vacuumed."""
        try:
            frame = read_rows(self.location, session, version)
            if version < newest:
                frame.write.format("noop").mode("overwrite").save()
        except Exception as error:
            if version == newest:
                raise
            raise RunError(
                f"{self.rows.asset}: its table was restored to a commit that needs version {version} of "
                f"{self.location.display_text}, which is gone",
                hint=f"`sparkassets backfill {self.rows.asset} --rebuild` rebuilds the table",
            ) from error
        return frame

    @property
    def columns(self) -> list[str]:
        """Names of the key columns and of those that order rows."""
        return [*map(_key_column, self.rows.keys), *map(_newest_column, self.rows.newest_by)]

    def as_rows(self, remembered: DataFrame) -> DataFrame:
        """The newest remembered row of each key, in the columns of the rows: keys, `newest_by`, `DELETED`."""
        keys = [f"{_q(_key_column(name))} AS {_q(name)}" for name in self.rows.keys]
        newest = [f"{_q(_newest_column(name))} AS {_q(name)}" for name in self.rows.newest_by]
        return self._compact(remembered).selectExpr(*keys, *newest, DELETED)

    def without_late(self, chosen: DataFrame, session: SparkSession) -> DataFrame:
        """The chosen rows without those older than the remembered ones of their keys."""
        from pyspark.sql import functions as sql

        remembered = self.read_remembered(session)
        if remembered is None:
            return chosen
        matches = [sql.col(f"c.{_q(name)}") == sql.col(f"m.{_q(_key_column(name))}") for name in self.rows.keys]
        older = _order_struct("c", self.rows.newest_by) < _order_struct(
            "m", [_newest_column(name) for name in self.rows.newest_by]
        )
        condition = older
        for each in matches:
            condition = each & condition
        return chosen.alias("c").join(remembered.alias("m"), condition, "left_anti")

    def remember(self, session: SparkSession, staged: DataFrame, *, stamp: CommitStamp) -> int:
        """Commits these rows, and returns the version that holds them and all valid ones before.

        Raises:
            RunError: It is unknown whether the commit is in.
        """
        seen = self._select_seen(staged)
        table = find_table(session, self.location)
        newest = None if table is None else table.version
        remembered = self.read_remembered(session)
        metadata = format_stamp(replace(stamp, kind="layout"))
        if remembered is not None and self._can_append(seen, remembered, newest):
            save_rows(self.location, seen, {"userMetadata": metadata})
            version = _find_committed_version(session, self.location, stamp, after=newest)
            if version - 1 == newest:
                return version
            newest = version  # what came between is of a run that was given up, and does not count
        everything = seen if remembered is None else self._compact(remembered.unionByName(seen))
        _overwrite(self.location, everything, stamp, exists=newest is not None)
        return _find_committed_version(session, self.location, stamp, after=newest)

    def _can_append(self, seen: DataFrame, remembered: DataFrame, newest: int | None) -> bool:
        """Whether rows can be added to the newest version: it is valid, of their types, and not due to shrink."""
        if newest is None or newest != self.version or not _has_types_of(seen, remembered):
            return False
        return newest % _COMPACT_EVERY != _COMPACT_EVERY - 1

    def _select_seen(self, staged: DataFrame) -> DataFrame:
        rows = staged if self.rows.remembers_all else staged.filter(DELETED)
        keys = [f"{_q(name)} AS {_q(_key_column(name))}" for name in self.rows.keys]
        newest = [f"{_q(name)} AS {_q(_newest_column(name))}" for name in self.rows.newest_by]
        return rows.selectExpr(*keys, *newest, DELETED, f"current_timestamp() AS {AT}")

    def _compact(self, frame: DataFrame) -> DataFrame:
        """The newest row of each key; among equally new ones a row that exists, which is not forgotten."""
        from pyspark.sql import functions as sql

        keys = [sql.col(_q(_key_column(name))) for name in self.rows.keys]
        newest = [sql.col(_q(_newest_column(name))) for name in self.rows.newest_by]
        is_there = sql.expr(f"NOT {DELETED}").alias("is_there")
        newest_rows = frame.groupBy(*keys).agg(sql.max(sql.struct(*newest, is_there, sql.col(AT))).alias("best"))
        newest_columns = [sql.col(f"best.{_q(_newest_column(name))}") for name in self.rows.newest_by]
        return newest_rows.select(*keys, *newest_columns, sql.expr("NOT best.is_there").alias(DELETED), f"best.{AT}")


def copy_memory(
    session: SparkSession,
    source: StorageLocation,
    target: StorageLocation,
    *,
    version: int,
    app: str,
    stamp: CommitStamp,
    as_of: datetime | None = None,
) -> int | None:
    """Commits what a version of the table at ``source`` remembers to the memory beside ``target``.

    Returns the memory's version that holds it, and nothing else; None where nothing is remembered.

    Args:
        session: Reads and commits.
        source: A table that runs of ``app`` wrote.
        target: The table that gets its rows.
        version: Of the table at ``source``.
        app: The application id of its runs.
        stamp: Of the run that copies.
        as_of: Deletions are forgotten as at that time; None forgets them as of now.

    Raises:
        RunError: It is unknown whether the commit is in; or with ``as_of``, what was remembered then.
    """
    memory, own_memory = companion_location(source, REMEMBERED), companion_location(target, REMEMBERED)
    named = _find_named_version(session, source, memory, version, app, strict=as_of is not None)
    if named is None:
        return None
    if as_of is not None and find_table(session, memory) is None:
        raise RunError(f"what was remembered then is gone: there is no table at {memory.display_text}")
    present, rows = find_table(session, own_memory), read_rows(memory, session, named)
    if as_of is not None:  # each as old as it was then
        from pyspark.sql import functions as sql

        then = f"timestamp_seconds({int(as_of.timestamp())})"
        rows = rows.withColumn(AT, sql.expr(f"{AT} + (current_timestamp() - {then})"))
    _overwrite(own_memory, rows, stamp, exists=present is not None)
    return _find_committed_version(session, own_memory, stamp, after=None if present is None else present.version)


def _overwrite(location: StorageLocation, rows: DataFrame, stamp: CommitStamp, *, exists: bool) -> None:
    """Commits the rows to the memory in place of all others, with the stamp; removes files of old versions."""
    if not exists and location.table:  # whose first commit tells nothing
        save_rows(location, rows.limit(0), {}, exists=False)
    metadata = format_stamp(replace(stamp, kind="layout"))
    save_rows(location, rows, {"userMetadata": metadata, "overwriteSchema": "true"}, mode="overwrite")
    with contextlib.suppress(Exception):
        if location.table:
            rows.sparkSession.sql(f"VACUUM {table_sql(location)}")
        elif (table := open_table(location.path)) is not None:
            table.vacuum(dry_run=False)


def _find_committed_version(
    session: SparkSession, location: StorageLocation, stamp: CommitStamp, *, after: int | None
) -> int:
    """The version of a memory that this attempt committed, found by the stamp of its commit.

    Searches back to the version ``after`` at most; None searches the whole history.

    Raises:
        RunError: There is no such commit.
    """
    table = find_table(session, location)
    for commit in table.iterate_commits() if table is not None else ():
        own_stamp = read_own_stamp(commit, stamp.app_id)
        if commit["version"] <= (-1 if after is None else after):
            break
        if own_stamp and (own_stamp["run"], own_stamp["epoch"], own_stamp["attempt"]) == (
            stamp.run,
            stamp.token,
            stamp.attempt,
        ):
            return int(commit["version"])
    raise RunError(
        f"{asset_app(stamp.app_id).split('/')[1]}: the run's keys are missing from {location.display_text}",
        hint="run it again",
    )


def _has_types_of(rows: DataFrame, remembered: DataFrame) -> bool:
    """Whether rows have the types of the remembered ones; otherwise both cannot be compared."""
    row_types, remembered_types = (
        {each.name: each.dataType for each in frame.schema.fields} for frame in (rows, remembered)
    )
    return row_types == remembered_types


def _find_named_version(
    session: SparkSession,
    location: StorageLocation,
    memory_location: StorageLocation,
    version: int,
    app: str,
    *,
    strict: bool = False,
) -> int | None:
    """The memory's version that the newest data commit of the asset names; None if it names none.

    Only commits up to ``version`` of the asset's table count. If its log is too short to tell, the memory's newest
    version is returned: remembering too much only keeps older rows out.

    Raises:
        RunError: With ``strict``, the log is too short.
    """
    table = find_table(session, location)
    if table is None:
        return None
    newest, version = version, version + 1
    for commit in _iterate_valid_commits(table, newest):
        version = commit["version"]
        stamp = read_stamp(commit)
        if stamp is not None and stamp["kind"] == "data" and asset_app(stamp["app"]) == asset_app(app):
            named = stamp["measures"].get(REMEMBERED)
            return None if named is None else int(named)
    if version == 0:
        return None
    if strict:
        raise RunError(f"which keys {asset_app(app).split('/')[1]} remembered then is no longer in its table's log")
    memory = find_table(session, memory_location)
    return None if memory is None else memory.version


def _iterate_valid_commits(table: OpenedTable, version: int) -> Iterator[Mapping[str, Any]]:
    """The commits that made a version of the table, newest first.

    Commits that a RESTORE undid are left out, and so is the RESTORE itself: what they remembered is void.
    """
    restored = None
    for commit in table.iterate_commits():
        if commit["version"] > version:
            continue
        if restored is not None and (commit["version"] > restored[0] or _read_milliseconds(commit) > restored[1]):
            continue
        restored = None
        if commit.get("operation") == "RESTORE":
            restored = _find_restored_limit(commit.get("operationParameters") or {}, commit["version"])
        else:
            yield commit


def _read_milliseconds(commit: Mapping[str, Any]) -> float:
    """The commit's time in Unix milliseconds; 0 where it has none."""
    at = commit.get("timestamp") or 0
    return at.timestamp() * 1000 if isinstance(at, datetime) else float(at)


def _find_restored_limit(parameters: Mapping[str, Any], version: int) -> tuple[int, float]:
    """The version, or the Unix milliseconds, above which a RESTORE undid everything."""
    if (restored_version := parameters.get("version")) is not None:
        return int(restored_version), inf
    try:
        at = datetime.fromisoformat(str(parameters.get("timestamp")).replace(" ", "T"))
    except ValueError:
        return version, inf
    return version, (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000


def _oldest_kept_sql(keep: Duration) -> str:
    """The instant before which nothing is remembered any more."""
    return f"current_timestamp() - make_interval(0, {keep.months}, 0, {keep.days}, 0, 0, {keep.seconds})"


def _order_struct(alias: str, names: Sequence[str]) -> Column:
    from pyspark.sql import functions as sql

    return sql.struct(*(sql.col(f"{alias}.{_q(name)}").alias(f"n{number}") for number, name in enumerate(names)))


def _key_column(name: str) -> str:
    return f"key_{name}"


def _newest_column(name: str) -> str:
    return f"newest_{name}"


def _q(name: str) -> str:
    return sqltext.name(name)
