"""Reads the inlets of a run as it pinned them, whatever was written since."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import date
from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import Duration
from sparkassets.core.iterations import ROWS, iteration_folder
from sparkassets.core.patterns import FileSlot, KnownTable, known_tables
from sparkassets.core.runs import InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter, ReadChanges
from sparkassets.core.spec.path_columns import path_columns
from sparkassets.core.spec.source_views import TableSet
from sparkassets.core.validations import RuleVerdict
from sparkassets.delta.file_split import NewerRows, TableFiles, find_highest
from sparkassets.errors import RunError, SourceChangedError, SourceError
from sparkassets.frozen import frozen
from sparkassets.ports import RunOrder
from sparkassets.spark import sqltext
from sparkassets.spark.capabilities import union_all
from sparkassets.spark.changes import InletChanges, make_empty_changes, read_catalog_changes, read_changes
from sparkassets.spark.context import WatermarkBounds
from sparkassets.spark.delta_files import can_read_files, read_version
from sparkassets.spark.failures import explain_errors
from sparkassets.spark.file_reader import read_files
from sparkassets.spark.open_tables import OpenedTable, PathTable, find_table, open_table
from sparkassets.spark.path_fields import field_literals
from sparkassets.spark.pinned_files import FoundFile, PinnedFiles
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.schemas import column_type, declared_schema
from sparkassets.spark.table_locations import location_of, path_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_tables(session: SparkSession, asset: AssetSpec, pinned: Mapping[str, Any]) -> DataFrame:
    """The rows of the pinned tables of a table set, each at its version.

    Fields of their paths or names are columns, and replace columns of the same names. A column that only some tables
    have is NULL in the rows of the others.

    Args:
        session: In UTC.
        asset: The source.
        pinned: The part of the source's cursor for the tables to read, by slot.

    Raises:
        RunError: The tables do not fit each other, or there are no tables and no declared columns.
        SourceChangedError: A table is gone or was re-created since the run was planned.
    """
    tables = sorted(known_tables(pinned, asset.partitioning), key=lambda each: each.relative)
    if not tables:
        return _add_path_fields(_make_empty_frame(session, asset), None, asset)
    table_set = TableSet.of_source(asset)
    frames = [
        _add_path_fields(_read_pinned_table(session, asset, table_set, each), each.slot, asset) for each in tables
    ]
    with explain_errors(what=f"the tables of the source {asset.name!r} have incompatible schemas"):
        return union_all(frames)


def _read_pinned_table(session: SparkSession, asset: AssetSpec, tables: TableSet, pinned: KnownTable) -> DataFrame:
    location = tables.place(pinned.relative)
    table = find_table(session, location)
    if table is None or table.table_id != pinned.table_id:
        change = "is gone" if table is None else "was re-created"
        raise SourceChangedError(
            f"the table {location.display_text!r} of {asset.name!r} {change} since the run was planned",
            source=asset.name,
        )
    return table.read_rows(session, pinned.version)[0]


def _make_empty_frame(session: SparkSession, asset: AssetSpec) -> DataFrame:
    if not asset.columns:
        raise RunError(
            f"the source {asset.name!r} has no tables for this run, so its columns are unknown",
            hint=f"declare the 'columns' of {asset.name!r}",
        )
    return session.createDataFrame([], declared_schema(session, asset.columns))


def _add_path_fields(frame: DataFrame, slot: FileSlot | None, asset: AssetSpec) -> DataFrame:
    fields, literals = path_columns(asset), field_literals(slot, asset)
    names = {name.lower() for name in fields}
    other_columns = [sqltext.name(column) for column in frame.columns if column.lower() not in names]
    constants = [f"CAST({literals[name]} AS {kind}) AS {sqltext.name(name)}" for name, kind in fields.items()]
    return frame.selectExpr(*other_columns, *constants)


_WATERMARK_TYPES = frozenset({"date", "timestamp", "timestamp_ntz", "string", "tinyint", "smallint", "int", "bigint"})
_TEXT_SQL = {
    "timestamp": "date_format({column}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")",
    "timestamp_ntz": "date_format({column}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")",
}


@frozen
class ReadInlets:
    """The inlets that one attempt reads, not computed yet.

    Attributes:
        frames: The rows by inlet; without inlets that are only waited for.
        watermarks: By inlet with ``read: {after: …}``: the bounds of the values that are read.
        changes: By inlet with ``read: changes``.
        files: For each inlet of files its pin, and the files as they were listed.
        verdicts: The verdicts of the inlets' own validations.
    """

    frames: dict[str, DataFrame] = field(default_factory=dict)
    watermarks: dict[str, WatermarkBounds] = field(default_factory=dict)
    changes: dict[str, InletChanges] = field(default_factory=dict)
    files: list[tuple[PinnedFiles, list[FoundFile]]] = field(default_factory=list)
    verdicts: tuple[RuleVerdict, ...] = ()

    @property
    def watermark_bounds(self) -> Iterator[WatermarkBounds]:
        """The bounds of everything that is read above a watermark; for changes they are table versions."""
        yield from self.watermarks.values()
        for each in self.changes.values():
            yield WatermarkBounds(None if each.after is None else str(each.after), str(each.position.version))

    def check_files(self) -> None:
        """Lists all files again, after they were read.

        Raises:
            SourceChangedError: Some changed meanwhile, so it is unknown which state was read.
        """
        for pinned, _ in self.files:
            pinned.check(pinned.list_files())


def read_inlets(session: SparkSession, order: RunOrder) -> ReadInlets:
    """Opens every inlet that the asset reads; only a watermark takes a Spark job, to find the newest value.

    Raises:
        RunError: An inlet does not fit the run.
        SourceError: An inlet vanished, was re-created or changed: plan again.
    """
    read = ReadInlets()
    for name, inlet in order.asset.inlets.items():
        if inlet.waits_only:
            continue
        pin = order.pins[name]
        match inlet.read:
            case ReadChanges():
                frame = _read_inlet_changes(session, order, name, read)
            case ReadAfter(column, overlap):
                if pin.low is not None and pin.column not in ("", column):
                    raise RunError(
                        (
                            f"the inlet {name!r} was read up to {pin.column} {pin.low}, which is not a value of "
                            f"{column!r}"
                        ),
                        hint=f"restore `after: {pin.column}` until the unfinished run is recovered",
                    )
                newer = None if pin.low is None else NewerRows(column, pin.low, overlap)
                frame = _open_inlet(session, order, name, read, newer=newer)
                highest = _find_highest(session, order.inlets[name], pin, column)
                frame, read.watermarks[name] = read_above(
                    frame, inlet=inlet, column=column, overlap=overlap, low=pin.low, highest=highest
                )
            case None:
                frame = _open_inlet(session, order, name, read)
        read.frames[name] = frame
    return read


def _read_inlet_changes(session: SparkSession, order: RunOrder, name: str, read: ReadInlets) -> DataFrame:
    """The inlet's changes as rows, also added to ``read``; no rows for a table that is not there yet."""
    asset, pin = order.inlets[name], order.pins[name]
    by_keys = all(each.asset.write is not None and each.asset.write.by_keys for each in order.table_orders)
    if pin.version is None:
        return make_empty_changes(_make_unwritten_frame(session, asset))
    table = _find_pinned_table(session, asset, pin)
    if isinstance(table, PathTable):
        changes = read_changes(session, table.opened, pin, path=table.path, name=asset.name, by_keys=by_keys)
    else:
        changes = read_catalog_changes(session, table, pin, name=asset.name, by_keys=by_keys)
    read.changes[asset.name] = changes
    return changes.frame


