"""An engine and targets without a JVM over real tables: rows by pyarrow, commits by the driver's own code.

What a run writes are the rows that it read: of its pins, above its watermark, in its partitions, with what its code
adds to the amount; or those of a branch, which it promotes. An outlet ``small`` gets
those whose amount is below five, ``large`` the others; rules withhold the days with an amount above 100. Staging,
commits, fences, looks and removals are those of `sparkassets.spark.targets` and `sparkassets.delta`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import WAREHOUSE_FOLDER, BranchPromotion
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec, ReadAfter
from sparkassets.core.validations import RuleVerdict, RunJudgement
from sparkassets.core.writes import AppendWrite, UpsertWrite
from sparkassets.delta.file_split import split_staged
from sparkassets.delta.staging import open_folder
from sparkassets.files.object_stores import local_path
from sparkassets.ports import CommitStamp, DataCommit, Enlist, RunOrder, TargetMissingError
from sparkassets.processes import Process
from sparkassets.spark import commit_history
from sparkassets.spark.open_tables import find_path_table, open_table
from sparkassets.spark.table_locations import path_of
from sparkassets.spark.targets import (
    driver_commit,
    driver_staging,
    replaced_files,
    spark_commit,
    staged_write,
    table_target,
)
from sparkassets.spark.targets.driver_staging import DriverStaging
from sparkassets.spark.writes.planned_write import layout_of
from tests.crash import points

Row = dict[str, Any]
FILES = 2
"""So many of each partition, where it has as many rows."""
HALVES = (1, 2, 4)
"""Numbers of files after which a write is half done; an upsert writes them all again, so that there are ever more."""
WORST = 100
"""Rules withhold a day with an amount above this."""
_ADDED = re.compile(r"amount \+ (\d+) AS amount")
SALES = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("shop", pa.string()), ("amount", pa.int64())])
KINDS = {pa.int64(): "bigint", pa.date32(): "date", pa.string(): "string"}


class Columns:
    """The columns of a table, as far as one asks Spark's of a schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.arrow = schema
        self.names = schema.names
        self.fields = [
            SimpleNamespace(name=each.name, dataType=SimpleNamespace(simpleString=lambda kind=KINDS[each.type]: kind))
            for each in schema
        ]

    def json(self) -> str:
        """As Delta has it."""
        return str(Schema.from_arrow(self.arrow).to_json())

    def __len__(self) -> int:
        return len(self.names)


@dataclass
class Computed:
    """The rows of each table that a run writes, which have the same columns."""

    order: RunOrder
    rows: Mapping[str, Sequence[Row]]
    measures: Mapping[str, Any]
    columns: Columns
    read_version: int | None = None

    def release(self) -> None:
        """Nothing is held."""


class PlainEngine:
    """Computes without a JVM; implements `ports.Engine`."""

    def start(self) -> None:
        """There is nothing to start."""

    def processes(self) -> Sequence[Process]:
        """None but this one."""
        return ()

    def cancel(self, run: str) -> None:
        """What it does takes no time."""

    def close(self) -> None:
        """There is nothing to end."""

    def compute(self, order: RunOrder, *, attempt: int) -> Computed:
        """The rows of the pinned inlets that are of the run's partitions."""
        points.TRIGGER.at("read:ready")
        if order.promotes is not None:
            return _promoted(order, order.promotes)
        rows: list[Row] = []
        marks: dict[str, str] = {}
        for name, inlet in order.asset.inlets.items():
            pin, source = order.pins[name], order.inlets[name]
            read = _in_parts(count_file_rows(source, pin.version), pin.parts, source)
            if isinstance(inlet.read, ReadAfter):
                read = [row for row in read if pin.low is None or row["id"] > int(pin.low)]
                if read or pin.low is not None:
                    marks[name] = str(max([row["id"] for row in read], default=int(pin.low or 0)))
            rows += read
        rows = _in_parts(rows, order.partitions, order.asset)
        points.TRIGGER.at("read:done")
        parts = {each.asset.name: _coded(_of_outlet(rows, each.asset.name), each.asset) for each in order.table_orders}
        return Computed(order, parts, {"watermarks": marks} if marks else {}, Columns(SALES))


