"""Sets of partitions as JSON, and back: time is pairs of Unix seconds, and null for all of it.

Where tuples of segments stand apart, those with the same time are told together: a year of many keys is short.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import msgspec

from sparkassets.core.partitions.lifting import Lifted, LiftedValue
from sparkassets.core.partitions.ranges import RangeSet
from sparkassets.core.partitions.sets import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.partitions.stamped import StampedRanges
from sparkassets.core.partitions.stamped_sets import StampedPartitions

Numbers = Sequence[Sequence[int]]
Plain = Mapping[str, Any] | Numbers | None

Value = TypeVar("Value")


def parts_to(parts: PartitionSet) -> Plain:
    """JSON that `parts_from` reads back.

    >>> parts_to(PartitionSet.span(0, 9)), parts_to(EVERYTHING)
    ([[0, 9]], None)
    >>> parts_to(PartitionSet.by_segment(dict.fromkeys([("de",), ("nl",)], RangeSet.span(0, 9))))
    {'time': [], 'apart': [{'time': [[0, 9]], 'segments': [['de'], ['nl']]}]}
    """
    return _lifted_to((parts.time, parts.apart), _pairs) if parts.apart else _pairs(parts.time)


def parts_from(plain: Plain) -> PartitionSet:
    """The set of `parts_to`; what is empty, or everything, is the one value for it, which fields have by default."""
    if isinstance(plain, Mapping):
        return PartitionSet(*_lifted_from(plain, _ranges))
    return PartitionSet(_ranges(plain)) if plain else EVERYTHING if plain is None else NOTHING


def flat_to(parts: PartitionSet) -> Plain:
    """A set of time as starts and ends, which cost a half of pairs; any other as `parts_to` has it."""
    return parts_to(parts) if parts.apart or parts.is_everything else [parts.time.starts, parts.time.ends]


def flat_from(flat: Plain) -> PartitionSet:
    """The set of `flat_to`."""
    if isinstance(flat, list):  # of a journal's million events each
        return PartitionSet(RangeSet(tuple(flat[0]), tuple(flat[1])))
    return parts_from(flat)


def marks_to(marks: StampedPartitions) -> Plain:
    """JSON that `marks_from` reads back: triples of a start, an end and a stamp.

    >>> marks_to(StampedPartitions().overlay(PartitionSet.span(0, 9), 7))
    [[0, 9, 7]]
    """
    return _lifted_to((marks.time, marks.apart), _items) if marks.apart else _items(marks.time)


def marks_from(plain: Plain) -> StampedPartitions:
    """The marks of `marks_to`."""
    if isinstance(plain, Mapping):
        return StampedPartitions(*_lifted_from(plain, _stamped))
    return StampedPartitions(_stamped(plain))


def _pairs(time: RangeSet) -> list[list[int]] | None:
    return None if time == EVERYTHING.time else [[start, end] for start, end in time.pairs()]


def _ranges(pairs: Numbers | None) -> RangeSet:
    return EVERYTHING.time if pairs is None else RangeSet.of((start, end) for start, end in pairs)


def _items(marks: StampedRanges) -> list[list[int]]:
    return [list(item) for item in marks.items()]


def _stamped(items: Numbers | None) -> StampedRanges:
    return StampedRanges(*(tuple(column) for column in zip(*(items or ()), strict=True)))


def _lifted_to(lifted: Lifted[Value], plain: Callable[[Value], Numbers | None]) -> dict[str, Any]:
    usual, apart = lifted
    together: dict[Value, list[list[str]]] = {}
    for segment, value in apart:
        together.setdefault(value, []).append(list(segment))
    groups = [{"time": plain(value), "segments": segments} for value, segments in together.items()]
    return {"time": plain(usual), "apart": groups}


def _lifted_from(plain: Mapping[str, Any], value: Callable[[Numbers | None], Value]) -> Lifted[Value]:
    groups = [(value(group["time"]), group["segments"]) for group in plain["apart"]]
    apart = [(tuple(segment), time) for time, segments in groups for segment in segments]
    return value(plain["time"]), tuple(sorted(apart, key=itemgetter(0)))


# --------------------------------------------------------------------------- values that hold sets


def to_plain(value: object) -> Any:  # noqa: ANN401  as JSON has it
    """A frozen value, or what holds some, as JSON; `from_plain` reads it back. What has its default is left out."""
    return msgspec.to_builtins(value, enc_hook=_written)


def from_plain(plain: object, kind: type[Value]) -> Value:
    """The value of `to_plain`.

    Raises:
        msgspec.ValidationError: It is no such value.
    """
    return msgspec.convert(plain, kind, dec_hook=_read)


def _written(value: object) -> object:
    match value:
        case PartitionSet():
            return parts_to(value)
        case StampedPartitions():
            return marks_to(value)
        case Mapping():
            return dict(value)
        case Sequence():
            return list(value)
    raise TypeError(f"values of {type(value).__name__} are not stored")


def _read(kind: type, plain: Any) -> object:  # noqa: ANN401  as JSON has it
    if isinstance(plain, LiftedValue):
        return plain
    return parts_from(plain) if kind is PartitionSet else marks_from(plain)
