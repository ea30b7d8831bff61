"""Looks at tables that catalogs know by name: as sources, as targets, and for their changes.

Commands that plan without a session, such as `sparkassets plan`, use what the journal recorded, and say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sparkassets.core.journal.table_findings import TableFinding
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.phrases import escape_unwritable, few
from sparkassets.core.run_costs import InletVolume
from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.commit_inspection import MOST_COMMITS_CHECKED, CommitInspector, check_unrecorded
from sparkassets.delta.log import LogCommit
from sparkassets.errors import NoTableError, SourceError
from sparkassets.frozen import frozen
from sparkassets.ports import LastLook, Observation, RecordedTable, UnrecordedChain
from sparkassets.spark.changes import find_readable_changes
from sparkassets.spark.commit_history import changes_rows, commits_since, to_log_commit
from sparkassets.spark.failures import first_line
from sparkassets.spark.open_tables import CatalogTable, find_catalog_table
from sparkassets.spark.row_partitions import CatalogParts
from sparkassets.spark.table_locations import location_of, read_rows
from sparkassets.spark.workplace import SparkWorkplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

IN_A_CATALOG: Final = "its table is in a catalog"
_MOST_SHOWN_VALUES: Final = 5


class CatalogObserver:
    """Observes a table in a catalog, compared with its last seen position; implements `ports.SourceObserver`.

    Args:
        workplace: Returns the session to look in; None until something needs Spark.
        why: Why only a session can see the table, as the end of a sentence.
    """

    def __init__(self, workplace: Callable[[], SparkWorkplace | None], *, why: str = IN_A_CATALOG) -> None:
        self._workplace = workplace
        self._why = why

    def observe(self, asset: AssetSpec, last: LastLook, *, now: datetime) -> Observation | None:
        """The changes since the last look; None without any, and an observation that only says why without a session.

        Raises:
            SourceError: The table is gone, is not a Delta table, cannot be read, or lacks a column.
        """
        del now
        if asset.source is None:
            return None
        workplace = self._workplace()
        if workplace is None:
            return unseen(asset, self._why)
        return _look_in_session(
            workplace,
            asset,
            lambda session: _CatalogInspection(asset, session, last).observe(),
            subject=f"the source '{asset.name}'",
        )


def _look_in_session(
    workplace: SparkWorkplace, asset: AssetSpec, look: Callable[[SparkSession], T], *, subject: str
) -> T:
    """What ``look`` returns in the asset's session.

    Args:
        workplace: Opens the session.
        asset: The asset that is looked at.
        look: Looks at it.
        subject: What it looks at, for the error.

    Raises:
        SourceError: Whatever ``look`` raised.
    """
    with workplace.enter_session(asset) as session:
        try:
            return look(session)
        except SourceError:
            raise
        except Exception as error:
            raise SourceError(f"{subject} cannot be read: {first_line(error)}") from error


def unseen(asset: AssetSpec, why: str) -> Observation:
    """The observation of the source ``asset``, which nobody can look at without a session; ``why`` ends a sentence."""
    note = f"not observed: {why}, so only a Spark session can read it (`plan --spark` starts one)"
    return Observation(asset.name, NOTHING, notes=(note,), session_needed_reason=why)


@frozen
class _CatalogInspection:
    """One look at one source in a catalog, from the position that the last look recorded."""

    asset: AssetSpec
    session: SparkSession
    last: LastLook

    def observe(self) -> Observation | None:
        """The news since the last position; None if nothing changed.

        Everything in the table counts as changed if it is another one, went back, has other partitions than at the last
        look, or lost part of its history.
        """
        location, name = location_of(self.asset), self.asset.name
        table = find_catalog_table(self.session, location)
        place = location.display_text
        if table is None and self.last.version is None:
            return Observation(name, NOTHING, notes=(f"the table {place} does not exist yet",))
        if table is None:
            raise NoTableError(
                f"the source '{name}' vanished: the table {place} no longer exists",
                hint="restore it, or remove the asset and its readers from the project",
            )
        if self.last.version is None:
            return self._observe_everything(table, None)
        if table.table_id != self.last.table_id:
            return self._observe_everything(table, f"the table {place} was replaced by another")
        if table.version < self.last.version:
            return self._observe_everything(
                table, f"the table went back from version {self.last.version} to {table.version}"
            )
        if self.last.cursor.get("by") != self._describe_partitioning():
            was_recorded = "by" in self.last.cursor
            return self._observe_everything(
                table, "its partitions changed" if was_recorded else "only a Spark session can read it now"
            )
        commits = commits_since(table, self.last.version)
        if commits is None:
            reason = f"its history no longer has every version after {self.last.version}"
            return self._observe_everything(table, reason)
        return self._observe_since(table, commits)

    def _observe_since(self, table: CatalogTable, commits: Sequence[Mapping[str, Any]]) -> Observation | None:
        """The news in these commits, which are all since the position; None if nothing changed.

        Partitions are compared between the versions around each group of consecutive commits that changed rows, so that
        commits such as OPTIMIZE count for nothing.
        """
        if not commits:
            notes = self._notes(self.last.cursor.get("unnamed") or {})
            return Observation(self.asset.name, NOTHING, notes=notes).unless_empty()
        changing_versions = [each["version"] for each in commits if changes_rows(each)]
        parts, changed, removed = self._find_parts(table), NOTHING, NOTHING
        if parts is not None and changing_versions:
            touched = NOTHING
            for first, last in _group_versions(changing_versions):
                touched = touched | parts.find_changes(first - 1, last)
            held = parts.find_partitions(table.version)
            changed, removed = touched & held, touched - held
        operations = dict.fromkeys(str(each["operation"]) for each in commits)
        return self._make_observation(
            table,
            parts,
            changed=changed,
            removed=removed,
            whole=parts is None and bool(changing_versions),
            extra={"operations": list(operations), "versions": len(commits)},
        )

    def _observe_everything(self, table: CatalogTable, reason: str | None) -> Observation:
        """Everything that the table holds, as changed.

        Without a ``reason`` it is the first look, at which nothing can be removed; with one, whatever is no longer held
        is.
        """
        parts = self._find_parts(table)
        held = NOTHING if parts is None else parts.find_partitions(table.version)
        return self._make_observation(
            table,
            parts,
            changed=held,
            removed=self.last.coverage - held if parts is not None and reason is not None else NOTHING,
            whole=reason is not None or parts is None,
            extra={} if reason is None else {"reason": reason},
        )

    def _make_observation(
        self,
        table: CatalogTable,
        parts: CatalogParts | None,
        *,
        changed: PartitionSet,
        removed: PartitionSet,
        whole: bool,
        extra: Mapping[str, Any],
    ) -> Observation:
        """The observation at the table's version; ``parts`` is None for an asset without partitions.

        The cursor remembers values that name no partition, so that a later look without news can report them again.
        """
        unnamed = (
            {} if parts is None else {name: sorted(values) for name, values in parts.file_parts.ignored_values.items()}
        )
        return Observation(
            self.asset.name,
            changed,
            removed=removed,
            whole=whole,
            table_id=table.table_id,
            version=table.version,
            cursor={"by": self._describe_partitioning(), "unnamed": unnamed or None},
            extra=extra,
            notes=self._notes(unnamed),
        )

    def _notes(self, unnamed: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """A note for each column with values that name no partition: their rows are left out."""
        shown = {column: [escape_unwritable(each) or "''" for each in values] for column, values in unnamed.items()}
        return tuple(
            f"rows left out, because their '{column}' is not a partition key: {few(values, most=_MOST_SHOWN_VALUES)}"
            for column, values in shown.items()
        )

    def _find_parts(self, table: CatalogTable) -> CatalogParts | None:
        asset = self.asset
        if not asset.partitioning.is_partitioned:
            return None
        schema = read_rows(table.location, self.session, table.version).schema.json()
        return CatalogParts.from_schema(self.session, table.location, schema, asset.partitioning, source=asset.name)

    def _describe_partitioning(self) -> list[Any]:
        """The columns and keys of the partitions, for the cursor; all partitions are found again if they change."""
        partitioning = self.asset.partitioning
        time = partitioning.time
        return [time and time.column, time and str(time.noun), *([s.column, *s.keys] for s in partitioning.segments)]


def _group_versions(versions: Sequence[int]) -> list[tuple[int, int]]:
    """Groups ascending versions into (first, last) ranges of consecutive ones.

    >>> _group_versions([3, 4, 6])
    [(3, 4), (6, 6)]
    """
    ranges: list[tuple[int, int]] = []
    for version in versions:
        if ranges and ranges[-1][1] == version - 1:
            ranges[-1] = (ranges[-1][0], version)
        else:
            ranges.append((version, version))
    return ranges


class CatalogTargetObserver:
    """Looks at tables in catalogs that assets write; implements `ports.TargetObserver`."""

    def __init__(self, workplace: Callable[[], SparkWorkplace | None]) -> None:
        self._workplace = workplace

    def missing_folder(self, asset: AssetSpec) -> str | None:
        """Always None: the catalog decides where the table's files are."""
        del asset
        return None

    def spark_commit_reason(self, asset: AssetSpec) -> str | None:
        """Why Spark commits to the asset's table, as the end of a sentence; a catalog's table always has a reason."""
        from sparkassets.delta.features import spark_commit_reason

        return spark_commit_reason(asset, None)

    def session_needed_reason(self, asset: AssetSpec) -> str | None:
        """Why looking at the table needs a session, as the end of a sentence; None while there is one."""
        del asset
        return IN_A_CATALOG if self._workplace() is None else None

    def check_writable(self, asset: AssetSpec) -> int | None:
        """The table's version, if runs may write to it; None without a table or without a session.

        Raises:
            SourceError: No run may write to it.
        """

        def check_table(table: CatalogTable | None) -> int | None:
            if table is None:
                return None
            table.check()
            return table.version

        return self._look_at_table(asset, check_table)

    def check_unrecorded_commits(self, asset: AssetSpec, version: int, *, chain: UnrecordedChain) -> None:
        """As `ports.TargetObserver` has it."""
        place = f"by the name {location_of(asset).given}"

        def check_commits(table: CatalogTable | None) -> None:
            for commit in islice(table.iterate_commits() if table is not None else (), MOST_COMMITS_CHECKED):
                if commit["version"] <= version:
                    check_unrecorded(asset, commit, chain=chain, place=place)

        self._look_at_table(asset, check_commits)

    def read_position(self, asset: AssetSpec) -> TableFinding | None:
        """As `ports.TargetObserver` has it.

        Raises:
            SourceError: The table cannot be read.
        """

        def find_position(table: CatalogTable | None) -> TableFinding | None:
            if table is None:
                return None
            return TableFinding(
                "moved", table_id=table.table_id, version=table.version, mark=_format_mark(table.version)
            )

        return self._look_at_table(asset, find_position)

    def detect_changes(self, asset: AssetSpec, known: RecordedTable) -> TableFinding | None:
        """Differences to the record; None where there are none, or without a session.

        Raises:
            UnknownRunError: A run of the asset is there that is neither recorded nor claimed.
            SourceError: The table cannot be read.
        """

        def compare(table: CatalogTable | None) -> TableFinding | None:
            if table is None:
                return TableFinding("gone", f"its table {location_of(asset).given} was deleted", EVERYTHING)
            return _CatalogCommitInspector(asset, known, "", table).detect_changes()

        return self._look_at_table(asset, compare)

    def _look_at_table(self, asset: AssetSpec, look: Callable[[CatalogTable | None], T]) -> T | None:
        """What ``look`` returns for the asset's table, of which it is given None if there is none.

        None without a session.
        """
        workplace = self._workplace()
        if workplace is None:
            return None
        return _look_in_session(
            workplace,
            asset,
            lambda session: look(find_catalog_table(session, location_of(asset))),
            subject=f"the table of '{asset.name}'",
        )