def _promoted(order: RunOrder, promotion: BranchPromotion) -> Computed:
    """The rows that a branch has of each table."""
    parts: dict[str, list[Row]] = {}
    for each in order.table_orders:
        folder = Path(path_of(each.asset)).parent / WAREHOUSE_FOLDER / promotion.branch / each.asset.name
        there = pa.table(DeltaTable(folder, version=promotion.tables[each.asset.name][1]).scan().read_all()).to_pylist()
        parts[each.asset.name] = _in_parts(there, order.partitions, each.asset)
    points.TRIGGER.at("read:done")
    return Computed(order, parts, {}, Columns(SALES))


def _coded(rows: Sequence[Row], asset: AssetSpec) -> Sequence[Row]:
    """With what the asset's SQL adds to the amount."""
    added = _ADDED.search(asset.body.template) if isinstance(asset.body, SqlBody) else None
    return [{**row, "amount": row["amount"] + int(added[1])} for row in rows] if added else rows


class PlainOutlets:
    """Tables at paths, written without a JVM; implements `ports.Outlets`."""

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> PlainTarget:
        """The asset's."""
        return PlainTarget(asset, app_id)


class PlainTarget:
    """A Delta table at a path; implements `ports.Target` as `TableTarget` does."""

    def __init__(self, asset: AssetSpec, app_id: str) -> None:
        self._asset = asset
        self._app_id = app_id
        self._before: commit_history.TransactionState | None = None
        self._prepared: tuple[CommitStamp, DriverStaging] | None = None

    def transaction_version(self) -> int | None:
        now = commit_history.read_transaction_state(find_path_table(path_of(self._asset)), self._app_id)
        self._before = self._before or now
        return None if now is None else now.newest

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        table, app = find_path_table(path_of(self._asset)), self._app_id
        return commit_history.find_commits(self._asset, table, runs, app_id=app, above=above, before=self._before)

    def fence(self, computation: Computed | None, *, stamp: CommitStamp) -> None:
        table = open_table(path_of(self._asset))
        if table is not None:
            driver_commit.fence(self._asset, table, stamp=stamp)
        elif computation is None:
            raise TargetMissingError(f"{self._asset.name}: there is no table")
        else:
            driver_commit.make_table(self._asset, computation.columns, stamp=stamp)

    def prepare(self, computation: Computed, *, stamp: CommitStamp) -> RunJudgement | None:
        found = self._stage(computation, stamp)
        if found is None:
            return None
        self._prepared = (stamp, found)
        return self._judged(computation) if self._asset.rules and stamp.judgement is None else None

    def write(self, computation: Computed, *, stamp: CommitStamp) -> None:
        if computation.order.is_fully_withheld(stamp.withheld):
            self.fence(computation, stamp=stamp)
            driver_staging.discard_attempt(self._asset, stamp)
            return
        if self._prepared is not None and replace(self._prepared[0], measures=stamp.measures) == stamp:
            found = self._prepared[1]
        else:
            found = self._stage(computation, stamp)
        if found is not None:
            driver_commit.commit_staged(self._settled(found, stamp.withheld), stamp=stamp)
        self._prepared = None

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        return {}

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        return found

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        table_target.discard_all(path_of(self._asset), runs, upto=upto, keep=table_target.find_kept_attempt(keep))

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        table_target.discard_iterations(path_of(self._asset), keep=keep, unsettled=unsettled, tokens=tokens)

    def _judged(self, computation: Computed) -> RunJudgement:
        """Which partitions are withheld of the run."""
        partitioning = self._asset.partitioning
        bad = {_key(row, self._asset) for row in computation.rows[self._asset.name] if row["amount"] > WORST}
        withheld = PartitionSet.union(map(partitioning.parse, bad)) if partitioning.is_partitioned else NOTHING
        if not withheld:
            return RunJudgement()
        told = RuleVerdict("range(amount)", "fail", "withheld", withheld, 1, 1, samples=({"amount": "?"},))
        return RunJudgement(withheld, (told,))

    def _stage(self, computation: Computed, stamp: CommitStamp) -> DriverStaging | None:
        """Files of the rows in the attempt's own folder, as Spark's job leaves them."""
        asset, path = self._asset, path_of(self._asset)
        order = next(
            (each for each in computation.order.table_orders if each.asset.name == asset.name), computation.order
        )
        table, rows = open_table(path), computation.rows[asset.name]
        made, columns = replace(computation, order=order), computation.columns
        replaces = (
            "nothing" if isinstance(asset.write, AppendWrite) else "partitions" if asset.partitioning.columns else "all"
        )
        if order.promotes is not None and order.rebuilds:
            replaces = "all"
        elif table is not None and isinstance(asset.write, UpsertWrite):
            made.read_version, replaces = table.version(), "all"
            rows = _merged(count_file_rows(asset, table.version()), rows, asset.write)
        elif isinstance(asset.write, UpsertWrite):
            rows = _merged([], rows, asset.write)
        layout = list(table.metadata().partition_columns) if table is not None else layout_of(asset, columns, None)
        landing = SimpleNamespace(replaces=replaces, columns="kept")
        work = SimpleNamespace(asset=asset, landing=landing, schema=columns, table=SimpleNamespace(layout=layout))
        if spark_commit.is_done(find_path_table(path), stamp):
            return None
        attempt = staged_write.attempt_of(asset, stamp)
        _write(path, attempt.folder, rows, layout, columns.arrow)
        fields = json.loads(columns.json())["fields"]
        properties = {} if table is None else table.metadata().configuration
        staged = staged_write.list_staged_files(
            path, attempt, schema={"fields": fields}, layout=layout, properties=properties
        )
        replaced = replaced_files.find_replaced(order, work, table)
        return DriverStaging(made, work, table, staged, fields, replaced, attempt)

    def _settled(self, found: DriverStaging, withheld: PartitionSet) -> DriverStaging:
        """Without partitions that are withheld, of which every file holds one alone."""
        if not withheld:
            return found
        order = found.computation.order.restrict_to(found.computation.order.partitions - withheld)
        lying = split_staged(found.fields, found.files, withheld, partitioning=self._asset.partitioning)
        assert not lying.mixed
        gone = frozenset(file.path for file in lying.inside)
        made, taken = (
            replace(found.computation, order=order),
            replaced_files.find_replaced(order, found.planned_write, found.table),
        )
        return replace(found, computation=made, files=lying.outside, replaced=taken, dropped_paths=gone)


