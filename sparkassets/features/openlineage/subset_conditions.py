"""Which part of a dataset was read or written, as the conditions of OpenLineage's subset facets.

A part that no exact condition describes has none: the facet is then left out rather than wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal
from urllib.parse import quote

from sparkassets.core.derivation.column_uses import ColumnComparison, RowFilter
from sparkassets.core.iterations import iteration_folder
from sparkassets.core.partitions import Partitioning, PartitionSet, TimePartition
from sparkassets.core.runs import InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter, ReadChanges
from sparkassets.core.spec.source_views import source_pattern
from sparkassets.features.openlineage.names import dataset_folder
from sparkassets.frozen import frozen

Condition = Mapping[str, Any]
Comparison = Literal["EQUAL", "GREATER_THAN", "GREATER_EQUAL_THAN", "LESS_THAN", "LESS_EQUAL_THAN"]

_GLOBS: Final = "*?["
_COMPARISONS: Final[Mapping[str, Comparison]] = {
    "=": "EQUAL",
    ">": "GREATER_THAN",
    ">=": "GREATER_EQUAL_THAN",
    "<": "LESS_THAN",
    "<=": "LESS_EQUAL_THAN",
}

MOST_LISTED: Final = 400
"""At most so many partitions, or locations of files, are listed one by one."""
MOST_STRETCHES: Final = 100
"""At most so many stretches of neighbouring partitions are given by their bounds."""


def input_condition(
    inlet: InletSpec, source: AssetSpec, pin: InletPin, *, high: str | None, used: RowFilter | None = None
) -> Condition | None:
    """The part of an inlet that a run read; None for the whole inlet, or where no exact condition exists.

    Args:
        inlet: The inlet as the asset declares it.
        source: The inlet's asset, with the partitions that it is mapped by.
        pin: The version, or files, and partitions that the run reads.
        high: The watermark up to which the run read; None before it has read, and without a watermark.
        used: A filter that every row which the query can use passes.
    """
    own = None if used is None else filter_condition(used)
    if pin.iteration:
        return _all_conditions(_iteration_condition(source, pin.iteration), own)
    terms = [] if pin.parts.is_everything else [_partitions_read(source, pin.parts)]
    if None in terms:
        return own  # some pinned partitions are not identified by columns
    match inlet.read:
        case ReadAfter(overlap=overlap) if overlap is not None and pin.low is not None:
            pass  # rows below the watermark are read again, so no exact bound is known
        case ReadAfter(column=column):
            terms += _range_conditions(column, pin.low, high)
        case ReadChanges():
            terms += _change_conditions(pin)
    return _all_conditions(*terms, own)


def _change_conditions(pin: InletPin) -> Iterator[Condition]:
    """Yields conditions on the commits whose changes were read; none where all rows were read.

    That is so for a first read, or where another table has taken the place of the one that was read last.
    """
    since = TablePosition.parse(pin.low) if pin.low is not None else None
    if since is not None and since.table_id == pin.table_id:
        upto = None if pin.version is None else str(pin.version)
        yield from _range_conditions("_commit_version", str(since.version), upto)


def output_condition(
    asset: AssetSpec, partitions: PartitionSet, *, iteration: str = "", added: RowFilter | None = None
) -> Condition | None:
    """The part of an asset that a run wrote; None for the whole asset, or where no exact condition exists.

    Args:
        asset: The asset, or the outlet.
        partitions: The partitions that the run wrote.
        iteration: The name of the published iteration, where the asset keeps iterations.
        added: A filter that every added row passes, where the run left existing rows in place.
    """
    if iteration:
        return _iteration_condition(asset, iteration)
    if not partitions:
        return {"type": "partition", "partitions": []}
    return _all_conditions(
        partition_condition(partitions, asset.partitioning), None if added is None else filter_condition(added)
    )


def filter_condition(rows: RowFilter) -> Condition | None:
    """Comparisons of a query as a condition.

    >>> filter_condition(RowFilter("AND", (ColumnComparison("age", ">", "5"),)))["comparison"]
    'GREATER_THAN'
    """
    terms = [
        compare_condition(each.column, _COMPARISONS[each.sign], each.value)
        if isinstance(each, ColumnComparison)
        else filter_condition(each)
        for each in rows.terms
    ]
    return join_conditions(rows.operator, [each for each in terms if each is not None])


def _all_conditions(*terms: Condition | None) -> Condition | None:
    """The conjunction of the conditions that are not None; None without any."""
    return join_conditions("AND", [each for each in terms if each is not None])


def partition_condition(parts: PartitionSet, partitioning: Partitioning) -> Condition | None:
    """The rows of these partitions; None for all partitions, and where no column identifies a row's partition.

    >>> from sparkassets.core.partitions import SegmentPartition, TimePartition
    >>> countries = SegmentPartition("country", ("DE", "PL"))
    >>> both = Partitioning(TimePartition("day", "UTC", column="business_date"), (countries,))
    >>> partition_condition(both.parse("2024-10-15,PL"), both)["partitions"]
    [{'identifier': '2024-10-15,PL', 'dimensions': {'business_date': '2024-10-15', 'country': 'PL'}}]
    """
    dimensions = dimensions_in_columns(partitioning, parts)
    if dimensions is None:
        return None
    knowing, rest = dimensions
    if knowing.count(rest) <= MOST_LISTED:
        listed = [{"identifier": key, "dimensions": each} for key, each in partition_values(knowing, rest)]
        return {"type": "partition", "partitions": listed}
    found = column_ranges(knowing, rest) if knowing.label_count(rest) <= MOST_STRETCHES else None
    return join_conditions("OR", [_range_condition(each) for each in found]) if found else None


def compare_condition(field: str, comparison: Comparison, literal: str) -> Condition:
    """A column against a literal, which is text whatever the column's type.

    >>> compare_condition("first_name", "EQUAL", "John")["right"]
    {'type': 'literal', 'value': 'John'}
    """
    return {
        "type": "compare",
        "left": {"type": "field", "field": field},
        "right": {"type": "literal", "value": literal},
        "comparison": comparison,
    }


def join_conditions(operator: Literal["AND", "OR"], terms: Sequence[Condition]) -> Condition | None:
    """The terms joined by AND or OR, as a balanced binary tree; None without terms.

    >>> both = join_conditions("AND", [compare_condition("a", "EQUAL", "1"), compare_condition("b", "EQUAL", "2")])
    >>> both["type"], both["operator"], both["left"]["left"]["field"], join_conditions("OR", [])
    ('binary', 'AND', 'a', None)
    """
    level = list(terms)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        rest = level[-1:] if len(level) % 2 else []
        level = [{"type": "binary", "operator": operator, "left": left, "right": right} for left, right in pairs] + rest
    return level[0] if level else None


def _range_conditions(column: str, low: str | None, high: str | None) -> Iterator[Condition]:
    """Conditions for values above the lower bound (exclusive), up to the upper one (inclusive)."""
    if low is not None:
        yield compare_condition(column, "GREATER_THAN", low)
    if high is not None:
        yield compare_condition(column, "LESS_EQUAL_THAN", high)


def _range_condition(each: ColumnRange) -> Condition:
    """The rows of a range: equal segments, and time in ``[low, end)``."""
    terms = [compare_condition(column, "EQUAL", segment) for column, segment in each.segments.items()]
    if each.column is not None:
        terms.append(compare_condition(each.column, "GREATER_EQUAL_THAN", each.low))
        terms.append(compare_condition(each.column, "LESS_THAN", each.end))
    return join_conditions("AND", terms) or {}


def _partitions_read(source: AssetSpec, parts: PartitionSet) -> Condition | None:
    """The partitions read: the folders or files where paths hold the time of a source's files, else by columns."""
    is_files = source.source is not None and source.source.kind not in ("delta", "events") and not source.is_named
    if not is_files or source.storage is None or source.in_paths is not None:
        return partition_condition(parts, source.partitioning)
    pattern = source_pattern(source)
    time = source.partitioning.time
    if pattern.field is None or time is None or not source.partitioning.can_list(parts):
        return partition_condition(parts, source.partitioning)
    starts = sorted({start for start, _, _ in source.partitioning.with_segments_of(parts).slots(parts)})
    if len(starts) > MOST_LISTED or pattern.segments:
        return partition_condition(parts, source.partitioning)
    found = dict.fromkeys(_fixed_folder(pattern.render(start, time)) for start in starts)
    if any(_fixed_folder(pattern.render(time.stop(start), time)) in found for start in starts[-1:]):
        return partition_condition(parts, source.partitioning)  # the time stands below a glob
    return {"type": "location", "locations": [*map(location_uri, found)]}


