"""``upsert``: a run's rows take the place of those with their keys; others come to what is there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import Upsert, is_hidden
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker, RunOrder
from sparkassets.spark import evolution, layouts, sqltext
from sparkassets.spark.blocks import Blocks, blocks_of
from sparkassets.spark.failures import run_error
from sparkassets.spark.relation import Relation, relation_of
from sparkassets.spark.table import TargetTable
from sparkassets.spark.upserts import history
from sparkassets.spark.upserts.memory import MEASURE, Memory
from sparkassets.spark.upserts.merging import Merge
from sparkassets.spark.upserts.reduced import DELETED, Rows, stored_schema
from sparkassets.spark.upserts.staged import Kept, Staged, of_kept, staged
from sparkassets.spark.writes.landing import Chosen, Landing, Ready

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class UpsertMode:
    """Implements `Mode` for `sparkassets.core.writes.Upsert`; `sparkassets.spark.upserts` tells how."""

    by_spark = True

    def stored(self, asset: AssetSpec, schema: StructType) -> StructType:
        """Those whose names do not begin with ``_``, and those of a history."""
        write = _upsert(asset)
        if write.history is not None:
            return history.with_times(schema, write, write.history, asset=asset.name)
        return stored_schema(schema)

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """A rebuild may change the columns; another run as the asset's ``schema`` lets it."""
        if order.rebuilds:
            layouts.refuse_broken(order.asset.name, schema, table)
        else:
            evolution.refuse_misfit(order.asset, schema, table)

    def chosen(self, order: RunOrder, frame: DataFrame) -> Chosen:
        """The newest of each key, which are the newest as well where nothing else is left of the rows."""
        rows, blocks = _rows_of(order, frame), blocks_of(order, stored_schema(frame.schema))
        reduced = rows.reduced()
        guarded = reduced if blocks is None else blocks.guarded(reduced)
        return Chosen(guarded, frame.columns, DELETED, rows.refused)

    @contextlib.contextmanager
    def ready(
        self,
        order: RunOrder,
        frame: DataFrame,
        table: TargetTable | None,
        *,
        marker: CommitMarker,
        kept: Kept | None = None,
    ) -> Iterator[Ready]:
        """Chooses the newest row of each key, stages them, and remembers what the table does not tell.

        What was chosen and staged before to be judged is neither chosen nor staged once more, unless some of it is
        late.
        """
        run = _Run.of(order, frame, None if order.rebuilds else table, marker, kept)
        if run.table is None and not run.rows.remembers and not run.rows.is_history:
            yield Ready(_live(run.chosen()), marker, refused=run.rows.refused)
            return
        with contextlib.ExitStack() as stack:
            try:
                found = stack.enter_context(run.staged())
                told = run.remembering(found)
                if run.rows.is_history:
                    states = run.states(found)
                    found = stack.enter_context(staged(run.rows, states, run.relation, marker=marker, part="states"))
            except RunError:
                raise
            except Exception as error:
                raise run.refused(error) from error
            landing = run.merging(found)
            yield Ready(_live(found.rows(run.session)) if landing is None else landing.rows, told, landing)

    def landing(self, order: RunOrder, frame: DataFrame, table: TargetTable, *, blocks: Blocks | None) -> Landing:
        """Of a rebuild: its rows take the place of all."""
        del blocks  # no row is outside by now
        rows, columns = layouts.replacing(frame, table)
        after = layouts.to_restore(frame.sparkSession, relation_of(order.asset), frame.schema, table)
        return Landing(rows, "all", columns, after=after)