def _open_inlet(
    session: SparkSession, order: RunOrder, name: str, read: ReadInlets, *, newer: NewerRows | None = None
) -> DataFrame:
    """The rows of one inlet at its pin, not computed yet; files that it lists are added to ``read``.

    ``newer`` lets files be skipped that hold no row above the watermark; the caller still filters the rows.
    """
    asset, pin = order.inlets[name], order.pins[name]
    source = asset.source
    if asset.is_known_by_events:
        raise RunError(f"the inlet {asset.name!r} is known only by its events and cannot be read")
    if source is not None and source.kind == "tables":
        return read_tables(session, asset, order.files.get(name, {}))
    if source is not None and source.kind != "delta":
        pinned = PinnedFiles(asset, pin.parts, order.files.get(name))
        files = pinned.list_files()
        pinned.check(files)
        read.files.append((pinned, files))
        frame = read_files(session, files, asset=asset)
        return frame if asset.in_paths is None else _filter_pinned(frame, asset, pin)
    return _read_delta_table(session, asset, pin, newer)


def _filter_pinned(frame: DataFrame, asset: AssetSpec, pin: InletPin) -> DataFrame:
    """The rows whose values are in the pinned partitions."""
    owner = f"the inlet {asset.name!r}"
    predicate = partition_predicate(frame.schema, pin.parts, partitioning=asset.partitioning, owner=owner)
    return frame if predicate is None else frame.filter(predicate)


