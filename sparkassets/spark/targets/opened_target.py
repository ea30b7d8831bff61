"""The table of a run's target: opened as it is now, and looked at before and after the run's commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import is_merge
from sparkassets.errors import RunError
from sparkassets.ports import DataCommit, RunOrder
from sparkassets.spark import commit_history
from sparkassets.spark.open_tables import OpenedTable, find_catalog_table, find_path_table
from sparkassets.spark.partition_guard import find_segments
from sparkassets.spark.table_locations import location_of, path_of
from sparkassets.spark.targets.unchanged_partitions import (
    find_unchanged_by_merge,
    find_unchanged_by_spark_commit,
    find_unchanged_in_catalog,
)
from sparkassets.spark.workplace import SparkWorkplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OpenedTarget:
    """Opens the table of a target and looks at it.

    A table at a path is opened without Spark, one in a catalog through the session.
    """

    def __init__(self, workplace: SparkWorkplace, asset: AssetSpec, *, app_id: str) -> None:
        self._workplace = workplace
        self._asset = asset
        self._location = location_of(asset)
        self._in_catalog = bool(self._location.table)
        self._app_id = app_id
        self._first_state: commit_history.TransactionState | None = None

    def transaction_version(self) -> int | None:
        """The asset's newest transaction version in the table; None without a table or any commit of the asset."""
        with self._open_current() as table:
            state = commit_history.read_transaction_state(table, self._app_id)
        self._first_state = self._first_state or state  # on the first call no fence of this run is in yet
        return None if state is None else state.newest

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        """The data commits of these runs, oldest first; none of them has a transaction version below ``above``.

        Raises:
            HistoryGoneError: The table's history is too short to say.
        """
        with self._open_current() as table:
            return commit_history.find_commits(
                self._asset, table, runs, app_id=self._app_id, above=above, before=self._first_state
            )

    def _find_table(self, session: SparkSession) -> OpenedTable | None:
        """The table as it is now; None if there is none."""
        if self._in_catalog:
            return find_catalog_table(session, self._location)
        return find_path_table(path_of(self._asset))

    @contextmanager
    def _open_current(self) -> Iterator[OpenedTable | None]:
        """Yields the table as it is now, None if there is none; only a table in a catalog takes a session."""
        if self._in_catalog:
            with self._workplace.enter_session(self._asset) as session:
                yield self._find_table(session)
        else:
            yield find_path_table(path_of(self._asset))

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        """The segments in the rows that the run wrote, by the column of each open dimension.

        Raises:
            RunError: They cannot be read.
        """
        with self._workplace.work(order) as (session, work):
            work.check(order.run)
            table = self._find_table(session)
            if table is None:
                place = self._location.display_text
                raise RunError(f"{order.asset.name}: the table at {place} no longer exists", hint="run it again")
            return find_segments(table.read_rows(session, committed.stamped_version)[0], order)

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        """The commit, with the partitions that came out unchanged if `unchanged: skip` asks for them.

        Most of the driver's commits say so already.

        Raises:
            Exception: Whatever Spark or the table says.
        """
        if found.is_compared or self._asset.unchanged == "publish":
            return found
        if found.withheld:
            order = order.restrict_to(order.partitions - found.withheld)
        if self._in_catalog:
            with self._workplace.work(order) as (session, _):
                table = find_catalog_table(session, self._location)
                unchanged = None if table is None else find_unchanged_in_catalog(table, order, found)
                return found if unchanged is None else found.with_unchanged(unchanged)
        if is_merge(found.operation, found.metrics):
            unchanged = find_unchanged_by_merge(order, found)
            if unchanged or not order.asset.partitioning.is_partitioned:
                return found.with_unchanged(unchanged)
        with self._workplace.work(order) as (session, _):
            return found.with_unchanged(find_unchanged_by_spark_commit(session, order, found))