def count_file_rows(asset: AssetSpec, version: int | None) -> list[Row]:
    """What a table holds at a version; nothing without one."""
    if version is None:
        return []
    found: list[Row] = pa.table(DeltaTable(path_of(asset), version=version).scan().read_all()).to_pylist()
    return found


def _key(row: Row, asset: AssetSpec) -> str:
    """The partition of a row."""
    values = (row[column] for column in asset.partitioning.columns)
    return ",".join(each.isoformat() if isinstance(each, date) else each for each in values)


def _in_parts(rows: Iterable[Row], parts: PartitionSet, asset: AssetSpec) -> list[Row]:
    if parts.is_everything or not asset.partitioning.columns:
        return list(rows)
    keys = set(asset.partitioning.keys(parts))
    return [row for row in rows if _key(row, asset) in keys]


def _of_outlet(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if fits(row["amount"], name)]


def fits(amount: int, table: str) -> bool:
    """Whether a row with that amount is of a table."""
    return {"small": amount < 5, "large": amount >= 5}.get(table, True)


def _merged(there: Iterable[Row], rows: Iterable[Row], write: UpsertWrite) -> list[Row]:
    """The newest row of each key."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in (*there, *rows):
        key = tuple(row[name] for name in write.keys)
        if key not in found or row["id"] >= found[key]["id"]:
            found[key] = row
    return list(found.values())


def _write(table: str, folder: str, rows: Sequence[Row], layout: Sequence[str], columns: pa.Schema) -> None:
    """Files of the rows, in a folder for each value of the layout."""
    store, written = open_folder(table), 0
    slices: dict[str, list[Row]] = {}
    for row in rows:
        slices.setdefault("/".join(f"{name}={row[name]}" for name in layout), []).append(row)
    names = [name for name in columns.names if name not in layout]
    schema = pa.schema([columns.field(name) for name in names])
    for place, some in sorted(slices.items()):
        if local_path(table) is not None:
            Path(table, folder, place).mkdir(parents=True, exist_ok=True)
        for number in range(min(FILES, len(some))):
            own = [{name: row[name] for name in names} for row in some[number::FILES]]
            file = f"{folder}/{place}/part-{number}.parquet" if place else f"{folder}/part-{number}.parquet"
            pq.write_table(pa.Table.from_pylist(own, schema), file, filesystem=store)
            if (written := written + 1) in HALVES:
                points.TRIGGER.at("write:half")
