"""The partition of an asset: its grain and zone, and the column that holds it."""

from __future__ import annotations

from typing import Final, cast

from sparkassets.core.partitions import By, TimePartition
from sparkassets.core.patterns import PathPattern, PatternError
from sparkassets.core.spec.document import At
from sparkassets.core.spec.files import AssetFile
from sparkassets.core.spec.model import SourceSpec
from sparkassets.core.spec.times import Bounds, bounds
from sparkassets.core.suggestions import did_you_mean

_SHORT: Final = {
    "@hourly": "hour",
    "@daily": "day",
    "@weekly": "week",
    "@monthly": "month",
    "@quarterly": "quarter",
    "@yearly": "year",
}


def compile_partition(
    at: At, keys: AssetFile, *, within: Bounds, source: SourceSpec | None, pattern: PathPattern | None
) -> TimePartition | None:
    """The partition; None where the asset has none, or where it cannot be told.

    Args:
        at: The asset.
        keys: Its keys.
        within: The asset's own zone and bounds.
        source: How others write it, if they do.
        pattern: Its path, for a source of files.
    """
    written = keys.partition
    field = pattern.field.name if pattern and pattern.field else None
    if written is None or written == "none":
        partition = None
    elif isinstance(written, str):
        partition = TimePartition(cast("By", _SHORT[written]), within.timezone, field, within.start, within.end)
    else:
        inner = bounds(at / "partition", timezone=written.timezone, start=written.start, end=written.end, outer=within)
        column = written.column or field
        partition = TimePartition(written.by, inner.timezone, column, inner.start, inner.end)
    if at.document.failed.isdisjoint({"partition", "path", "source"}):
        if pattern:
            _check_pattern(at, pattern, partition)
        if partition and partition.start is not None and partition.end is not None:
            _check_bounds(at, partition, partition.start, partition.end)
        if partition:
            _check_column(at, keys, partition, source=source, field=field)
    return partition


def _check_bounds(at: At, partition: TimePartition, start: int, end: int) -> None:
    """A partition belongs when it begins at ``start`` or after, and before ``end``."""
    if start < end and partition.ceil(start) >= end:
        (at / "partition").problem(
            f"no partition by {partition.by} begins between start and end, so that nothing is wanted",
            hint="a partition belongs when it begins at its start or after, and before its end",
        )


def _check_pattern(at: At, pattern: PathPattern, partition: TimePartition | None) -> None:
    try:
        pattern.check(partition)
    except PatternError as error:
        (at / "path").problem(str(error.args[0]), hint=error.hint)


def _check_column(
    at: At, keys: AssetFile, partition: TimePartition, *, source: SourceSpec | None, field: str | None
) -> None:
    column = partition.column
    if column is None and (source is None or source.kind == "delta"):
        why = "reading a partition of a Delta table" if source else "'replace' works by block and"
        message = f"the partition has no column: {why} needs the column that holds it"
        (at / "partition").problem(message, hint=f"write partition: {{by: {partition.by}, column: <column>}}")
    elif column and keys.columns and column != field and column not in keys.columns:
        place = at / "partition" / "column"
        place.problem(f"'columns' has no {column!r}, the partition's column", hint=did_you_mean(column, keys.columns))
