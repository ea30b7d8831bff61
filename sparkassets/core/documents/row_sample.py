"""Some rows of a table or of a query, for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time
from typing import Any

from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen

_MASKED = "***"


@frozen
class RowSample:
    """Rows in no order.

    Attributes:
        asset: Whose rows.
        version: The table's version; None for rows of a query.
        columns: The names of all columns.
        rows: At most as many as were asked for; the values of a row are in the order of the columns.
    """

    asset: str
    version: int | None
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def without_pii(self, asset: AssetSpec) -> RowSample:
        """The same with ``***`` for each value of a column that the asset hides."""
        hidden = {name.lower() for name in asset.private}
        places = [name.lower() in hidden for name in self.columns]
        rows = (
            tuple(
                _MASKED if is_hidden and value is not None else value
                for value, is_hidden in zip(row, places, strict=True)
            )
            for row in self.rows
        )
        return RowSample(self.asset, self.version, self.columns, tuple(rows))


def sample_document(sample: RowSample) -> dict[str, Any]:
    """The sample for ``show --json``."""
    return {
        "asset": sample.asset,
        "version": sample.version,
        "columns": list(sample.columns),
        "rows": [[value_document(value) for value in row] for row in sample.rows],
    }


def value_document(value: Any) -> Any:  # noqa: ANN401  of any type
    """A value as JSON has it: text for numbers and times that JSON lacks, hexadecimal for bytes.

    >>> from decimal import Decimal
    >>> value_document([Decimal("1.50"), b"a", float("nan"), {"at": date(2025, 1, 2)}])
    ['1.50', '61', 'nan', {'at': '2025-01-02'}]
    """
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return value if abs(value) < float("inf") else str(value)
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case Mapping():
            return {str(name): value_document(each) for name, each in value.items()}
        case list() | tuple():
            return [value_document(each) for each in value]
    return str(value)


def value_text(value: Any) -> str:  # noqa: ANN401  of any type
    """A value in a table for people.

    >>> value_text(None), value_text(1.5), value_text([1, 2])
    ('NULL', '1.5', '[1, 2]')
    """
    return "NULL" if value is None else str(value_document(value))
