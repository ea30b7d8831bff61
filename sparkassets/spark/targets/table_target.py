"""A Delta table at a path or in a catalog as a run's target: the driver commits to it where it can, else Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from sparkassets.core.iterations import ROWS, iteration_folder
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import RunJudgement
from sparkassets.delta.commit import CommitConflictError, is_committed
from sparkassets.delta.features import spark_commit_reason, spark_creation_reason
from sparkassets.delta.staging import StagingAttempt, discard_all, discard_iterations, iteration_rows
from sparkassets.ports import (
    CommitStamp,
    DataCommit,
    Enlist,
    FenceConflictError,
    RunComputation,
    RunOrder,
    TargetMissingError,
)
from sparkassets.spark.capabilities import require_commits
from sparkassets.spark.column_comments import has_comments, update_comments
from sparkassets.spark.computation import OutletComputations, SparkComputation, computation_for, hold_rows
from sparkassets.spark.iterations import RestoreComputation, unpublished_schema
from sparkassets.spark.open_tables import (
    OpenedTable,
    PathTable,
    TableDescription,
    describe_table,
    find_catalog_table,
    open_table,
)
from sparkassets.spark.schemas import declared_schema, supplied_columns
from sparkassets.spark.scratch import remove_scratch, remove_scratch_folders
from sparkassets.spark.table_locations import path_of
from sparkassets.spark.targets import driver_commit, judged_rows, spark_commit
from sparkassets.spark.targets.driver_staging import (
    DriverStaging,
    can_withhold,
    discard_attempt,
    own_rows,
    select_published,
    stage_rows,
)
from sparkassets.spark.targets.judged_rows import (
    JudgedStaging,
    find_rules,
    judge_staged,
    keys_of,
    release_judged,
    stage_judged,
)
from sparkassets.spark.targets.opened_target import OpenedTarget
from sparkassets.spark.validation import TAKEN, ObservedFigures, RowRules
from sparkassets.spark.workplace import SparkWorkplace
from sparkassets.spark.writes import PlannedWrite, check_schema, mode_of, plan_write

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


Commit = Callable[[CommitStamp], None]
"""Commits prepared rows; the stamp says which of them are withheld."""


class TableTarget(OpenedTarget):
    """Writes a Delta table, by the driver or by Spark; implements `ports.Target`.

    ``enlist`` is called before Spark commits.
    """

    def __init__(self, workplace: SparkWorkplace, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> None:
        super().__init__(workplace, asset, app_id=app_id)
        self._enlist = enlist
        self._prepared: tuple[CommitStamp, Commit] | None = None
        self._resources = ExitStack()

    def fence(self, computation: RunComputation | None, *, stamp: CommitStamp) -> None:
        """Commits no rows, with the stamp; a missing table is created with the computation's or the declared columns.

        Raises:
            FenceConflictError: Another writer committed meanwhile: look again.
            TargetMissingError: There is no table, and its columns are unknown.
        """
        asset, delta = self._asset, None if self._in_catalog else open_table(path_of(self._asset))
        if delta is not None and spark_commit_reason(asset, delta) is None:
            driver_commit.fence(asset, delta, stamp=stamp)
            return
        with self._workplace.enter_session(asset) as session:
            table = self._find_table(session) if delta is None else PathTable(path_of(asset), delta)
            described = None if table is None else table.describe()
            schema = self._new_schema(session, computation) if described is None else supplied_columns(described.schema)
            if described is None:
                reason = spark_creation_reason(asset) or driver_commit.session_creation_reason(session, schema)
            else:
                reason = spark_commit_reason(asset, delta)
            if reason is not None:
                require_commits(session, asset.name, reason)
                self._enlist()
                spark_commit.fence(session, asset, schema, table=described, stamp=stamp)
            elif described is None:
                driver_commit.make_table(asset, schema, stamp=stamp)
            else:
                raise FenceConflictError(f"{asset.name}: another writer created the table")

    def prepare(self, computation: RunComputation, *, stamp: CommitStamp) -> RunJudgement | None:
        """Prepares the commit; returns the judgement of the rows, or None if no rules have to judge them.

        Rows are staged if the driver will commit them or rules judge them; otherwise they are computed, and cached
        where the session can.

        Raises:
            RunError: As of `write`.
            SourceError: As of `write`.
        """
        if isinstance(computation, RestoreComputation):
            return None
        table_computation = computation_for(computation, self._asset.name)
        self._release()
        with self._workplace.work(table_computation.order) as (session, work):
            work.check(table_computation.order.run)
            table = self._find_table(session)
            if spark_commit.is_done(table, stamp):
                return None
            if isinstance(computation, OutletComputations):
                computation.hold()
            rules = find_rules(table_computation.order, table_computation.inlets, self._workplace.packages)
            if rules is None:
                self._prepared = (stamp, self._prepare_unjudged(session, table_computation, table, stamp))
                return None
            read_rows, observed, commit = self._prepare_judged(session, table_computation, table, stamp, rules)
            self._prepared = (stamp, commit)
            if stamp.judgement is not None:
                return None
            return judge_staged(table_computation.order, rules, read_rows, observed)

    def _prepare_unjudged(
        self, session: SparkSession, computation: SparkComputation, table: OpenedTable | None, stamp: CommitStamp
    ) -> Commit:
        """Prepares rows without rules, and returns what commits them.

        Partitions of a multi-asset may still be withheld, because another outlet withholds them.
        """
        plan, planned = None, stamp
        if not self._in_catalog:
            plan, planned, staged = self._stage(session, computation, table, stamp)
            if staged is not None:
                return partial(_publish, staged, planned)
        if plan is not None and plan.landing.merge is not None:
            computation.inlets.check_files()  # the rows to merge have been read by now
        else:
            self._resources.enter_context(hold_rows(computation, always=True))

        def commit(stamp: CommitStamp) -> None:
            if plan is not None and plan.landing.merge is not None and not stamp.withheld:
                measured = _with_measures(stamp, planned)
                if not self._commit_by_driver(computation, plan, table, measured):
                    self._commit_by_spark(computation, plan, table, measured)
            else:
                self._commit(session, computation.without(stamp.withheld), stamp)

        return commit

    def _prepare_judged(
        self,
        session: SparkSession,
        computation: SparkComputation,
        table: OpenedTable | None,
        stamp: CommitStamp,
        rules: RowRules,
    ) -> tuple[Callable[[], DataFrame], ObservedFigures | None, Commit]:
        """Stages the rows; returns how to read those that rules judge, what was measured, and what commits the rest.

        The commit puts rows into quarantine first: if that fails, nothing is published.
        """
        staged, planned, observed = None, stamp, None
        if not self._in_catalog and not mode_of(computation.order).by_spark:  # such a mode's chosen rows are judged
            _, planned, staged = self._stage(session, computation, table, stamp, rules=rules)
        publish: Commit
        if staged is not None:
            read_rows, publish = cache(partial(own_rows, staged)), partial(_publish, staged, planned)
            observed = staged.observed
        else:
            judged = stage_judged(computation, rules, stamp=stamp)
            self._resources.callback(release_judged, computation, stamp)
            read_rows, publish = cache(judged.read_judged), partial(self._commit_judged, session, judged)

        def commit(stamp: CommitStamp) -> None:
            if judged_rows.has_quarantined_rows(stamp) and TAKEN in (rows := read_rows()).columns:
                self._enlist()
                keys = keys_of(computation.order, rules, rows.schema)
                judged_rows.keep_quarantined(rows, rules, computation.order, keys, stamp=stamp)
            publish(stamp)

        return read_rows, observed, commit

    def _stage(
        self,
        session: SparkSession,
        computation: SparkComputation,
        table: OpenedTable | None,
        stamp: CommitStamp,
        *,
        rules: RowRules | None = None,
    ) -> tuple[PlannedWrite, CommitStamp, DriverStaging | None]:
        """The planned write, its stamp with measures, and the staged rows; None in place of these if Spark commits."""
        plan, planned = self._resources.enter_context(self._plan_write(session, computation, table, stamp))
        delta = _delta_table(table)
        if self._find_spark_reason(plan, delta) is not None or not can_withhold(plan, delta):
            return plan, planned, None
        staged = stage_rows(computation, plan, delta, stamp=planned, rules=rules)
        return plan, planned, staged if isinstance(staged, DriverStaging) else None

    def write(self, computation: RunComputation, *, stamp: CommitStamp) -> None:
        """Computes the rows and commits them once, with the stamp.

        A return does not prove that the commit is in the table: the caller looks for it.

        Raises:
            RunError: The computation or the commit failed.
            SourceError: Files changed while they were read; nothing was written.
        """
        if isinstance(computation, RestoreComputation):
            self._restore(computation.order_for(self._asset.name), stamp)
            return
        table_computation = computation_for(computation, self._asset.name)
        with self._workplace.work(table_computation.order) as (session, work):
            work.check(table_computation.order.run)
            if table_computation.order.is_fully_withheld(stamp.withheld):
                self.fence(computation, stamp=stamp)
                if not self._in_catalog:
                    discard_attempt(self._asset, stamp)
            elif self._prepared is not None and replace(self._prepared[0], measures=stamp.measures) == stamp:
                self._prepared[1](stamp)
            else:
                self._commit(session, table_computation, stamp)
            target = table_computation.target
            if target is None or not has_comments(self._asset, target.schema):
                update_comments(session, self._asset, self._find_table(session), stamp=stamp)
        self._release()

    def _commit(self, session: SparkSession, computation: SparkComputation, stamp: CommitStamp) -> None:
        """Plans and commits the rows, by the driver where it can; does nothing if the stamp's commit is in already."""
        table = self._find_table(session)
        if spark_commit.is_done(table, stamp):
            return
        if self._asset.rules and stamp.judgement is None:
            raise TypeError(f"{self._asset.name} has rules, but their verdicts are missing")
        if table is None and self._in_catalog and computation.target is None:
            self._create_in_catalog(session, computation.schema, stamp)
        delta = _delta_table(table)
        with self._plan_write(session, computation, table, stamp) as (plan, planned):
            if self._commit_by_driver(computation, plan, table, planned):
                return
            if self._asset.publishes:
                copy = driver_commit.plan_iteration_copy(computation, plan, delta, planned)
                self._commit_by_spark(computation, copy, table, planned)
            elif plan.landing.merge is not None:
                computation.inlets.check_files()  # the rows to merge have been read by now
                self._commit_by_spark(computation, plan, table, planned)
            else:
                with hold_rows(computation):
                    self._commit_by_spark(computation, plan, table, planned)

    def _commit_judged(self, session: SparkSession, judged: JudgedStaging, stamp: CommitStamp) -> None:
        self._commit(session, judged.select_published(stamp.withheld), stamp)

    def _create_in_catalog(self, session: SparkSession, schema: StructType, stamp: CommitStamp) -> None:
        """Creates the table by a fence, because the commit that creates a catalog's table can carry no stamp.

        Raises:
            CommitConflictError: Another writer created it first.
        """
        require_commits(session, self._asset.name, "it is in a catalog")
        self._enlist()
        fence = replace(stamp, kind="fence", version=stamp.version - 1, measures={})
        spark_commit.fence(session, self._asset, schema, table=None, stamp=fence)
        table = find_catalog_table(session, self._location)
        if table is None or table.transaction_version(stamp.app_id) != fence.version:
            raise CommitConflictError(f"{self._asset.name}: another writer created the table during the run")

    def _commit_by_spark(
        self, computation: SparkComputation, plan: PlannedWrite, table: OpenedTable | None, stamp: CommitStamp
    ) -> None:
        """Commits the planned write in one commit of Spark: a merge of staged rows, or the rows themselves.

        Raises:
            CommitConflictError: Others changed the table since rows were made from it; Spark does not check such reads.
            RunError: Whatever Spark says; nothing was published.
        """
        self._enlist()
        if table is not None and computation.read_version is not None:
            spark_commit.refuse_conflicts(self._asset, table, stamp=stamp, since=computation.read_version)
        if plan.landing.merge is not None:
            spark_commit.merge(plan, stamp=stamp)
        else:
            spark_commit.write(plan, stamp=stamp)

    @contextmanager
    def _plan_write(
        self, session: SparkSession, computation: SparkComputation, table: OpenedTable | None, stamp: CommitStamp
    ) -> Iterator[tuple[PlannedWrite, CommitStamp]]:
        """Plans the write into the table as it is now; yields the plan, and the stamp with the plan's measures."""
        described = _describe_again(session, computation, table)
        if mode_of(computation.order).by_spark:
            self._enlist()
        with plan_write(
            computation.order,
            computation.frame,
            schema=computation.schema,
            table=described,
            stamp=stamp,
            kept=computation.kept_rows,
        ) as planned:
            yield planned

    def _commit_by_driver(
        self, computation: SparkComputation, plan: PlannedWrite, table: OpenedTable | None, stamp: CommitStamp
    ) -> bool:
        """Commits the planned write and returns True; False, with nothing written, where Spark has to commit.

        Raises:
            RunError: As of `driver_commit.write`, or the session cannot commit, either.
        """
        delta = _delta_table(table)
        reason = self._find_spark_reason(plan, delta) or driver_commit.write(computation, plan, delta, stamp=stamp)
        if reason is not None:
            require_commits(plan.landing.rows.sparkSession, self._asset.name, reason)
        return reason is None

    def _find_spark_reason(self, plan: PlannedWrite, table: DeltaTable | None) -> str | None:
        """Why Spark has to commit, as the end of a sentence, as far as that is known before anything is staged."""
        reason = spark_creation_reason(self._asset) if table is None else spark_commit_reason(self._asset, table)
        return reason or driver_commit.spark_write_reason(plan, table)

    def _release(self) -> None:
        """Drops the prepared commit, and releases what it held, such as cached and staged rows."""
        self._prepared = None
        self._resources.close()

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        """Removes files that attempts of these runs staged, except those that the commit ``keep`` holds.

        Only attempts of claims with tokens up to ``upto``: a newer claim may be completing one of the runs.
        """
        self._release()
        if self._in_catalog:
            with self._workplace.enter_session(self._asset) as session:
                remove_scratch(session, self._location, runs, upto=upto)
        else:
            path = path_of(self._asset)
            discard_all(path, runs, upto=upto, keep=find_kept_attempt(keep))
            remove_scratch_folders(path, runs, upto=upto)

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        """Removes the folders of iterations that are not among ``keep``, as far as the storage allows it."""
        if not self._in_catalog:
            discard_iterations(path_of(self._asset), keep=keep, unsettled=unsettled, tokens=tokens)

    def _restore(self, order: RunOrder, stamp: CommitStamp) -> None:
        """Makes an older iteration the newest again; without Spark where the table allows it."""
        asset, path = self._asset, path_of(self._asset)
        rows, table = iteration_rows(path, order.restores), open_table(path)
        if rows is None or table is None or is_committed(table, app=stamp.app_id, version=stamp.version):
            return  # `find_commits` says whether it is in
        reason = spark_commit_reason(asset, table)
        if reason is None and driver_commit.commit_restored(order, rows, table, stamp=stamp):
            return
        with self._workplace.work(order) as (session, work):
            work.check(order.run)
            require_commits(session, asset.name, reason or "files of the iteration do not fit it")
            self._enlist()
            folder = f"{path}/{iteration_folder(order.restores, ROWS)}"
            frame = session.read.format("delta").load(folder)
            described = describe_table(path, table)
            with plan_write(order, frame, schema=frame.schema, table=described, stamp=stamp) as (plan, planned):
                spark_commit.write(plan, stamp=planned)

    def _new_schema(self, session: SparkSession, computation: RunComputation | None) -> StructType:
        """The columns of a table that a fence creates: of the computation, else the declared ones.

        Raises:
            TargetMissingError: Neither is known.
        """
        if computation is not None:
            return computation_for(computation, self._asset.name).schema
        if self._asset.publishes:
            return unpublished_schema()
        if self._asset.columns:
            return declared_schema(session, self._asset.columns)
        raise TargetMissingError(f"{self._asset.name}: the table at {self._location.display_text} does not exist yet")


