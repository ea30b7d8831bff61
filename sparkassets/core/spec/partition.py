"""The partition of an asset: its dimensions of time and of segments, and the columns that hold them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from sparkassets.core.partitions import Partitioning, SegmentPartition, TimePartition
from sparkassets.core.patterns import PathPattern, PatternError
from sparkassets.core.spec.file_models import AssetFile, PartitionMap, SegmentsMap, WriteMap, needs_no_column
from sparkassets.core.spec.model import SourceSpec
from sparkassets.core.spec.params_segments import segments_of_params
from sparkassets.core.spec.segments import check_keys, check_types
from sparkassets.core.spec.time_bounds import TimeBounds
from sparkassets.core.spec.time_dimension import AUTO, automatic_dimension, compile_time_dimension, own_interval
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import did_you_mean
from sparkassets.frozen import frozen

_SHORT: Final = {
    "@hourly": "hour",
    "@daily": "day",
    "@weekly": "week",
    "@monthly": "month",
    "@quarterly": "quarter",
    "@yearly": "year",
}
_WITHOUT_COLUMN: Final = "segment"
"""Name of a dimension of segments without a column."""
_TIMES: Final = frozenset({"start", "end"})
"""Columns of `partitions` that hold the time of a partition."""


@frozen
class _DeclaredDimension:
    """One dimension, and where it is written.

    Attributes:
        listed: The keys of segments, in the order of the file.
    """

    at: DocumentPlace
    found: TimePartition | SegmentPartition
    listed: tuple[str, ...] = ()


def compile_partition(
    at: DocumentPlace, keys: AssetFile, *, within: TimeBounds, source: SourceSpec | None, pattern: PathPattern | None
) -> Partitioning:
    """Compiles the partitioning; faults become problems, and the result is then as complete as possible.

    Args:
        at: The asset.
        keys: Its keys.
        within: The asset's own zone and bounds.
        source: How others write it, if they do.
        pattern: Its path, for a source of files; its path or name, for one of several tables.
    """
    field = pattern.field.name if pattern and pattern.field else None
    dimensions = _dimensions(at / "partition", keys, within=within, field=field)
    if source is None and (fanned := segments_of_params(keys, _product(dimensions))) is not None:
        dimensions = [*dimensions, _DeclaredDimension(at / "params", fanned)]
    _check_product(at / "partition", keys, dimensions)
    partitioning = _product(dimensions)
    if source is None and partitioning.time is not None:
        _check_segment_columns(dimensions)
    if at.document.failed.isdisjoint({"partition", "path", "table", "source"}):
        if pattern:
            of = "table" if source and source.kind == "tables" else "file"
            _check_pattern(at / ("path" if keys.table is None else "table"), pattern, partitioning, of=of)
        for dimension in dimensions:
            if isinstance(dimension.found, TimePartition):
                _check_time(dimension.at, dimension.found, keys, source)
            _check_declared(dimension, keys, fields=pattern.fields if pattern else ())
    return partitioning


def _dimensions(
    at: DocumentPlace, keys: AssetFile, *, within: TimeBounds, field: str | None
) -> list[_DeclaredDimension]:
    written = keys.partition
    if written is None and keys.strategy == "every_instance" and needs_no_column(keys):
        assumed = own_interval(keys, within=within)
        return [] if assumed is None else [_DeclaredDimension(at, assumed)]
    if written is None or written == "none":
        return []
    if written == AUTO:
        own = automatic_dimension(at, keys, within=within, field=field)
        return [] if own is None else [_DeclaredDimension(at, own)]
    if isinstance(written, str):
        time = TimePartition(_SHORT[written], within.timezone, field, within.start, within.end)
        return [_DeclaredDimension(at, time)]
    if isinstance(written, list):
        return [_dimension(at / index, each, keys, within=within, field=field) for index, each in enumerate(written)]
    return [_dimension(at, written, keys, within=within, field=field)]


def _dimension(
    at: DocumentPlace, written: PartitionMap | SegmentsMap, keys: AssetFile, *, within: TimeBounds, field: str | None
) -> _DeclaredDimension:
    if isinstance(written, SegmentsMap):
        return _segments(at, written, keys)
    return _DeclaredDimension(at, compile_time_dimension(at, written, keys, within=within, field=field))


def _segments(at: DocumentPlace, written: SegmentsMap, keys: AssetFile) -> _DeclaredDimension:
    """Segments by their column; without a column by a fixed name, where rows need none."""
    if written.column is None and not needs_no_column(keys) and "partition" not in at.document.failed:
        keys_text = written.segments if isinstance(written.segments, str) else "[…]"
        at.add_problem(_no_column(keys), hint=f"write partition: {{segments: {keys_text}, column: <column>}}")
    column, in_rows = written.column or _WITHOUT_COLUMN, written.column is not None
    if isinstance(written.segments, str):
        return _DeclaredDimension(at, SegmentPartition(column, (), is_open=True, in_rows=in_rows))
    check_keys(at / "segments", written.segments)
    known = SegmentPartition(column, tuple(sorted(set(written.segments))), in_rows=in_rows)
    return _DeclaredDimension(at, known, tuple(written.segments))


def _product(dimensions: Sequence[_DeclaredDimension]) -> Partitioning:
    """The product; of several dimensions of time, which is wrong, the first counts."""
    found = [dimension.found for dimension in dimensions]
    times = [(each, number) for number, each in enumerate(found) if isinstance(each, TimePartition)]
    segments = tuple(each for each in found if isinstance(each, SegmentPartition))
    return Partitioning(times[0][0], segments, times[0][1]) if times else Partitioning(None, segments)


def _check_product(at: DocumentPlace, keys: AssetFile, dimensions: Sequence[_DeclaredDimension]) -> None:
    """Refuses a list without dimensions, with two of time, and with two of one column."""
    if not dimensions and isinstance(keys.partition, list):
        at.add_problem("the list of dimensions is empty", hint="write partition: none, or leave it out")
    times = [dimension.at for dimension in dimensions if isinstance(dimension.found, TimePartition)]
    for another in times[1:]:
        another.add_problem("at most one dimension of a product is time; the first is above")
    columns: dict[str, str] = {}
    for dimension in dimensions:
        column = dimension.found.column
        if column is None:
            continue
        if (first := columns.get(column.lower())) is not None:
            same = "" if column == first else f", which to Spark is {first!r}"
            (dimension.at / "column").add_problem(f"another dimension has the column {column!r}{same}, too")
        columns.setdefault(column.lower(), column)


def _check_segment_columns(dimensions: Sequence[_DeclaredDimension]) -> None:
    """Refuses segments of a product with time by the columns that the relation `partitions` has for the time."""
    for dimension in dimensions:
        if isinstance(dimension.found, SegmentPartition) and dimension.found.column.lower() in _TIMES:
            (dimension.at / "column").add_problem(
                f"beside a dimension of time no segments can have the column {dimension.found.column!r}:"
                " 'start' and 'end' in {{ partitions }} are when a block begins and ends",
                hint="give the column another name",
            )


def _check_time(at: DocumentPlace, partition: TimePartition, keys: AssetFile, source: SourceSpec | None) -> None:
    """Checks that a partition begins in [start, end), and that a column assigns rows to partitions where needed."""
    start, end = partition.start, partition.end
    if start is not None and end is not None and start < end and partition.ceil(start) >= end:
        at.add_problem(
            f"no partition by {partition.grain} begins between start and end, so that nothing is wanted",
            hint="a partition belongs when it begins at its start or after, and before its end",
        )
    if partition.column is not None or (needs_no_column(keys) if source is None else source.kind != "delta"):
        return
    by = AUTO if at.document.data.get("partition") == AUTO else partition.grain
    at.add_problem(_no_column(keys), hint=f"write partition: {{by: {by}, column: <column>}}")


def _no_column(keys: AssetFile) -> str:
    """Why a partition without a column is refused."""
    upserts = isinstance(keys.write, WriteMap) and keys.write.upsert is not None
    works = f"'{'upsert' if upserts else 'replace'}' works by block and"
    why = "reading a partition of a Delta table" if keys.source is not None else works
    return f"the partition has no column: {why} needs the column that holds it"


def _check_pattern(at: DocumentPlace, pattern: PathPattern, partitioning: Partitioning, *, of: str) -> None:
    try:
        pattern.check_time(partitioning.time, of=of)
        pattern.check_segments(partitioning.segments, of=of)
    except PatternError as error:
        at.add_problem(str(error.args[0]), hint=error.hint)


def _check_declared(dimension: _DeclaredDimension, keys: AssetFile, *, fields: Collection[str]) -> None:
    """Refuses a column that is neither declared nor a field of the path, and segments that it cannot hold."""
    column = dimension.found.column
    if column is None or not keys.types or column not in _product([dimension]).columns:
        return
    same = next((each for each in keys.types if each.lower() == column.lower()), None)
    if same is not None and same != column:
        message = f"'columns' has {same!r}, which to Spark is the partition's column {column!r}"
        (dimension.at / "column").add_problem(message, hint="write both alike")
    elif column not in keys.types and column in fields:
        return
    elif column not in keys.types:
        place = dimension.at / "column"
        place.add_problem(f"'columns' has no {column!r}, the partition's column", hint=did_you_mean(column, keys.types))
    elif isinstance(dimension.found, SegmentPartition):
        place = dimension.at / "segments"
        check_types(place, dimension.listed, column=column, declared=keys.types[column])
