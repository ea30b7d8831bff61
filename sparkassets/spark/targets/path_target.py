"""A Delta table at a path, to which the driver commits, or Spark where the table asks for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sparkassets.core.runs import ROWS, iteration_folder
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import RunJudgement
from sparkassets.core.writes import PublishWrite
from sparkassets.delta.commit import CommitConflictError, CommitRequest, is_committed, refuse_conflicts
from sparkassets.delta.features import spark_commit_reason, spark_creation_reason
from sparkassets.delta.staging import StagingAttempt, discard_all, discard_iterations, iteration_rows
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker, DataCommit, Enlist, RunComputation, RunOrder, TargetMissingError
from sparkassets.spark import commit_history
from sparkassets.spark.computation import OutletComputations, SparkComputation, computation_for, hold_rows
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.iterations import RestoreComputation, unpublished_schema
from sparkassets.spark.partition_guard import find_segments
from sparkassets.spark.schemas import declared_schema, supplied_columns
from sparkassets.spark.scratch import remove_scratch_folders
from sparkassets.spark.target_table import (
    TableAtPath,
    TargetTable,
    describe_table,
    find_table_at,
    format_marker,
    open_table,
    path_of,
)
from sparkassets.spark.targets import driver_commit, judged_rows, spark_commit
from sparkassets.spark.targets.judged_rows import (
    JudgedStaging,
    drop_withheld,
    find_rules,
    is_prepared_for,
    judge_rows,
    keys_of,
    release_judged,
    stage_judged,
)
from sparkassets.spark.targets.unchanged_partitions import MERGED, after_commit, after_merge
from sparkassets.spark.validation import TAKEN, RowRules
from sparkassets.spark.workplace import SparkWorkplace
from sparkassets.spark.writes import PlannedWrite, RowLanding, check_schema, mode_of, plan_write

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


Commit = Callable[[CommitMarker], None]
"""Commits what is prepared, by a marker that tells what is withheld of it."""


class PathTarget:
    """Looked into without Spark; implements `ports.Target`."""

    def __init__(self, workplace: SparkWorkplace, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> None:
        self._workplace = workplace
        self._asset = asset
        self._app_id = app_id
        self._enlist = enlist
        self._before: commit_history.TableMoment | None = None
        self._prepared: tuple[CommitMarker, Commit] | None = None
        self._held = ExitStack()

    def transaction_version(self) -> int | None:
        """The newest version that was committed; None without a table or any commit of the asset's."""
        now = commit_history.read_moment(self._current_table(), self._app_id)
        self._before = self._before or now  # no fence of this run's was in when it asked first
        return None if now is None else now.transaction

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        """The data commits of these runs, oldest first; none of theirs has a transaction version below ``above``.

        Raises:
            HistoryGoneError: The history cannot tell.
        """
        return commit_history.find_commits(
            self._asset, self._current_table(), runs, app_id=self._app_id, above=above, before=self._before
        )

    def fence(self, computation: RunComputation | None, *, marker: CommitMarker) -> None:
        """Commits no rows, stamped; creates a missing table with the computation's or the declared columns.

        Raises:
            FenceConflictError: Somebody committed meanwhile: look again.
            TargetMissingError: There is no table, and nothing tells its columns.
        """
        asset, table = self._asset, open_table(path_of(self._asset))
        if table is not None and spark_commit_reason(asset, table) is None:
            driver_commit.fence(asset, table, marker=marker)
            return
        with self._workplace.enter_session(asset) as session:
            if table is not None:
                self._enlist()
                there = describe_table(path_of(asset), table)
                spark_commit.fence(session, asset, supplied_columns(there.schema), table=there, marker=marker)
                return
            schema = self._new_schema(session, computation)
            if spark_creation_reason(asset) is None and driver_commit.spark_making_reason(session, schema) is None:
                driver_commit.make_table(asset, schema, marker=marker)
            else:
                self._enlist()
                spark_commit.fence(session, asset, schema, table=None, marker=marker)

    def prepare(self, computation: RunComputation, *, marker: CommitMarker) -> RunJudgement | None:
        """Stages the rows where the driver commits, or rules judge them; else computes them, held where a session can.

        Raises:
            RunError: As of `write`.
            SourceError: As of `write`.
        """
        if isinstance(computation, RestoreComputation):
            return None
        made = computation_for(computation, self._asset.name)
        self._release()
        with self._workplace.work(made.order) as (session, work):
            work.check(made.order.run)
            table = open_table(path_of(self._asset))
            if _is_done(table, marker):
                return None
            if isinstance(computation, OutletComputations):
                computation.hold()
            asked = find_rules(made.order, made.inlets, self._workplace.packages)
            if asked is None:
                self._prepared = (marker, self._prepare_unjudged(session, made, table, marker))
                return None
            staged, commit = self._prepare_judged(session, made, table, marker, asked)
            self._prepared = (marker, commit)
            return None if marker.judgement is not None else judge_rows(made.order, asked, staged)

    def _prepare_unjudged(
        self, session: SparkSession, made: SparkComputation, table: DeltaTable | None, marker: CommitMarker
    ) -> Commit:
        """What commits rows that no rule judges, of which partitions may be withheld all the same."""
        plan, told = self._held.enter_context(self._plan_write(session, made, table, marker))
        staged = None
        if self._is_ours(plan, table) and driver_commit.can_withhold(plan, table):
            staged = driver_commit.stage_rows(made, plan, table, marker=told)
        if staged is not None:
            return partial(_publish, staged, told)
        if plan.landing.merge is not None:
            made.inlets.check_files()  # what is merged was read by now
        else:
            self._held.enter_context(hold_rows(made, always=True))

        def commit(marker: CommitMarker) -> None:
            if plan.landing.merge is not None and not marker.withheld:
                self._by_spark(made, plan, table, _with_measures(marker, told))
            else:
                self._commit(session, drop_withheld(made, marker.withheld), marker)

        return commit

    def _prepare_judged(
        self,
        session: SparkSession,
        made: SparkComputation,
        table: DeltaTable | None,
        marker: CommitMarker,
        asked: RowRules,
    ) -> tuple[DataFrame, Commit]:
        """The rows that rules judge, staged, and what commits those of them that are to be published."""
        staged = None
        if not mode_of(self._asset).by_spark:  # what it chooses of the rows is what is judged
            plan, told = self._held.enter_context(self._plan_write(session, made, table, marker))
            if self._is_ours(plan, table) and driver_commit.can_withhold(plan, table):
                staged = driver_commit.stage_rows(made, plan, table, marker=told, asked=asked)
        if staged is not None:
            rows, publish = driver_commit.own_rows(staged), partial(_publish, staged, told)
        else:
            beforehand = stage_judged(made, asked, marker=marker)
            self._held.callback(release_judged, made, marker)
            rows, publish = beforehand.read_judged(), partial(self._commit_some, session, beforehand)

        def commit(marker: CommitMarker) -> None:
            if judged_rows.is_needed(marker) and TAKEN in rows.columns:
                self._enlist()
                judged_rows.keep_quarantined(
                    rows, asked, made.order, keys_of(made.order, asked, rows.schema), marker=marker
                )
            publish(marker)

        return rows, commit

    def write(self, computation: RunComputation, *, marker: CommitMarker) -> None:
        """Computes the rows and commits them once, stamped; its return proves nothing.

        Raises:
            RunError: The computation or the commit failed.
            SourceError: Files changed while they were read; nothing was written.
        """
        if isinstance(computation, RestoreComputation):
            self._restore(computation.order_for(self._asset.name), marker)
            return
        made = computation_for(computation, self._asset.name)
        with self._workplace.work(made.order) as (session, work):
            work.check(made.order.run)
            if made.order.is_fully_withheld(marker.withheld):
                self.fence(computation, marker=marker)
                driver_commit.discard_attempt(self._asset, marker)
            elif self._prepared is not None and is_prepared_for(self._prepared[0], marker):
                self._prepared[1](marker)
            else:
                self._commit(session, made, marker)
        self._release()

    def _commit_some(self, session: SparkSession, beforehand: JudgedStaging, marker: CommitMarker) -> None:
        """One commit of what was staged beside the table, but for what is withheld."""
        self._commit(session, beforehand.select_published(marker.withheld), marker)

    def _commit(self, session: SparkSession, made: SparkComputation, marker: CommitMarker) -> None:
        """One commit, by the driver where it can."""
        table = open_table(path_of(self._asset))
        if _is_done(table, marker):
            return
        if self._asset.rules and marker.judgement is None:
            raise TypeError(f"{self._asset.name} has rules, and nothing says what they let through")
        with self._plan_write(session, made, table, marker) as (plan, told):
            if self._is_ours(plan, table) and driver_commit.write(made, plan, table, marker=told):
                return
            if isinstance(self._asset.write, PublishWrite):
                self._by_spark(made, _of_iteration(session, made, plan, table, told), table, told)
                return
            if plan.landing.merge is not None:
                made.inlets.check_files()  # what is merged was read by now
                self._by_spark(made, plan, table, told)
                return
            with hold_rows(made):
                self._by_spark(made, plan, table, told)

    def _by_spark(
        self, made: SparkComputation, plan: PlannedWrite, table: DeltaTable | None, marker: CommitMarker
    ) -> None:
        self._enlist()
        _refuse_conflicts(made, table, marker)
        if plan.landing.merge is not None:
            spark_commit.merge(plan, marker=marker)
        else:
            spark_commit.write(plan, marker=marker)

    @contextmanager
    def _plan_write(
        self, session: SparkSession, made: SparkComputation, table: DeltaTable | None, marker: CommitMarker
    ) -> Iterator[tuple[PlannedWrite, CommitMarker]]:
        """What becomes of the table as it is, and what is told of it."""
        there = _reread_target(session, made, table)
        if mode_of(self._asset).by_spark:
            self._enlist()
        with plan_write(
            made.order, made.frame, schema=made.schema, table=there, marker=marker, kept=made.kept_rows
        ) as (
            plan,
            told,
        ):
            yield plan, told

    def _is_ours(self, plan: PlannedWrite, table: DeltaTable | None) -> bool:
        """Whether the driver can commit that."""
        known = spark_creation_reason(self._asset) if table is None else spark_commit_reason(self._asset, table)
        return known is None and driver_commit.spark_write_reason(plan, table) is None

    def _current_table(self) -> TableAtPath | None:
        return find_table_at(path_of(self._asset))

    def _release(self) -> None:
        """Lets go of what was prepared."""
        self._prepared = None
        self._held.close()

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        """The segments of each open dimension that the run's partitions hold after it, by column.

        Raises:
            RunError: They cannot be read.
        """
        asset, path = order.asset, path_of(order.asset)
        with self._workplace.work(order) as (session, work):
            work.check(order.run)
            table = open_table(path)
            if table is None:
                raise RunError(f"{asset.name}: there is no table at {path} any more", hint="run it again")
            rows, _ = read_version(session, table, committed.stamped_version, path=path)
            return find_segments(rows, order)

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        """With what came out unchanged, where `unchanged: skip` asks for it.

        Most of the driver's commits tell it themselves.

        Raises:
            Exception: Whatever Spark or the table says.
        """
        if found.is_compared or self._asset.unchanged == "publish":
            return found
        if found.withheld:
            order = order.restrict_to(order.partitions - found.withheld)
        if found.operation == MERGED:
            same = after_merge(order, found)
            if same or not order.asset.partitioning.is_partitioned:
                return found.with_unchanged(same)
        with self._workplace.work(order) as (session, _):
            return found.with_unchanged(after_commit(session, order, found))

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        """Removes what attempts of these runs, by claims with tokens up to that, staged and never committed."""
        self._release()
        path = path_of(self._asset)
        discard_all(path, runs, upto=upto, keep=find_kept_attempt(keep))
        remove_scratch_folders(path, runs, upto=upto)

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        """Removes the folders of iterations that are not among those to ``keep``, where the storage lets it."""
        discard_iterations(path_of(self._asset), keep=keep, unsettled=unsettled, tokens=tokens)

    def _restore(self, order: RunOrder, marker: CommitMarker) -> None:
        """Commits an older iteration as the newest; without Spark wherever the table lets it."""
        asset, path = self._asset, path_of(self._asset)
        rows, table = iteration_rows(path, order.restores), open_table(path)
        if rows is None or table is None or is_committed(table, app=marker.app_id, version=marker.version):
            return  # whoever looks finds whether it is in
        if spark_commit_reason(asset, table) is None and driver_commit.commit_restored(
            order, rows, table, marker=marker
        ):
            return
        with self._workplace.work(order) as (session, work):
            work.check(order.run)
            self._enlist()
            folder = f"{path}/{iteration_folder(order.restores, ROWS)}"
            frame = session.read.format("delta").load(folder)
            there = describe_table(path, table)
            with plan_write(order, frame, schema=frame.schema, table=there, marker=marker) as (plan, told):
                spark_commit.write(plan, marker=told)

    def _new_schema(self, session: SparkSession, computation: RunComputation | None) -> StructType:
        if computation is not None:
            return computation_for(computation, self._asset.name).schema
        if isinstance(self._asset.write, PublishWrite):
            return unpublished_schema()
        if self._asset.columns:
            return declared_schema(session, self._asset.columns)
        raise TargetMissingError(f"{self._asset.name}: there is no table at {path_of(self._asset)} yet")


