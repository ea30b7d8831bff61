"""The write modes that replace, append or publish, and which mode an asset has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sparkassets.core.runs import app_id
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.writes import AppendWrite, PublishWrite, RegisteredWrite, ReplaceWrite, UpsertWrite, WriteMode
from sparkassets.delta.scratch_folders import REMEMBERED
from sparkassets.errors import RunError
from sparkassets.ports import CommitStamp, RunOrder
from sparkassets.spark import schema_changes
from sparkassets.spark.open_tables import TableDescription
from sparkassets.spark.partition_guard import PartitionGuard
from sparkassets.spark.table_locations import location_of
from sparkassets.spark.upserts.staged_rows import KeptRows
from sparkassets.spark.upserts.upsert_memory import copy_memory
from sparkassets.spark.writes.landing import AllColumnsMode, LandingMode, ReadyRows, RowLanding
from sparkassets.spark.writes.upsert import UpsertMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class AppendMode(AllColumnsMode):
    """Implements `LandingMode` for `sparkassets.core.writes.AppendWrite`."""

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TableDescription) -> None:
        """Refuses columns that the asset's ``schema`` does not allow to change."""
        schema_changes.refuse_misfit(order, schema, table)

    def plan_landing(
        self, order: RunOrder, frame: DataFrame, table: TableDescription, *, partitions: PartitionGuard | None
    ) -> RowLanding:
        """Appends the rows; those outside the partitions fail here, because Delta checks no rows that are appended."""
        guarded = frame if partitions is None else partitions.guard_rows(frame)
        rows, columns = schema_changes.evolve_rows(guarded, order.asset, table)
        return RowLanding(
            rows,
            columns=columns,
            statements_before=schema_changes.widening_statements(order.asset, guarded.schema, table),
        )


class ReplaceMode(AllColumnsMode):
    """Implements `LandingMode` for `sparkassets.core.writes.ReplaceWrite`."""

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TableDescription) -> None:
        """Refuses columns that the asset's ``schema`` does not let change; a run of everything may change any."""
        if order.rebuilds or order.partitions.is_everything:
            schema_changes.refuse_broken(order.asset.name, schema, table)
        else:
            schema_changes.refuse_misfit(order, schema, table)

    def plan_landing(
        self, order: RunOrder, frame: DataFrame, table: TableDescription, *, partitions: PartitionGuard | None
    ) -> RowLanding:
        """Overwrites the run's partitions, or the whole table if the run rebuilds it or has no partitions."""
        asset = order.asset
        if order.rebuilds or partitions is None:
            guarded = frame if partitions is None else partitions.guard_rows(frame)
            rows, columns = schema_changes.replace_rows(guarded, table)
            after = schema_changes.restore_statements(frame.sparkSession, location_of(asset), guarded.schema, table)
            return RowLanding(rows, "all", columns, statements_after=after)
        guarded = partitions.guard_rows(frame)
        rows, columns = schema_changes.evolve_rows(guarded, asset, table)
        before = schema_changes.widening_statements(asset, guarded.schema, table)
        return RowLanding(rows, "partitions", columns, statements_before=before)


class PublishMode(ReplaceMode):
    """Implements `LandingMode` for `sparkassets.core.writes.PublishWrite`.

    In the asset's table a new iteration replaces the older rows, as with ``replace``; the replaced files stay in the
    folders of their own iterations.
    """


class PromotedUpsertMode(ReplaceMode):
    """Lands the rows of a branch's upsert, which are merged already, with what the branch remembers of its keys."""

    by_spark = True

    @contextmanager
    def prepare_rows(
        self,
        order: RunOrder,
        frame: DataFrame,
        table: TableDescription | None,
        *,
        stamp: CommitStamp,
        kept: KeptRows | None = None,
    ) -> Iterator[ReadyRows]:
        """The rows as they are; commits the branch's memory beside the table, and names its version in the stamp."""
        del table, kept
        promotion = order.promotes
        if promotion is None:
            raise TypeError(f"{order.asset.name} promotes nothing")
        path = promotion.table_path(order.warehouse, order.asset.name)
        branch_app = app_id(promotion.journal_id, order.app_id.split("/")[1])
        _, version = promotion.tables[order.asset.name]
        remembered = copy_memory(
            frame.sparkSession,
            StorageLocation(path, path),
            location_of(order.asset),
            version=version,
            app=branch_app,
            stamp=stamp,
        )
        measures = stamp.measures if remembered is None else {**stamp.measures, REMEMBERED: remembered}
        yield ReadyRows(frame, replace(stamp, measures=measures))


_PROMOTED_UPSERT: Final = PromotedUpsertMode()
_MODES: Final[Mapping[type[WriteMode], LandingMode]] = {
    ReplaceWrite: ReplaceMode(),
    AppendWrite: AppendMode(),
    UpsertWrite: UpsertMode(),
    PublishWrite: PublishMode(),
    RegisteredWrite: ReplaceMode(),
}


def mode_of(order: RunOrder) -> LandingMode:
    """The write mode that lands the rows of a run.

    A registered mode replaces: its rows were combined with the table's before (`combine_rows`). So does a promotion,
    whose rows are those of a table.
    """
    write = order.asset.write
    if write is None:
        raise RunError(f"{order.asset.name} is not written by sparkassets")
    if order.promotes is not None:
        return _PROMOTED_UPSERT if isinstance(write, UpsertWrite) else _MODES[ReplaceWrite]
    return _MODES[type(write)]
