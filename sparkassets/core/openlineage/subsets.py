"""Which part of a dataset was read or written, as the conditions of OpenLineage's subset facets.

What cannot be told exactly has no condition: it then says nothing of which part it was, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal
from urllib.parse import quote

from sparkassets.core.derivation.uses import Compared, Filter
from sparkassets.core.openlineage.naming import folder
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.partitions.dimensions import Stretch, stretches, telling, values
from sparkassets.core.patterns import PathPattern
from sparkassets.core.runs import Pin, Position, iteration_folder
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


def was_read(
    inlet: InletSpec, source: AssetSpec, pin: Pin, *, high: str | None, used: Filter | None = None
) -> Condition | None:
    """What a run read of an inlet; None where it read all of it, or it cannot be told.

    Args:
        inlet: As the asset has it.
        source: The inlet's asset, with the partitions that it is mapped by.
        pin: What the run was pinned to.
        high: The watermark up to which it read, once it has; None before, and without one.
        used: What holds of all rows that its query can use.
    """
    own = None if used is None else of_filter(used)
    if pin.iteration:
        return _all_of(_iteration(source, pin.iteration), own)
    told = [] if pin.parts.is_everything else [_partitions_read(source, pin.parts)]
    if None in told:
        return own  # a part of what is pinned is no column's
    match inlet.read:
        case ReadAfter(overlap=overlap) if overlap is not None and pin.low is not None:
            pass
        case ReadAfter(column=column):
            told += _between(column, pin.low, high)
        case ReadChanges():
            since = Position.parse(pin.low) if pin.low is not None else None
            low = str(since.version) if since is not None and since.table_id == pin.table_id else None
            upto = str(pin.version) if low is not None and pin.version is not None else None
            told += _between("_commit_version", low, upto)
    return _all_of(*told, own)


def was_written(
    asset: AssetSpec, blocks: PartitionSet, *, iteration: str = "", added: Filter | None = None
) -> Condition | None:
    """What a run wrote of an asset; None where it wrote the whole of it, or it cannot be told.

    Args:
        asset: The asset, or the outlet.
        blocks: Those that it wrote.
        iteration: The name of what it published, where the asset keeps iterations.
        added: What holds of all rows that it added, where it left those that were there.
    """
    if iteration:
        return _iteration(asset, iteration)
    if not blocks:
        return {"type": "partition", "partitions": []}
    return _all_of(of_parts(blocks, asset.partitioning), None if added is None else of_filter(added))


def of_filter(told: Filter) -> Condition | None:
    """Comparisons of a query as a condition.

    >>> of_filter(Filter("AND", (Compared("age", ">", "5"),)))["comparison"]
    'GREATER_THAN'
    """
    terms = [
        compared(each.column, _COMPARISONS[each.sign], each.value) if isinstance(each, Compared) else of_filter(each)
        for each in told.terms
    ]
    return joined(told.operator, [each for each in terms if each is not None])


def _all_of(*terms: Condition | None) -> Condition | None:
    """Those of these that tell something."""
    return joined("AND", [each for each in terms if each is not None])


def of_parts(parts: PartitionSet, partitioning: Partitioning) -> Condition | None:
    """The rows of these partitions; None for all of them, and where no column tells which a row is of.

    >>> from sparkassets.core.partitions import SegmentPartition, TimePartition
    >>> countries = SegmentPartition("country", ("DE", "PL"))
    >>> both = Partitioning(TimePartition("day", "UTC", column="business_date"), (countries,))
    >>> of_parts(both.parse("2024-10-15,PL"), both)["partitions"]
    [{'identifier': '2024-10-15,PL', 'dimensions': {'business_date': '2024-10-15', 'country': 'PL'}}]
    """
    told = telling(partitioning, parts)
    if told is None:
        return None
    knowing, rest = told
    if knowing.count(rest) <= MOST_LISTED:
        listed = [{"identifier": key, "dimensions": each} for key, each in values(knowing, rest)]
        return {"type": "partition", "partitions": listed}
    found = stretches(knowing, rest) if knowing.label_count(rest) <= MOST_STRETCHES else None
    return joined("OR", [_stretch(each) for each in found]) if found else None


def compared(field: str, comparison: Comparison, literal: str) -> Condition:
    """A column against a literal, which is text whatever the column's type.

    >>> compared("first_name", "EQUAL", "John")["right"]
    {'type': 'literal', 'value': 'John'}
    """
    return {
        "type": "compare",
        "left": {"type": "field", "field": field},
        "right": {"type": "literal", "value": literal},
        "comparison": comparison,
    }


def joined(operator: Literal["AND", "OR"], terms: Sequence[Condition]) -> Condition | None:
    """All of these, or any; None of none. The tree is as flat as two sides a node allow.

    >>> both = joined("AND", [compared("a", "EQUAL", "1"), compared("b", "EQUAL", "2")])
    >>> both["type"], both["operator"], both["left"]["left"]["field"], joined("OR", [])
    ('binary', 'AND', 'a', None)
    """
    level = list(terms)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        rest = level[-1:] if len(level) % 2 else []
        level = [{"type": "binary", "operator": operator, "left": left, "right": right} for left, right in pairs] + rest
    return level[0] if level else None


def _between(column: str, low: str | None, high: str | None) -> Iterator[Condition]:
    """Above the lower bound, up to and with the upper one."""
    if low is not None:
        yield compared(column, "GREATER_THAN", low)
    if high is not None:
        yield compared(column, "LESS_EQUAL_THAN", high)


def _stretch(each: Stretch) -> Condition:
    terms = [compared(column, "EQUAL", segment) for column, segment in each.segments.items()]
    if each.column is not None:
        terms.append(compared(each.column, "GREATER_EQUAL_THAN", each.low))
        terms.append(compared(each.column, "LESS_THAN", each.end))
    return joined("AND", terms) or {}


def _partitions_read(source: AssetSpec, parts: PartitionSet) -> Condition | None:
    """Of files where they are, of tables by their columns."""
    is_files = source.source is not None and source.source.kind not in ("delta", "events") and not source.is_named
    if not is_files or source.storage is None or source.in_paths is not None:
        return of_parts(parts, source.partitioning)
    pattern = PathPattern.parse(source.storage.path, source.partitioning.segment_columns)
    time = source.partitioning.time
    if pattern.field is None or time is None or not source.partitioning.can_list(parts):
        return of_parts(parts, source.partitioning)
    starts = sorted({start for start, _, _ in source.partitioning.knowing(parts).slots(parts)})
    if len(starts) > MOST_LISTED or pattern.segments:
        return of_parts(parts, source.partitioning)
    found = dict.fromkeys(_bare(pattern.render(start, time)) for start in starts)
    if any(_bare(pattern.render(time.stop(start), time)) in found for start in starts[-1:]):
        return of_parts(parts, source.partitioning)  # what tells the time stands below a glob
    return {"type": "location", "locations": [*map(location, found)]}


def _bare(path: str) -> str:
    """A file, or the innermost folder of a path that has no glob in it.

    >>> _bare("/data/20250102/*.csv"), _bare("/data/2025-01-02.csv")
    ('/data/20250102', '/data/2025-01-02.csv')
    """
    steps = path.split("/")
    globs = [number for number, step in enumerate(steps) if any(mark in step for mark in _GLOBS)]
    return "/".join(steps[: globs[0]] if globs else steps)


def location(path: str) -> str:
    """A path as a URI with a scheme.

    >>> location("/data/a b"), location("s3://lake/a")
    ('file:///data/a%20b', 's3://lake/a')
    """
    return path if "://" in path else f"file://{quote(path, safe='/=:@!$&()*+,;~')}"


def _iteration(asset: AssetSpec, name: str) -> Condition | None:
    if asset.storage is None:
        return None
    return {"type": "location", "locations": [location(f"{folder(asset).rstrip('/')}/{iteration_folder(name)}")]}
