"""The write mode that merges rows by their keys, with or without a history of each key.

A history is a function of all changes ever received, in whatever order: sorted by time, each change of a key holds
until the next one, or until the key is deleted. A row of the table is a change. Deletions are remembered beside it, and
so is the `newest_by` of every change where the table does not store it. All rows of the keys that a run touches are
computed again from stored, remembered and incoming changes; unchanged rows stay.

Of several changes of a key at one instant the last by `newest_by` counts; the others leave no row. If that does not
order them, a change wins over a deletion, and a later run over an earlier one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.writes import HistoryColumns, UpsertWrite, is_unstored_column
from sparkassets.delta.scratch_folders import REMEMBERED
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitStamp, RunOrder
from sparkassets.spark import schema_changes, sqltext
from sparkassets.spark.failures import run_error
from sparkassets.spark.open_tables import TableDescription, find_table
from sparkassets.spark.partition_guard import PartitionGuard, guard_for
from sparkassets.spark.table_locations import location_of
from sparkassets.spark.upserts.key_merge import KeyMerge
from sparkassets.spark.upserts.staged_rows import (
    DELETED,
    KeptRows,
    StagedRows,
    UpsertRows,
    stage_kept,
    stage_rows,
    stored_schema,
)
from sparkassets.spark.upserts.upsert_memory import UpsertMemory
from sparkassets.spark.writes.landing import ChosenRows, ReadyRows, RowLanding

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

_INCOMING: Final = "__sparkassets_came"
_STORED_END: Final = "__sparkassets_until"
_NUMBER: Final = "__sparkassets_number"
_IS_STORED: Final = "__sparkassets_stored"


def _history_schema(schema: StructType, write: UpsertWrite, history: HistoryColumns, *, asset: str) -> StructType:
    """The table's columns with a history: those of the result, then the end of each row and whether it is current.

    Raises:
        RunError: The result has a column that the history adds, or none that tells from when a row holds.
    """
    from pyspark.sql.types import BooleanType, StructField, StructType

    names = {field.name.lower(): field for field in schema.fields}
    for added in (history.valid_to, history.current):
        if added.lower() in names:
            raise RunError(f"{asset}: the result has the column {added!r}, which the history adds")
    start = names.get(history.valid_from.lower())
    if start is None and not write.newest_by:
        raise RunError(
            (
                f"{asset}: 'history' needs the start of each row's validity: the result lacks the column "
                f"{history.valid_from!r}"
            ),
            hint="return it, or write newest_by: <the column with the source's time> to fill it",
        )
    stored = [field for field in schema.fields if not is_unstored_column(field.name)]
    if start is None:
        first = names.get(write.newest_by[0].lower())
        if first is None:
            raise RunError(f"the result of {asset} has no column {write.newest_by[0]!r}")
        start = StructField(history.valid_from, first.dataType, nullable=True)
        stored.append(start)
    end = StructField(history.valid_to, start.dataType, nullable=True)
    return StructType([*stored, end, StructField(history.current, BooleanType(), nullable=True)])


def _make_changes(
    asset: str, write: UpsertWrite, history: HistoryColumns, frame: DataFrame, *, partition: Sequence[str]
) -> UpsertRows:
    """The rows of a run as changes for a history, each of one key at one instant.

    Without a column ``valid_from`` in the result, the first column of ``newest_by`` is that instant.
    """
    from pyspark.sql import functions as sql

    names = {name.lower() for name in frame.columns}
    has_time = history.valid_from.lower() in names
    if not has_time:
        frame = frame.withColumn(history.valid_from, sql.col(sqltext.name(write.newest_by[0])))
    newest_by = write.newest_by if has_time else write.newest_by[1:]
    rows = UpsertRows.from_frame(
        asset, replace(write, newest_by=newest_by), frame, partition=[*partition, history.valid_from]
    )
    tie_breakers = rows.tie_breakers if has_time and rows.tie_breakers else (rows.keys[-1], *rows.tie_breakers)
    return replace(rows, tie_breakers=tie_breakers, is_history=True)


def _compute_history(
    rows: UpsertRows,
    history: HistoryColumns,
    incoming: DataFrame,
    *,
    stored: DataFrame | None,
    remembered: DataFrame | None,
) -> DataFrame:
    """The rows that the table must have for the incoming keys, without those that it has already.

    A row that a deletion at its instant removes is among them, with `DELETED`.

    Args:
        rows: The incoming rows, from `_make_changes`.
        history: The names of its columns.
        incoming: The changes and deletions, with `DELETED`.
        stored: The rows of the table, at least of these keys; None for an empty table.
        remembered: What is remembered of the keys, from `UpsertMemory.as_rows`; None for nothing.
    """
    from pyspark.sql import functions as sql

    *keys, _ = rows.keys
    unstored = [name for name in rows.newest_by if is_unstored_column(name)]
    touched = incoming.select(*map(_column, keys)).distinct()
    events = _mark_incoming(rows, incoming, unstored)
    if remembered is not None:
        remembered = remembered.join(touched, keys, "left_semi")
        deletions = remembered.filter(DELETED).withColumn(_INCOMING, sql.lit(0))
        events = events.unionByName(deletions, allowMissingColumns=True)
    if stored is not None:
        known = stored.join(touched, keys, "left_semi").withColumns({DELETED: sql.expr("false"), _INCOMING: sql.lit(0)})
        known = known.withColumnRenamed(history.valid_to, _STORED_END).drop(history.current)
        if remembered is not None and unstored:
            newest = remembered.filter(f"NOT {DELETED}").select(*map(_column, rows.keys), *map(_column, unstored))
            known = known.join(newest, list(rows.keys), "left")
        events = events.unionByName(known, allowMissingColumns=True)
    return _order_events(events, rows, history).drop(*unstored)


def _mark_incoming(rows: UpsertRows, incoming: DataFrame, unstored: Sequence[str]) -> DataFrame:
    """The incoming rows as events: their keys, the values that the table stores or that order them, and marks."""
    from pyspark.sql import functions as sql

    values = [name for name in incoming.columns if name not in (*rows.keys, DELETED)]
    values = [name for name in values if name in unstored or not is_unstored_column(name)]
    marks = (_column(DELETED), sql.lit(1).alias(_INCOMING))
    events = incoming.select(*map(_column, rows.keys), *map(_column, values), *marks)
    return events.withColumn(_STORED_END, sql.lit(None).cast(incoming.schema[rows.keys[-1]].dataType))


def _order_events(events: DataFrame, rows: UpsertRows, history: HistoryColumns) -> DataFrame:
    """The rows of a history that must be written: each row ends where the next row of its key begins.

    Of several events of a key at one instant the first counts: the greatest ``newest_by``, then rows before deletions,
    then incoming before stored rows. Stored rows that keep their end are left out, and so are deletions of rows that
    are not stored.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    *keys, time = rows.keys
    at_instant = Window.partitionBy(*map(_column, rows.keys))
    newest = [_column(name).desc() for name in rows.newest_by]
    order = [*newest, _column(DELETED).asc(), _column(_INCOMING).desc()]
    is_stored = sql.expr(f"{_INCOMING} = 0 AND NOT {DELETED}")
    numbered = events.withColumns(
        {
            _NUMBER: sql.row_number().over(at_instant.orderBy(*order)),
            _IS_STORED: sql.max(is_stored).over(at_instant),
        }
    )
    chosen = numbered.filter(f"{_NUMBER} = 1")
    by_key = Window.partitionBy(*map(_column, keys)).orderBy(_column(time))
    next_start = sql.lead(_column(time)).over(by_key)
    ended = chosen.withColumn(history.valid_to, next_start)
    ended = ended.withColumn(history.current, sql.col(_q(history.valid_to)).isNull())
    same = f"{_INCOMING} = 0 AND {_STORED_END} <=> {_q(history.valid_to)}"
    changed = ended.filter(f"CASE WHEN {DELETED} THEN {_IS_STORED} ELSE NOT ({same}) END")
    return changed.drop(_NUMBER, _IS_STORED, _INCOMING, _STORED_END)


