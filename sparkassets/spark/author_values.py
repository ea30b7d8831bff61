"""Times and triggering events as an author's code gets them: in the asset's time zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from functools import cache
from typing import Any

from sparkassets.core.events import Event, build_event
from sparkassets.core.phrases import listing
from sparkassets.errors import RunError


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

    for pendulum_type, spark_types in (
        (pendulum.DateTime, (types.TimestampType, types.TimestampNTZType)),
        (pendulum.Date, (types.DateType,)),
        (pendulum.Duration, (types.DayTimeIntervalType,)),
        (pendulum.Interval, (types.DayTimeIntervalType,)),
    ):
        types._type_mappings[pendulum_type] = spark_types[0]  # noqa: SLF001  no other way
        for spark_type in spark_types:
            types._acceptable_types[spark_type] += (pendulum_type,)  # noqa: SLF001


class TriggeringEvents(Mapping[str, Sequence[Event]]):
    """Events by dataset, oldest first; a dataset is found by its URI or by any asset with that URI.

    Names are attributes and items. Iterating yields each dataset once: by its asset, else by its URI.
    """

    def __init__(self, events: Mapping[str, Sequence[Event]] | None = None) -> None:
        """Takes the events by all their names, each dataset's main name first."""
        self._events = dict(events or {})
        names_by_uri: dict[str, str] = {}
        for name, dataset_events in self._events.items():
            names_by_uri.setdefault(dataset_events[-1]["uri"], name)
        self._names = tuple(names_by_uri.values())

    def __getitem__(self, name: str) -> Sequence[Event]:
        if name not in self._events:
            raise KeyError(self.why_missing(name))
        return self._events[name]

    def __getattr__(self, name: str) -> Sequence[Event]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._events:
            raise AttributeError(self.why_missing(name))
        return self._events[name]

    def __contains__(self, name: object) -> bool:
        return name in self._events

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"

    def why_missing(self, name: str) -> str:
        """Why there are no events of that name."""
        return f"no event of {name!r} triggered this run; {self._describe_events()}"

    def newest(self) -> Event:
        """The newest event of the only dataset that triggered the run.

        Raises:
            RunError: No event did, or events of several datasets.
        """
        if len(self._names) != 1:
            ask = "use 'triggering_events' for one of them" if self._names else "'triggering_events' is empty then"
            message = f"'triggering_event' needs exactly one triggering dataset, but {self._describe_events()}"
            raise RunError(f"{message}; {ask}")
        return self._events[self._names[0]][-1]

    def _describe_events(self) -> str:
        return f"events of {listing(self._names, last='and')} did" if self._names else "no event did"


def local_events(events: Mapping[str, Sequence[Mapping[str, Any]]], zone: tzinfo) -> TriggeringEvents:
    """The events with their times in a zone."""
    return TriggeringEvents({name: [_localize_event(each, zone) for each in found] for name, found in events.items()})


def _localize_event(event: Mapping[str, Any], zone: tzinfo) -> Event:
    written_at = event.get("at")
    at = for_author(datetime.fromisoformat(written_at), zone) if isinstance(written_at, str) else written_at
    times = {"source_run": for_author(event["source_run"], zone), **({"at": at} if written_at is not None else {})}
    return build_event({**event, **times})