def _fixed_folder(path: str) -> str:
    """A file, or the innermost folder of a path that has no glob in it.

    >>> _fixed_folder("/data/20250102/*.csv"), _fixed_folder("/data/2025-01-02.csv")
    ('/data/20250102', '/data/2025-01-02.csv')
    """
    steps = path.split("/")
    globs = [number for number, step in enumerate(steps) if any(mark in step for mark in _GLOBS)]
    return "/".join(steps[: globs[0]] if globs else steps)


def location_uri(path: str) -> str:
    """A path as a URI with a scheme.

    >>> location_uri("/data/a b"), location_uri("s3://lake/a")
    ('file:///data/a%20b', 's3://lake/a')
    """
    return path if "://" in path else f"file://{quote(path, safe='/=:@!$&()*+,;~')}"


def _iteration_condition(asset: AssetSpec, name: str) -> Condition | None:
    """The folder of an iteration; None for an asset without data."""
    if asset.storage is None:
        return None
    return {
        "type": "location",
        "locations": [location_uri(f"{dataset_folder(asset).rstrip('/')}/{iteration_folder(name)}")],
    }


_ORDERED: Final = frozenset({"hour", "day", "month", "year"})
"""Grains whose keys are prefixes of an ISO local time, so that keys are ordered like times."""