def _column(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.col(_q(name))


def _q(name: str) -> str:
    return sqltext.name(name)


class UpsertMode:
    """Merges rows by their keys: `LandingMode` for `UpsertWrite`; the steps are in `sparkassets.spark.upserts`."""

    by_spark = True

    def table_schema(self, asset: AssetSpec, schema: StructType) -> StructType:
        """The columns whose names do not begin with ``_``, followed by those that a history adds."""
        write = _upsert_mode(asset)
        if write.history is not None:
            return _history_schema(schema, write, write.history, asset=asset.name)
        return stored_schema(schema)

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TableDescription) -> None:
        """Refuses columns that the asset's ``schema`` does not let change; a rebuild may change them."""
        if order.rebuilds:
            schema_changes.refuse_broken(order.asset.name, schema, table)
        else:
            schema_changes.refuse_misfit(order, schema, table)

    def choose_rows(self, order: RunOrder, frame: DataFrame) -> ChosenRows:
        """The newest row of each key, deletions included.

        The choice survives judging: leaving out any of them makes no other row the newest of its key.
        """
        rows, partitions = _make_upsert_rows(order, frame), guard_for(order, stored_schema(frame.schema))
        reduced = rows.reduce_rows()
        guarded = reduced if partitions is None else partitions.guard_rows(reduced)
        return ChosenRows(guarded, frame.columns, DELETED, rows.explain_error)

    @contextlib.contextmanager
    def prepare_rows(
        self,
        order: RunOrder,
        frame: DataFrame,
        table: TableDescription | None,
        *,
        stamp: CommitStamp,
        kept: KeptRows | None = None,
    ) -> Iterator[ReadyRows]:
        """Chooses the newest row of each key, stages the rows, and remembers what the table does not store.

        Rows that were staged to be judged are used from there, unless some of them are older than what later runs
        wrote.
        """
        run = _UpsertRun.from_order(order, frame, None if order.rebuilds else table, stamp, kept)
        if run.table is None and not run.rows.remembers and not run.rows.is_history:
            yield ReadyRows(_select_live(run.choose_rows()), stamp, explain_error=run.rows.explain_error)
            return
        with contextlib.ExitStack() as stack:
            try:
                staged = stack.enter_context(run.stage_rows())
                measures = run.remember_rows(staged)
                if run.rows.is_history:
                    states = run.compute_states(staged)
                    staged = stack.enter_context(stage_rows(run.rows, states, run.location, stamp=stamp, part="states"))
            except RunError:
                raise
            except Exception as error:
                raise run.explain_error(error) from error
            landing = run.make_merge(staged)
            yield ReadyRows(
                _select_live(staged.read_rows(run.session)) if landing is None else landing.rows, measures, landing
            )

    def plan_landing(
        self, order: RunOrder, frame: DataFrame, table: TableDescription, *, partitions: PartitionGuard | None
    ) -> RowLanding:
        """How rows land without a merge, which only a rebuild does: they replace the whole table."""
        del partitions  # no row is outside by now
        rows, columns = schema_changes.replace_rows(frame, table)
        after = schema_changes.restore_statements(frame.sparkSession, location_of(order.asset), frame.schema, table)
        return RowLanding(rows, "all", columns, statements_after=after)


