"""Which live files of a table can hold rows that are newer than what was read, by their statistics alone.

A table that only grows is read above a watermark, of which a file or two of thousands know anything. What is told here
leaves files out, never rows: who reads them still compares each row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final

from sparkassets.core.instants import Duration
from sparkassets.delta.file_split import TableFiles
from sparkassets.delta.live_files import LiveFile
from sparkassets.frozen import frozen

_ROUGH: Final = timedelta(milliseconds=1)
"""Statistics have instants in whole milliseconds, rounded off."""
_PARSED: Final[Mapping[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    "date": date.fromisoformat,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), lambda text: datetime.fromisoformat(text) - _ROUGH),
    "string": str,
}
"""Of the types whose bounds in the log are exact, or err upwards: not so decimals, which are numbers of JSON there."""
_LONGEST_MONTH, _LONGEST_DAY = 31, timedelta(hours=25)
_OF_DATES: Final = timedelta(days=2)
"""Time is taken off a date from its midnight on, which comes to the day before; and that day belongs."""


@frozen
class NewerRows:
    """Rows whose value of a column is above ``low``, or from ``overlap`` below it on.

    Attributes:
        low: As Spark writes it; instants with their zone, which is UTC.
    """

    column: str
    low: str
    overlap: Duration | None = None

    def find_files(self, files: TableFiles) -> list[LiveFile]:
        """The files that may hold such rows; all of them where that cannot be told."""
        bound, highest = self._bound(files), self._highest(files)
        if bound is None or highest is None:
            return files.files
        told = zip(files.files, highest, strict=True)
        return [file for file, value in told if value is None or not _is_before(value, bound)]

    def _bound(self, files: TableFiles) -> Any:  # noqa: ANN401  of the column's type
        """What newer values are above; None where this is no such column."""
        fields: Sequence[Mapping[str, Any]] = json.loads(files.schema)["fields"]
        kind = next((field["type"] for field in fields if field["name"].lower() == self.column.lower()), None)
        parsed = _PARSED.get(kind) if isinstance(kind, str) else None
        if parsed is None:
            return None
        try:
            low = parsed(self.low)
            return low if self.overlap is None else low - _longest_span(self.overlap)
        except (ValueError, TypeError, OverflowError):
            return None

    def _highest(self, files: TableFiles) -> Sequence[Any] | None:
        """The highest value in each file; None where the log has none for this column."""
        wanted = (f"max.{self.column}".lower(), f"partition.{self.column}".lower())
        name = next((name for name in files.adds.schema.names if name.lower() in wanted), None)
        if name is None or "." in self.column:  # such a name may mean a field of another column
            return None
        try:
            values: Sequence[Any] = files.adds.column(name).to_pylist()
        except (ValueError, OverflowError):
            return None
        return values


def _longest_span(span: Duration) -> timedelta:
    """As much as a length of time can be in any zone, or more."""
    return (span.months * _LONGEST_MONTH + span.days) * _LONGEST_DAY + timedelta(seconds=span.seconds) + _OF_DATES


def _is_before(value: Any, bound: Any) -> bool:  # noqa: ANN401  of the column's type
    try:
        return bool(value <= bound)
    except TypeError:  # written as something else than the column is now
        return False
