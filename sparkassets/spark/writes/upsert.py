"""The write mode that merges rows by their keys, with or without a history of each key.

A history is a function of all changes ever received, in whatever order: sorted by time, each change of a key holds
until the next one, or until the key is deleted. A row of the table is a change. Deletions are remembered beside it, and
so is the `newest_by` of every change where the table does not store it. All rows of the keys that a run touches are
computed anew from stored, remembered and incoming changes; unchanged rows stay.

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
from sparkassets.core.writes import HistoryColumns, UpsertWrite, is_unstored_column
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker, RunOrder
from sparkassets.spark import schema_changes, sqltext
from sparkassets.spark.failures import run_error
from sparkassets.spark.partition_guard import PartitionGuard, guard_for
from sparkassets.spark.target_table import TableRelation, TargetTable, relation_of
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
from sparkassets.spark.upserts.upsert_memory import MEASURE, UpsertMemory
from sparkassets.spark.writes.landing import ChosenRows, ReadyRows, RowLanding

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

_CAME: Final = "__sparkassets_came"
_UNTIL: Final = "__sparkassets_until"
_NUMBER: Final = "__sparkassets_number"
_STORED: Final = "__sparkassets_stored"


def with_times(schema: StructType, write: UpsertWrite, history: HistoryColumns, *, asset: str) -> StructType:
    """The table's columns with a history: those of the result, then the end of each row and whether it is current.

    Raises:
        RunError: The result has a column that the history adds, or none that tells from when a row holds.
    """
    from pyspark.sql.types import BooleanType, StructField, StructType

    names = {field.name.lower(): field for field in schema.fields}
    for added in (history.valid_to, history.current):
        if added.lower() in names:
            raise RunError(f"{asset}: the result has the column {added!r}, which the history adds")
    time = names.get(history.valid_from.lower())
    if time is None and not write.newest_by:
        raise RunError(
            f"{asset}: nothing tells from when a row holds: the result has no column {history.valid_from!r}",
            hint="give it, or write newest_by: <the column of the source's time>, which it then holds",
        )
    stored = [field for field in schema.fields if not is_unstored_column(field.name)]
    if time is None:
        first = names.get(write.newest_by[0].lower())
        if first is None:
            raise RunError(f"the result of {asset} has no column {write.newest_by[0]!r}")
        time = StructField(history.valid_from, first.dataType, nullable=True)
        stored.append(time)
    ends = StructField(history.valid_to, time.dataType, nullable=True)
    return StructType([*stored, ends, StructField(history.current, BooleanType(), nullable=True)])


def changes(
    asset: str, write: UpsertWrite, history: HistoryColumns, frame: DataFrame, *, partition: Sequence[str]
) -> UpsertRows:
    """The rows of a run as changes for a history, each of one key at one instant.

    Without a column ``valid_from`` in the result, the first column of ``newest_by`` is that instant.
    """
    from pyspark.sql import functions as sql

    given = {name.lower() for name in frame.columns}
    has_time = history.valid_from.lower() in given
    if not has_time:
        frame = frame.withColumn(history.valid_from, sql.col(sqltext.name(write.newest_by[0])))
    more = write.newest_by if has_time else write.newest_by[1:]
    rows = UpsertRows.from_frame(
        asset, replace(write, newest_by=more), frame, partition=[*partition, history.valid_from]
    )
    within = rows.tie_breakers if has_time and rows.tie_breakers else (rows.keys[-1], *rows.tie_breakers)
    return replace(rows, tie_breakers=within, is_history=True)


def state(
    rows: UpsertRows, history: HistoryColumns, came: DataFrame, *, there: DataFrame | None, remembered: DataFrame | None
) -> DataFrame:
    """The rows that the table must have for the incoming keys, without those that it has already.

    A row that a deletion at its instant removes is among them, with `DELETED`.

    Args:
        rows: The incoming rows, from `changes`.
        history: The names of its columns.
        came: The changes and deletions, with `DELETED`.
        there: The rows of the table, at least of these keys; None for an empty table.
        remembered: What is remembered of the keys, from `UpsertMemory.as_rows`; None for nothing.
    """
    from pyspark.sql import functions as sql

    *keys, time = rows.keys
    hidden = [name for name in rows.newest_by if is_unstored_column(name)]
    values = [name for name in came.columns if name not in (*rows.keys, DELETED)]
    values = [name for name in values if name in hidden or not is_unstored_column(name)]
    mine = came.select(*map(_c, rows.keys), *map(_c, values), _c(DELETED), sql.lit(1).alias(_CAME))
    mine = mine.withColumn(_UNTIL, sql.lit(None).cast(came.schema[time].dataType))
    touched = came.select(*map(_c, keys)).distinct()
    events = mine
    if remembered is not None:
        remembered = remembered.join(touched, keys, "left_semi")
        gone = remembered.filter(DELETED).withColumn(_CAME, sql.lit(0))
        events = events.unionByName(gone, allowMissingColumns=True)
    if there is not None:
        known = there.join(touched, keys, "left_semi").withColumns({DELETED: sql.expr("false"), _CAME: sql.lit(0)})
        known = known.withColumnRenamed(history.valid_to, _UNTIL).drop(history.current)
        if remembered is not None and hidden:
            newest = remembered.filter(f"NOT {DELETED}").select(*map(_c, rows.keys), *map(_c, hidden))
            known = known.join(newest, list(rows.keys), "left")
        events = events.unionByName(known, allowMissingColumns=True)
    return _sequence(events, rows, history).drop(*hidden)


def _sequence(events: DataFrame, rows: UpsertRows, history: HistoryColumns) -> DataFrame:
    """The rows of a history that must be written: each row ends where the next row of its key begins.

    Of several events of a key at one instant the first counts: the greatest ``newest_by``, then rows before deletions,
    then incoming before stored rows. Stored rows that keep their end are left out, and so are deletions of rows that
    are not stored.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    *keys, time = rows.keys
    at_once = Window.partitionBy(*map(_c, rows.keys))
    newest = [_c(name).desc() for name in rows.newest_by]
    order = [*newest, _c(DELETED).asc(), _c(_CAME).desc()]
    is_stored = sql.expr(f"{_CAME} = 0 AND NOT {DELETED}")
    numbered = events.withColumns(
        {
            _NUMBER: sql.row_number().over(at_once.orderBy(*order)),
            _STORED: sql.max(is_stored).over(at_once),
        }
    )
    chosen = numbered.filter(f"{_NUMBER} = 1")
    by_key = Window.partitionBy(*map(_c, keys)).orderBy(_c(time))
    until = sql.lead(_c(time)).over(by_key)
    ended = chosen.withColumn(history.valid_to, until)
    ended = ended.withColumn(history.current, sql.col(_q(history.valid_to)).isNull())
    same = f"{_CAME} = 0 AND {_UNTIL} <=> {_q(history.valid_to)}"
    changed = ended.filter(f"CASE WHEN {DELETED} THEN {_STORED} ELSE NOT ({same}) END")
    return changed.drop(_NUMBER, _STORED, _CAME, _UNTIL)