def _read_delta_table(session: SparkSession, asset: AssetSpec, pin: InletPin, newer: NewerRows | None) -> DataFrame:
    """The rows of a Delta table at the pinned version, of the pinned partitions only.

    No rows, in the declared columns, for a table that was not written when the run was planned.
    """
    owner = f"the inlet {asset.name!r}"
    if pin.version is None:
        return _make_unwritten_frame(session, asset)
    partitioning = asset.partitioning
    if pin.iteration:
        return _read_iteration(session, asset, pin.iteration)
    table = _find_pinned_table(session, asset, pin)
    frame, is_exact = table.read_rows(session, pin.version, parts=pin.parts, partitioning=partitioning, newer=newer)
    if not pin.parts.is_everything and not partitioning.has_columns:
        raise RunError(f"the partitions of {owner} have no column, so they cannot be read separately")
    predicate = partition_predicate(frame.schema, pin.parts, partitioning=partitioning, owner=owner)
    return frame if predicate is None or is_exact else frame.filter(predicate)


def _make_unwritten_frame(session: SparkSession, asset: AssetSpec) -> DataFrame:
    """No rows, with the declared columns, for an inlet without a table.

    Raises:
        RunError: No columns are declared.
    """
    if not asset.columns:
        raise RunError(
            f"the inlet {asset.name!r} has not been written yet, so its columns are unknown",
            hint="declare its 'columns'",
        )
    return session.createDataFrame([], declared_schema(session, asset.columns))


def _find_pinned_table(session: SparkSession, asset: AssetSpec, pin: InletPin) -> OpenedTable:
    """The inlet's table.

    Raises:
        SourceError: It is gone.
        SourceChangedError: Another one has taken its place since the run was planned.
    """
    owner, location = f"the inlet {asset.name!r}", location_of(asset)
    table = find_table(session, location)
    if table is None:
        raise SourceError(f"{owner} vanished: no Delta table at {location.display_text}")
    if pin.table_id is not None and table.table_id != pin.table_id:
        raise SourceChangedError(f"{owner} was re-created since the run was planned", source=asset.name)
    return table


def _read_iteration(session: SparkSession, asset: AssetSpec, name: str) -> DataFrame:
    """The rows of one iteration, from its own log: the table's may have lost it, and its newest may be another.

    Raises:
        SourceError: The iteration is gone.
    """
    path = f"{path_of(asset).rstrip('/')}/{iteration_folder(name, ROWS)}"
    table = open_table(path)
    if table is None:
        raise SourceError(f"the iteration of the inlet {asset.name!r} is gone: no Delta table at {path}")
    return read_version(session, table, table.version(), path=path)[0]


def _find_highest(session: SparkSession, asset: AssetSpec, pin: InletPin, column: str) -> str | None:
    """The greatest value of a column at the pinned version as text, by the log; None where that does not tell it."""
    if pin.version is None or pin.iteration or not pin.parts.is_everything:
        return None
    if asset.source is not None and asset.source.kind != "delta":
        return None
    table = _find_pinned_table(session, asset, pin)
    if not isinstance(table, PathTable) or table.version != pin.version:
        return None
    if not can_read_files(table.opened, path=table.path):
        return None
    try:
        return find_highest(TableFiles.load_files(table.opened), column)
    except SourceError:
        return None


