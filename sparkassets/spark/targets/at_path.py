"""A Delta table at a path, to which the driver commits, or Spark where the table asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.choice import why_spark
from sparkassets.delta.commit import Change, CommitConflictError, is_in, refuse_conflicts
from sparkassets.delta.staged import Attempt, discard_all
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker, Committed, Computation, Enlist, RunOrder, TargetMissingError
from sparkassets.spark.blocks import segments_in
from sparkassets.spark.computation import SparkComputation, held, own
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.markers import describe
from sparkassets.spark.schemas import declared_schema, given_columns
from sparkassets.spark.table import TargetTable, described, open_table, path_of
from sparkassets.spark.targets import by_driver, by_spark, history
from sparkassets.spark.targets.unchanged import after_commit
from sparkassets.spark.workplace import Workplace
from sparkassets.spark.writes import check_schema, planned

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from sparkassets.spark.writes import PlannedWrite


class PathTarget:
    """Looked into without Spark; implements `ports.Target`."""

    def __init__(self, workplace: Workplace, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> None:
        self._workplace = workplace
        self._asset = asset
        self._app_id = app_id
        self._enlist = enlist
        self._before: history.Moment | None = None
        self._prepared: tuple[CommitMarker, by_driver.Staged] | None = None
        self._held = ExitStack()

    def transaction_version(self) -> int | None:
        """The newest version that was committed; None without a table or any commit of the asset's."""
        now = history.moment(self._asset, self._app_id)
        self._before = self._before or now  # no fence of this run's was in when it asked first
        return None if now is None else now.transaction

    def committed(self, runs: Sequence[str], *, above: int = 0) -> Sequence[Committed]:
        """The data commits of these runs, oldest first; none of theirs has a transaction version below ``above``.

        Raises:
            HistoryGoneError: The history cannot tell.
        """
        return history.committed(self._asset, runs, app_id=self._app_id, above=above, before=self._before)

    def fence(self, computation: Computation | None, *, marker: CommitMarker) -> None:
        """Commits no rows, stamped; creates a missing table with the computation's or the declared columns.

        Raises:
            FenceConflictError: Somebody committed meanwhile: look again.
            TargetMissingError: There is no table, and nothing tells its columns.
        """
        asset, table = self._asset, open_table(path_of(self._asset))
        if table is not None and why_spark(asset, table) is None:
            by_driver.fence(asset, table, marker=marker)
            return
        with self._workplace.entered(asset) as session:
            if table is not None:
                self._enlist()
                there = described(path_of(asset), table)
                by_spark.fence(session, asset, given_columns(there.schema), table=there, marker=marker)
                return
            schema = self._new_schema(session, computation)
            if why_spark(asset, None) is None and by_driver.why_spark_makes(session, schema) is None:
                by_driver.make(asset, schema, marker=marker)
            else:
                self._enlist()
                by_spark.fence(session, asset, schema, table=None, marker=marker)

    def prepare(self, computation: Computation, *, marker: CommitMarker) -> None:
        """Stages the rows where the driver commits; else computes them, and holds them where a session can.

        Raises:
            RunError: As of `write`.
            SourceError: As of `write`.
        """
        made = own(computation, self._asset.name)
        self._release()
        with self._workplace.work(made.order) as (session, work):
            work.check(made.order.run)
            table, plan, ours = self._planned(session, made)
            staged = by_driver.stage(made, plan, table, marker=marker) if ours else None
            if staged is None:
                self._held.enter_context(held(made, always=True))
            self._prepared = (marker, staged) if staged is not None else None

    def write(self, computation: Computation, *, marker: CommitMarker) -> None:
        """Computes the rows and commits them once, stamped; its return proves nothing.

        Raises:
            RunError: The computation or the commit failed.
            SourceError: Files changed while they were read; nothing was written.
        """
        made = own(computation, self._asset.name)
        with self._workplace.work(made.order) as (session, work):
            work.check(made.order.run)
            if self._prepared is not None and self._prepared[0] == marker:
                by_driver.publish(self._prepared[1], marker=marker)
                return
            table, plan, ours = self._planned(session, made)
            if ours and by_driver.write(made, plan, table, marker=marker):
                return
            self._enlist()
            with held(made):
                _refuse_conflicts(made, table, marker)
                by_spark.write(plan, marker=marker)
        self._release()

    def _planned(self, session: SparkSession, made: SparkComputation) -> tuple[DeltaTable | None, PlannedWrite, bool]:
        """The table as it is, what becomes of it, and whether the driver can commit that."""
        table = open_table(path_of(self._asset))
        there = _still(session, made, table)
        plan = planned(made.order, made.frame, schema=made.schema, table=there)
        return table, plan, why_spark(self._asset, table) is None and by_driver.why_spark(plan, table) is None

    def _release(self) -> None:
        """Lets go of what was prepared."""
        self._prepared = None
        self._held.close()

    def segments(self, order: RunOrder, committed: Committed) -> Mapping[str, Sequence[str]]:
        """What the rows of the run's blocks hold as it left them: the segments of each open dimension, by its column.

        Raises:
            RunError: They cannot be read.
        """
        asset, path = order.asset, path_of(order.asset)
        with self._workplace.work(order) as (session, work):
            work.check(order.run)
            table = open_table(path)
            if table is None:
                raise RunError(f"{asset.name}: there is no table at {path} any more", hint="run it again")
            rows, _ = read_version(session, table, committed.version, path=path)
            return segments_in(rows, order)

    def compared(self, order: RunOrder, found: Committed) -> Committed:
        """With what came out unchanged, where `unchanged: skip` asks for it: the driver's commits tell it, Spark's not.

        Raises:
            Exception: Whatever Spark or the table says.
        """
        if self._asset.unchanged != "skip" or found.is_compared:
            return found
        with self._workplace.work(order) as (session, _):
            return found.with_unchanged(after_commit(session, order, found))

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: Committed | None) -> None:
        """Removes what attempts of these runs, by claims with tokens up to that, staged and never committed."""
        self._release()
        kept = None if keep is None else Attempt(keep.run, keep.token, keep.attempt)
        discard_all(path_of(self._asset), runs, upto=upto, keep=kept)

    def _new_schema(self, session: SparkSession, computation: Computation | None) -> StructType:
        if computation is not None:
            return own(computation, self._asset.name).schema
        if self._asset.columns:
            return declared_schema(session, self._asset.columns)
        raise TargetMissingError(f"{self._asset.name}: there is no table at {path_of(self._asset)} yet")


