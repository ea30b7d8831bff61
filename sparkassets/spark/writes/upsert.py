"""``upsert``: a run's rows take the place of those with their keys; others come to what is there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.core.writes import Upsert, is_hidden
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker, RunOrder
from sparkassets.spark import evolution, layouts
from sparkassets.spark.blocks import Blocks, blocks_of
from sparkassets.spark.failures import run_error
from sparkassets.spark.table import TargetTable, path_of
from sparkassets.spark.upserts.memory import MEASURE, Memory
from sparkassets.spark.upserts.merging import Merge
from sparkassets.spark.upserts.reduced import DELETED, Rows, stored_schema
from sparkassets.spark.upserts.staged import Staged, staged
from sparkassets.spark.writes.landing import Landing, Ready

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class UpsertMode:
    """Implements `Mode` for `sparkassets.core.writes.Upsert`; `sparkassets.spark.upserts` tells how."""

    by_spark = True

    def stored(self, schema: StructType) -> StructType:
        """Those whose names do not begin with ``_``."""
        return stored_schema(schema)

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """A rebuild may change the columns; another run as the asset's ``schema`` lets it."""
        if order.rebuilds:
            layouts.refuse_broken(order.asset.name, schema, table)
        else:
            evolution.refuse_misfit(order.asset, schema, table)

    @contextlib.contextmanager
    def ready(
        self, order: RunOrder, frame: DataFrame, table: TargetTable | None, *, marker: CommitMarker
    ) -> Iterator[Ready]:
        """Chooses the newest row of each key, stages them, and remembers what the table does not tell."""
        asset, write, path = order.asset, upsert_of(order), path_of(order.asset)
        blocks = blocks_of(order, stored_schema(frame.schema))
        rows = Rows.of(asset.name, write, frame, partition=asset.partitioning.columns)
        reduced = rows.reduced() if blocks is None else blocks.guarded(rows.reduced())
        anew = table is None or order.rebuilds
        if anew and not rows.remembers:
            yield Ready(_live(reduced), marker, refused=rows.refused)
            return
        known = Memory.of(rows, path, None if anew else table, app=marker.app_id, keep=write.keep_deletes)
        session = frame.sparkSession
        with contextlib.ExitStack() as stack:
            try:
                chosen = known.without_late(reduced, session)
                found = stack.enter_context(staged(rows, chosen, path, marker=marker))
                told = _remembering(known, found, marker)
            except RunError:
                raise
            except Exception as error:
                raise _refused(error, rows, blocks) from error
            if table is None or order.rebuilds:
                yield Ready(_live(found.rows(session)), told)
            else:
                landing = self._merging(order, rows, found, table, blocks)
                yield Ready(landing.rows, told, landing)

    def landing(self, order: RunOrder, frame: DataFrame, table: TargetTable, *, blocks: Blocks | None) -> Landing:
        """Of a rebuild: its rows take the place of all."""
        del blocks  # no row is outside by now
        rows, columns = layouts.replacing(frame, table)
        after = layouts.to_restore(frame.sparkSession, path_of(order.asset), frame.schema, table)
        return Landing(rows, "all", columns, after=after)

    def _merging(
        self, order: RunOrder, rows: Rows, found: Staged, table: TargetTable, blocks: Blocks | None
    ) -> Landing:
        kept = found.rows(rows.frame.sparkSession).select(*rows.stored)
        fitting, columns = evolution.evolving(kept, order.asset, table)
        before = evolution.to_alter(order.asset, fitting.schema, table)
        newest_by = () if rows.remembers_all else rows.newest_by
        merge = Merge(
            found,
            rows.keys,
            tuple(rows.stored),
            newest_by,
            within=None if blocks is None else blocks.predicate,
            deletes=rows.delete_when is not None,
        )
        return Landing(fitting, "nothing", columns, before=before, merge=merge)


def upsert_of(order: RunOrder) -> Upsert:
    """The asset's write, which is one."""
    write = order.asset.write
    if not isinstance(write, Upsert):
        raise TypeError(f"{order.asset.name} is no upsert")
    return write


def _live(chosen: DataFrame) -> DataFrame:
    """Of the chosen rows what a table gets that has none yet."""
    return chosen.filter(f"NOT {DELETED}").select(*(name for name in chosen.columns if not is_hidden(name)))


def _remembering(known: Memory, found: Staged, marker: CommitMarker) -> CommitMarker:
    """The marker with the version of the memory that counts with the commit, after what is new is in it."""
    version = known.version
    if known.rows.remembers and (found.deleted or (known.rows.remembers_all and found.count)):
        session = known.rows.frame.sparkSession
        version = known.remember(session, found.rows(session), marker=marker)
    return marker if version is None else replace(marker, measures={**marker.measures, MEASURE: version})


def _refused(error: Exception, rows: Rows, blocks: Blocks | None) -> RunError:
    """What a job that chooses rows and failed says to people."""
    found = rows.refused(error)
    if found is None and blocks is not None:
        found = blocks.refused(error, rows.frame)
        if found is not None:
            found.of_data = True
    return found if found is not None else run_error(error, what=rows.asset)
