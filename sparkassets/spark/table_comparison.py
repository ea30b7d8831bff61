"""Compares two versions of an asset: one pass over both, grouped by keys, or by all shared columns."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from sparkassets.core.documents.table_difference import (
    ColumnDifference,
    ComparedTable,
    RowChange,
    RowComparison,
    RowCounts,
    RowDifference,
    compare_columns,
)
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.delta.log import DeltaLog
from sparkassets.delta.tables import load_table
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.delta_files import read_appended
from sparkassets.spark.failures import explain_errors
from sparkassets.spark.open_tables import find_table
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.validation.partition_grouping import PartitionGrouping
from sparkassets.spark.workplace import SparkWorkplace

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType

MASKED: Final = "***"
CHANGED: Final = "*** (another)"
_CHANGE_KINDS: Final = ("added", "removed", "changed", "same")


class SparkTableComparer:
    """Compares rows in one Spark session."""

    def __init__(self, project: ProjectSpec, session: SparkSession | None = None) -> None:
        self._workplace = SparkWorkplace(
            session,
            name=f"sparkassets-{project.name}",
            settings=project.spark,
            engine=project.engine,
            packages=project.python,
        )

    def compare(
        self, asset: AssetSpec, before: ComparedTable, after: ComparedTable, *, keys: Sequence[str], samples: int
    ) -> tuple[ColumnDifference, RowComparison]:
        """The differences of columns and rows.

        Raises:
            RunError: One of the tables is gone, or cannot be read.
        """
        with self._workplace.enter_session(asset) as session, explain_errors(what=asset.name):
            old, new = _read_side(session, asset, before), _read_side(session, asset, after)
            return _compare_types(old.schema, new.schema), _compare_rows(
                asset, old, new, (before, after), keys, samples
            )

    def close(self) -> None:
        """Stops the session if it was started here."""
        self._workplace.close()


def _read_side(session: SparkSession, asset: AssetSpec, side: ComparedTable) -> DataFrame:
    """The rows of one of the two versions, of the compared partitions only.

    Raises:
        RunError: The table is gone, or another one has taken its place.
    """
    location = asset.storage
    if location is None or location.path != side.path:
        location = StorageLocation(side.path, side.path)
    table = find_table(session, location)
    if table is None or table.table_id != side.table_id:
        raise RunError(f"{asset.name}: the table at {location.display_text} is not the recorded one")
    partitioning = asset.partitioning
    if side.only_added:
        frame, is_exact = _read_added(session, side), False
    else:
        frame, is_exact = table.read_rows(session, side.version, parts=side.partitions, partitioning=partitioning)
    if side.partitions.is_everything or not partitioning.has_columns:
        return frame
    predicate = partition_predicate(frame.schema, side.partitions, partitioning=partitioning, owner=asset.name)
    return frame if predicate is None or is_exact else frame.filter(predicate)


def _read_added(session: SparkSession, side: ComparedTable) -> DataFrame:
    """The rows that a commit to a table at a path added.

    Raises:
        RunError: The table's log has no such commit any more.
    """
    log = DeltaLog(side.path)
    content = log.read_content(side.version)
    if content is None:
        raise RunError(f"version {side.version} is no longer in the log of the table at {side.path}")
    commit = log.parse_commit(side.version, content)
    return read_appended(session, load_table(side.path, version=side.version), commit, path=side.path)


def _compare_types(before: StructType, after: StructType) -> ColumnDifference:
    types = ({field.name: field.dataType.simpleString() for field in schema.fields} for schema in (before, after))
    return compare_columns(*types)


@frozen
class _ComparedColumns:
    """The compared columns; in frames they are named by position, because users may name theirs anything.

    Attributes:
        shared: The columns of both sides, as the branch spells them.
        keys: Those of them that identify a row.
        partitions: Groups rows by partition.
    """

    shared: tuple[str, ...]
    keys: tuple[str, ...]
    partitions: tuple[str, ...]

    def position_of(self, name: str) -> str:
        """The column in a frame."""
        return f"value_{self.shared.index(name)}"

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that are not keys."""
        return tuple(name for name in self.shared if name not in self.keys)

    @property
    def groups(self) -> list[str]:
        """The columns that rows are grouped by: keys, or without keys all."""
        return [*self.partitions, *map(self.position_of, self.keys or self.others)]

    def row(self) -> Column:
        """The compared values of a row; never NULL."""
        from pyspark.sql import functions as sql

        return sql.struct(sql.lit(1).alias("row"), *(sql.col(self.position_of(name)) for name in self.others))


