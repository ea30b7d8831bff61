"""Files of a table that may hold rows whose keys lie within given ranges, by the log's statistics."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sparkassets.delta.file_split import TableFiles
    from sparkassets.delta.live_files import LiveFile

_PARSED: Final[Mapping[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    "date": date.fromisoformat,
    "string": str,
}
"""Types whose bounds in the log are exact, or farther apart; not instants, which it has in milliseconds."""


def find_files_in_ranges(files: TableFiles, ranges: Mapping[str, tuple[str, str]]) -> list[LiveFile]:
    """The files that may hold a row with every one of these columns within its range, in their order.

    A file without statistics is among them, and a column of another type excludes none.

    Args:
        files: The table's live files.
        ranges: The least and the greatest value as text, both included, by column.
    """
    kinds = {field["name"].lower(): field["type"] for field in json.loads(files.schema)["fields"]}
    found = dict(enumerate(files.files))
    for name, (low, high) in ranges.items():
        kind = kinds.get(name.lower())
        parse, bounds = _PARSED.get(kind) if isinstance(kind, str) else None, _read_bounds(files, name)
        if parse is None or bounds is None:
            continue
        try:
            first, last = parse(low), parse(high)
            outside = [number for number in found if not _overlaps(first, last, *bounds[number])]
        except (TypeError, ValueError):  # the log has them as values of another type
            continue
        for number in outside:
            del found[number]
    return [*found.values()]


def _overlaps(first: Any, last: Any, least: Any, greatest: Any) -> bool:  # noqa: ANN401  of the column's type
    return least is None or greatest is None or bool(first <= greatest and least <= last)


def _read_bounds(files: TableFiles, name: str) -> Sequence[tuple[Any, Any]] | None:
    """The least and the greatest value of a column in each file; None where the log has no such bounds."""
    values = _read_column(files, f"partition.{name}")
    if values is not None:
        return [*zip(values, values, strict=True)]
    least, greatest = _read_column(files, f"min.{name}"), _read_column(files, f"max.{name}")
    return None if least is None or greatest is None else [*zip(least, greatest, strict=True)]


def _read_column(files: TableFiles, name: str) -> Sequence[Any] | None:
    """A column of the flattened add actions; None without it, or where it may mean a field of another column."""
    found = next((each for each in files.adds.schema.names if each.lower() == name.lower()), None)
    if found is None or name.count(".") > 1:
        return None
    try:
        values: Sequence[Any] = files.adds.column(found).to_pylist()
    except (ValueError, OverflowError):
        return None
    return values