def _c(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.col(_q(name))


def _q(name: str) -> str:
    return sqltext.name(name)


class UpsertMode:
    """Merges rows by their keys: `LandingMode` for `UpsertWrite`; the steps are in `sparkassets.spark.upserts`."""

    by_spark = True

    def table_schema(self, asset: AssetSpec, schema: StructType) -> StructType:
        """The columns whose names do not begin with ``_``, followed by those that a history adds."""
        write = _upsert(asset)
        if write.history is not None:
            return with_times(schema, write, write.history, asset=asset.name)
        return stored_schema(schema)

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """Refuses columns that the asset's ``schema`` does not let change; a rebuild may change them."""
        if order.rebuilds:
            schema_changes.refuse_broken(order.asset.name, schema, table)
        else:
            schema_changes.refuse_misfit(order.asset, schema, table)

    def choose_rows(self, order: RunOrder, frame: DataFrame) -> ChosenRows:
        """The newest row of each key, deletions included.

        The choice survives judging: leaving out any of them makes no other row the newest of its key.
        """
        rows, partitions = _rows_of(order, frame), guard_for(order, stored_schema(frame.schema))
        reduced = rows.reduce_rows()
        guarded = reduced if partitions is None else partitions.guard_rows(reduced)
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
        """Chooses the newest row of each key, stages the rows, and remembers what the table does not store.

        Rows that were staged to be judged are used from there, unless some of them are older than what later runs
        wrote.
        """
        run = _UpsertRun.from_order(order, frame, None if order.rebuilds else table, marker, kept)
        if run.table is None and not run.rows.remembers and not run.rows.is_history:
            yield ReadyRows(_live(run.choose_rows()), marker, explain_error=run.rows.explain_error)
            return
        with contextlib.ExitStack() as stack:
            try:
                found = stack.enter_context(run.stage_rows())
                measures = run.remember_rows(found)
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
            yield ReadyRows(_live(found.read_rows(run.session)) if landing is None else landing.rows, measures, landing)

    def plan_landing(
        self, order: RunOrder, frame: DataFrame, table: TargetTable, *, partitions: PartitionGuard | None
    ) -> RowLanding:
        """How rows land without a merge, which only a rebuild does: they replace the whole table."""
        del partitions  # no row is outside by now
        rows, columns = schema_changes.replace_rows(frame, table)
        after = schema_changes.restore_statements(frame.sparkSession, relation_of(order.asset), frame.schema, table)
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
    table: TargetTable | None
    memory: UpsertMemory
    marker: CommitMarker
    kept: KeptRows | None

    @classmethod
    def from_order(
        cls, order: RunOrder, frame: DataFrame, table: TargetTable | None, marker: CommitMarker, kept: KeptRows | None
    ) -> _UpsertRun:
        asset, write = order.asset, _upsert(order.asset)
        partitions, rows = guard_for(order, stored_schema(frame.schema)), _rows_of(order, frame)
        memory = UpsertMemory.load_memory(
            frame.sparkSession, rows, relation_of(asset), table, app=marker.app_id, keep=write.keep_deletes
        )
        return cls(asset, write, frame, rows, partitions, table, memory, marker, kept)

    @property
    def relation(self) -> TableRelation:
        return relation_of(self.asset)

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
        timely = chosen if self.rows.is_history else self.memory.without_late(chosen, self.session)
        if self.kept is not None and timely is chosen:
            return contextlib.nullcontext(stage_kept(self.rows, self.kept, self.session))
        return stage_rows(self.rows, timely, self.relation, marker=self.marker)

    def remember_rows(self, found: StagedRows) -> CommitMarker:
        """Commits what later runs must know to the memory; returns the marker with the memory's version to use.

        The version counts only once the table's commit with this marker is in, so both change at once.
        """
        version, rows = self.memory.version, self.rows
        if rows.remembers and (found.deleted or (rows.remembers_all and found.count)):
            version = self.memory.remember(self.session, found.read_rows(self.session), marker=self.marker)
        if version is None:
            return self.marker
        return replace(self.marker, measures={**self.marker.measures, MEASURE: version})

    def states(self, found: StagedRows) -> DataFrame:
        """The rows of a history that must be written for the incoming keys, without those that are stored already."""
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
            for condition in [*bounds, *([] if self.partitions is None else [self.partitions.predicate])]:
                there = there.filter(condition)
        came = found.read_rows(self.session)
        return state(self.rows, self.write.history, came, there=there, remembered=remembered)

    def make_merge(self, found: StagedRows) -> RowLanding | None:
        """The merge of the staged rows; None where there is no table to merge into."""
        if self.table is None:
            return None
        stored = [name for name in found.schema.names if name != DELETED and not is_unstored_column(name)]
        kept = found.read_rows(self.session).select(*map(sqltext.name, stored))
        fitting, columns = schema_changes.evolve_rows(kept, self.asset, self.table)
        merge = KeyMerge(
            found,
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
        found = self.rows.explain_error(error)
        if found is None and self.partitions is not None:
            found = self.partitions.explain_error(error, self.frame)
            if found is not None:
                found.is_data_error = True
        return found if found is not None else run_error(error, what=self.asset.name)


def _rows_of(order: RunOrder, frame: DataFrame) -> UpsertRows:
    """The run's rows with the roles of their columns in the upsert or the history."""
    asset, write = order.asset, _upsert(order.asset)
    if write.history is not None:
        rows = changes(asset.name, write, write.history, frame, partition=asset.partitioning.columns)
    else:
        rows = UpsertRows.from_frame(asset.name, write, frame, partition=asset.partitioning.columns)
    return replace(rows, private=frozenset(name.lower() for name in asset.private))


def _upsert(asset: AssetSpec) -> UpsertWrite:
    """The asset's write mode, which the caller knows to be an upsert."""
    if not isinstance(asset.write, UpsertWrite):
        raise TypeError(f"{asset.name} is no upsert")
    return asset.write


def _live(chosen: DataFrame) -> DataFrame:
    """The rows that a table without rows gets: the chosen ones without deletions and without ``_`` columns."""
    names = (name for name in chosen.columns if not is_unstored_column(name))
    return chosen.filter(f"NOT {DELETED}").select(*map(sqltext.name, names))
