"""Sources and targets in catalogs, looked at through the session that runs work, once there is one.

Whoever plans without a session, as `sparkassets plan` does, sees them as they were recorded, and is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.journal.found import Found
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.phrases import few, writable
from sparkassets.core.runs import ChangesTold, Pin, Position, Volume, asset_app
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.log import Commit
from sparkassets.delta.looks import Look, refuse_unknown, told_by
from sparkassets.errors import NoTableError, RunError, SourceError
from sparkassets.frozen import frozen
from sparkassets.ports import Observation, Recorded
from sparkassets.spark.catalogs.changes import told_changes
from sparkassets.spark.catalogs.commits import as_commit, changes_rows, since
from sparkassets.spark.catalogs.parts import NamedParts
from sparkassets.spark.catalogs.told import NamedTable, table_there
from sparkassets.spark.failures import first_line
from sparkassets.spark.relation import relation_of
from sparkassets.spark.workplace import Workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_A_CATALOG: Final = "its table is in a catalog"
_NAMED: Final = 5
_NEWEST: Final = 20
"""Commits of a table of which nothing is recorded, of which one would be of a run that the journal does not know."""


class NamedObserver:
    """Compares a table with the position seen before; implements `ports.SourceObserver`.

    Args:
        workplace: Gives where to look, None as long as nobody has asked for Spark.
        why: Why a session alone sees the table.
    """

    def __init__(self, workplace: Callable[[], Workplace | None], *, why: str = IN_A_CATALOG) -> None:
        self._workplace = workplace
        self._why = why

    def observe(
        self,
        asset: AssetSpec,
        *,
        table_id: str | None,
        version: int | None,
        cursor: Mapping[str, Any],
        coverage: PartitionSet,
        viewed: Mapping[str, PartitionSet],
        now: datetime,
    ) -> Observation | None:
        """The partitions whose rows were added, changed or removed since ``version``; None when no version came.

        Raises:
            SourceError: The table was there before and is gone, is none of Delta, cannot be read, or lacks a column.
        """
        del now, viewed
        if asset.source is None:
            return None
        workplace = self._workplace()
        if workplace is None:
            return unseen(asset, self._why)
        with workplace.entered(asset) as session:
            try:
                return _Seen(asset, session, table_id, version, cursor, coverage).observation()
            except SourceError:
                raise
            except Exception as error:
                raise SourceError(f"the source '{asset.name}' cannot be looked at: {first_line(error)}") from error


def unseen(asset: AssetSpec, why: str) -> Observation:
    """What is observed of a source while there is no session.

    Args:
        asset: The source.
        why: Why a session alone sees it, as the end of a sentence.
    """
    note = f"not looked at: {why}, so that a Spark session alone sees it (`plan --spark` starts one)"
    return Observation(asset.name, NOTHING, notes=(note,), unseen=why)


@frozen
class _Seen:
    """One look at one source."""

    asset: AssetSpec
    session: SparkSession
    table_id: str | None
    version: int | None
    cursor: Mapping[str, Any]
    coverage: PartitionSet

    def observation(self) -> Observation | None:
        """What is new since the position."""
        relation, name = relation_of(self.asset), self.asset.name
        table = table_there(self.session, relation)
        shown = relation.storage.shown
        if table is None and self.version is None:
            return Observation(name, NOTHING, notes=(f"there is no table {shown} yet",))
        if table is None:
            raise NoTableError(
                f"the source '{name}' vanished: there is no table {shown} any more",
                hint="bring it back, or take the asset and what reads it out of the project",
            )
        if self.version is None:
            return self._anew(table, None)
        if table.table_id != self.table_id:
            return self._anew(table, f"another table has the name {shown} now")
        if table.version < self.version:
            return self._anew(table, f"the table went back from version {self.version} to {table.version}")
        if self.cursor.get("by") != self._by():
            others = "by" in self.cursor
            return self._anew(table, "the partitions are others now" if others else "a Spark session alone sees it now")
        commits = since(table, self.version)
        if commits is None:
            return self._anew(table, f"its history no longer tells every version after {self.version}")
        return self._since(table, commits)

    def _since(self, table: NamedTable, commits: Sequence[Mapping[str, Any]]) -> Observation | None:
        """What the commits did."""
        if not commits:
            notes = self._notes(self.cursor.get("unnamed") or {})
            return Observation(self.asset.name, NOTHING, notes=notes) if notes else None
        changing = [each["version"] for each in commits if changes_rows(each)]
        parts, changed, removed = self._parts(table), NOTHING, NOTHING
        if parts is not None and changing:
            touched = NOTHING
            for first, last in _stretches(changing):
                touched = touched | parts.between(first - 1, last)
            held = parts.held(table.version)
            changed, removed = touched & held, touched - held
        operations = dict.fromkeys(str(each["operation"]) for each in commits)
        return self._told(
            table,
            parts,
            changed=changed,
            removed=removed,
            whole=parts is None and bool(changing),
            extra={"operations": list(operations), "versions": len(commits)},
        )

    def _anew(self, table: NamedTable, reason: str | None) -> Observation:
        """Everything that the table holds; without a ``reason`` at the first look, which misses nothing."""
        parts = self._parts(table)
        held = NOTHING if parts is None else parts.held(table.version)
        return self._told(
            table,
            parts,
            changed=held,
            removed=self.coverage - held if parts is not None and reason is not None else NOTHING,
            whole=reason is not None or parts is None,
            extra={} if reason is None else {"reason": reason},
        )

    def _told(
        self,
        table: NamedTable,
        parts: NamedParts | None,
        *,
        changed: PartitionSet,
        removed: PartitionSet,
        whole: bool,
        extra: Mapping[str, Any],
    ) -> Observation:
        left = {} if parts is None else {name: sorted(values) for name, values in parts.told.ignored.items()}
        return Observation(
            self.asset.name,
            changed,
            removed=removed,
            whole=whole,
            table_id=table.table_id,
            version=table.version,
            cursor={"by": self._by(), "unnamed": left or None},
            extra=extra,
            notes=self._notes(left),
        )

    def _notes(self, left: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        shown = {column: [writable(each) or "''" for each in values] for column, values in left.items()}
        return tuple(
            f"rows left out whose '{column}' names no partition: {few(values, most=_NAMED)}"
            for column, values in shown.items()
        )

    def _parts(self, table: NamedTable) -> NamedParts | None:
        asset = self.asset
        if not asset.partitioning.is_partitioned:
            return None
        schema = table.relation.rows(self.session, table.version).schema.json()
        return NamedParts.of(self.session, table.relation, schema, asset.partitioning, source=asset.name)

    def _by(self) -> list[Any]:
        """What the partitions go by; other ones are looked for anew."""
        partitioning = self.asset.partitioning
        time = partitioning.time
        return [time and time.column, time and str(time.noun), *([s.column, *s.keys] for s in partitioning.segments)]


def _stretches(versions: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending versions as first and last of those that follow each other.

    >>> _stretches([3, 4, 6])
    [(3, 4), (6, 6)]
    """
    found: list[tuple[int, int]] = []
    for each in versions:
        if found and found[-1][1] == each - 1:
            found[-1] = (found[-1][0], each)
        else:
            found.append((each, each))
    return found