@frozen
class _Run:
    """One run's rows on their way to be merged.

    Attributes:
        frame: As computed.
        table: That they are merged into; None where all is made anew.
    """

    asset: AssetSpec
    write: Upsert
    frame: DataFrame
    rows: Rows
    blocks: Blocks | None
    table: TargetTable | None
    memory: Memory
    marker: CommitMarker
    kept: Kept | None

    @classmethod
    def of(
        cls, order: RunOrder, frame: DataFrame, table: TargetTable | None, marker: CommitMarker, kept: Kept | None
    ) -> _Run:
        asset, write = order.asset, _upsert(order.asset)
        blocks, rows = blocks_of(order, stored_schema(frame.schema)), _rows_of(order, frame)
        memory = Memory.of(
            frame.sparkSession, rows, relation_of(asset), table, app=marker.app_id, keep=write.keep_deletes
        )
        return cls(asset, write, frame, rows, blocks, table, memory, marker, kept)

    @property
    def relation(self) -> Relation:
        return relation_of(self.asset)

    @property
    def session(self) -> SparkSession:
        return self.frame.sparkSession

    def chosen(self) -> DataFrame:
        """One row of each key; one outside the blocks fails the job."""
        if self.kept is not None:
            return self.kept.rows(self.session)
        reduced = self.rows.reduced()
        return reduced if self.blocks is None else self.blocks.guarded(reduced)

    def staged(self) -> AbstractContextManager[Staged]:
        """Of these what is not late, staged; a history has a place for all that comes."""
        chosen = self.chosen()
        timely = chosen if self.rows.is_history else self.memory.without_late(chosen, self.session)
        if self.kept is not None and timely is chosen:
            return contextlib.nullcontext(of_kept(self.rows, self.kept, self.session))
        return staged(self.rows, timely, self.relation, marker=self.marker)

    def remembering(self, found: Staged) -> CommitMarker:
        """The marker with the version of the memory that counts with the commit, after what is new is in it."""
        version, rows = self.memory.version, self.rows
        if rows.remembers and (found.deleted or (rows.remembers_all and found.count)):
            version = self.memory.remember(self.session, found.rows(self.session), marker=self.marker)
        if version is None:
            return self.marker
        return replace(self.marker, measures={**self.marker.measures, MEASURE: version})

    def states(self, found: Staged) -> DataFrame:
        """What the table is to have of the keys that come, where it does not have it so."""
        if self.write.history is None:
            raise TypeError(f"{self.asset.name} has no history")
        known, keys = self.memory.read(self.session), self.rows.keys
        remembered = None if known is None else self.memory.as_rows(known)
        there = None
        if self.table is not None:
            there = self.relation.rows(self.session, self.table.version)
            bounds = [
                f"{sqltext.name(k)} BETWEEN {found.bounds[k][0]} AND {found.bounds[k][1]}"
                for k in keys[:-1]
                if k in found.bounds
            ]
            for condition in [*bounds, *([] if self.blocks is None else [self.blocks.predicate])]:
                there = there.filter(condition)
        came = found.rows(self.session)
        return history.state(self.rows, self.write.history, came, there=there, remembered=remembered)

    def merging(self, found: Staged) -> Landing | None:
        """How what is staged is merged; None where there is no table yet."""
        if self.table is None:
            return None
        stored = [name for name in found.schema.names if name != DELETED and not is_hidden(name)]
        kept = found.rows(self.session).select(*map(sqltext.name, stored))
        fitting, columns = evolution.evolving(kept, self.asset, self.table)
        merge = Merge(
            found,
            self.rows.keys,
            tuple(stored),
            () if self.rows.is_history or self.rows.remembers_all else self.rows.newest_by,
            within=None if self.blocks is None else self.blocks.predicate,
            deletes=self.rows.delete_when is not None,
        )
        before = evolution.to_alter(self.asset, fitting.schema, self.table)
        return Landing(fitting, "nothing", columns, before=before, merge=merge)

    def refused(self, error: Exception) -> RunError:
        """What a job that chooses rows and failed says to people."""
        found = self.rows.refused(error)
        if found is None and self.blocks is not None:
            found = self.blocks.refused(error, self.frame)
            if found is not None:
                found.of_data = True
        return found if found is not None else run_error(error, what=self.asset.name)


def _rows_of(order: RunOrder, frame: DataFrame) -> Rows:
    """The rows as an upsert takes them."""
    asset, write = order.asset, _upsert(order.asset)
    if write.history is not None:
        return history.changes(asset.name, write, write.history, frame, partition=asset.partitioning.columns)
    return Rows.of(asset.name, write, frame, partition=asset.partitioning.columns)


def _upsert(asset: AssetSpec) -> Upsert:
    """The asset's write, which is one."""
    if not isinstance(asset.write, Upsert):
        raise TypeError(f"{asset.name} is no upsert")
    return asset.write


def _live(chosen: DataFrame) -> DataFrame:
    """Of the chosen rows what a table gets that has none yet."""
    names = (name for name in chosen.columns if not is_hidden(name))
    return chosen.filter(f"NOT {DELETED}").select(*map(sqltext.name, names))
