"""What changed in a Delta table that others write, from the add and remove actions of its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkassets.core.partitions import NOTHING, YEARS, PartitionSet, RangeSet
from sparkassets.core.phrases import few, writable
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.live import flat_adds
from sparkassets.delta.log import Commit, DeltaLog
from sparkassets.delta.times import FileTimes, TimeColumn, time_column
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen
from sparkassets.ports import Observation
from sparkassets.sources.delta_changes import Changes, TableTime
from sparkassets.sources.missing import missing_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

_NAMED = 5
"""How many values that name no slot are named."""
_KEPT = 100
"""How many of them are remembered for the looks to come."""


class DeltaObserver:
    """Compares a table with the position seen before: its id and version.

    Where the log goes on from that version, only the new commits are read, whatever the table's size. The cursor holds
    what makes that safe: ``log``, a token of the commit file seen last, and ``column``, how the partition's column is
    stored; and ``left_out``, the values of that column that name no slot, which every look tells. Commits that change
    no data (OPTIMIZE, VACUUM, properties) give an observation that only moves the position.
    """

    def observe(
        self,
        asset: AssetSpec,
        *,
        table_id: str | None,
        version: int | None,
        cursor: Mapping[str, Any],
        coverage: PartitionSet,
        now: datetime,
    ) -> Observation | None:
        """The time whose rows were added, changed or removed since ``version``; None when no version came.

        At the first look it is all the time that the table holds. ``whole`` is set where the log does not tell what
        changed, with the ``reason`` in ``extra``; then ``changed`` is all the time that the table holds now, and
        ``removed`` what of ``coverage`` it does not hold any more. Otherwise ``extra`` has the ``operations``, the
        number of ``versions`` and of ``files_added`` and ``files_removed``. ``files_read`` counts the data files that
        had to be read because neither a physical partition nor statistics tell one slot.

        Raises:
            SourceError: The table was there before and is gone, is none, cannot be read, or lacks the column.
        """
        del now
        if asset.storage is None:
            raise SourceError(f"the source '{asset.name}' has no path")
        try:
            return _Look(asset, asset.storage.path, table_id, version, cursor, coverage.time).observation()
        except OSError as error:
            raise SourceError(f"cannot read the Delta table at '{asset.storage.path}': {error}") from error


@frozen
class _Look:
    """One look at one table."""

    asset: AssetSpec
    path: str
    table_id: str | None
    version: int | None
    cursor: Mapping[str, Any]
    coverage: RangeSet

    def observation(self) -> Observation | None:
        if not self._exists():
            note = missing_table(self.asset.name, self.path)
            return Observation(asset=self.asset.name, changed=NOTHING, notes=(note,))
        if self.version is None:
            return self._anew(self._open(), reason=None)
        return self._since(self.version)

    # ------------------------------------------------------------------ ways of looking

    def _since(self, seen: int) -> Observation | None:
        """What came after version ``seen``, from the end of the log if that shows that the table is still the same."""
        log = DeltaLog(self.path)
        commits = log.after(seen)
        unmoved = self.cursor.get("log") is not None and self.cursor["log"] == log.token(seen)
        if unmoved and self._same_column() and (commits or log.checkpoint() <= seen):
            return self._changes(commits, self._known_column(), log, seen) if commits else self._as_before()
        return self._compare(self._open(), log, seen)

    def _compare(self, table: DeltaTable, log: DeltaLog, seen: int) -> Observation | None:
        """The same with the table opened, to tell by its id."""
        found = table.version()
        if _id(table) != self.table_id:
            return self._anew(table, reason="another table stands there now")
        if found < seen:
            return self._anew(table, reason=f"the table went back from version {seen} to {found}")
        if "column" in self.cursor and not self._same_column():
            return self._anew(table, reason="the partition goes by another column now")
        commits = [commit for commit in log.after(seen) if commit.version <= found]
        if len(commits) < found - seen:
            return self._anew(table, reason=f"the log no longer holds every version after {seen}")
        return self._changes(commits, self._column(table), log, seen)

    def _anew(self, table: DeltaTable, *, reason: str | None) -> Observation:
        """Everything that the table holds; without a ``reason`` at the first look, which misses nothing."""
        column = self._column(table)
        time = self._time(column)
        held = time.held(table) if time else RangeSet()
        extra: dict[str, Any] = {} if reason is None else {"reason": reason}
        extra["files"] = flat_adds(table).num_rows
        left = sorted(time.times.ignored) if time else []
        return Observation(
            asset=self.asset.name,
            changed=PartitionSet(held),
            removed=PartitionSet(self.coverage - held) if time and reason is not None else NOTHING,
            whole=reason is not None or time is None,
            table_id=_id(table),
            version=table.version(),
            cursor=self._cursor(DeltaLog(self.path), table.version(), column, left),
            extra=extra | _read_of(time),
            notes=self._notes(left),
        )

    def _changes(
        self, commits: Sequence[Commit], column: TimeColumn | None, log: DeltaLog, seen: int
    ) -> Observation | None:
        """What the commits after version ``seen`` did."""
        version = commits[-1].version if commits else seen
        known = column
        if any(commit.protocol for commit in commits):
            self._open(version)  # it may need by now what deltalake does not know
        for commit in commits:
            if commit.metadata is not None:
                if commit.metadata["id"] != self.table_id:
                    return self._anew(self._open(), reason="another table stands there now")
                column = self._column_of(commit.metadata["schemaString"])
        if column != known:
            return self._anew(self._open(), reason="the partition's column is stored in another way now")
        left = self._left_before()
        cursor = self._cursor(log, version, column, left)
        if not commits and all(self.cursor.get(key) == value for key, value in cursor.items()):
            return self._as_before()
        files = [file for commit in commits for file in commit.files]
        operations = dict.fromkeys(commit.operation for commit in commits if commit.operation)
        extra: dict[str, Any] = {
            "operations": list(operations),
            "versions": len(commits),
            "files_added": sum(file.added for file in files),
            "files_removed": sum(not file.added for file in files),
        }
        time = self._time(column)
        changes = Changes(RangeSet(), RangeSet())
        if time and files:
            changes = time.between(commits, seen=seen, version=version, coverage=self.coverage)
            left = self._left_out(time, version, grew=all(file.added for file in files))
        if changes.untold:
            extra |= {"reason": "files are gone and do not tell what they held", "untold": changes.untold}
        return Observation(
            asset=self.asset.name,
            changed=PartitionSet(changes.changed),
            removed=PartitionSet(changes.removed),
            whole=time is None and bool(files),
            table_id=self.table_id,
            version=version,
            cursor=self._cursor(log, version, column, left),
            extra=extra | _read_of(time),
            notes=self._notes(left),
        )

    # ------------------------------------------------------------------ what is left out

    def _as_before(self) -> Observation | None:
        """Nothing new; what is left out is told again."""
        notes = self._notes(self._left_before())
        return Observation(asset=self.asset.name, changed=NOTHING, notes=notes) if notes else None

    def _left_out(self, time: TableTime, version: int, *, grew: bool) -> list[str]:
        """What of ``version`` is left out; the whole log is looked at only where some of that may have gone."""
        known = {*time.times.ignored, *self._left_before()}
        if known and not grew:
            with suppress(SourceError):  # a file is not there any more
                known = time.left_out(version)
        return sorted(known)

    def _left_before(self) -> list[str]:
        return list(self.cursor.get("left_out") or ())

    def _notes(self, left: Sequence[str]) -> tuple[str, ...]:
        partition = self.asset.partitioning.time
        if not left or partition is None:
            return ()
        years = f"of the years {YEARS[0]} to {YEARS[-1]}"
        named = few([writable(value) for value in left], most=_NAMED)
        return (f"rows left out whose '{partition.column}' is no {partition.by} {years}: {named}",)

    # ------------------------------------------------------------------ reading

    def _exists(self) -> bool:
        """Whether a table is there to look at."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            if DeltaTable.is_deltatable(self.path):
                return True
        except DeltaError as error:
            raise self._unreadable(error) from error
        if self.version is not None:
            raise SourceError(
                f"the source '{self.asset.name}' vanished: there is no Delta table at '{self.path}' any more",
                hint="bring it back, or take the asset and what reads it out of the project",
            )
        local = Path(self.path)
        if "://" not in self.path and (local.is_file() or (local.is_dir() and any(local.iterdir()))):
            raise SourceError(
                f"the source '{self.asset.name}' is not a Delta table: '{self.path}' has no _delta_log",
                hint="write 'source: csv', 'json' or 'parquet' for a folder of files",
            )
        return False

    def _open(self, version: int | None = None) -> DeltaTable:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            return DeltaTable(self.path, version=version)
        except DeltaError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> SourceError:
        catalog = "catalog-managed" in str(error)
        hint = "only its catalog tells what is new: write 'source: true' with a 'uri', and use 'events add'"
        return SourceError(f"cannot read the Delta table at '{self.path}': {error}", hint=hint if catalog else None)

    def _column(self, table: DeltaTable) -> TimeColumn | None:
        return self._column_of(table.schema().to_json())

    def _column_of(self, schema: str) -> TimeColumn | None:
        partition = self.asset.partitioning.time
        return None if partition is None else time_column(schema, partition, source=self.asset.name)

    def _known_column(self) -> TimeColumn | None:
        known = self.cursor.get("column")
        return TimeColumn(*known) if known else None

    def _same_column(self) -> bool:
        """Whether the asset's partition goes by the column that the position was found with."""
        known, partition = self.cursor.get("column"), self.asset.partitioning.time
        return (known[0] if known else None) == (partition.column if partition else None)

    def _time(self, column: TimeColumn | None) -> TableTime | None:
        partition = self.asset.partitioning.time
        if column is None or partition is None:
            return None
        return TableTime(self.asset.name, self.path, FileTimes(column, partition), self._open)

    def _cursor(self, log: DeltaLog, version: int, column: TimeColumn | None, left: Sequence[str]) -> dict[str, Any]:
        stored = None if column is None else list(astuple(column))
        return {"log": log.token(version), "column": stored, "left_out": list(left[:_KEPT]) or None}


def _id(table: DeltaTable) -> str:
    return str(table.metadata().id)


def _read_of(time: TableTime | None) -> dict[str, Any]:
    """How many files were read, what could not be told, and which values name no slot."""
    if time is None:
        return {}
    read: dict[str, Any] = {"files_read": time.read} if time.read else {}
    if time.vague:
        read["deletion_vectors"] = time.vague
    if ignored := time.times.ignored:
        read |= {"ignored": [writable(value) for value in sorted(ignored)[:_NAMED]], "ignored_count": len(ignored)}
    return read
