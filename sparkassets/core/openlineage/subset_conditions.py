"""Which part of a dataset was read or written, as the conditions of OpenLineage's subset facets.

What cannot be told exactly has no condition: it then says nothing of which part it was, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal
from urllib.parse import quote

from sparkassets.core.derivation.column_uses import ColumnComparison, RowFilter
from sparkassets.core.openlineage.dataset_names import dataset_folder
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.partitions.dimensions import ColumnRange, column_ranges, partition_values, telling_dimensions
from sparkassets.core.patterns import PathPattern
from sparkassets.core.runs import InletPin, TablePosition, iteration_folder
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter, ReadChanges

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
"""Partitions, or files' locations, that are listed one by one."""
MOST_STRETCHES: Final = 100
"""Stretches of neighbouring partitions that are told by their bounds."""


def input_condition(
    inlet: InletSpec, source: AssetSpec, pin: InletPin, *, high: str | None, used: RowFilter | None = None
) -> Condition | None:
    """What a run read of an inlet; None where it read all of it, or it cannot be told.

    Args:
        inlet: As the asset has it.
        source: The inlet's asset, with the partitions that it is mapped by.
        pin: What the run was pinned to.
        high: The watermark up to which it read, once it has; None before, and without one.
        used: What holds of all rows that its query can use.
    """
    own = None if used is None else filter_condition(used)
    if pin.iteration:
        return _all_conditions(_iteration_condition(source, pin.iteration), own)
    told = [] if pin.parts.is_everything else [_partitions_read(source, pin.parts)]
    if None in told:
        return own  # a part of what is pinned is no column's
    match inlet.read:
        case ReadAfter(overlap=overlap) if overlap is not None and pin.low is not None:
            pass
        case ReadAfter(column=column):
            told += _range_conditions(column, pin.low, high)
        case ReadChanges():
            since = TablePosition.parse(pin.low) if pin.low is not None else None
            low = str(since.version) if since is not None and since.table_id == pin.table_id else None
            upto = str(pin.version) if low is not None and pin.version is not None else None
            told += _range_conditions("_commit_version", low, upto)
    return _all_conditions(*told, own)


def output_condition(
    asset: AssetSpec, blocks: PartitionSet, *, iteration: str = "", added: RowFilter | None = None
) -> Condition | None:
    """What a run wrote of an asset; None where it wrote the whole of it, or it cannot be told.

    Args:
        asset: The asset, or the outlet.
        blocks: Those that it wrote.
        iteration: The name of what it published, where the asset keeps iterations.
        added: What holds of all rows that it added, where it left those that were there.
    """
    if iteration:
        return _iteration_condition(asset, iteration)
    if not blocks:
        return {"type": "partition", "partitions": []}
    return _all_conditions(
        partition_condition(blocks, asset.partitioning), None if added is None else filter_condition(added)
    )


def filter_condition(told: RowFilter) -> Condition | None:
    """Comparisons of a query as a condition.

    >>> filter_condition(RowFilter("AND", (ColumnComparison("age", ">", "5"),)))["comparison"]
    'GREATER_THAN'
    """
    terms = [
        compare_condition(each.column, _COMPARISONS[each.sign], each.value)
        if isinstance(each, ColumnComparison)
        else filter_condition(each)
        for each in told.terms
    ]
    return join_conditions(told.operator, [each for each in terms if each is not None])


def _all_conditions(*terms: Condition | None) -> Condition | None:
    """Those of these that tell something."""
    return join_conditions("AND", [each for each in terms if each is not None])


def partition_condition(parts: PartitionSet, partitioning: Partitioning) -> Condition | None:
    """The rows of these partitions; None for all of them, and where no column tells which a row is of.

    >>> from sparkassets.core.partitions import SegmentPartition, TimePartition
    >>> countries = SegmentPartition("country", ("DE", "PL"))
    >>> both = Partitioning(TimePartition("day", "UTC", column="business_date"), (countries,))
    >>> partition_condition(both.parse("2024-10-15,PL"), both)["partitions"]
    [{'identifier': '2024-10-15,PL', 'dimensions': {'business_date': '2024-10-15', 'country': 'PL'}}]
    """
    told = telling_dimensions(partitioning, parts)
    if told is None:
        return None
    knowing, rest = told
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
    """All of these, or any; None of none. The tree is as flat as two sides a node allow.

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
    """Above the lower bound, up to and with the upper one."""
    if low is not None:
        yield compare_condition(column, "GREATER_THAN", low)
    if high is not None:
        yield compare_condition(column, "LESS_EQUAL_THAN", high)


def _range_condition(each: ColumnRange) -> Condition:
    terms = [compare_condition(column, "EQUAL", segment) for column, segment in each.segments.items()]
    if each.column is not None:
        terms.append(compare_condition(each.column, "GREATER_EQUAL_THAN", each.low))
        terms.append(compare_condition(each.column, "LESS_THAN", each.end))
    return join_conditions("AND", terms) or {}


def _partitions_read(source: AssetSpec, parts: PartitionSet) -> Condition | None:
    """Of files where they are, of tables by their columns."""
    is_files = source.source is not None and source.source.kind not in ("delta", "events") and not source.is_named
    if not is_files or source.storage is None or source.in_paths is not None:
        return partition_condition(parts, source.partitioning)
    pattern = PathPattern.parse(source.storage.path, source.partitioning.segment_columns)
    time = source.partitioning.time
    if pattern.field is None or time is None or not source.partitioning.can_list(parts):
        return partition_condition(parts, source.partitioning)
    starts = sorted({start for start, _, _ in source.partitioning.with_segments_of(parts).slots(parts)})
    if len(starts) > MOST_LISTED or pattern.segments:
        return partition_condition(parts, source.partitioning)
    found = dict.fromkeys(_fixed_folder(pattern.render(start, time)) for start in starts)
    if any(_fixed_folder(pattern.render(time.stop(start), time)) in found for start in starts[-1:]):
        return partition_condition(parts, source.partitioning)  # what tells the time stands below a glob
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
    if asset.storage is None:
        return None
    return {
        "type": "location",
        "locations": [location_uri(f"{dataset_folder(asset).rstrip('/')}/{iteration_folder(name)}")],
    }
