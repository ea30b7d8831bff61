"""``upsert``: a run's rows take the place of those with their keys; others come to what is there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import UpsertWrite, is_unstored_column
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker, RunOrder
from sparkassets.spark import layouts, schema_evolution, sqltext
from sparkassets.spark.failures import run_error
from sparkassets.spark.partition_guard import PartitionGuard, guard_for
from sparkassets.spark.relation import TableRelation, relation_of
from sparkassets.spark.target_table import TargetTable
from sparkassets.spark.upserts import key_history
from sparkassets.spark.upserts.key_merge import KeyMerge
from sparkassets.spark.upserts.row_reduction import DELETED, UpsertRows, stored_schema
from sparkassets.spark.upserts.staged_rows import KeptRows, StagedRows, stage_kept, stage_rows
from sparkassets.spark.upserts.upsert_memory import MEASURE, UpsertMemory
from sparkassets.spark.writes.landing import ChosenRows, ReadyRows, RowLanding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class UpsertMode:
    """Implements `LandingMode` for `sparkassets.core.writes.UpsertWrite`; `sparkassets.spark.upserts` tells how."""

    by_spark = True

    def table_schema(self, asset: AssetSpec, schema: StructType) -> StructType:
        """Those whose names do not begin with ``_``, and those of a history."""
        write = _upsert(asset)
        if write.history is not None:
            return key_history.with_times(schema, write, write.history, asset=asset.name)
        return stored_schema(schema)

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """A rebuild may change the columns; another run as the asset's ``schema`` lets it."""
        if order.rebuilds:
            layouts.refuse_broken(order.asset.name, schema, table)
        else:
            schema_evolution.refuse_misfit(order.asset, schema, table)

    def choose_rows(self, order: RunOrder, frame: DataFrame) -> ChosenRows:
        """The newest of each key, which are the newest as well where nothing else is left of the rows."""
        rows, blocks = _rows_of(order, frame), guard_for(order, stored_schema(frame.schema))
        reduced = rows.reduce_rows()
        guarded = reduced if blocks is None else blocks.guard_rows(reduced)
        return ChosenRows(guarded, frame.columns, DELETED, rows.explain_error)

    @contextlib.contextmanager
    def prepare_rows(
        self,
        order: RunOrder,
        frame: DataFrame,
        table: TargetTable | None,
        *,
        marker: CommitMarker,
        kept: KeptRows | None = None,
    ) -> Iterator[ReadyRows]:
        """Chooses the newest row of each key, stages them, and remembers what the table does not tell.

        What was chosen and staged before to be judged is neither chosen nor staged once more, unless some of it is
        late.
        """
        run = _UpsertRun.from_order(order, frame, None if order.rebuilds else table, marker, kept)
        if run.table is None and not run.rows.remembers and not run.rows.is_history:
            yield ReadyRows(_live(run.choose_rows()), marker, explain_error=run.rows.explain_error)
            return
        with contextlib.ExitStack() as stack:
            try:
                found = stack.enter_context(run.stage_rows())
                told = run.remember_rows(found)
                if run.rows.is_history:
                    states = run.states(found)
                    found = stack.enter_context(
                        stage_rows(run.rows, states, run.relation, marker=marker, part="states")
                    )
            except RunError:
                raise
            except Exception as error:
                raise run.explain_error(error) from error
            landing = run.make_merge(found)
            yield ReadyRows(_live(found.read_rows(run.session)) if landing is None else landing.rows, told, landing)

    def plan_landing(
        self, order: RunOrder, frame: DataFrame, table: TargetTable, *, blocks: PartitionGuard | None
    ) -> RowLanding:
        """Of a rebuild: its rows take the place of all."""
        del blocks  # no row is outside by now
        rows, columns = layouts.replace_rows(frame, table)
        after = layouts.restore_statements(frame.sparkSession, relation_of(order.asset), frame.schema, table)
        return RowLanding(rows, "all", columns, statements_after=after)


