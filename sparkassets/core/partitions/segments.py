"""The segment dimension: its tuples, its values and their text in keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote, unquote

from sparkassets.core.partitions.grains import PartitionError
from sparkassets.core.partitions.segment_functions import Segment
from sparkassets.core.phrases import listing
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from decimal import Decimal

ALL: Final = "*"
"""In place of a key: every partition of that dimension."""
_ESCAPED = re.compile(r"[%,\x00-\x1f\x7f-\x9f]|\.(?=\.)|^\*$")
"""Characters that separate keys or that a terminal cannot show: written as ``%`` and UTF-8 bytes in hexadecimal."""
_EMPTY_KEY = "%"
"""The key of the empty text; an empty key would mean every partition."""
WHOLE: Final = "\x00"
"""Stands for all segments of an open dimension while none is known yet: its *whole*, which may hold any segment."""


@frozen(array_like=True)
class SegmentPartition:
    """One dimension of segments.

    Attributes:
        column: Column of the target that holds the segment, by which dimensions of two assets match.
        keys: The wanted segments, ascending and distinct; for an open dimension those known by now, or `WHOLE` alone.
        is_open: Whether segments are discovered as the project runs; else they are listed in its files.
        in_rows: Whether rows have the column; else it is only the dimension's name.
    """

    column: str
    keys: tuple[str, ...]
    is_open: bool = False
    in_rows: bool = True

    def __hash__(self) -> int:
        """Hashes what differs between most dimensions, not all keys: there may be very many."""
        return hash((self.column, len(self.keys), self.keys[:1], self.keys[-1:]))

    def same_column(self, other: SegmentPartition) -> bool:
        """Whether both have the same column; column names ignore case, as in Spark."""
        return self.column.lower() == other.column.lower()

    def parse(self, text: str, *, recorded: bool = False, learns: bool = False) -> tuple[str, ...]:
        """The segments that a key names; `ALL` and the empty text name all known segments.

        Args:
            text: The key.
            recorded: The key was recorded earlier, so that its segment need not be known any more.
            learns: The key may name a new segment, if the dimension is open.

        Raises:
            PartitionError: The key names no segment of the dimension.

        >>> SegmentPartition("region", ("de", "nl")).parse("nl"), SegmentPartition("region", ("de", "nl")).parse("*")
        (('nl',), ('de', 'nl'))
        """
        if text in ("", ALL):
            return self.keys
        segment = decode_segment(text)
        if not recorded and not (learns and self.is_open) and segment not in self.keys:
            known = "known segment" if self.is_open else "segment"
            raise PartitionError(f"'{text}' is not a {known} of {self.column}", hint=self._known_hint(segment))
        return (segment,)

    def _known_hint(self, segment: str) -> str | None:
        """A hint with the most similar known key, or with all of them; None where there is none to suggest."""
        if self.keys == (WHOLE,):
            return "none is known yet: until then a run computes all of them, *"
        from sparkassets.core.suggestions import did_you_mean  # for messages; so the next

        return did_you_mean(encode_segment(segment), map(encode_segment, self.keys))


@lru_cache(maxsize=64)
def segment_tuples(dimensions: tuple[SegmentPartition, ...]) -> tuple[Segment, ...]:
    """Every tuple of the dimensions' known segments, ascending; without dimensions the empty tuple alone."""
    return tuple(product(*(each.keys for each in dimensions)))


def parse_segment_names(dimensions: Sequence[SegmentPartition], texts: Iterable[str]) -> tuple[Segment, ...]:
    """The tuples of the named segments, each ``KEY`` or ``COLUMN=KEY``.

    A dimension that no text names takes part with all of its known segments.

    Args:
        dimensions: At least one; a single one needs no column in ``texts``.
        texts: Several for one dimension name each of these segments.

    Raises:
        PartitionError: A text names no segment of a dimension.

    >>> regions, shops = SegmentPartition("region", ("de", "nl")), SegmentPartition("shop", ("a", "b", "c"))
    >>> parse_segment_names([regions], ["nl", "de"]), parse_segment_names([regions, shops], ["shop=b", "region=nl",
    ...     "shop=a"])
    ((('nl',), ('de',)), (('nl', 'b'), ('nl', 'a')))
    """
    named: dict[str, list[str]] = {}
    for text in texts:
        dimension, key = _split_name(dimensions, text)
        named.setdefault(dimension.column, []).extend(dimension.parse(key))
    return tuple(product(*(dict.fromkeys(named.get(each.column, each.keys)) for each in dimensions)))


def _split_name(dimensions: Sequence[SegmentPartition], text: str) -> tuple[SegmentPartition, str]:
    """The dimension and the key that ``KEY`` or ``COLUMN=KEY`` names.

    A single dimension may have a key with ``=`` in it.
    """
    column, equals, key = text.partition("=")
    columns = [each.column for each in dimensions]
    for dimension in dimensions if equals else ():
        if dimension.column.lower() == column.lower():
            return dimension, key
    from sparkassets.core.suggestions import did_you_mean

    hint = did_you_mean(column, columns) if equals else None
    if len(dimensions) != 1:
        expected = listing([f"{each}=KEY" for each in columns])
        raise PartitionError(f"'{text}' does not name its dimension; expected {expected}", hint=hint)
    if equals and decode_segment(text) not in dimensions[0].keys:
        message = f"'{text}': {column!r} is not a column of segments; expected {columns[0]}=KEY or KEY"
        raise PartitionError(message, hint=hint)
    return dimensions[0], text


