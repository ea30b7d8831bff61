"""Some rows of a table, without Spark where its log and files can be read so, or of what an engine has described."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sparkassets.core.documents.row_sample import RowSample
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.tables import load_table, unreadable
from sparkassets.errors import InputError, SessionNeededError
from sparkassets.ports import RunComputation
from sparkassets.spark.computation import computation_for
from sparkassets.spark.open_tables import find_table
from sparkassets.spark.own_session import copy_for_run
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.schemas import refuse_unwritable
from sparkassets.spark.table_locations import location_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sample_table(
    asset: AssetSpec, partitions: PartitionSet, limit: int, *, open_session: Callable[[], SparkSession]
) -> RowSample:
    """At most ``limit`` rows of the table as it is now, of these partitions.

    Raises:
        InputError: There is no table.
        SourceError: It cannot be read.
    """
    location = location_of(asset)
    if not location.table:
        try:
            return _sample_files(asset, location.path, partitions, limit)
        except SessionNeededError:
            pass
    session = copy_for_run(open_session())
    table = find_table(session, location)
    if table is None:
        raise _missing(asset)
    frame, _ = table.read_rows(session, table.version, parts=partitions, partitioning=asset.partitioning)
    predicate = partition_predicate(
        frame.schema, partitions, partitioning=asset.partitioning, owner=f"the table of {asset.name!r}"
    )
    return _collect(asset, frame if predicate is None else frame.filter(predicate), limit, version=table.version)


def sample_computation(computation: RunComputation, limit: int) -> RowSample:
    """At most ``limit`` rows of a computation of one table; Spark computes them now.

    Raises:
        RunError: The query has columns that no table can hold.
    """
    described = computation_for(computation, "")
    refuse_unwritable(described.order.asset.name, described.frame.schema)
    return _collect(described.order.asset, described.frame, limit, version=None)


def _collect(asset: AssetSpec, frame: DataFrame, limit: int, *, version: int | None) -> RowSample:
    rows = tuple(tuple(row.asDict(recursive=True).values()) for row in frame.limit(limit).collect())
    return RowSample(asset.name, version, tuple(frame.columns), rows).without_pii(asset)


def _missing(asset: AssetSpec) -> InputError:
    return InputError(f"{asset.name!r} has no table yet: there is none at {location_of(asset).display_text}")


def _sample_files(asset: AssetSpec, path: str, partitions: PartitionSet, limit: int) -> RowSample:
    """The rows by deltalake.

    Raises:
        SessionNeededError: Only Spark can read the table.
        InputError: There is no table.
        SourceError: It is broken.
    """
    import pyarrow as pa
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        table = load_table(path)
        segments = {name.lower() for name in asset.partitioning.segment_columns}  # DataFusion compares them as text
        types = {
            field.name: "string" if field.name.lower() in segments else str(getattr(field.type, "type", field.type))
            for field in table.schema().fields
        }
        predicate = partition_predicate(
            types, partitions, partitioning=asset.partitioning, owner=f"the table of {asset.name!r}"
        )
        where = "" if predicate is None else f" WHERE {predicate}"
        query = f"SELECT * FROM rows{where} LIMIT {limit:d}"  # noqa: S608  quoted
        found = pa.table(QueryBuilder().register("rows", table).execute(query).read_all())
    except TableNotFoundError:
        raise _missing(asset) from None
    except DeltaError as error:
        raise unreadable(path, error) from error
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    return RowSample(asset.name, table.version(), tuple(found.column_names), tuple(rows)).without_pii(asset)
