"""The partitions of columns' values, counted: Arrow sorts or groups them, so that Python's cost goes by partitions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.delta.file_times import NULL, FileTimes, Span

if TYPE_CHECKING:
    from pyarrow import Array

Values = tuple[Any, ...]
"""One for each dimension of segments, as the log or Arrow has it; None is NULL."""

_SECOND = 1_000_000


def count_values(
    segments: Sequence[Any], time: Array | Span, times: FileTimes | None, *, rows: int
) -> Counter[tuple[Values, Span]]:
    """How many rows have each tuple of segments in each slot; ``times`` notes the values that name none.

    Args:
        segments: Of each dimension an array of the rows' values, or the one value that all of them have.
        time: The rows' values, or the one slot that all of them lie in.
        times: None where that is known.
        rows: How many there are, where that is known.
    """
    import pyarrow as pa

    found: Counter[tuple[Values, Span]] = Counter()
    arrays = {str(index): _decode_dictionary(each) for index, each in enumerate(segments) if isinstance(each, pa.Array)}
    if not arrays:
        _count(found, tuple(segments), time, times, rows=rows)
        return found
    named = list(arrays)
    if isinstance(time, pa.Array):
        groups = pa.table(arrays | {"time": _decode_dictionary(time)}).group_by(named).aggregate([("time", "list")])
        lists: Any = groups.column("time_list").combine_chunks()
        shares = [(each.values, len(each.values)) for each in lists]
    else:
        groups = pa.table(arrays).group_by(named).aggregate([([], "count_all")])
        shares = [(time, count) for count in groups.column("count_all").to_pylist()]
    keys = zip(*(groups.column(name).to_pylist() for name in named), strict=True)
    for key, (share, count) in zip(keys, shares, strict=True):
        values = dict(zip(named, key, strict=True))
        each = tuple(values.get(str(index), constant) for index, constant in enumerate(segments))
        _count(found, each, share, times, rows=count)
    return found


def _count(
    found: Counter[tuple[Values, Span]], values: Values, time: Array | Span, times: FileTimes | None, *, rows: int
) -> None:
    if isinstance(time, tuple):
        if rows:
            found[values, time] += rows
    elif times is not None:
        for span, count in spans_of(time, times).items():
            found[values, span] += count


def _decode_dictionary(values: Array) -> Array:
    import pyarrow as pa

    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def spans_of(values: Array, times: FileTimes) -> Counter[Span]:
    """How many of the values lie in each slot of ``times``, which notes the values that name none."""
    import pyarrow as pa

    if values.null_count:
        times.leave_out(NULL)
    values = _decode_dictionary(values.drop_null())
    if times.column.kind == "timestamp":
        return _of_instants(values.cast(pa.timestamp("us"), safe=False), times)
    if times.column.kind == "timestamp_ntz":
        return _count_by_span(_coarsen_times(values.cast(pa.timestamp("us"), safe=False), times), times)
    return _count_by_span(values, times)


def _coarsen_times(values: Array, times: FileTimes) -> Array:
    """Local times down to the quarter of an hour, of crons by the minute down to that: no slot begins within one."""
    from pyarrow import compute

    return compute.floor_temporal(values, 1 if times.partition.precision == "minute" else 15, "minute")


def _count_by_span(values: Array, times: FileTimes) -> Counter[Span]:
    rows: Counter[Span] = Counter()
    for each in values.value_counts().to_pylist():
        span = times.of_value(each["values"])
        if span is not None:
            rows[span] += each["counts"]
    return rows


def _of_instants(values: Array, times: FileTimes) -> Counter[Span]:
    """Goes from the first instant of one slot to the first after it."""
    import pyarrow as pa

    rows: Counter[Span] = Counter()
    ordered = values.cast(pa.int64()).sort()
    instants: Any = memoryview(ordered.buffers()[1] or b"").cast("q")[ordered.offset : ordered.offset + len(ordered)]
    index = 0
    while index < len(instants):
        span = times.of_instant(instants[index] // _SECOND)
        if span is None:
            after = bisect_right(instants, instants[index], index)
        else:
            after = bisect_left(instants, times.partition.stop(span[0]) * _SECOND, index)
            rows[span] += after - index
        index = after
    return rows