def _compare_rows(
    asset: AssetSpec,
    old: DataFrame,
    new: DataFrame,
    sides: tuple[ComparedTable, ComparedTable],
    keys: Sequence[str],
    samples: int,
) -> RowComparison:
    """Compares the rows of two versions by their shared columns: by key if possible, else as whole rows.

    The key counts only if both versions have all of its columns, and if it occurs once in each: otherwise rows are
    counted as equal or not, and none as changed.
    """
    old_names = {*map(str.lower, old.schema.names)}
    shared = tuple(name for name in new.schema.names if name.lower() in old_names)
    spelling = dict(zip(map(str.lower, shared), shared, strict=True))
    has_keys = spelling.keys() >= {*map(str.lower, keys)}
    key_columns = tuple(spelling[key.lower()] for key in keys) if has_keys else ()
    partitions = sides[0].partitions | sides[1].partitions
    prepared = [_prepare_side(asset, frame, partitions, shared, types=(old.schema, new.schema)) for frame in (old, new)]
    parts = [frame.selectExpr("*", f"{side} AS of_side") for side, (frame, _) in enumerate(prepared)]
    both_sides, grouping = parts[0].unionByName(parts[1]), prepared[1][1]
    place_columns = tuple(f"block_{number}" for number in range(len(grouping.keys)))
    if key_columns:
        layout = _ComparedColumns(shared, key_columns, place_columns)
        rows = _count_rows(_group_by_keys(both_sides, layout), layout, grouping, samples, asset)
        if rows is not None:
            return rows
    layout = _ComparedColumns(shared, (), place_columns)
    rows = _count_rows(_group_by_all_columns(both_sides, layout), layout, grouping, samples, asset)
    if rows is None:
        raise RunError(f"{asset.name} could not be compared")
    return RowComparison((), bool(key_columns), rows.partitions, rows.samples)


def _prepare_side(
    asset: AssetSpec,
    frame: DataFrame,
    partitions: PartitionSet,
    shared: Sequence[str],
    *,
    types: tuple[StructType, StructType],
) -> tuple[DataFrame, PartitionGrouping]:
    """The rows of one side: their partitions and compared values."""
    keys = PartitionGrouping.from_schema(
        frame.schema, partitions, partitioning=asset.partitioning.by_columns, owner=asset.name
    )
    kinds = [{field.name.lower(): field.dataType.simpleString() for field in schema.fields} for schema in types]
    columns = [f"{_groupable_sql(name, kinds)} AS value_{number}" for number, name in enumerate(shared)]
    places = [f"{key} AS block_{number}" for number, key in enumerate(keys.keys)]
    return frame.selectExpr(*places, *columns), keys


def _groupable_sql(name: str, kinds: Sequence[Mapping[str, str]]) -> str:
    """A column as rows can be grouped by it, in the same way on both sides."""
    before, after = (each[name.lower()] for each in kinds)
    quoted = sqltext.name(name)
    if any("map<" in kind or "variant" in kind for kind in (before, after)):
        return f"to_json(named_struct('value', {quoted}))"
    return quoted if before == after else f"CAST({quoted} AS STRING)"


def _group_by_keys(both_sides: DataFrame, layout: _ComparedColumns) -> DataFrame:
    """A row for each key: its rows on both sides, their number, and how they differ."""
    from pyspark.sql import functions as sql

    sides = [sql.when(sql.col("of_side") == side, layout.row()) for side in (0, 1)]
    grouped = both_sides.groupBy(*layout.groups).agg(
        sql.first(sides[0], ignorenulls=True).alias("before"),
        sql.first(sides[1], ignorenulls=True).alias("after"),
        sql.sum(1 - sql.col("of_side")).alias("old"),
        sql.sum("of_side").alias("new"),
    )
    kind = "CASE WHEN old = 0 THEN 'added' WHEN new = 0 THEN 'removed' WHEN before <=> after THEN 'same' END"
    return grouped.selectExpr("*", f"coalesce({kind}, 'changed') AS kind", "1 AS rows", "greatest(old, new) AS most")