def encode_segment(segment: str) -> str:
    """A segment as a key, which `decode_segment` reads back; `WHOLE` becomes ``*``.

    >>> encode_segment("marketing-dwh"), encode_segment("a,b..c 100%"), encode_segment("*"), encode_segment("")
    ('marketing-dwh', 'a%2Cb%2E.c 100%25', '%2A', '%')
    """
    if segment == WHOLE:
        return ALL
    return _ESCAPED.sub(_escape_character, segment) if segment else _EMPTY_KEY


def decode_segment(key: str) -> str:
    """The segment of a key.

    Raises:
        PartitionError: Its escaped bytes are not UTF-8.
    """
    if key == _EMPTY_KEY:
        return ""
    try:
        return unquote(key, errors="strict")
    except UnicodeDecodeError as error:
        raise PartitionError(f"'{key}' cannot be a segment key: its bytes are not UTF-8") from error


def _escape_character(match: re.Match[str]) -> str:
    return {".": "%2E", ALL: "%2A"}.get(match[0]) or quote(match[0], safe="")


SegmentValue: TypeAlias = "str | int | date | Decimal"
"""A value in a column of segments; a bool, which is an int, for a boolean column."""

_INTEGER_BITS: Final = {
    "byte": 8,
    "tinyint": 8,
    "short": 16,
    "smallint": 16,
    "integer": 32,
    "int": 32,
    "long": 64,
    "bigint": 64,
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"(?!-0$)(-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?)")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BOOLEANS: Final = {"true": True, "false": False}
_EXACT_DIGITS: Final = 15
"""Number of decimal digits that a float holds exactly."""


def holds_segments(kind: str) -> bool:
    """Whether every value of a column of this type has one text: strings, whole numbers, decimals, dates, booleans.

    Args:
        kind: The column's type as Spark or Delta calls it.
    """
    return kind in _INTEGER_BITS or kind in ("string", "date", "boolean") or _DECIMAL.fullmatch(kind) is not None


def segment_value(segment: str, kind: str) -> SegmentValue | None:
    """The value of a segment in a column of this type; None where the text is not that of a value.

    A text that is not the canonical one, such as ``007``, is none either: two texts would name one partition.

    >>> segment_value("-7", "tinyint"), segment_value("007", "tinyint"), segment_value("128", "tinyint")
    (-7, None, None)
    >>> segment_value("1.5", "decimal(9,2)"), segment_value("1.50", "decimal(9,2)"), segment_value("true", "boolean")
    (Decimal('1.5'), None, True)
    """
    if kind == "string":
        return segment
    if kind == "boolean":
        return _BOOLEANS.get(segment)
    if kind == "date":
        return _parse_date(segment)
    if kind in _INTEGER_BITS:
        bound = 1 << (_INTEGER_BITS[kind] - 1)
        # a text with more digits than the bound is not converted: it may be huge
        number = int(segment) if _WHOLE_NUMBER.fullmatch(segment) and len(segment) <= len(str(bound)) + 1 else None
        return number if number is not None and -bound <= number < bound else None
    return _parse_decimal(segment, kind)


def segment_of(value: object, kind: str) -> str | None:
    """The segment of a column's value, or of its text in Delta's log; None where it has none.

    A float does not hold all digits of a long decimal, so such a value has no certain text.

    >>> from decimal import Decimal
    >>> segment_of(Decimal("1.50"), "decimal(9,2)"), segment_of("1.50", "decimal(9,2)"), segment_of(False, "boolean")
    ('1.5', '1.5', 'false')
    >>> segment_of("2025-03-01", "date"), segment_of(date(2025, 3, 1), "date"), segment_of(None, "date")
    ('2025-03-01', '2025-03-01', None)
    """
    if value is None:
        return None
    if isinstance(value, bool):
        text = str(value).lower()
    elif (decimal_type := _DECIMAL.fullmatch(kind)) is not None:
        if isinstance(value, float) and int(decimal_type[1]) > _EXACT_DIGITS:
            return None
        text = _canonical_decimal(str(value))
    else:
        text = str(value)
    return text if segment_value(text, kind) is not None else None


def _canonical_decimal(text: str) -> str:
    """A decimal number as text, without an exponent and without zeros at its end."""
    from decimal import Decimal, InvalidOperation  # most projects have none

    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    plain = f"{number:f}"
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain == "-0" else plain


def _parse_decimal(segment: str, kind: str) -> Decimal | None:
    """The decimal of a canonical text; None where it is not one or does not fit the type."""
    decimal_type = _DECIMAL.fullmatch(kind)
    if decimal_type is None or _NUMBER.fullmatch(segment) is None:
        return None
    precision, scale = int(decimal_type[1]), int(decimal_type[2])
    whole, _, fraction = segment.lstrip("-").partition(".")
    from decimal import Decimal

    # the type's precision counts all digits, its scale those after the point
    fits = len(whole.lstrip("0")) <= precision - scale and len(fraction) <= scale
    return Decimal(segment) if fits else None


def _parse_date(segment: str) -> date | None:
    """The date of a text ``YYYY-MM-DD``; None where it is not one."""
    try:
        return date.fromisoformat(segment) if _DAY.fullmatch(segment) else None
    except ValueError:
        return None