def read_above(
    frame: DataFrame,
    *,
    inlet: InletSpec,
    column: str,
    overlap: Duration | None,
    low: str | None,
    highest: str | None = None,
) -> tuple[DataFrame, WatermarkBounds]:
    """The rows above the watermark ``low`` and up to the newest value, with these bounds.

    Without a watermark all rows with a value are read; without new rows the upper bound stays ``low``.

    Args:
        frame: All rows, or at least those above the watermark.
        inlet: The inlet.
        column: The column with the watermark.
        overlap: How far below ``low`` rows are read again, for those that came late.
        low: The watermark; None for a first read.
        highest: The greatest value of all rows, at or below ``low`` too; None starts a job to find the newest one.
    """
    owner = f"the inlet {inlet.name!r}"
    column, kind = column_type(frame.schema, column, owner=owner)
    if kind not in _WATERMARK_TYPES and not kind.startswith("decimal"):
        raise RunError(
            f"the column {column!r} of {owner} is {kind.upper()}, which cannot be a watermark",
            hint="use a date, a timestamp, a whole number, a decimal or a string",
        )
    if low is not None and TablePosition.parse(low) is not None:
        raise RunError(
            f"{owner} was read up to {low}, which is not a value of its column {column!r}",
            hint="read it by its changes again",
        )
    quoted = sqltext.name(column)
    condition = condition_above(low, overlap, column=column, kind=kind, owner=owner)
    newest = f"max({quoted})"
    if overlap is not None and low is not None:
        newest = f"greatest({newest}, {_value_sql(low, kind)})"  # a watermark never goes back
    if highest is not None and (low is None or _is_comparable(low, kind)):
        high = _bound_above(highest, low, kind=kind, repeats=overlap is not None)
    else:
        newest_text = _TEXT_SQL.get(kind, "CAST({column} AS STRING)").format(column=newest)
        high = frame.filter(condition).selectExpr(newest_text).collect()[0][0]
    if high is None:
        return frame.filter("false"), WatermarkBounds(low, low)
    return frame.filter(f"{condition} AND {quoted} <= {_value_sql(high, kind)}"), WatermarkBounds(low, high)


def condition_above(low: str | None, overlap: Duration | None, *, column: str, kind: str, owner: str) -> str:
    """SQL that is true for the rows above a watermark, or of its overlap; without one, for all rows with a value.

    Raises:
        RunError: There is an overlap, and the column holds no times.
    """
    quoted = sqltext.name(column)
    if low is None:
        return f"{quoted} IS NOT NULL"
    if overlap is None:
        return f"{quoted} > {_value_sql(low, kind)}"
    return f"{quoted} >= {_overlap_start_sql(low, overlap, column=column, kind=kind, owner=owner)}"


def _is_comparable(low: str, kind: str) -> bool:
    """Whether a watermark is one of the column's present type: a date, or a whole number."""
    return (re.fullmatch(r"\d{4}-\d\d-\d\d", low) if kind == "date" else re.fullmatch(r"-?\d+", low)) is not None


def _bound_above(highest: str, low: str | None, *, kind: str, repeats: bool) -> str | None:
    """The greatest value to read, for a column of dates or whole numbers; None where nothing is above the watermark.

    Args:
        highest: The greatest value of the column.
        low: The watermark; None for a first read.
        kind: The column's type.
        repeats: Whether rows below the watermark are read again.
    """
    order: Callable[[str], Any] = date.fromisoformat if kind == "date" else int
    if low is None or order(highest) > order(low):
        return highest
    return low if repeats else None


def _overlap_start_sql(low: str, overlap: Duration, *, column: str, kind: str, owner: str) -> str:
    """SQL for the value from which rows are read again: ``overlap`` before ``low``, in the column's type.

    Raises:
        RunError: The column holds no times.
    """
    if not kind.startswith(("date", "timestamp")):
        raise RunError(
            f"the column {column!r} of {owner} is {kind.upper()}, but 'overlap' needs a date or a timestamp",
            hint="use a date or timestamp column, or leave 'overlap' out",
        )
    time_type = "timestamp" if kind == "date" else kind
    interval = f"make_interval(0, {overlap.months}, 0, {overlap.days}, 0, 0, {overlap.seconds})"
    return f"CAST({_value_sql(low, time_type)} - {interval} AS {kind})"


def _value_sql(text: str, kind: str) -> str:
    return f"CAST({sqltext.text(text)} AS {kind})"