# --------------------------------------------------------------------------- targets


class NamedTargets:
    """Looks at tables that assets are written to; implements `ports.TargetObserver`."""

    def __init__(self, workplace: Callable[[], Workplace | None]) -> None:
        self._workplace = workplace

    def absent_folder(self, asset: AssetSpec) -> str | None:
        """None: where its files are is the catalog's business."""
        del asset
        return None

    def why_spark(self, asset: AssetSpec) -> str | None:
        """Why Spark commits to the asset's table."""
        from sparkassets.delta.choice import why_spark

        return why_spark(asset, None)

    def unseen(self, asset: AssetSpec) -> str | None:
        """Why nobody can look without a session, while there is none."""
        del asset
        return IN_A_CATALOG if self._workplace() is None else None

    def check(self, asset: AssetSpec) -> int | None:
        """As `ports.TargetObserver` has it; None where nobody can look.

        Raises:
            SourceError: No run may write to it.
        """
        workplace = self._workplace()
        if workplace is None:
            return None
        with workplace.entered(asset) as session:
            try:
                table = table_there(session, relation_of(asset))
                if table is not None:
                    table.check()
            except SourceError:
                raise
            except Exception as error:
                raise SourceError(f"the table of '{asset.name}' cannot be looked at: {first_line(error)}") from error
            return None if table is None else table.version

    def check_runs(self, asset: AssetSpec, version: int, *, app: str, claimed: Collection[str]) -> None:
        """As `ports.TargetObserver` has it.

        Raises:
            UnknownRunError: One is of another run of the asset.
        """
        workplace = self._workplace()
        if workplace is None:
            return
        with workplace.entered(asset) as session:
            table = table_there(session, relation_of(asset))
            place = f"by the name {relation_of(asset).storage.given}"
            for info in islice(table.back() if table is not None else (), _NEWEST):
                told = told_by(info)
                if told.get("kind") == "data" and asset_app(str(told.get("app"))) == app and info["version"] <= version:
                    refuse_unknown(told, info["version"], claimed=claimed, place=place)

    def position(self, asset: AssetSpec) -> Found | None:
        """As `ports.TargetObserver` has it.

        Raises:
            SourceError: The table cannot be read.
        """
        workplace = self._workplace()
        if workplace is None:
            return None
        with workplace.entered(asset) as session:
            try:
                table = table_there(session, relation_of(asset))
            except Exception as error:
                raise SourceError(f"the table of '{asset.name}' cannot be looked at: {first_line(error)}") from error
        if table is None:
            return None
        return Found("moved", table_id=table.table_id, version=table.version, mark=_mark(table.version))

    def look(self, asset: AssetSpec, known: Recorded) -> Found | None:
        """What is not as it was recorded; None where everything is, or nobody can look.

        Raises:
            UnknownRunError: A run of the asset is there that is neither recorded nor claimed.
            SourceError: The table cannot be read.
        """
        workplace = self._workplace()
        if workplace is None:
            return None
        with workplace.entered(asset) as session:
            try:
                table = table_there(session, relation_of(asset))
                shown = relation_of(asset).storage.given
                if table is None:
                    return Found("gone", f"its table {shown} is gone", EVERYTHING)
                return _NamedLook(asset, known, "", table).found()
            except (SourceError, RunError):
                raise
            except Exception as error:
                raise SourceError(f"the table of '{asset.name}' cannot be looked at: {first_line(error)}") from error


