"""The context of a run that functions and SQL get, and the events and segments that they send through it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, NoReturn

from sparkassets.core.events import Event, wrong_in_context
from sparkassets.core.instants import find_zone, from_unix
from sparkassets.core.journal.announcements import encode_announcement, parse_announcement
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.known_segments import parse_added_segment
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import InputError, RunError, RunSkipped
from sparkassets.frozen import frozen
from sparkassets.ports import RunOrder
from sparkassets.spark.author_values import TriggeringEvents, for_author, local_events

if TYPE_CHECKING:
    from pendulum import DateTime


@dataclass(frozen=True)
class RunOutbox:
    """Announcements of one attempt, held back until the run is recorded.

    Attributes:
        events: The events, as the run's commit stores them.
        keys: The added segments, by column.
    """

    project: ProjectSpec
    asset: AssetSpec
    events: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, list[str]] = field(default_factory=dict)

    def add(self, target: str, partition: str | None, extra: Mapping[str, Any] | None) -> None:
        """Announces that ``target`` was updated.

        Raises:
            RunError: There is no such asset, or the run's own asset listens to it and would run again and again.
        """
        name = self.asset.name
        try:
            entry = parse_announcement(self.project, target, partition=partition, extra=extra)
        except InputError as error:
            raise RunError(f"{name}: context.emit({target!r}): {error.args[0]}", hint=error.hint) from error
        if entry.uri in build_fold_spec(self.asset, self.project).listens:
            raise RunError(f"{name}: context.emit({target!r}): {name} listens to it, so it would run again and again")
        self.events.append(encode_announcement(entry))

    def add_partition(self, key: object, column: str | None) -> None:
        """Announces a segment, which exists from the run's success on.

        Raises:
            RunError: The asset has no such dimension with ``segments: runtime``, or the key is no segment.
        """
        try:
            dimension, text = parse_added_segment(self.asset, key, column)
        except InputError as error:
            raise RunError(f"{self.asset.name}: context.add_partition: {error.args[0]}", hint=error.hint) from error
        known_keys = self.keys.setdefault(dimension, [])
        if text not in known_keys:
            known_keys.append(text)


@frozen
class RunPartition:
    """One partition of the run.

    Attributes:
        start, end: ``[start, end)`` in the run's time zone; None for a partition without time.
        segments: By column; empty for a partition by time alone, or while no segment is known.
    """

    key: str
    start: DateTime | None = None
    end: DateTime | None = None
    segments: Mapping[str, str] = field(default_factory=dict)


@frozen
class WatermarkBounds:
    """The bounds of ``read: {after: column}``, as text that Spark casts to the column's type.

    Attributes:
        low: Earlier runs read all rows up to it; None before the first run.
        high: The newest value that this run reads; None if there is no row at all.
    """

    low: str | None = None
    high: str | None = None


@dataclass(frozen=True)
class RunOutlet:
    """One table that the run writes.

    Attributes:
        path: Where it is; of an asset that publishes the iteration's own folder, there and empty, for a function that
            writes its files itself and returns nothing.
        extra: Filled by the function; becomes the extra of the outlet's event, besides ``context.extra``.
    """

    name: str
    path: str
    extra: dict[str, Any] = field(default_factory=dict)


class RunPartitions(tuple[RunPartition, ...]):  # noqa: SLOT001  with attributes of its own
    """The partitions of the run, oldest first; its attributes are also items.

    Attributes:
        definition: How the asset is partitioned, such as ``day in UTC``; empty without partitions.
    """

    definition: str
    _past: Callable[[], tuple[RunPartition, ...]]

    @classmethod
    def from_run(
        cls, partitioning: Partitioning, current: PartitionSet, past: PartitionSet, local: tzinfo
    ) -> RunPartitions:
        """The run's partitions, with times in the zone ``local``; ``past`` are those that earlier runs computed."""
        partitions = cls(_iterate_partitions(partitioning, current, local))
        partitions.definition = partitioning.description if partitioning.is_partitioned else ""
        partitions._past = lambda: tuple(_iterate_partitions(partitioning, past, local))
        return partitions

    @property
    def current(self) -> tuple[RunPartition, ...]:
        """The partitions of the run."""
        return tuple(self)

    @property
    def past(self) -> tuple[RunPartition, ...]:
        """The partitions that earlier runs have computed, oldest first."""
        return self._past()

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401  a name, a place or a slice
        """An item of the list, or for templates, which look up names as items, one of its properties."""
        if index in ("definition", "current", "past"):
            return getattr(self, index)
        return super().__getitem__(index)