@frozen
class _UpsertRun:
    """The rows of one run, with what their merge needs.

    Attributes:
        frame: The rows as the asset's code returned them.
        table: The table to merge into; None for the first rows and for a rebuild.
    """

    asset: AssetSpec
    write: UpsertWrite
    frame: DataFrame
    rows: UpsertRows
    partitions: PartitionGuard | None
    table: TableDescription | None
    memory: UpsertMemory
    stamp: CommitStamp
    kept: KeptRows | None

    @classmethod
    def from_order(
        cls,
        order: RunOrder,
        frame: DataFrame,
        table: TableDescription | None,
        stamp: CommitStamp,
        kept: KeptRows | None,
    ) -> _UpsertRun:
        asset, write = order.asset, _upsert_mode(order.asset)
        partitions, rows = guard_for(order, stored_schema(frame.schema)), _make_upsert_rows(order, frame)
        memory = UpsertMemory.load_memory(
            frame.sparkSession, rows, location_of(asset), table, app=stamp.app_id, keep=write.keep_deletes
        )
        return cls(asset, write, frame, rows, partitions, table, memory, stamp, kept)

    @property
    def location(self) -> StorageLocation:
        return location_of(self.asset)

    @property
    def session(self) -> SparkSession:
        return self.frame.sparkSession

    def choose_rows(self) -> DataFrame:
        """One row for each key; a row outside the run's partitions fails the job."""
        if self.kept is not None:
            return self.kept.read_rows(self.session)
        reduced = self.rows.reduce_rows()
        return reduced if self.partitions is None else self.partitions.guard_rows(reduced)

    def stage_rows(self) -> AbstractContextManager[StagedRows]:
        """The chosen rows, staged, without those older than remembered ones of their keys.

        A history keeps older rows, too: each has its place between two others.
        """
        chosen = self.choose_rows()
        current = chosen if self.rows.is_history else self.memory.without_late(chosen, self.session)
        if self.kept is not None and current is chosen:
            return contextlib.nullcontext(stage_kept(self.rows, self.kept, self.session))
        return stage_rows(self.rows, current, self.location, stamp=self.stamp)

    def remember_rows(self, staged: StagedRows) -> CommitStamp:
        """Commits what later runs must know to the memory; returns the stamp with the memory's version to use.

        The version counts only once the table's commit with this stamp is in, so both change at once.
        """
        version, rows = self.memory.version, self.rows
        if rows.remembers and (staged.deletes or (rows.remembers_all and staged.count)):
            version = self.memory.remember(self.session, staged.read_rows(self.session), stamp=self.stamp)
        if version is None:
            return self.stamp
        return replace(self.stamp, measures={**self.stamp.measures, REMEMBERED: version})

    def compute_states(self, staged: StagedRows) -> DataFrame:
        """The rows of a history that must be written for the incoming keys, without those that are stored already."""
        if self.write.history is None:
            raise TypeError(f"{self.asset.name} has no history")
        memory_rows, keys = self.memory.read_remembered(self.session), self.rows.keys
        remembered = None if memory_rows is None else self.memory.as_rows(memory_rows)
        stored = None
        if self.table is not None:
            table = find_table(self.session, self.location)
            if table is None:
                raise RunError(f"{self.asset.name}: the table at {self.location.display_text} is no longer there")
            stored, _ = table.read_rows(self.session, self.table.version)
            bounds = [
                f"{sqltext.name(k)} BETWEEN {staged.bounds[k][0]} AND {staged.bounds[k][1]}"
                for k in keys[:-1]
                if k in staged.bounds
            ]
            for condition in [*bounds, *([] if self.partitions is None else [self.partitions.predicate])]:
                stored = stored.filter(condition)
        incoming = staged.read_rows(self.session)
        return _compute_history(self.rows, self.write.history, incoming, stored=stored, remembered=remembered)

    def make_merge(self, staged: StagedRows) -> RowLanding | None:
        """The merge of the staged rows; None where there is no table to merge into."""
        if self.table is None:
            return None
        stored = [name for name in staged.schema.names if name != DELETED and not is_unstored_column(name)]
        rows = staged.read_rows(self.session).selectExpr(*map(sqltext.name, stored))
        fitting, columns = schema_changes.evolve_rows(rows, self.asset, self.table)
        merge = KeyMerge(
            staged,
            self.rows.keys,
            tuple(stored),
            () if self.rows.is_history or self.rows.remembers_all else self.rows.newest_by,
            match_condition=None if self.partitions is None else self.partitions.predicate,
            has_deletes=self.rows.delete_when is not None,
        )
        before = schema_changes.alter_statements(self.asset, fitting.schema, self.table)
        return RowLanding(fitting, "nothing", columns, statements_before=before, merge=merge)

    def explain_error(self, error: Exception) -> RunError:
        """The error for people when choosing or staging rows failed."""
        explained = self.rows.explain_error(error)
        if explained is None and self.partitions is not None:
            explained = self.partitions.explain_error(error, self.frame)
            if explained is not None:
                explained.is_data_error = True
        return explained if explained is not None else run_error(error, what=self.asset.name)


def _make_upsert_rows(order: RunOrder, frame: DataFrame) -> UpsertRows:
    """The run's rows with the roles of their columns in the upsert or the history."""
    asset, write = order.asset, _upsert_mode(order.asset)
    if write.history is not None:
        rows = _make_changes(asset.name, write, write.history, frame, partition=asset.partitioning.columns)
    else:
        rows = UpsertRows.from_frame(asset.name, write, frame, partition=asset.partitioning.columns)
    return replace(rows, private=frozenset(name.lower() for name in asset.private))


def _upsert_mode(asset: AssetSpec) -> UpsertWrite:
    """The asset's write mode, which the caller knows to be an upsert."""
    if not isinstance(asset.write, UpsertWrite):
        raise TypeError(f"{asset.name} is not an upsert")
    return asset.write


def _select_live(chosen: DataFrame) -> DataFrame:
    """The rows that a table without rows gets: the chosen ones without deletions and without ``_`` columns."""
    names = (name for name in chosen.columns if not is_unstored_column(name))
    return chosen.filter(f"NOT {DELETED}").select(*map(sqltext.name, names))
