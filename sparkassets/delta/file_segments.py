"""The segments that a Delta table's files hold, from partition values and statistics, without reading one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from sparkassets.core.partitions import SegmentPartition, SegmentValue, segment_of, segment_value
from sparkassets.delta.columns import PartitionColumn
from sparkassets.delta.file_times import MOST_IGNORED, NULL
from sparkassets.frozen import frozen

_WHOLE_TEXT = 32
"""Characters from which on a bound may be the beginning of a text, cut off by its writer."""

_LONG_DECIMAL = re.compile(r"decimal\((1[6-9]|[23]\d),")
"""Of more digits than a float keeps, as which deltalake writes bounds: they lie beside the values then."""


@frozen
class FileSegment:
    """The segments of a file's rows in one dimension as far as the log tells them.

    Attributes:
        low, high: The least and the greatest; no row has any where both are None.
        exact: Whether all of them are one: ``low``.
        rows: How many rows have one, None where that is not told; with a deletion vector there are fewer.
        nulls: Whether other rows may have none.
    """

    low: str | None
    high: str | None
    exact: bool = True
    rows: int | None = None
    nulls: bool = False


NOWHERE = FileSegment(None, None, rows=0)
"""Of a file whose rows have no segment."""


@dataclass(slots=True)
class FileSegments:
    """Tells the segments of files in one dimension; remembers what is none of them.

    Attributes:
        ignored_values: Values that are not among the keys, also `NULL`: their rows are left out.
    """

    column: PartitionColumn
    partition: SegmentPartition
    ignored_values: set[str] = field(default_factory=set)
    _known: frozenset[str] = field(init=False)
    _texts: dict[Any, str | None] = field(default_factory=dict)
    _values: dict[str, SegmentValue | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._known = frozenset(self.partition.keys)

    def of_partition(self, value: Any, *, rows: int | None) -> FileSegment:  # noqa: ANN401 - of any type
        """The segment of a file in the physical partition ``value``."""
        found = (
            self.key_of(None if value == "" else value) if rows != 0 else None
        )  # as Delta's protocol writes no value
        return NOWHERE if found is None else FileSegment(found, found, rows=rows)

    def of_bounds(self, low: Any, high: Any, *, rows: int | None, nulls: int | None) -> FileSegment | None:  # noqa: ANN401
        """The segments from the least to the greatest value in a file; None where its statistics do not tell."""
        if nulls:
            self.leave_out(NULL)
        if rows == 0 or (low is None and rows is not None and rows == nulls):
            return NOWHERE
        first, last = self._text(low), self._text(high)
        if first is None or last is None or _LONG_DECIMAL.match(self.column.kind):
            return None
        told = None if rows is None or nulls is None else rows - nulls
        if not are_one(first, last, self.column.kind):
            return FileSegment(first, last, exact=False, rows=told, nulls=nulls != 0)
        key = self.key_of(low)
        return NOWHERE if key is None else FileSegment(key, key, rows=told, nulls=nulls != 0)

    def key_of(self, value: Any) -> str | None:  # noqa: ANN401 - of any type
        """The segment of one value; None, and noted, for one that is not among the keys, where these are listed."""
        text = self._text(value)
        if text in self._known or (self.partition.is_open and text is not None):
            return text
        self.leave_out(NULL if value is None else str(value) if text is None else text)
        return None

    def leave_out(self, value: str) -> None:
        """Notes a value that is not among the keys."""
        if len(self.ignored_values) < MOST_IGNORED:
            self.ignored_values.add(value)

    def may_be(self, segment: str, found: FileSegment | None) -> bool:
        """Whether a row of the file may be in that segment."""
        if found is None:
            return True
        if found.exact:
            return found.low == segment
        value, low, high = (self._value(text) for text in (segment, found.low, found.high))
        return value is not None and low is not None and high is not None and bool(low <= value <= high)  # type: ignore[operator]

    def _text(self, value: Any) -> str | None:  # noqa: ANN401 - of any type
        if isinstance(value, float):  # equal to a decimal that has more digits than it
            return segment_of(value, self.column.kind)
        if value not in self._texts:
            self._texts[value] = segment_of(value, self.column.kind)
        return self._texts[value]

    def _value(self, text: str | None) -> SegmentValue | None:
        if text is None:
            return None
        if text not in self._values:
            self._values[text] = segment_value(text, self.column.kind)
        return self._values[text]


def are_one(low: Any, high: Any, kind: str) -> bool:  # noqa: ANN401 - of any type
    """Whether all values between two bounds of a column of that kind are the same one.

    >>> are_one("de", "de", "string"), are_one("x" * 32, "x" * 32, "string"), are_one(1, 2, "integer")
    (True, False, False)
    """
    return bool(low == high) and not (kind == "string" and len(low) >= _WHOLE_TEXT)
