"""Partitions by segment: a column that holds one of the keys that are known, and how such a key is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Final
from urllib.parse import quote, unquote

from sparkassets.core.partitions.grains import PartitionError
from sparkassets.core.partitions.segment_functions import Segment
from sparkassets.core.phrases import listing
from sparkassets.core.suggestions import did_you_mean
from sparkassets.frozen import frozen

ALL: Final = "*"
"""In place of a key: every partition of that dimension."""
_ESCAPED = re.compile(r"[%,\x00-\x1f\x7f-\x9f]|\.(?=\.)|^\*$")
"""What has a meaning among keys, or none on a terminal: written as ``%`` and its UTF-8 bytes in hexadecimal."""
_NOTHING = "%"
"""The key of the empty text, which would mean every partition."""
WHOLE: Final = "\x00"
"""In place of the segments of an open dimension of which none is known yet: all of it, whatever its segments are."""


@frozen(array_like=True)
class SegmentPartition:
    """One dimension of segments.

    Attributes:
        column: Column of the target that holds the segment, by which dimensions of two assets match.
        keys: The segments that are wanted, ascending, none of them twice; of an open one those that are known by now,
            or `WHOLE` alone.
        is_open: Whether segments come to be known as a project runs; else they are listed.
        in_rows: Whether rows have the column; else it is the name of the dimension alone.
    """

    column: str
    keys: tuple[str, ...]
    is_open: bool = False
    in_rows: bool = True

    def __hash__(self) -> int:
        """By what tells most dimensions apart: there may be very many keys."""
        return hash((self.column, len(self.keys), self.keys[:1], self.keys[-1:]))

    def same_column(self, other: SegmentPartition) -> bool:
        """Whether both are of the same column; Spark's names know no case."""
        return self.column.lower() == other.column.lower()

    def parse(self, text: str, *, recorded: bool = False, learns: bool = False) -> tuple[str, ...]:
        """The segments that a key means; `ALL` and nothing mean all of them.

        Args:
            text: The key.
            recorded: It was written down earlier, so that its segment need not be known any more.
            learns: It comes to be known by the key, if the dimension is open.

        Raises:
            PartitionError: It is none of them.

        >>> SegmentPartition("region", ("de", "nl")).parse("nl"), SegmentPartition("region", ("de", "nl")).parse("*")
        (('nl',), ('de', 'nl'))
        """
        if text in ("", ALL):
            return self.keys
        segment = decode_segment(text)
        if not recorded and not (learns and self.is_open) and segment not in self.keys:
            known = "known segment" if self.is_open else "segment"
            raise PartitionError(f"'{text}' is no {known} of {self.column}", hint=self._known_hint(segment))
        return (segment,)

    def _known_hint(self, segment: str) -> str | None:
        """A hint at the key that was meant, or at all that there are, as they are written."""
        if self.keys == (WHOLE,):
            return "none is known yet: until then a run is of all of them, *"
        return did_you_mean(encode_segment(segment), map(encode_segment, self.keys))


@lru_cache(maxsize=64)
def segment_tuples(dimensions: tuple[SegmentPartition, ...]) -> tuple[Segment, ...]:
    """Every tuple of their segments, ascending; of no dimension the empty one."""
    return tuple(product(*(each.keys for each in dimensions)))


def parse_segment_names(dimensions: Sequence[SegmentPartition], texts: Iterable[str]) -> tuple[Segment, ...]:
    """The tuples of the segments that are named, ``KEY`` or ``COLUMN=KEY``; of a dimension without a name all.

    Args:
        dimensions: At least one; only a single one needs no column.
        texts: Several of one dimension mean each of them.

    Raises:
        PartitionError: One is no segment of a dimension.

    >>> regions, shops = SegmentPartition("region", ("de", "nl")), SegmentPartition("shop", ("a", "b", "c"))
    >>> parse_segment_names([regions], ["nl", "de"]), parse_segment_names([regions, shops], ["shop=b", "region=nl",
    ...     "shop=a"])
    ((('nl',), ('de',)), (('nl', 'b'), ('nl', 'a')))
    """
    named: dict[str, list[str]] = {}
    for text in texts:
        column, found, key = text.partition("=")
        dimension = next((each for each in dimensions if found and each.column.lower() == column.lower()), None)
        if dimension is None and len(dimensions) != 1:
            expected = listing([f"{each.column}=KEY" for each in dimensions])
            columns = [each.column for each in dimensions]
            hint = did_you_mean(column, columns) if found else None
            raise PartitionError(f"'{text}' does not tell its dimension; expected {expected}", hint=hint)
        if dimension is None and found and decode_segment(text) not in dimensions[0].keys:
            own = dimensions[0].column
            hint = did_you_mean(column, [own])
            raise PartitionError(f"'{text}': {column!r} is no column of segments; expected {own}=KEY or KEY", hint=hint)
        known, wanted = (dimension, key) if dimension is not None else (dimensions[0], text)
        named.setdefault(known.column, []).extend(known.parse(wanted))
    return tuple(product(*(dict.fromkeys(named.get(each.column, each.keys)) for each in dimensions)))


def encode_segment(segment: str) -> str:
    """A segment as a key: `decoded` gives it back; `WHOLE` is told as what it stands for.

    >>> encode_segment("marketing-dwh"), encode_segment("a,b..c 100%"), encode_segment("*"), encode_segment("")
    ('marketing-dwh', 'a%2Cb%2E.c 100%25', '%2A', '%')
    """
    if segment == WHOLE:
        return ALL
    return _ESCAPED.sub(_hexadecimal, segment) if segment else _NOTHING


def decode_segment(key: str) -> str:
    """The segment of a key.

    Raises:
        PartitionError: It is not UTF-8.
    """
    if key == _NOTHING:
        return ""
    try:
        return unquote(key, errors="strict")
    except UnicodeDecodeError as error:
        raise PartitionError(f"'{key}' is no key of a segment: its bytes are not UTF-8") from error


def _hexadecimal(found: re.Match[str]) -> str:
    return {".": "%2E", ALL: "%2A"}.get(found[0]) or quote(found[0], safe="")
