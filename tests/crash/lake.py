"""The lake of the in-memory tests on disk: random projects whose drivers are processes, and the same model beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from sparkassets.core.partitions import Partitioning
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.ports import RunOrder
from sparkassets.spark.table_locations import path_of
from tests.crash import points
from tests.crash.driver import PlainProject
from tests.crash.plain import Columns, Computed, PlainEngine, Row, count_file_rows
from tests.runtime.lake import Lake, Partition, Table, inside, needed, number, random_lake, random_outlets


def stored(home: Path | str, seed: int) -> ProjectSpec:
    """A random project, with tables and a journal in a folder; every second one has an asset with two outlets."""
    random = Random(seed)  # noqa: S311  nothing to keep secret
    spec = (random_outlets if seed % 2 else random_lake)(random).project
    assets = {name: _at(each, home) for name, each in spec.assets.items()}
    return replace(spec, root=str(home), state=f"{home}/state", warehouse=f"{home}/tables", assets=assets)


def _at(asset: AssetSpec, home: Path | str) -> AssetSpec:
    place = f"{home}/tables/{asset.name}"
    return asset if asset.storage is None else replace(asset, storage=StorageLocation(place, place))


def driven(home: Path, seed: int) -> PlainProject:
    """The project as a driver has it."""
    return PlainProject(stored(home, seed), engine=PartitionEngine)


class PartitionEngine(PlainEngine):
    """Computes a number of each partition from those of the partitions that it needs, as `LakeEngine` does."""

    def compute(self, order: RunOrder, *, attempt: int) -> Computed:
        points.TRIGGER.at("read:ready")
        asset, rows = order.asset, []
        ups = {name: table_of(order.inlets[name], pin.version) for name, pin in order.pins.items()}
        for partition in inside(asset.partitioning, order.partitions) if attempt else ():
            values = {
                name: [ups[name].get(each) for each in needed(asset, order.inlets[name], partition)] for name in ups
            }
            rows.append(row_of(asset.partitioning, partition, number(asset, partition, values, code=0)))
        points.TRIGGER.at("read:done")
        parts = {each.asset.name: rows for each in order.table_orders}
        return Computed(order, parts, {}, Columns(columns_of(asset.partitioning)))


def columns_of(partitioning: Partitioning) -> pa.Schema:
    """Those of a table of that partitioning."""
    time = [(partitioning.time.column, pa.date32())] if partitioning.time else []
    return pa.schema([*time, *((each.column, pa.string()) for each in partitioning.segments), ("value", pa.int64())])


def row_of(partitioning: Partitioning, partition: Partition, value: int) -> Row:
    """A partition as a row."""
    segments, start, _ = partition
    time = {partitioning.time.column: datetime.fromtimestamp(start, UTC).date()} if partitioning.time else {}
    return {**time, **dict(zip((each.column for each in partitioning.segments), segments, strict=True)), "value": value}


def table_of(asset: AssetSpec, version: int | None) -> Table:
    """What a table holds at a version, by partition; each has one row."""
    time, found = asset.partitioning.time, {}
    for row in count_file_rows(asset, version):
        segments = tuple(row[each.column] for each in asset.partitioning.segments)
        span = (0, 0)
        if time is not None:
            start = int(datetime.combine(row[time.column], datetime.min.time(), UTC).timestamp())
            span = start, start + (7 if time.by == "week" else 1) * 86400
        partition = (segments, *span)
        assert partition not in found, f"{asset.name} {partition} is there twice"
        found[partition] = row["value"]
    return found


@dataclass
class StoredLake(Lake):
    """The model of a lake whose tables are stored, written by drivers."""

    def change(self, name: str, values: Mapping[Partition, int]) -> None:
        super().change(name, values)
        partitioning = self.project.assets[name].partitioning
        path, columns = path_of(self.project.assets[name]), columns_of(partitioning)
        layout = [each for each in columns.names if each != "value"]
        for partition, value in values.items():
            row = row_of(partitioning, partition, value)
            data = pa.Table.from_pylist([row], columns)
            more: dict[str, Any] = {"partition_by": layout}
            if DeltaTable.is_deltatable(path):
                more["predicate"] = " AND ".join(f"{each} = '{row[each]}'" for each in layout)
            write_deltalake(path, data, mode="overwrite" if "predicate" in more else "append", **more)

    def table(self, name: str, version: int | None = None) -> Table:
        asset = self.project.assets[name]
        if asset.source is not None:
            return super().table(name, version)
        path = path_of(asset)
        if not DeltaTable.is_deltatable(path):
            return {}
        return table_of(asset, DeltaTable(path).version() if version is None else version)