@frozen
class _UpsertRun:
    """One run's rows on their way to be merged.

    Attributes:
        frame: As computed.
        table: That they are merged into; None where all is made anew.
    """

    asset: AssetSpec
    write: UpsertWrite
    frame: DataFrame
    rows: UpsertRows
    blocks: PartitionGuard | None
    table: TargetTable | None
    memory: UpsertMemory
    marker: CommitMarker
    kept: KeptRows | None

    @classmethod
    def from_order(
        cls, order: RunOrder, frame: DataFrame, table: TargetTable | None, marker: CommitMarker, kept: KeptRows | None
    ) -> _UpsertRun:
        asset, write = order.asset, _upsert(order.asset)
        blocks, rows = guard_for(order, stored_schema(frame.schema)), _rows_of(order, frame)
        memory = UpsertMemory.load_memory(
            frame.sparkSession, rows, relation_of(asset), table, app=marker.app_id, keep=write.keep_deletes
        )
        return cls(asset, write, frame, rows, blocks, table, memory, marker, kept)

    @property
    def relation(self) -> TableRelation:
        return relation_of(self.asset)

    @property
    def session(self) -> SparkSession:
        return self.frame.sparkSession

    def choose_rows(self) -> DataFrame:
        """One row of each key; one outside the blocks fails the job."""
        if self.kept is not None:
            return self.kept.read_rows(self.session)
        reduced = self.rows.reduce_rows()
        return reduced if self.blocks is None else self.blocks.guard_rows(reduced)

    def stage_rows(self) -> AbstractContextManager[StagedRows]:
        """Of these what is not late, staged; a history has a place for all that comes."""
        chosen = self.choose_rows()
        timely = chosen if self.rows.is_history else self.memory.without_late(chosen, self.session)
        if self.kept is not None and timely is chosen:
            return contextlib.nullcontext(stage_kept(self.rows, self.kept, self.session))
        return stage_rows(self.rows, timely, self.relation, marker=self.marker)

    def remember_rows(self, found: StagedRows) -> CommitMarker:
        """The marker with the version of the memory that counts with the commit, after what is new is in it."""
        version, rows = self.memory.version, self.rows
        if rows.remembers and (found.deleted or (rows.remembers_all and found.count)):
            version = self.memory.remember(self.session, found.read_rows(self.session), marker=self.marker)
        if version is None:
            return self.marker
        return replace(self.marker, measures={**self.marker.measures, MEASURE: version})

    def states(self, found: StagedRows) -> DataFrame:
        """What the table is to have of the keys that come, where it does not have it so."""
        if self.write.history is None:
            raise TypeError(f"{self.asset.name} has no history")
        known, keys = self.memory.read_remembered(self.session), self.rows.keys
        remembered = None if known is None else self.memory.as_rows(known)
        there = None
        if self.table is not None:
            there = self.relation.read_rows(self.session, self.table.version)
            bounds = [
                f"{sqltext.name(k)} BETWEEN {found.bounds[k][0]} AND {found.bounds[k][1]}"
                for k in keys[:-1]
                if k in found.bounds
            ]
            for condition in [*bounds, *([] if self.blocks is None else [self.blocks.predicate])]:
                there = there.filter(condition)
        came = found.read_rows(self.session)
        return key_history.state(self.rows, self.write.history, came, there=there, remembered=remembered)

    def make_merge(self, found: StagedRows) -> RowLanding | None:
        """How what is staged is merged; None where there is no table yet."""
        if self.table is None:
            return None
        stored = [name for name in found.schema.names if name != DELETED and not is_unstored_column(name)]
        kept = found.read_rows(self.session).select(*map(sqltext.name, stored))
        fitting, columns = schema_evolution.evolve_rows(kept, self.asset, self.table)
        merge = KeyMerge(
            found,
            self.rows.keys,
            tuple(stored),
            () if self.rows.is_history or self.rows.remembers_all else self.rows.newest_by,
            match_condition=None if self.blocks is None else self.blocks.predicate,
            has_deletes=self.rows.delete_when is not None,
        )
        before = schema_evolution.alter_statements(self.asset, fitting.schema, self.table)
        return RowLanding(fitting, "nothing", columns, statements_before=before, merge=merge)

    def explain_error(self, error: Exception) -> RunError:
        """What a job that chooses rows and failed says to people."""
        found = self.rows.explain_error(error)
        if found is None and self.blocks is not None:
            found = self.blocks.explain_error(error, self.frame)
            if found is not None:
                found.is_data_error = True
        return found if found is not None else run_error(error, what=self.asset.name)


def _rows_of(order: RunOrder, frame: DataFrame) -> UpsertRows:
    """The rows as an upsert takes them."""
    asset, write = order.asset, _upsert(order.asset)
    if write.history is not None:
        return key_history.changes(asset.name, write, write.history, frame, partition=asset.partitioning.columns)
    return UpsertRows.from_frame(asset.name, write, frame, partition=asset.partitioning.columns)


def _upsert(asset: AssetSpec) -> UpsertWrite:
    """The asset's write, which is one."""
    if not isinstance(asset.write, UpsertWrite):
        raise TypeError(f"{asset.name} is no upsert")
    return asset.write


def _live(chosen: DataFrame) -> DataFrame:
    """Of the chosen rows what a table gets that has none yet."""
    names = (name for name in chosen.columns if not is_unstored_column(name))
    return chosen.filter(f"NOT {DELETED}").select(*map(sqltext.name, names))
