"""A Delta table that a catalog knows by name, to which Spark commits; nothing of it is done by where its files are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import RunJudgement
from sparkassets.delta.commit import CommitConflictError
from sparkassets.ports import CommitMarker, DataCommit, Enlist, RunComputation, RunOrder, TargetMissingError
from sparkassets.spark import commit_history
from sparkassets.spark.commit_history import changes_rows, commits_since
from sparkassets.spark.computation import OutletComputations, SparkComputation, computation_for, hold_rows
from sparkassets.spark.current_table import NamedTable, find_named_table
from sparkassets.spark.partition_guard import find_segments
from sparkassets.spark.schemas import declared_schema, supplied_columns
from sparkassets.spark.scratch import remove_scratch
from sparkassets.spark.target_table import TargetTable, relation_of
from sparkassets.spark.targets import judged_rows, spark_commit
from sparkassets.spark.targets.judged_rows import (
    drop_withheld,
    find_rules,
    is_prepared_for,
    judge_rows,
    keys_of,
    release_judged,
    stage_judged,
)
from sparkassets.spark.targets.unchanged_partitions import of_versions
from sparkassets.spark.validation import TAKEN
from sparkassets.spark.workplace import SparkWorkplace
from sparkassets.spark.writes import check_schema, plan_write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

Commit = Callable[[CommitMarker], None]
"""Commits what is prepared, by a marker that tells what is withheld of it."""


class NamedTarget:
    """Looked into and written to through the session; implements `ports.Target`."""

    def __init__(self, workplace: SparkWorkplace, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> None:
        self._workplace = workplace
        self._asset = asset
        self._relation = relation_of(asset)
        self._app_id = app_id
        self._enlist = enlist
        self._before: commit_history.TableMoment | None = None
        self._prepared: tuple[CommitMarker, Commit] | None = None
        self._held = ExitStack()

    def transaction_version(self) -> int | None:
        """The newest version that was committed; None without a table or any commit of the asset's."""
        with self._workplace.enter_session(self._asset) as session:
            now = commit_history.read_moment(find_named_table(session, self._relation), self._app_id)
        self._before = self._before or now  # no fence of this run's was in when it asked first
        return None if now is None else now.transaction

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        """The data commits of these runs, oldest first; none of theirs has a transaction version below ``above``.

        Raises:
            HistoryGoneError: The history cannot tell.
        """
        with self._workplace.enter_session(self._asset) as session:
            table = find_named_table(session, self._relation)
            return commit_history.find_commits(
                self._asset, table, runs, app_id=self._app_id, above=above, before=self._before
            )

    def fence(self, computation: RunComputation | None, *, marker: CommitMarker) -> None:
        """Commits no rows, stamped; creates a missing table with the computation's or the declared columns.

        Raises:
            FenceConflictError: Somebody committed meanwhile: look again.
            TargetMissingError: There is no table, and nothing tells its columns.
        """
        with self._workplace.enter_session(self._asset) as session:
            table = find_named_table(session, self._relation)
            there = None if table is None else table.describe_target()
            schema = self._new_schema(session, computation) if there is None else supplied_columns(there.schema)
            self._enlist()
            spark_commit.fence(session, self._asset, schema, table=there, marker=marker)

    def prepare(self, computation: RunComputation, *, marker: CommitMarker) -> RunJudgement | None:
        """Stages the rows where rules judge them; else computes them, held where a session can.

        Raises:
            RunError: As of `write`.
            SourceError: As of `write`.
        """
        made = computation_for(computation, self._asset.name)
        self._release()
        with self._workplace.work(made.order) as (session, work):
            work.check(made.order.run)
            if self._is_done(find_named_table(session, self._relation), marker):
                return None
            if isinstance(computation, OutletComputations):
                computation.hold()
            asked = find_rules(made.order, made.inlets, self._workplace.packages)
            if asked is None:
                self._prepared = (marker, self._prepare_unjudged(session, made))
                return None
            beforehand = stage_judged(made, asked, marker=marker)
            self._held.callback(release_judged, made, marker)
            rows = beforehand.read_judged()

            def commit(marker: CommitMarker) -> None:
                if judged_rows.is_needed(marker) and TAKEN in rows.columns:
                    self._enlist()
                    judged_rows.keep_quarantined(
                        rows, asked, made.order, keys_of(made.order, asked, rows.schema), marker=marker
                    )
                self._commit(session, beforehand.select_published(marker.withheld), marker)

            self._prepared = (marker, commit)
            return None if marker.judgement is not None else judge_rows(made.order, asked, rows)

    def write(self, computation: RunComputation, *, marker: CommitMarker) -> None:
        """Computes the rows and commits them once, stamped; its return proves nothing.

        Raises:
            RunError: The computation or the commit failed.
            SourceError: Files changed while they were read; nothing was written.
        """
        made = computation_for(computation, self._asset.name)
        with self._workplace.work(made.order) as (session, work):
            work.check(made.order.run)
            if made.order.is_fully_withheld(marker.withheld):
                self.fence(computation, marker=marker)
            elif self._prepared is not None and is_prepared_for(self._prepared[0], marker):
                self._prepared[1](marker)
            else:
                self._commit(session, made, marker)
        self._release()

    def _prepare_unjudged(self, session: SparkSession, made: SparkComputation) -> Commit:
        """What commits rows that no rule judges, of which partitions may be withheld all the same."""
        self._held.enter_context(hold_rows(made, always=True))
        return lambda marker: self._commit(session, drop_withheld(made, marker.withheld), marker)

    def _commit(self, session: SparkSession, made: SparkComputation, marker: CommitMarker) -> None:
        """One commit."""
        table = find_named_table(session, self._relation)
        if self._is_done(table, marker):
            return
        if self._asset.rules and marker.judgement is None:
            raise TypeError(f"{self._asset.name} has rules, and nothing says what they let through")
        there = self._reread_target(session, made, table)
        self._enlist()
        if there is None:
            self._make(session, made.schema, marker)
        with plan_write(
            made.order, made.frame, schema=made.schema, table=there, marker=marker, kept=made.kept_rows
        ) as (
            plan,
            told,
        ):
            if plan.landing.merge is not None:
                made.inlets.check_files()  # what is merged was read by now
                self._refuse_conflicts(session, made, told)
                spark_commit.merge(plan, marker=told)
                return
            with hold_rows(made):
                self._refuse_conflicts(session, made, told)
                spark_commit.write(plan, marker=told)

    def _make(self, session: SparkSession, schema: StructType, marker: CommitMarker) -> None:
        """Creates the table by a fence of the run's own: what creates one cannot be told to be a run's data.

        Raises:
            CommitConflictError: Somebody was quicker.
        """
        own = replace(marker, kind="fence", version=marker.version - 1, measures={})
        spark_commit.fence(session, self._asset, schema, table=None, marker=own)
        table = find_named_table(session, self._relation)
        if table is None or table.transaction_version(marker.app_id) != own.version:
            raise CommitConflictError(f"{self._asset.name}: another writer made the table meanwhile")

    def _reread_target(
        self, session: SparkSession, made: SparkComputation, table: NamedTable | None
    ) -> TargetTable | None:
        """The table as the rows are to land in it, which may have changed since they were described.

        Raises:
            CommitConflictError: It is gone, or another one has its name.
            RunError: The rows do not fit it any more.
        """
        seen = made.target
        if seen is not None and (table is None or table.table_id != seen.table_id):
            what = "removed the table" if table is None else "made the table anew"
            raise CommitConflictError(f"{self._asset.name}: another writer {what} meanwhile")
        if table is None or (seen is not None and seen.version == table.version):
            return seen
        there = table.describe_target()
        check_schema(session, made.order, made.schema, there)
        return there

    def _refuse_conflicts(self, session: SparkSession, made: SparkComputation, marker: CommitMarker) -> None:
        """Refuses what others did to the table since the rows were made of it: Spark's commit knows of no such rows.

        Raises:
            CommitConflictError: They changed it.
        """
        if made.read_version is None:
            return
        table = find_named_table(session, self._relation)
        if table is None or self._is_done(table, marker):
            return
        later = commits_since(table, made.read_version)
        if later is None or any(changes_rows(each) for each in later):
            raise CommitConflictError(f"{self._asset.name}: another writer changed the table meanwhile")

    def _is_done(self, table: NamedTable | None, marker: CommitMarker) -> bool:
        """Whether the commit is in, or a newer one."""
        newest = None if table is None else table.transaction_version(marker.app_id)
        return newest is not None and newest >= marker.version

    def _release(self) -> None:
        """Lets go of what was prepared."""
        self._prepared = None
        self._held.close()

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        """The segments of each open dimension that the run's partitions hold after it, by column.

        Raises:
            RunError: They cannot be read.
        """
        with self._workplace.work(order) as (session, work):
            work.check(order.run)
            return find_segments(self._relation.read_rows(session, committed.stamped_version), order)

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        """With what came out unchanged, where `unchanged: skip` asks for it.

        Raises:
            Exception: Whatever Spark or the table says.
        """
        if found.is_compared or self._asset.unchanged != "skip":
            return found
        if found.withheld:
            order = order.restrict_to(order.partitions - found.withheld)
        with self._workplace.work(order) as (session, _):
            table = find_named_table(session, self._relation)
            if table is None or order.known_position is None or table.table_id != order.known_position[0]:
                return found
            later = commits_since(table, order.known_position[1])
            told = later is not None and not any(
                changes_rows(each) for each in later if each["version"] < found.stamped_version
            )
            rows = partial(self._relation.read_rows, session)
            return found.with_unchanged(of_versions(rows, order, found.stamped_version)) if told else found

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        """Removes what attempts of these runs, by claims with tokens up to that, staged and never committed."""
        del keep  # nothing that is staged stays
        self._release()
        with self._workplace.enter_session(self._asset) as session:
            remove_scratch(session, self._relation, runs, upto=upto)

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        """Nothing: none are published here."""

    def _new_schema(self, session: SparkSession, computation: RunComputation | None) -> StructType:
        if computation is not None:
            return computation_for(computation, self._asset.name).schema
        if self._asset.columns:
            return declared_schema(session, self._asset.columns)
        raise TargetMissingError(f"{self._asset.name}: there is no table {self._relation.storage.given} yet")