@frozen
class _CatalogCommitInspector(CommitInspector):
    """Inspects the commits of a table in a catalog."""

    table: CatalogTable

    @property
    def table_named(self) -> str:
        """The table, as a phrase of a sentence."""
        return f"its table {self.table.location.given}"

    @property
    def place_named(self) -> str:
        """Its place, as a phrase of a sentence."""
        return f"by the name {self.table.location.given}"

    def detect_changes(self) -> TableFinding | None:
        """Differences to the record."""
        table, known = self.table, self.known
        if table.table_id != known.table_id:
            return self._report_total_loss("replaced", f"its table {self.place_named} was replaced by another")
        if table.version < known.version:
            reason = f"{self.table_named} went back from version {known.version} to {table.version}"
            return self._report_total_loss("restored", reason)
        commits = commits_since(table, known.accounted_version)
        if commits is None:
            return self.judge_gap(table.version)
        return self.judge_commits([to_log_commit(each) for each in commits]) if commits else None

    def _report_total_loss(self, kind: Any, reason: str) -> TableFinding:  # noqa: ANN401  a kind of what is found
        version = self.table.version
        return TableFinding(kind, reason, EVERYTHING, self.table.table_id, version, self.read_mark(version))

    def commits_after(self, version: int) -> Sequence[LogCommit]:
        """The commits after a version, as far back as the history goes."""
        return [to_log_commit(each) for each in commits_since(self.table, version) or ()]

    def find_commit(self, version: int) -> LogCommit | None:
        """The commit of a version; None where the history lacks it."""
        for each in self.table.iterate_commits():
            if each["version"] == version:
                return to_log_commit(each)
        return None

    def find_partitions(self, commit: LogCommit) -> PartitionSet | None:
        """The partitions whose rows the commit changed; None where unknown."""
        partitioning, table = self.asset.partitioning, self.table
        if not partitioning.has_columns:
            return None
        try:
            schema = read_rows(table.location, table.session, commit.version).schema.json()
            parts = CatalogParts.from_schema(
                table.session, table.location, schema, partitioning, source=self.asset.name
            )
            return parts.find_changes(commit.version - 1, commit.version)
        except Exception:  # noqa: BLE001  a version is gone, or its columns tell nothing
            return None

    def describe_lost_memory(self, version: int) -> str:
        """Empty: what is remembered beside a table in a catalog is not looked at before a run."""
        del version
        return ""

    def read_mark(self, version: int) -> str | None:
        """The mark of a table in a catalog: always empty, its id suffices."""
        return _format_mark(version)


def _format_mark(version: int) -> str:
    return f"version:{version}"


class CatalogChangeFeeds:
    """Checks whether the changes of an inlet's table can be read; implements `ports.ChangeFeeds`."""

    def __init__(self, workplace: Callable[[], SparkWorkplace | None]) -> None:
        self._workplace = workplace

    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        """As `sparkassets.ports.ChangeFeeds`; without a session the run itself finds out."""
        workplace = self._workplace()
        if workplace is None:
            return ChangeAvailability()
        with workplace.enter_session(asset) as session:
            try:
                table = find_catalog_table(session, location_of(asset))
                return ChangeAvailability() if table is None else find_readable_changes(table, position, version)[0]
            except Exception as error:  # noqa: BLE001  it is told, whatever it is
                return ChangeAvailability("unreadable", first_line(error))


class UnknownVolumes:
    """Implements `ports.VolumeEstimator` for tables whose files only Spark can count."""

    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: object) -> InletVolume:
        """An unknown volume."""
        del pin, known
        return InletVolume(None, None, f"{asset.name} is in a catalog, which does not provide it")
