"""The least and the greatest value that a Parquet footer tells of a column, without pandas where pyarrow takes it.

A look imports nothing that it does not need: pandas alone takes longer than all else of it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

_PER_SECOND = {"milliseconds": 1_000, "microseconds": 1_000_000}


def read_bounds(statistics: Any) -> tuple[Any, Any]:  # noqa: ANN401 - pyarrow has no types
    """Both, as pyarrow has them; instants of nanoseconds by pandas all the same."""
    kind = json.loads(statistics.logical_type.to_json())
    unit = _PER_SECOND.get(kind.get("timeUnit", "")) if kind.get("Type") == "Timestamp" else None
    if unit is None:
        return statistics.min, statistics.max
    zone = UTC if kind.get("isAdjustedToUTC") else None
    try:
        low, high = (_instant(raw, unit, zone) for raw in (statistics.min_raw, statistics.max_raw))
    except OverflowError:
        return statistics.min, statistics.max
    return low, high


def _instant(raw: int, unit: int, zone: tzinfo | None) -> datetime:
    """The instant so many units after 1970."""
    return datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=raw * (1_000_000 // unit))