@frozen
class _NamedLook(Look):
    """One look at a table by its name."""

    table: NamedTable

    @property
    def table_named(self) -> str:
        """It in a sentence."""
        return f"its table {self.table.relation.storage.given}"

    @property
    def place_named(self) -> str:
        """Where it is."""
        return f"by the name {self.table.relation.storage.given}"

    def found(self) -> Found | None:
        """What is not as it was recorded."""
        table, known = self.table, self.known
        if table.table_id != known.table_id:
            return self._all_lost("replaced", f"another table stands {self.place_named} now")
        if table.version < known.version:
            reason = f"{self.table_named} went back from version {known.version} to {table.version}"
            return self._all_lost("restored", reason)
        commits = since(table, known.seen)
        if commits is None:
            return self.judge_gap(table.version)
        return self.judge([as_commit(each) for each in commits]) if commits else None

    def _all_lost(self, kind: Any, reason: str) -> Found:  # noqa: ANN401  a kind of what is found
        version = self.table.version
        return Found(kind, reason, EVERYTHING, self.table.table_id, version, self.marked(version))

    def after(self, version: int) -> Sequence[Commit]:
        """The commits after a version, as far as the history tells."""
        return [as_commit(each) for each in since(self.table, version) or ()]

    def commit(self, version: int) -> Commit | None:
        """The commit of a version; None where the history does not tell."""
        for each in self.table.back():
            if each["version"] == version:
                return as_commit(each)
        return None

    def held(self, commit: Commit) -> PartitionSet | None:
        """The partitions whose rows it changed; None where that is not told."""
        partitioning, table = self.asset.partitioning, self.table
        if not partitioning.has_columns:
            return None
        try:
            schema = table.relation.rows(table.session, commit.version).schema.json()
            parts = NamedParts.of(table.session, table.relation, schema, partitioning, source=self.asset.name)
            return parts.between(commit.version - 1, commit.version)
        except Exception:  # noqa: BLE001  a version is gone, or its columns tell nothing
            return None

    def marked(self, version: int) -> str | None:
        """A table in a catalog is known by its id alone."""
        return _mark(version)


def _mark(version: int) -> str:
    return f"version:{version}"


# --------------------------------------------------------------------------- what runs read


class NamedFeeds:
    """Tells whether what changed in an inlet's table is told; implements `ports.Feeds`."""

    def __init__(self, workplace: Callable[[], Workplace | None]) -> None:
        self._workplace = workplace

    def told(self, asset: AssetSpec, position: Position, version: int) -> ChangesTold:
        """As `sparkassets.ports.Feeds` has it; a run itself finds out where nobody can look."""
        workplace = self._workplace()
        if workplace is None:
            return ChangesTold()
        with workplace.entered(asset) as session:
            try:
                table = table_there(session, relation_of(asset))
                return ChangesTold() if table is None else told_changes(table, position, version)[0]
            except Exception as error:  # noqa: BLE001  it is told, whatever it is
                return ChangesTold("unread", first_line(error))


class NamedVolumes:
    """Implements `ports.Volumes` for tables whose files nobody counts but Spark."""

    def volume(self, asset: AssetSpec, pin: Pin, known: object) -> Volume:
        """Not known."""
        del pin, known
        return Volume(None, None, f"{asset.name} is in a catalog, which does not tell it")
