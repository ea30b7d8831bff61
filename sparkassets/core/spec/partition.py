"""Compiles the key `partition`: its dimensions of time and segments, and the segments of params."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any, Final

from sparkassets.core.partitions import (
    Partitioning,
    SegmentPartition,
    TimePartition,
    holds_segments,
    segment_of,
    segment_value,
)
from sparkassets.core.patterns import PathPattern, PatternError
from sparkassets.core.spec.asset_models import AssetFile, needs_no_column
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.model import SegmentParams, SourceSpec
from sparkassets.core.spec.schedule_models import PartitionMap, SegmentsMap
from sparkassets.core.spec.source import plain_text
from sparkassets.core.spec.time_bounds import TimeBounds
from sparkassets.core.spec.time_dimension import (
    AUTO,
    automatic_dimension,
    compile_time_dimension,
    is_timed,
    own_interval,
)
from sparkassets.core.spec.write_models import WriteMap
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.strategies import EveryInstance, Strategy
from sparkassets.core.suggestions import did_you_mean
from sparkassets.frozen import frozen

_DECIMAL: Final = re.compile(r"(?:decimal|dec|numeric)(?:\((\d+)(?:,(\d+))?\))?")
_TEXT: Final = re.compile(r"varchar\(\d+\)")


def check_keys(at: DocumentPlace, keys: Sequence[str]) -> None:
    """Refuses an empty list, an empty key, and one that stands there twice.

    Args:
        at: The list.
        keys: As they are written, in order.
    """
    if not keys:
        at.add_problem("the list of segments is empty: no partition would be wanted", hint="write segments: [<key>, …]")
    first: dict[str, int] = {}
    for index, key in enumerate(keys):
        if not key:
            (at / index).add_problem("the key of a segment cannot be empty")
        elif first.setdefault(key, index) != index:
            (at / index).add_problem(f"the segment {key!r} is listed twice")


def check_types(at: DocumentPlace, keys: Sequence[str], *, column: str, declared: str) -> None:
    """Refuses keys that the column cannot hold, or that it holds as another text.

    Args:
        at: The list.
        keys: As they are written, in order.
        column: That holds them.
        declared: Its type, as Spark SQL names it.
    """
    kind = _normalize_type(declared)
    if not holds_segments(kind):
        message = f"the column {column!r} is declared as {declared!r}, whose values cannot be segment keys"
        at.add_problem(message, hint="segments are strings, whole numbers, decimals, dates or booleans")
        return
    for index, key in enumerate(keys):
        if segment_value(key, kind) is None:
            usual_spelling = segment_of(key, kind)
            hint = f"write the value as {usual_spelling!r}" if usual_spelling not in (None, key) else None
            message = f"{key!r} is not a valid {declared!r}, the declared type of the column {column!r}"
            (at / index).add_problem(message, hint=hint)


def _normalize_type(declared: str) -> str:
    """A type's name as Spark and Delta have it.

    >>> [_normalize_type(each) for each in ("NUMERIC( 9 )", "dec(9, 2)", "varchar(3)", "Int")]
    ['decimal(9,0)', 'decimal(9,2)', 'string', 'int']
    """
    folded = "".join(declared.lower().split())
    if decimal := _DECIMAL.fullmatch(folded):
        return f"decimal({decimal[1] or 10},{decimal[2] or 0})"
    return "string" if _TEXT.fullmatch(folded) else folded


_RESERVED_NAMES = ("start", "end")
_ADDING_WRITES = ("append", "self")


def find_param_segments(keys: AssetFile, others: Partitioning) -> SegmentPartition | None:
    """The segments that a list of params declares, such as ``[{region: nl}, {region: de}]``: a run for each element.

    Their dimension is the first name whose value differs in every element. None if there is no such name, or unless the
    strategy is `every_instance` without written segments, and the write needs no column to find a segment's rows:
    appended rows are never looked for, and an iteration replaces the one before it with the same params.

    Args:
        keys: The keys of the asset.
        others: The other dimensions of the asset.
    """
    params = keys.params
    if (
        not isinstance(params, list)
        or keys.strategy != "every_instance"
        or others.segments
        or not needs_no_column(keys)
    ):
        return None
    if keys.write in _ADDING_WRITES and others.time is None:
        return None
    name = find_distinct_param(params, others)
    if name is None:
        return None
    values = (plain_text(each[name]) for each in params)
    return SegmentPartition(name, tuple(sorted(values)), in_rows=keys.write not in _ADDING_WRITES)


def find_distinct_param(params: list[dict[str, Any]], others: Partitioning) -> str | None:
    """The first name that all elements have, with another string or number in each; None if there is none."""
    reserved = {name.lower() for name in (*others.names, *_RESERVED_NAMES)}
    names = [name for name in (params[0] if params else ()) if name.lower() not in reserved]
    return next((name for name in names if _differs_in_all(name, params)), None)


def _differs_in_all(name: str, params: list[dict[str, Any]]) -> bool:
    """Whether every element has the name, with a text of its own; numbers count by their text."""
    if not all(_is_text(each.get(name)) for each in params):
        return False
    return len({plain_text(each[name]) for each in params}) == len(params)


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float) and value != ""


_PRESETS: Final = {
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
    """One dimension, with the place where it is declared.

    Attributes:
        listed: The keys of its segments, in the order of the file, to report problems by; empty for time.
    """

    at: DocumentPlace
    found: TimePartition | SegmentPartition
    listed: tuple[str, ...] = ()


def compile_partition(
    at: DocumentPlace, keys: AssetFile, *, within: TimeBounds, source: SourceSpec | None, pattern: PathPattern | None
) -> Partitioning:
    """The partitioning of an asset; mistakes become problems, and the rest is compiled as far as possible.

    Args:
        at: The asset.
        keys: Its keys.
        within: The asset's own zone and bounds.
        source: How others write the asset; None for one that runs write.
        pattern: The path of a source of files, or the path or name of a source of several tables.
    """
    field = pattern.field.name if pattern and pattern.field else None
    dimensions = _compile_dimensions(at / "partition", keys, within=within, field=field)
    if source is None and (params_dimension := find_param_segments(keys, _make_partitioning(dimensions))) is not None:
        dimensions = [*dimensions, _DeclaredDimension(at / "params", params_dimension)]
    _check_product(at / "partition", keys, dimensions)
    partitioning = _make_partitioning(dimensions)
    if source is None and partitioning.time is not None:
        _check_segment_columns(dimensions)
    if at.document.failed.isdisjoint({"partition", "path", "table", "source"}):
        if pattern:
            noun = "table" if source and source.kind == "tables" else "file"
            _check_pattern(at / ("path" if keys.table is None else "table"), pattern, partitioning, of=noun)
        for dimension in dimensions:
            if isinstance(dimension.found, TimePartition):
                _check_time(dimension.at, dimension.found, keys, source)
            _check_declared(dimension, keys, fields=pattern.fields if pattern else ())
    return partitioning


def _compile_dimensions(
    at: DocumentPlace, keys: AssetFile, *, within: TimeBounds, field: str | None
) -> list[_DeclaredDimension]:
    """The dimensions that `partition` declares, in the order of the file; empty for an asset without partitions.

    Where `partition` is missing, `every_instance` gets the interval of its schedule as its dimension, if the write mode
    needs no column to find a partition's rows. ``field`` is the time field of the asset's path, None without one.
    """
    written = keys.partition
    if written is None and keys.strategy == "every_instance" and needs_no_column(keys):
        interval = own_interval(keys, within=within)
        return [] if interval is None else [_DeclaredDimension(at, interval)]
    if written is None or written == "none":
        return []
    if written == AUTO:
        dimension = automatic_dimension(at, keys, within=within, field=field)
        return [] if dimension is None else [_DeclaredDimension(at, dimension)]
    if isinstance(written, str):
        time = TimePartition(_PRESETS[written], within.timezone, field, within.start, within.end)
        return [_DeclaredDimension(at, time)]
    if isinstance(written, list):
        return [
            _compile_dimension(at / index, each, keys, within=within, field=field) for index, each in enumerate(written)
        ]
    return [_compile_dimension(at, written, keys, within=within, field=field)]


def _compile_dimension(
    at: DocumentPlace, written: PartitionMap | SegmentsMap, keys: AssetFile, *, within: TimeBounds, field: str | None
) -> _DeclaredDimension:
    if isinstance(written, SegmentsMap):
        return _compile_segments(at, written, keys)
    return _DeclaredDimension(at, compile_time_dimension(at, written, keys, within=within, field=field))


def _compile_segments(at: DocumentPlace, written: SegmentsMap, keys: AssetFile) -> _DeclaredDimension:
    """The dimension of segments; without a column, where the write needs none, it has a fixed name."""
    if written.column is None and not needs_no_column(keys) and "partition" not in at.document.failed:
        keys_text = written.segments if isinstance(written.segments, str) else "[…]"
        at.add_problem(_no_column(keys), hint=f"write partition: {{segments: {keys_text}, column: <column>}}")
    column, in_rows = written.column or _WITHOUT_COLUMN, written.column is not None
    if isinstance(written.segments, str):
        return _DeclaredDimension(at, SegmentPartition(column, (), is_open=True, in_rows=in_rows))
    check_keys(at / "segments", written.segments)
    dimension = SegmentPartition(column, tuple(sorted(set(written.segments))), in_rows=in_rows)
    return _DeclaredDimension(at, dimension, tuple(written.segments))


def _make_partitioning(dimensions: Sequence[_DeclaredDimension]) -> Partitioning:
    """The product of the dimensions; of several dimensions of time, which is a problem, only the first counts."""
    parts = [dimension.found for dimension in dimensions]
    times = [(each, number) for number, each in enumerate(parts) if isinstance(each, TimePartition)]
    segments = tuple(each for each in parts if isinstance(each, SegmentPartition))
    return Partitioning(times[0][0], segments, times[0][1]) if times else Partitioning(None, segments)


def _check_product(at: DocumentPlace, keys: AssetFile, dimensions: Sequence[_DeclaredDimension]) -> None:
    """Refuses an empty list, two dimensions of time, and two dimensions with the same column."""
    if not dimensions and isinstance(keys.partition, list):
        at.add_problem("the list of dimensions is empty", hint="write partition: none, or leave it out")
    times = [dimension.at for dimension in dimensions if isinstance(dimension.found, TimePartition)]
    for repeated in times[1:]:
        repeated.add_problem("the partition has two time dimensions; expected at most one")
    columns: dict[str, str] = {}
    for dimension in dimensions:
        column = dimension.found.column
        if column is None:
            continue
        if (first := columns.get(column.lower())) is not None:
            note = "" if column == first else f", which Spark treats as {first!r}"
            (dimension.at / "column").add_problem(f"two dimensions have the column {column!r}{note}")
        columns.setdefault(column.lower(), column)


def _check_segment_columns(dimensions: Sequence[_DeclaredDimension]) -> None:
    """Refuses segments with the column ``start`` or ``end``, if there is time, too.

    The relation `partitions` of a run's SQL has columns of these names for the time.
    """
    for dimension in dimensions:
        if isinstance(dimension.found, SegmentPartition) and dimension.found.column.lower() in _TIMES:
            (dimension.at / "column").add_problem(
                f"segments beside time cannot have the column {dimension.found.column!r}: {{{{ partitions }}}} "
                "already has 'start' and 'end'",
                hint="rename the column",
            )


def _check_time(at: DocumentPlace, partition: TimePartition, keys: AssetFile, source: SourceSpec | None) -> None:
    """Refuses bounds between which no partition begins, and a missing column where rows must be found by partition."""
    start, end = partition.start, partition.end
    if start is not None and end is not None and start < end and partition.ceil(start) >= end:
        at.add_problem(
            f"no partition by {partition.grain} begins between start and end: none would be wanted",
            hint="a partition counts if it begins at or after start, and before end",
        )
    if partition.column is not None or (needs_no_column(keys) if source is None else source.kind != "delta"):
        return
    by = AUTO if at.document.data.get("partition") == AUTO else partition.grain
    at.add_problem(_no_column(keys), hint=f"write partition: {{by: {by}, column: <column>}}")


def _no_column(keys: AssetFile) -> str:
    """Why a partition needs a column, as a sentence."""
    is_upsert = isinstance(keys.write, WriteMap) and keys.write.upsert is not None
    mode_text = f"'{'upsert' if is_upsert else 'replace'}' works by partition and"
    cause = "reading a partition of a Delta table" if keys.source is not None else mode_text
    return f"the partition has no column, but {cause} needs one"


def _check_pattern(at: DocumentPlace, pattern: PathPattern, partitioning: Partitioning, *, of: str) -> None:
    """Refuses a path or name whose fields cannot tell the partitions of a file or table."""
    try:
        pattern.check_time(partitioning.time, of=of)
        pattern.check_segments(partitioning.segments, of=of)
    except PatternError as error:
        at.add_problem(str(error.args[0]), hint=error.hint)


def _check_declared(dimension: _DeclaredDimension, keys: AssetFile, *, fields: Collection[str]) -> None:
    """Refuses a dimension whose column is neither declared nor a field of the path, or cannot hold its segments."""
    column = dimension.found.column
    if column is None or not keys.types or column not in _make_partitioning([dimension]).columns:
        return
    same_column = next((each for each in keys.types if each.lower() == column.lower()), None)
    if same_column is not None and same_column != column:
        message = f"'columns' has {same_column!r}, but the partition's column is {column!r}; Spark ignores case"
        (dimension.at / "column").add_problem(message, hint="spell both the same way")
    elif column not in keys.types and column in fields:
        return
    elif column not in keys.types:
        place = dimension.at / "column"
        place.add_problem(f"'columns' lacks the partition's column {column!r}", hint=did_you_mean(column, keys.types))
    elif isinstance(dimension.found, SegmentPartition):
        place = dimension.at / "segments"
        check_types(place, dimension.listed, column=column, declared=keys.types[column])


_SEGMENTS = "{segments: [<key>, …], column: <a name among the params>}"
_HINT = f"write partition: {_SEGMENTS}"


def compile_segment_params(draft: AssetDraft, strategy: Strategy | None) -> SegmentParams | None:
    """The params by segment, from a list of params; None if they are one map, or wrong, which becomes a problem."""
    params, at = draft.keys.params, draft.at / "params"
    if isinstance(params, dict) or not draft.are_reliable("params", "strategy", "partition"):
        return None
    if not params:
        at.add_problem(
            "the list of params is empty: the asset would never run", hint="write params: [{<key>: <value>}, …]"
        )
    elif not isinstance(strategy, EveryInstance):
        at.add_problem(
            "a list of params needs strategy 'every_instance', which runs once for each item",
            hint="write 'strategy: every_instance', or one map of params",
        )
    else:
        return _build_segment_params(draft, at, params)
    return None


def _build_segment_params(draft: AssetDraft, at: DocumentPlace, params: list[dict[str, Any]]) -> SegmentParams | None:
    """The params by segment, by every listed dimension whose column is a name in all of the params.

    None, with a problem, if there is no such dimension: nothing would tell which params a run has.
    """
    segments = draft.partitioning.segments
    listed_dimensions = [i for i, each in enumerate(segments) if not each.is_open]
    places = tuple(i for i in listed_dimensions if all(segments[i].column in some_params for some_params in params))
    if places:
        return SegmentParams(places, _params_by_segment(at, params, [segments[place] for place in places]))
    if not segments and needs_no_column(draft.keys):
        _refuse_alike(draft, at, params)
        return None
    message = "the params cannot be matched to segments: no segment column is a key of every item"
    needs_time = not draft.partitioning.is_partitioned and is_timed(draft.keys)
    at.add_problem(
        message, hint=f"write partition: [{{by: auto, column: <column>}}, {_SEGMENTS}]" if needs_time else _HINT
    )
    return None


def _params_by_segment(
    at: DocumentPlace, params: list[dict[str, Any]], dimensions: list[SegmentPartition]
) -> dict[tuple[str, ...], Mapping[str, object]]:
    """The params by their segments in these dimensions; segments without params, or with two, become problems."""
    params_found: dict[tuple[str, ...], Mapping[str, object]] = {}
    for index, each_params in enumerate(params):
        key = tuple(plain_text(each_params[each.column]) for each in dimensions)
        if key in params_found:
            (at / index).add_problem(f"the params of {_describe_segment(dimensions, key)} are listed twice")
        for each, value in zip(dimensions, key, strict=True):
            if value not in each.keys:
                (at / index).add_problem(f"{value!r} is not a segment of the column {each.column!r}", hint=_HINT)
        params_found.setdefault(key, each_params)
    lacking = next((key for key in product(*(each.keys for each in dimensions)) if key not in params_found), None)
    if lacking is not None:
        message = f"{_describe_segment(dimensions, lacking)} has no params"
        at.add_problem(message, hint="write a map for each segment")
    return params_found


def _refuse_alike(draft: AssetDraft, at: DocumentPlace, params: list[dict[str, Any]]) -> None:
    """Adds the problem of a list of params that cannot form segments by itself: why runs could not tell them apart."""
    if find_distinct_param(params, draft.partitioning) is None:
        message = "the params do not identify a run: no key has a different value in each item"
        at.add_problem(message, hint="give each item a distinct name, such as {name: a}")
        return
    at.add_problem(
        "each item of 'params' would be appended only once: the asset has no intervals",
        hint="write schedule: '@daily', or another cron, or partition: {by: day}",
    )


def _describe_segment(dimensions: list[SegmentPartition], key: tuple[str, ...]) -> str:
    return ", ".join(f"{each.column} {value!r}" for each, value in zip(dimensions, key, strict=True))