def _publish(staged: driver_commit.DriverStaging, planned: CommitMarker, marker: CommitMarker) -> None:
    """Commits the staged rows except the withheld ones, with the measures that the write was planned with."""
    published = driver_commit.select_published(staged, marker.withheld)
    driver_commit.commit_staged(published, marker=_with_measures(marker, planned))


def _with_measures(marker: CommitMarker, planned: CommitMarker) -> CommitMarker:
    """The marker with the measures of a planned write, such as the version of an upsert's memory, and its own."""
    return replace(marker, measures={**planned.measures, **marker.measures})


def find_kept_attempt(found: DataCommit | None) -> StagingAttempt | None:
    """Whose files a commit holds that was found; of one that publishes nothing there are none."""
    if found is None or found.measures.get("published") == "nothing":
        return None
    return StagingAttempt(found.run, found.token, found.attempt)


def _is_done(table: DeltaTable | None, marker: CommitMarker) -> bool:
    """Whether the commit is in, or a newer one."""
    return table is not None and is_committed(table, app=marker.app_id, version=marker.version)


def _of_iteration(
    session: SparkSession, made: SparkComputation, plan: PlannedWrite, table: DeltaTable | None, marker: CommitMarker
) -> PlannedWrite:
    """The write of rows that are staged as an iteration first: what Spark commits are others, in the table's folder."""
    folder = driver_commit.stage_iteration(made, plan, table, marker)
    rows = session.read.format("delta").load(folder)
    if made.order.keeps_newest_iteration:
        return replace(plan, landing=RowLanding(rows.filter("false")))
    return replace(plan, landing=replace(plan.landing, rows=rows))


def _refuse_conflicts(made: SparkComputation, table: DeltaTable | None, marker: CommitMarker) -> None:
    """Refuses what others did to the table since the rows were made of it: Spark's commit knows of no such rows.

    Raises:
        CommitConflictError: They changed it.
    """
    if table is None or made.read_version is None:
        return
    table.update_incremental()
    if not is_committed(table, app=marker.app_id, version=marker.version):
        asset, everything = made.order.asset, lambda _: True
        change = CommitRequest(
            asset.name, marker.app_id, marker.version, format_marker(marker), conflicts_with=everything
        )
        refuse_conflicts(path_of(asset), table, change, since=made.read_version)


def _reread_target(session: SparkSession, made: SparkComputation, table: DeltaTable | None) -> TargetTable | None:
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
    there = describe_table(path_of(asset), table)
    check_schema(session, made.order, made.schema, there)
    return there
