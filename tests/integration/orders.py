"""Run orders on real small tables, for the tests of the Spark engine."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from sparkassets.core.partitions import EVERYTHING, Partitioning, PartitionSet, SegmentPartition, TimePartition
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.code_bodies import PythonBody, SqlBody
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, FullRefresh
from sparkassets.core.writes import ReplaceWrite
from sparkassets.errors import FileLocation
from sparkassets.ports import CommitStamp, RunComputation, RunOrder, Target
from sparkassets.spark.engine import SparkEngine, SparkTargetFactory
from sparkassets.spark.versions import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOURNAL = "11111111-2222-3333-4444-555555555555"
NOW = datetime(2013, 2, 1, tzinfo=UTC)
_numbers = itertools.count(1)
Mode = Literal["append", "overwrite"]


def project(*assets: AssetSpec, **more: Any) -> ProjectSpec:
    return ProjectSpec("test", "/p", "/s", "/w", {asset.name: asset for asset in assets}, **more)


def table(name: str, folder: Path, *, by: str | None = None, zone: str = "UTC", column: str = "day", **more: Any):
    """An asset at ``<folder>/<name>``."""
    partition = TimePartition(by, zone, column=column) if by else None  # type: ignore[arg-type]
    path = str(folder / name)
    defaults = {"write": ReplaceWrite(), "strategy": DateRange() if by else FullRefresh(), "timezone": zone, **more}
    return AssetSpec(
        name,
        path,
        StorageLocation(path, name),
        FileLocation(f"{name}.yml", 1, 1),
        partitioning=Partitioning(partition),
        **defaults,
    )


def segmented(asset: AssetSpec, **keys: Sequence[str]) -> AssetSpec:
    """The asset by these segments too, columns and keys, behind its time."""
    dimensions = tuple(SegmentPartition(column, tuple(sorted(given))) for column, given in keys.items())
    return replace(asset, partitioning=replace(asset.partitioning, segments=dimensions), strategy=DateRange())


def sql(text: str, *inlets: str, after: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The body and the inlets of an asset."""
    read = {name: ReadAfter(column) for name, column in (after or {}).items()}
    linked = {name: InletSpec(name, name, None, read=read.get(name)) for name in inlets}
    return {"body": SqlBody(text, FileLocation("query.sql", 1, 1)), "inlets": linked}


def function(folder: Path, name: str, *arguments: str, inlets: Sequence[str] = ()) -> dict[str, Any]:
    """The body of an asset that is computed by ``tasks.work:<name>`` in ``folder``."""
    body = PythonBody("tasks.work", name, arguments, str(folder), FileLocation("asset.yml", 3, 1))
    return {"body": body, "inlets": {each: InletSpec(each, each, None) for each in inlets}}


def order(
    asset: AssetSpec,
    *sources: AssetSpec,
    pins: Mapping[str, InletPin] | None = None,
    keys: str | Sequence[str] | None = None,
    **more: Any,
) -> RunOrder:
    """A run of ``asset`` over the partitions ``keys`` (``A..B``, or a list); inlets are pinned to what is there now."""
    partitions = EVERYTHING
    if keys is not None:
        each = keys.split(",") if isinstance(keys, str) else keys
        partitions = PartitionSet.union(map(asset.partitioning.parse, each))
    token = next(_numbers)
    given = {
        "token": token,
        "run": f"{asset.name}-{token}",
        "interval": None,
        "schedule_date": NOW,
        "events": {},
        **more,
    }
    return RunOrder(
        asset=asset,
        app_id=f"{JOURNAL}/{asset.name}",
        partitions=partitions,
        pins={source.name: (pins or {}).get(source.name) or newest(source) for source in sources},
        inlets={source.name: source for source in sources},
        **given,
    )


def newest(asset: AssetSpec, *, parts: PartitionSet = EVERYTHING, low: str | None = None) -> InletPin:
    """A Delta inlet as it is now."""
    assert asset.storage is not None
    now = DeltaTable(asset.storage.path)
    return InletPin(asset.uri, 1, table_id=str(now.metadata().id), version=now.version(), parts=parts, low=low)


def stamp_of(
    order: RunOrder, computation: RunComputation | None = None, *, kind: str = "data", **more: Any
) -> CommitStamp:
    given = {
        "version": 2 * order.token + 1,
        "token": order.token,
        "run": order.run,
        "attempt": 1,
        "measures": computation.measures if computation else {},
        **more,
    }
    return CommitStamp(order.app_id, kind=kind, **given)  # type: ignore[arg-type]


def target(engine: SparkEngine, order: RunOrder) -> Target:
    """Where a run is written."""
    return SparkTargetFactory(engine).open_target(order.asset, app_id=order.app_id, enlist=lambda: None)


def execute(engine: SparkEngine, order: RunOrder, **more: Any) -> RunComputation:
    """One attempt, as the runtime makes it."""
    computation = engine.compute(order, attempt=1)
    target(engine, order).write(computation, stamp=stamp_of(order, computation, **more))
    return computation


def save(frame: DataFrame, asset: AssetSpec, *, mode: Mode = "append", again: bool = False) -> None:
    """Somebody else's write, without Spark's second for a commit; ``again`` lets it change the columns."""
    assert asset.storage is not None
    write_deltalake(asset.storage.path, to_arrow(frame), mode=mode, schema_mode="overwrite" if again else None)


def save_by_spark(frame: DataFrame, asset: AssetSpec, *, mode: Mode = "append", **options: Any) -> None:
    """Somebody else's write by Spark, where what its tables are like matters."""
    assert asset.storage is not None
    frame.write.format("delta").mode(mode).options(**options).save(asset.storage.path)


def parses(spark: SparkSession, query: str) -> bool:
    """Whether this version of Spark knows the syntax and the types of a query."""
    from pyspark.errors import ParseException

    try:
        spark.sql(query)
    except ParseException:
        return False
    return True


def rows(spark: SparkSession, asset: AssetSpec, *columns: str) -> list[tuple[Any, ...]]:
    """What a table holds, sorted."""
    assert asset.storage is not None
    return sorted(tuple(row) for row in held(spark, asset.storage.path).selectExpr(*(columns or ("*",))).collect())


def held(spark: SparkSession, path: Path | str) -> DataFrame:
    """What a table holds now, read without a job of Spark's where that can be."""
    try:
        return spark.createDataFrame(_read(str(path)))
    except Exception:  # noqa: BLE001  a table that only Spark can read
        return spark.read.format("delta").load(str(path))


def _read(path: str) -> pa.Table:
    there = DeltaTable(path)
    read = pa.table(there.scan().read_all())
    plain = pa.schema([each.with_type(pa.string()) if each.type == pa.string_view() else each for each in read.schema])
    return read.cast(plain).select([field.name for field in there.schema().fields])


def computed(engine: SparkEngine, run: RunOrder) -> list[tuple[Any, ...]]:
    """The rows that a run would write, sorted."""
    frame = engine.compute(run, attempt=1).frame  # type: ignore[attr-defined]
    return sorted(tuple(row) for row in frame.collect())


def span(asset: AssetSpec, keys: str) -> PartitionSet:
    """The partitions ``A..B``."""
    return asset.partitioning.parse(keys)