class RunOutlets(dict[str, RunOutlet]):
    """The tables that a run writes, by name: ``outlets.train`` is ``outlets["train"]``."""

    def __getattr__(self, name: str) -> RunOutlet:
        if name in self:
            return self[name]
        raise AttributeError(f"the run has no outlet {name!r}; it writes {', '.join(self)}")


@dataclass(frozen=True)
class Context:
    """The run, for its author.

    Attributes:
        data_interval_start, data_interval_end, logical_date: None without an interval. Like all times here, aware
            pendulum objects in the zone of the asset's timetable, else of the asset.
        schedule_date: The earliest time at which the run may start.
        prev_data_interval_start_success, prev_data_interval_end_success: Interval of the asset's latest success
            that began before this run's; None without one.
        ds, ds_nodash, ts, ts_nodash, ts_nodash_with_tz: ``data_interval_start`` as text; None without an interval.
        watermark: Bounds of the one inlet that is read above a watermark; None with no or several such inlets.
        partitions: Partitions of the run, oldest first; empty for an asset without any. ``partitions.past`` are those
            that earlier runs computed, ``partitions.definition`` says how the asset is partitioned.
        triggering_events: The events that caused the run by asset or URI, oldest first.
        extra: Filled by the function; becomes the extra of the run's event.
    """

    asset: str
    run_id: str
    schedule_date: DateTime
    data_interval_start: DateTime | None = None
    data_interval_end: DateTime | None = None
    logical_date: DateTime | None = None
    prev_data_interval_start_success: DateTime | None = None
    prev_data_interval_end_success: DateTime | None = None
    ds: str | None = None
    ds_nodash: str | None = None
    ts: str | None = None
    ts_nodash: str | None = None
    ts_nodash_with_tz: str | None = None
    partitions: Sequence[RunPartition] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    watermark: WatermarkBounds | None = None
    triggering_events: TriggeringEvents = field(default_factory=TriggeringEvents)
    extra: dict[str, Any] = field(default_factory=dict)
    _outbox: RunOutbox = field(kw_only=True, repr=False)
    _make_outlets: RunOutlets = field(default_factory=RunOutlets, kw_only=True, repr=False)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  only of what is not there
        _, message, hint = wrong_in_context(["context", name]) or (0, f"no {name!r}", None)
        raise AttributeError(f"{message}; {hint}" if hint else message)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  as the attribute
        """An attribute by its name, as Airflow's context has them: ``context["partitions"]``."""
        try:
            return getattr(self, name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    def emit(self, target: str, partition: str | None = None, extra: Mapping[str, Any] | None = None) -> None:
        """Announces that the run has updated ``target``, an asset's name or a dataset URI, besides its own asset.

        The event is recorded together with the run's success, once; a run that fails announces nothing.

        Args:
            target: A name, unless it has ``://``, is the identity of an asset, or is one that a condition names.
            partition: Keys ``A..B`` or ``A``, inclusive.
            extra: Free; at most 64 KiB of JSON, without credentials.

        Raises:
            RunError: There is no such asset or partition, or the extra cannot be recorded.
        """
        self._outbox.add(target, partition, extra)

    def add_partition(self, key: object, dimension: str | None = None) -> None:
        """Announces a segment of the asset (``segments: runtime``), known from the run's success on.

        The run has computed it if it returns rows of it, or was for all segments; else the next run of the same
        invocation does, unless this one is such a run itself. One that is known is not added again.

        Args:
            key: Of the column, as text or as its value.
            dimension: The column; needed where several dimensions of the asset are ``segments: runtime``.

        Raises:
            RunError: The asset has no such dimension, or this is no key.
        """
        self._outbox.add_partition(key, dimension)

    def skip(self, reason: str) -> NoReturn:
        """Ends the run as skipped: nothing is written or announced, and its triggers are used up.

        Args:
            reason: Recorded with the run, and shown by `runs` and the report.

        Raises:
            RunSkipped: Always.
        """
        raise RunSkipped(reason)

    @property
    def outlets(self) -> RunOutlets:
        """The tables that the run writes, by name: ``context.outlets.train.path`` and ``.extra``."""
        return self._make_outlets

    @property
    def added_segments(self) -> Mapping[str, Sequence[str]]:
        """The segments added so far, by column."""
        return {column: tuple(keys) for column, keys in self._outbox.keys.items()}

    @property
    def announced_events(self) -> Sequence[Mapping[str, Any]]:
        """The events announced so far, as the run's commit stores them."""
        return tuple(self._outbox.events)

    @property
    def triggering_event(self) -> Event:
        """The newest event, where exactly one dataset triggered the run: its extra, partitions, source run.

        Raises:
            RunError: No dataset did, or several.
        """
        return self.triggering_events.newest()

    @property
    def triggering_dataset_events(self) -> TriggeringEvents:
        """Airflow's deprecated name of `triggering_events`."""
        message = "context.triggering_dataset_events is Airflow's name: write context.triggering_events"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.triggering_events

    def names(self) -> dict[str, Any]:
        """The attributes by name, for templates.

        Those that are None are left out, so that a template that uses one gets an error that explains it.
        """
        values = {each.name: getattr(self, each.name) for each in fields(self) if not each.name.startswith("_")}
        return {name: value for name, value in values.items() if value is not None}


def make_context(
    order: RunOrder,
    *,
    watermark: WatermarkBounds | None,
    project: ProjectSpec,
    folders: Mapping[str, str] | None = None,
) -> Context:
    """The context of one attempt.

    ``folders`` are the folders into which its function may write files, by outlet; ``watermark`` is None unless exactly
    one inlet is read above one.
    """
    asset = order.asset
    local = find_zone(asset.local_zone)
    extra: dict[str, Any] = {}
    start, end = _localize_interval(order.interval, local)
    previous_start, previous_end = _localize_interval(order.previous_interval, local)
    return Context(
        asset=asset.name,
        run_id=order.run,
        schedule_date=for_author(order.schedule_date, local),
        data_interval_start=start,
        data_interval_end=end,
        logical_date=start,
        prev_data_interval_start_success=previous_start,
        prev_data_interval_end_success=previous_end,
        ds=_format_time(start, "%Y-%m-%d"),
        ds_nodash=_format_time(start, "%Y%m%d"),
        ts=start.isoformat() if start else None,
        ts_nodash=_format_time(start, "%Y%m%dT%H%M%S"),
        ts_nodash_with_tz=_format_time(start, "%Y%m%dT%H%M%S%z"),
        partitions=RunPartitions.from_run(asset.partitioning, order.partitions, order.computed_partitions, local),
        params=for_author(asset.params_of(order.partitions), local),
        watermark=watermark,
        triggering_events=local_events(order.events, local),
        extra=extra,
        _outbox=RunOutbox(project, asset),
        _make_outlets=_make_outlets(order, extra, folders or {}),
    )


def _make_outlets(order: RunOrder, extra: dict[str, Any], folders: Mapping[str, str]) -> RunOutlets:
    """The tables that the run writes, by name; the one table of an ordinary asset shares the run's extra."""
    locations = ((each.asset.name, each.asset.storage) for each in order.table_orders)
    shared_extra = {} if order.outlets else {"extra": extra}
    outlet_paths = (
        (name, folders.get(name) or (place.display_text if place is not None else "")) for name, place in locations
    )
    return RunOutlets({name: RunOutlet(name, path, **shared_extra) for name, path in outlet_paths})


def list_run_partitions(partitioning: Partitioning, parts: PartitionSet, local: tzinfo) -> tuple[RunPartition, ...]:
    """The partitions, oldest first, with times in the zone ``local``; empty for an asset without partitions."""
    return tuple(_iterate_partitions(partitioning, parts, local))


def _iterate_partitions(partitioning: Partitioning, partitions: PartitionSet, local: tzinfo) -> Iterator[RunPartition]:
    """The partitions with their keys, times and segments; empty for an asset without partitions.

    Segments that are not known yet are left out.
    """
    if not partitioning.is_partitioned:
        return
    columns = [each.column for each in partitioning.segments]
    for key, (start, _, segment) in zip(partitioning.keys(partitions), partitioning.slots(partitions), strict=True):
        time = partitioning.time
        first, after = _localize_interval(
            None if time is None else (from_unix(start), from_unix(time.stop(start))), local
        )
        yield RunPartition(
            key, first, after, {name: text for name, text in zip(columns, segment, strict=True) if text != WHOLE}
        )


def _localize_interval(
    interval: tuple[datetime, datetime] | None, zone: tzinfo
) -> tuple[DateTime, DateTime] | tuple[None, None]:
    return (for_author(interval[0], zone), for_author(interval[1], zone)) if interval else (None, None)


def _format_time(start: datetime | None, form: str) -> str | None:
    return None if start is None else start.strftime(form)