def _publish(staged: DriverStaging, planned: CommitStamp, stamp: CommitStamp) -> None:
    """Commits the staged rows without withheld partitions; the stamp gets the measures of the planned write."""
    published = select_published(staged, stamp.withheld, stamp=planned)
    driver_commit.commit_staged(published, stamp=_with_measures(stamp, planned))


def _with_measures(stamp: CommitStamp, planned: CommitStamp) -> CommitStamp:
    """``stamp`` with the measures of the planned write's stamp, such as the version of an upsert's memory."""
    return replace(stamp, measures={**planned.measures, **stamp.measures})


def find_kept_attempt(commit: DataCommit | None) -> StagingAttempt | None:
    """The attempt whose files a commit holds; None for a commit that publishes nothing."""
    if commit is None or commit.measures.get("published") == "nothing":
        return None
    return StagingAttempt(commit.run, commit.token, commit.attempt)


def _delta_table(table: OpenedTable | None) -> DeltaTable | None:
    """The table as deltalake opened it; None for one in a catalog, to which the driver never commits."""
    return table.opened if isinstance(table, PathTable) else None


def _describe_again(
    session: SparkSession, computation: SparkComputation, table: OpenedTable | None
) -> TableDescription | None:
    """The table that the rows are to land in, which may have changed since they were described.

    Raises:
        CommitConflictError: It is gone, or another one stands in its place.
        RunError: The rows do not fit it any more.
    """
    asset, previous = computation.order.asset, computation.target
    if previous is not None and (table is None or table.table_id != previous.table_id):
        change = "removed the table" if table is None else "re-created the table"
        raise CommitConflictError(f"{asset.name}: another writer {change} during the run")
    if table is None or (previous is not None and previous.version == table.version):
        return previous
    described = table.describe()
    check_schema(session, computation.order, computation.schema, described)
    return described
