"""Small projects and journals for tests of the core and the runtime; no files, no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import Any

from sparkassets.core.conditions import AnyOf, UpdateLeaf
from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.instants import from_unix, parse_instant, to_unix
from sparkassets.core.journal.codec import to_row
from sparkassets.core.journal.entries import (
    ClaimEntry,
    Entry,
    EventEntry,
    FailureEntry,
    NumberedEntry,
    ObservedEntry,
    OutletEntry,
    SkippedEntry,
    SpecEntry,
    SuccessEntry,
)
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import (
    NOTHING,
    OverlapMapping,
    Partitioning,
    PartitionSet,
    SegmentPartition,
    TimePartition,
)
from sparkassets.core.planner.plan import Plan, PlannedRun
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, InletSpec, Schedule, SourceSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, FullRefresh
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.core.writes import ReplaceWrite
from sparkassets.errors import FileLocation

HERE = FileLocation("test.yml", 1, 1)

Segments = Mapping[str, Sequence[str]]
"""Column to keys; ``runtime`` in place of them for those that come to be known."""
"""The keys of each column."""

clock = partial(parse_timetable, timezone="UTC")
"""Makes the timetables of conditions."""


def at(text: str) -> int:
    """Unix seconds of an ISO instant, UTC unless it says otherwise."""
    return to_unix(parse_instant(text, zone="UTC"))


def days(*keys: str, by: str = "day", zone: str = "UTC") -> PartitionSet:
    """Ranges of keys such as ``2025-01-01..2025-01-03``."""
    partitioning = Partitioning(TimePartition(by, zone))  # type: ignore[arg-type]
    return PartitionSet.union(partitioning.parse(key) for key in keys)


def partitioned(by: str | None, zone: str = "UTC", segments: Segments = MappingProxyType({})) -> Partitioning:
    """By a grain of time, unless it is None, and by the segments of each column."""
    time = TimePartition(by, zone, column=by) if by else None  # type: ignore[arg-type]
    return Partitioning(time, tuple(_segments(column, keys) for column, keys in segments.items()))


def _segments(column: str, keys: Sequence[str]) -> SegmentPartition:
    is_open = keys == "runtime"
    return SegmentPartition(column, () if is_open else tuple(sorted(keys)), is_open)


def source(
    name: str,
    *,
    by: str | None = "day",
    zone: str = "UTC",
    segments: Segments = MappingProxyType({}),
    **more: Any,
) -> AssetSpec:
    """An asset that others write."""
    return AssetSpec(
        name,
        f"x-{name}",
        StorageLocation(f"/data/{name}", name),
        HERE,
        source=SourceSpec("delta"),
        partitioning=partitioned(by, zone, segments),
        **more,
    )


def timed(value: Any, zone: str = "UTC", **bounds: Any) -> Schedule:
    """The schedule of a timetable."""
    timetable = parse_timetable(value, timezone=zone, **bounds)
    return Schedule(timetable, text=timetable.text)


def asset(
    name: str,
    *inlets: str | InletSpec,
    by: str | None = "day",
    zone: str = "UTC",
    segments: Segments = MappingProxyType({}),
    schedule: str | Schedule | None = None,
    **more: Any,
) -> AssetSpec:
    """An asset that is computed; inlets named alike are mapped by overlap when `project` links them."""
    partitioning = partitioned(by, zone, segments)
    linked = {item.name: item for item in (_inlet(inlet) for inlet in inlets)}
    when = schedule if isinstance(schedule, Schedule) else Schedule()
    if isinstance(schedule, str):
        when = Schedule(None, parse_condition(schedule, clock), schedule)
    strategy = DateRange() if partitioning.is_partitioned else FullRefresh()
    defaults: dict[str, Any] = {"strategy": strategy, "write": ReplaceWrite(), **more}
    made = AssetSpec(
        name,
        name,
        StorageLocation(f"/data/{name}", name),
        HERE,
        inlets=linked,
        partitioning=partitioning,
        schedule=when,
        **defaults,
    )
    return made if schedule is not None else _default_schedule(made)


def multi(writer: AssetSpec, *outlets: str) -> tuple[AssetSpec, ...]:
    """The asset as a multi-asset, and its outlets."""
    made = replace(writer, uri=f"sparkassets:{writer.name}", storage=None, outlets=outlets)
    return made, *(
        replace(
            writer,
            name=name,
            uri=name,
            storage=StorageLocation(f"/data/{name}", name),
            written_by=writer.name,
            inlets={},
            definition=None,
        )
        for name in outlets
    )


def project(*assets: AssetSpec, **more: Any) -> ProjectSpec:
    """A project of these assets, upstream first."""
    known = {item.name: item for item in assets}
    linked = {name: _link(item, known) for name, item in known.items()}
    found = {name: replace(item, schedule=linked.get(item.written_by, item).schedule) for name, item in linked.items()}
    return ProjectSpec("test", "/p", "/s", "/w", found, **more)


def _inlet(inlet: str | InletSpec) -> InletSpec:
    return InletSpec(inlet, "", None) if isinstance(inlet, str) else inlet


def _link(item: AssetSpec, known: dict[str, AssetSpec]) -> AssetSpec:
    inlets = {}
    for name, inlet in item.inlets.items():
        up = known[name]
        if inlet.view is not None:
            inlets[name] = replace(inlet, mapping=inlet.mapping or OverlapMapping())
            continue
        both = item.partitioning.is_partitioned and up.partitioning.is_partitioned
        mapping = (inlet.mapping or OverlapMapping()) if both and not inlet.aligned else None
        timeless = item.partitioning.time is not None and up.partitioning.time is None
        dimension = timeless or (item.partitioning.is_partitioned and not up.partitioning.is_partitioned)
        inlets[name] = replace(inlet, uri=up.uri, mapping=mapping, on_update="ignore" if dimension else inlet.on_update)
    return _default_schedule(replace(item, inlets=inlets)) if item.schedule.default else replace(item, inlets=inlets)


def _default_schedule(item: AssetSpec) -> AssetSpec:
    rerun = [inlet.name for inlet in item.inlets.values() if inlet.on_update == "rerun"]
    if not rerun:
        return item
    leaves = tuple(UpdateLeaf(name, is_uri=False) for name in rerun)
    condition = leaves[0] if len(leaves) == 1 else AnyOf(leaves)
    return replace(item, schedule=Schedule(None, condition, " | ".join(rerun), default=True))


class Story:
    """A journal that is told entry by entry, and the plans it leads to.

    Attributes:
        now: The planner's time.
        entries: All of them; ``rows`` has them as a store would.
        clock: When entries are recorded, and the real time of the planner; None for entries of 2025-01-01 and a planner
            whose real time is ``now``.
    """

    def __init__(self, spec: ProjectSpec, *, now: str = "2025-02-01") -> None:
        self.project = spec
        self.now = now
        self.clock: str | None = None
        self.state = State("journal")
        self.entries: list[NumberedEntry] = []
        self.rows: list[JournalRow] = []
        self.add(*(SpecEntry(item.name, build_fold_spec(item, spec)) for item in spec.assets.values()))

    def add(self, *entries: Entry) -> int:
        """Records entries in one commit; returns the number of the last."""
        when = from_unix(at(self.clock)) if self.clock else datetime(2025, 1, 1, tzinfo=UTC)
        first = self.state.seq + 1
        numbered = [NumberedEntry(entry, seq, when, "test") for seq, entry in enumerate(entries, start=first)]
        self.entries += numbered
        self.rows += map(to_row, numbered)
        self.state = fold(self.state, numbered, commit=self.state.commit + 1)
        return self.state.seq

    def observed(self, name: str, *keys: str, **more: Any) -> int:
        """A source changed."""
        item = self.project.assets[name]
        whole = not item.partitioning.is_partitioned
        changed = NOTHING if whole else PartitionSet.union(item.partitioning.parse(key, recorded=True) for key in keys)
        return self.add(ObservedEntry(name, item.uri, changed, whole=whole, **more))

    def event(self, uri: str) -> int:
        """Somebody announced an update."""
        return self.add(EventEntry(uri))

    def claim(self, run: PlannedRun, *, invocation: str = "i", host: str = "h") -> int:
        """A driver claims a planned run; returns its fence token."""
        return self.add(
            ClaimEntry(run.request, f"{run.asset}-{self.state.seq + 1}", 600, invocation, host, planned=at(self.now))
        )

    def succeed(self, name: str, claim: int, *, version: int = 1, **more: Any) -> int:
        """The run of ``claim`` is in."""
        link = next(link for link in self.state.assets[name].chain if link.token == claim)
        uri = self.project.assets[name].uri
        entry, request = link.entry, link.entry.request
        head = (name, uri, entry.run, claim, claim)
        told = {"definition": request.definition, **more}
        made = SuccessEntry(*head, request.partitions, "t", version, request.interval, request.pins, **told)
        outlets = self.project.assets[name].outlets
        own = replace(made, table_id=None, version=None, outlets=outlets) if outlets else made
        return self.add(*(self._of_outlet(made, each) for each in outlets), own)

    def _of_outlet(self, made: SuccessEntry, name: str) -> OutletEntry:
        """What the run left in one of its outlets."""
        uri, head = self.project.assets[name].uri, (made.asset, made.run, made.token, made.recorder, made.partitions)
        rest = (made.table_id, made.version, made.interval, made.pins, made.extra, made.definition, made.unchanged)
        return OutletEntry(name, uri, *head, *rest, made.withheld)

    def fail(self, name: str, claim: int, *, error: str = "boom", invocation: str = "i", fenced: bool = True) -> int:
        """The run of ``claim`` failed."""
        link = next(link for link in self.state.assets[name].chain if link.token == claim)
        return self.add(
            FailureEntry(name, link.entry.run, claim, link.entry.partitions, "error", error, invocation, fenced=fenced)
        )

    def skip(self, name: str, claim: int, *, reason: str = "nothing to do", invocation: str = "i") -> int:
        """The run of ``claim`` ended as skipped."""
        entry = next(link for link in self.state.assets[name].chain if link.token == claim).entry
        return self.add(SkippedEntry(name, entry.run, claim, entry.partitions, reason, invocation))

    def run(self, name: str) -> PlannedRun:
        """Plans, claims and succeeds with the run of ``name``, which must be due."""
        found = next(run for run in self.plan().runs if run.asset == name)
        self.succeed(name, self.claim(found))
        return found

    def change(self, *assets: AssetSpec) -> None:
        """The project's files changed."""
        self.project = project(*assets)
        self.add(*(SpecEntry(item.name, build_fold_spec(item, self.project)) for item in self.project.assets.values()))

    def run_all(self, *, limit: int = 50) -> list[PlannedRun]:
        """Runs until nothing is due; returns the runs in order."""
        done = []
        while runs := self.plan().runs:
            assert len(done) < limit, "never idle"
            self.run(runs[0].asset)
            done.append(runs[0])
        return done

    def context(self, **more: Any) -> PlanningContext:
        return PlanningContext(self.project, self.state, at(self.now), **{"clock": at(self.clock or self.now), **more})

    def plan(self, **more: Any) -> Plan:
        return make_plan(self.context(**more))

    def due(self, **more: Any) -> dict[str, list[str]]:
        """Asset to the partitions that are due, empty for an asset without."""
        return {run.asset: self.keys(run.asset, run.partitions) for run in self.plan(**more).runs}

    def keys(self, name: str, partitions: PartitionSet) -> list[str]:
        return self.project.assets[name].partitioning.labels(partitions)

    def waits(self, name: str, **more: Any) -> list[str]:
        """The sentences of why an asset waits."""
        return [item.reason for item in self.plan(**more).waiting if item.asset == name]


def names(runs: Sequence[PlannedRun]) -> list[str]:
    """The assets of runs, in order."""
    return [run.asset for run in runs]