def _group_by_all_columns(both_sides: DataFrame, layout: _ComparedColumns) -> DataFrame:
    """A row for each distinct row, with its number on each side; duplicates count."""
    from pyspark.sql import functions as sql

    grouped = both_sides.groupBy(*layout.groups).agg(
        sql.sum(1 - sql.col("of_side")).alias("old"), sql.sum("of_side").alias("new")
    )
    changes = sql.expr(
        "inline(filter(array(named_struct('kind', 'added', 'rows', greatest(new - old, 0)), "
        "named_struct('kind', 'removed', 'rows', greatest(old - new, 0)), "
        "named_struct('kind', 'same', 'rows', least(new, old))), each -> each.rows > 0))"
    )
    rows = grouped.select(*layout.partitions, layout.row().alias("after"), changes)
    return rows.selectExpr("*", "after AS before", "1 AS most")


def _count_rows(
    grouped: DataFrame, layout: _ComparedColumns, grouping: PartitionGrouping, samples: int, asset: AssetSpec
) -> RowComparison | None:
    """The differing rows by partition, and samples of them; None if a key occurs more than once on a side."""
    from pyspark.errors import PySparkException

    with contextlib.suppress(PySparkException):  # a serverless session holds nothing
        grouped = grouped.persist()
    try:
        counts = [f"sum(IF(kind = '{kind}', rows, 0)) AS {kind}" for kind in _CHANGE_KINDS]
        groups = _aggregate(grouped, layout.partitions, [*counts, "max(most) AS most"])
        if any(group["most"] is not None and group["most"] > 1 for group in groups):
            return None
        partitions = _count_by_partition(groups, layout, grouping)
        order = [layout.position_of(name) for name in layout.keys] or ["after"]
        differing = grouped.filter("kind <> 'same'").orderBy(*layout.partitions, *order, "kind")
        sampled = tuple(
            _make_sample(row.asDict(), layout, asset) for row in (differing.limit(samples).collect() if samples else ())
        )
        in_order = sorted(partitions.items(), key=lambda each: (each[0].extent or (0, 0), each[0].sole_partition[0]))
        return RowComparison(layout.keys, has_duplicate_keys=False, partitions=tuple(in_order), samples=sampled)
    finally:
        with contextlib.suppress(PySparkException):
            grouped.unpersist()


def _count_by_partition(
    groups: Sequence[Row], layout: _ComparedColumns, grouping: PartitionGrouping
) -> dict[PartitionSet, RowCounts]:
    """The counts of rows by partition, without partitions that have none."""
    partitions: dict[PartitionSet, RowCounts] = {}
    for group in groups:
        partition = grouping.find_partition([group[place] for place in layout.partitions])
        count = RowCounts(*(int(group[kind] or 0) for kind in _CHANGE_KINDS))
        if partition is not None and (count.has_differences or count.same):
            partitions[partition] = partitions.get(partition, RowCounts()) + count
    return partitions


def _aggregate(frame: DataFrame, by: Sequence[str], terms: Sequence[str]) -> list[Row]:
    from pyspark.sql import functions as sql

    rows: list[Row] = frame.groupBy(*by).agg(*map(sql.expr, terms)).collect()
    return rows


def _make_sample(row: Mapping[str, Any], layout: _ComparedColumns, asset: AssetSpec) -> RowDifference:
    """A sample row for people."""
    kind = cast("RowChange", row["kind"])
    private = {name.lower() for name in asset.private}
    before, after = (row[side].asDict() if row[side] is not None else None for side in ("before", "after"))

    def format_value(name: str, side_values: Mapping[str, Any]) -> str | None:
        column = layout.position_of(name)
        value = row[column] if name in layout.keys else side_values[column]
        if value is None or name.lower() not in private:
            return None if value is None else str(value)
        is_changed_value = (
            name not in layout.keys and side_values is after and before is not None and before[column] != value
        )
        return CHANGED if is_changed_value and kind == "changed" else MASKED

    def side(side_values: Mapping[str, Any] | None) -> dict[str, str | None] | None:
        return (
            None
            if side_values is None
            else {name: format_value(name, side_values) for name in (*layout.keys, *layout.others)}
        )

    return RowDifference(kind, None if kind == "added" else side(before), None if kind == "removed" else side(after))