@frozen
class ColumnRange:
    """A range of neighbouring partitions with the same segments.

    Attributes:
        segments: The segment of each column.
        column: The column of time; None without time.
        low, end: The first partition's key, and the key of the one after the last.
    """

    segments: dict[str, str]
    column: str | None = None
    low: str = ""
    end: str = ""


def dimensions_in_columns(partitioning: Partitioning, parts: PartitionSet) -> tuple[Partitioning, PartitionSet] | None:
    """The dimensions by whose columns the rows of these partitions can be found, with the partitions in them.

    None if all rows belong to the partitions, no column assigns rows to them, or they cannot be listed.
    """
    less, rest = partitioning.without_whole_dimensions(parts)
    if rest.is_everything or not less.is_partitioned or (less.time is not None and less.time.column is None):
        return None
    if less.segments and rest.time:  # the same time of all segments, also of unknown ones, which cannot be listed
        if rest.apart or less.time is None:
            return None
        less = Partitioning(less.time)
    return (less.with_segments_of(rest), rest) if less.can_list(rest) else None


def partition_values(partitioning: Partitioning, parts: PartitionSet) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the key of each partition with its values by column, oldest first, in the order of the key.

    Takes the result of `dimensions_in_columns`, like `column_ranges`.

    >>> from sparkassets.core.partitions import SegmentPartition, TimePartition
    >>> both = Partitioning(TimePartition("day", "UTC", column="day"), (SegmentPartition("shop", ("a", "b")),))
    >>> list(partition_values(both, both.parse("2025-01-02,a")))
    [('2025-01-02,a', {'day': '2025-01-02', 'shop': 'a'})]
    """
    time, keys = partitioning.time, partitioning.keys(parts)
    for start, _, segment in partitioning.slots(parts):
        values = list(zip(partitioning.segment_columns, segment, strict=True))
        if time is not None:
            values.insert(partitioning.time_at, (time.column or time.name, time.key(start)))
        yield next(keys), dict(values)


def column_ranges(partitioning: Partitioning, parts: PartitionSet) -> list[ColumnRange] | None:
    """The partitions as ranges of neighbours; None if keys of time are not in the order of the column's values."""
    time = partitioning.time
    if time is not None and not _has_comparable_keys(time):
        return None
    joined = []
    for segment, ranges in partitioning.by_tuple(parts):
        own = dict(zip(partitioning.segment_columns, segment, strict=True))
        if time is None:
            joined.append(ColumnRange(own))
        else:
            joined += [ColumnRange(own, time.column, time.key(low), time.key(high)) for low, high in ranges.pairs()]
    return joined


def _has_comparable_keys(time: TimePartition) -> bool:
    """Whether the key of a slot is the local time at which it begins, and no two slots share one."""
    return (
        time.by in _ORDERED and not time.exclude and not time.offset and (time.by != "hour" or time.timezone == "UTC")
    )
