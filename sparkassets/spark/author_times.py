"""Times as authors see them: pendulum's dates, durations and instants, in the asset's time zone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from functools import cache
from typing import Any


def for_author(value: Any, zone: tzinfo) -> Any:  # noqa: ANN401  whatever a run has
    """Replaces the standard library's times by pendulum's, also within lists and maps.

    >>> from datetime import UTC
    >>> for_author(datetime(2025, 1, 1, tzinfo=UTC), UTC).add(days=1).to_date_string()
    '2025-01-02'
    """
    if isinstance(value, Mapping):
        return {name: for_author(each, zone) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [for_author(each, zone) for each in value]
    if not isinstance(value, date | timedelta):
        return value
    import pendulum

    if isinstance(value, datetime):
        return pendulum.instance(value if value.tzinfo is None else value.astimezone(zone), tz=None)
    if isinstance(value, date):
        return pendulum.Date(value.year, value.month, value.day)
    return pendulum.duration(days=value.days, seconds=value.seconds, microseconds=value.microseconds)


@cache
def accept_in_rows() -> None:
    """Lets Spark accept pendulum's times in rows; it checks the exact type and would make structs of them."""
    import pendulum
    from pyspark.sql import types

    for own, kinds in (
        (pendulum.DateTime, (types.TimestampType, types.TimestampNTZType)),
        (pendulum.Date, (types.DateType,)),
        (pendulum.Duration, (types.DayTimeIntervalType,)),
        (pendulum.Interval, (types.DayTimeIntervalType,)),
    ):
        types._type_mappings[own] = kinds[0]  # noqa: SLF001  no other way
        for kind in kinds:
            types._acceptable_types[kind] += (own,)  # noqa: SLF001
