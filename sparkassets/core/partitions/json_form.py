"""Encodes sets of partitions as JSON and decodes them: time is pairs of Unix seconds, or null for all time.

Tuples of segments with the same time are grouped, so that a year of many keys is short.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import msgspec

from sparkassets.core.partitions.partition_set import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import LiftedValue, SegmentFunction
from sparkassets.core.partitions.stamped_partitions import StampedPartitions, StampedRanges

Numbers = Sequence[Sequence[int]]
JsonForm = Mapping[str, Any] | Numbers | None

Value = TypeVar("Value")


def encode_partitions(parts: PartitionSet) -> JsonForm:
    """Encodes a set as JSON that `decode_partitions` reads back.

    >>> encode_partitions(PartitionSet.span(0, 9)), encode_partitions(EVERYTHING)
    ([[0, 9]], None)
    >>> encode_partitions(PartitionSet.by_segment(dict.fromkeys([("de",), ("nl",)], RangeSet.span(0, 9))))
    {'time': [], 'apart': [{'time': [[0, 9]], 'segments': [['de'], ['nl']]}]}
    """
    return _encode_function((parts.time, parts.apart), _encode_ranges) if parts.apart else _encode_ranges(parts.time)


def decode_partitions(plain: JsonForm) -> PartitionSet:
    """Decodes the set of `encode_partitions`; an empty or full set is the object `NOTHING` or `EVERYTHING`."""
    if isinstance(plain, Mapping):
        return PartitionSet(*_decode_function(plain, _decode_ranges))
    return PartitionSet(_decode_ranges(plain)) if plain else EVERYTHING if plain is None else NOTHING


def encode_flat(parts: PartitionSet) -> JsonForm:
    """Encodes a set by time alone as starts and ends, half as costly as pairs; any other by `encode_partitions`."""
    return encode_partitions(parts) if parts.apart or parts.is_everything else [parts.time.starts, parts.time.ends]


def decode_flat(flat: JsonForm) -> PartitionSet:
    """Decodes the set of `encode_flat`."""
    if isinstance(flat, list):  # the fast path: a journal can have a million events
        return PartitionSet(RangeSet(tuple(flat[0]), tuple(flat[1])))
    return decode_partitions(flat)


def encode_stamped(marks: StampedPartitions) -> JsonForm:
    """Encodes stamped partitions as JSON that `decode_stamped` reads back: triples of start, end and stamp.

    >>> encode_stamped(StampedPartitions().overlay(PartitionSet.span(0, 9), 7))
    [[0, 9, 7]]
    """
    return (
        _encode_function((marks.time, marks.apart), _encode_stamped_ranges)
        if marks.apart
        else _encode_stamped_ranges(marks.time)
    )


def decode_stamped(plain: JsonForm) -> StampedPartitions:
    """Decodes the stamped partitions of `encode_stamped`."""
    if isinstance(plain, Mapping):
        return StampedPartitions(*_decode_function(plain, _decode_stamped_ranges))
    return StampedPartitions(_decode_stamped_ranges(plain))


def _encode_ranges(time: RangeSet) -> list[list[int]] | None:
    """Pairs of start and end; None for all time."""
    return None if time == EVERYTHING.time else [[start, end] for start, end in time.pairs()]


def _decode_ranges(pairs: Numbers | None) -> RangeSet:
    """The ranges of `_encode_ranges`."""
    return EVERYTHING.time if pairs is None else RangeSet.from_pairs((start, end) for start, end in pairs)


def _encode_stamped_ranges(marks: StampedRanges) -> list[list[int]]:
    return [list(item) for item in marks.items()]


def _decode_stamped_ranges(items: Numbers | None) -> StampedRanges:
    return StampedRanges(*(tuple(column) for column in zip(*(items or ()), strict=True)))


def _encode_function(
    function: SegmentFunction[Value], encode_value: Callable[[Value], Numbers | None]
) -> dict[str, Any]:
    """The function as ``{time, apart: [{time, segments}]}``: its usual value, and each other value with its tuples.

    Tuples are grouped by value, because very many tuples mostly share a few values.
    """
    usual, apart = function
    segments_by_value: dict[Value, list[list[str]]] = {}
    for segment, value in apart:
        segments_by_value.setdefault(value, []).append(list(segment))
    groups = [{"time": encode_value(value), "segments": segments} for value, segments in segments_by_value.items()]
    return {"time": encode_value(usual), "apart": groups}


def _decode_function(
    plain: Mapping[str, Any], decode_value: Callable[[Numbers | None], Value]
) -> SegmentFunction[Value]:
    """The function of `_encode_function`; ``decode_value`` decodes one value."""
    groups = [(decode_value(group["time"]), group["segments"]) for group in plain["apart"]]
    apart = [(tuple(segment), time) for time, segments in groups for segment in segments]
    return decode_value(plain["time"]), tuple(sorted(apart, key=itemgetter(0)))


# --------------------------------------------------------------------------- values that hold sets


def to_plain(value: object) -> Any:  # noqa: ANN401  as JSON has it
    """Encodes a frozen value, or a container of some, as JSON for `from_plain`, without fields at their default."""
    return msgspec.to_builtins(value, enc_hook=_encode_value)


def from_plain(plain: object, kind: type[Value]) -> Value:
    """Decodes the value of `to_plain`.

    Raises:
        msgspec.ValidationError: ``plain`` is no value of that kind.
    """
    return msgspec.convert(plain, kind, dec_hook=_decode_value)


def _encode_value(value: object) -> object:
    """Encodes what msgspec cannot by itself; passed to it as ``enc_hook``."""
    match value:
        case PartitionSet():
            return encode_partitions(value)
        case StampedPartitions():
            return encode_stamped(value)
        case Mapping():
            return dict(value)
        case Sequence():
            return list(value)
    raise TypeError(f"values of {type(value).__name__} are not stored")


def _decode_value(kind: type, plain: Any) -> object:  # noqa: ANN401  as JSON has it
    """Decodes what msgspec cannot by itself; passed to it as ``dec_hook``."""
    if isinstance(plain, LiftedValue):
        return plain
    return decode_partitions(plain) if kind is PartitionSet else decode_stamped(plain)