def _refuse_conflicts(made: SparkComputation, table: DeltaTable | None, marker: CommitMarker) -> None:
    """Refuses what others did to the table since the rows were made of it: Spark's commit knows of no such rows.

    Raises:
        CommitConflictError: They changed it.
    """
    if table is None or made.read_version is None:
        return
    table.update_incremental()
    if not is_in(table, app=marker.app_id, version=marker.version):
        asset, everything = made.order.asset, lambda _: True
        change = Change(asset.name, marker.app_id, marker.version, describe(marker), touches=everything)
        refuse_conflicts(path_of(asset), table, change, since=made.read_version)


def _still(session: SparkSession, made: SparkComputation, table: DeltaTable | None) -> TargetTable | None:
    """The table as the rows are to land in it, which may have changed since they were described.

    Raises:
        CommitConflictError: It is gone, or another one stands in its place.
        RunError: The rows do not fit it any more.
    """
    asset, seen = made.order.asset, made.target
    if seen is not None and (table is None or str(table.metadata().id) != seen.table_id):
        what = "removed the table" if table is None else "made the table anew"
        raise CommitConflictError(f"{asset.name}: another writer {what} meanwhile")
    if table is None or (seen is not None and seen.version == table.version()):
        return seen
    there = described(path_of(asset), table)
    check_schema(session, made.order, made.schema, there)
    return there
