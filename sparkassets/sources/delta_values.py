"""The slots of a column's values, counted: Arrow sorts or groups them, so that Python's cost goes by slots."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any

from sparkassets.delta.times import NULL, FileTimes, Span

if TYPE_CHECKING:
    from pyarrow import Array

_SECOND = 1_000_000


def spans_of(values: Array, times: FileTimes) -> Counter[Span]:
    """How many of the values lie in each slot of ``times``, which notes the values that name none."""
    import pyarrow as pa

    if values.null_count:
        times.leave_out(NULL)
    values = values.drop_null()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if times.column.kind == "timestamp":
        return _of_instants(values.cast(pa.timestamp("us"), safe=False), times)
    if times.column.kind == "timestamp_ntz":
        return _grouped(_quarters(values.cast(pa.timestamp("us"), safe=False)), times)
    return _grouped(values, times)


def _quarters(values: Array) -> Array:
    """Local times down to the quarter of an hour: no slot begins within one."""
    from pyarrow import compute

    return compute.floor_temporal(values, 15, "minute")


def _grouped(values: Array, times: FileTimes) -> Counter[Span]:
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
            after = bisect_left(instants, span[1] * _SECOND, index)
            rows[span] += after - index
        index = after
    return rows
