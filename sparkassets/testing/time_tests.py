"""Tests of when assets run: moments, events and expected runs, with the real driver but without Spark and files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any

from sparkassets.app.adapters import Adapters
from sparkassets.core.cases import DEFAULT_NOW, CaseStep, TimeCase
from sparkassets.core.documents.row_sample import RowSample
from sparkassets.core.instants import format_zoned
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_findings import TableFinding
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import plural
from sparkassets.core.results import RunResult
from sparkassets.core.run_costs import InletVolume
from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec, SourceSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.validations import RunJudgement
from sparkassets.errors import RunError
from sparkassets.open_project import OpenProject
from sparkassets.ports import (
    CommitStamp,
    DataCommit,
    Enlist,
    RecordedTable,
    RunComputation,
    RunOrder,
    TargetMissingError,
    UnrecordedChain,
)
from sparkassets.processes import Process
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.runtime.progress import FailureExplanation
from sparkassets.state.memory_store import MemoryStore


class ProjectRehearsal:
    """A project in memory whose runs succeed at once without computing, except those of assets set to fail.

    Attributes:
        adapters: The project's adapters, in memory.
        project: The project.
    """

    def __init__(self, spec: ProjectSpec) -> None:
        self._clock = _RehearsalClock()
        self._tables = _RehearsalEngine()
        self.adapters = self._outside()
        self.project = OpenProject(_with_event_sources(spec), self.adapters)

    @property
    def failing(self) -> set[str]:
        """The assets whose runs fail."""
        return self._tables.failing

    def move_to(self, at: datetime) -> None:
        """Sets the clock."""
        self._clock.time = at

    def _outside(self) -> Adapters:
        """Adapters in memory: no source or table ever changes, and the clock stands still between steps."""
        clock, tables = self._clock, self._tables
        return Adapters(
            store=MemoryStore(),
            find_observer=lambda _: None,
            make_target_observer=_UnchangedTargets,
            open_engine=lambda _: (tables, tables),
            make_lease_monitor=lambda: LeaseMonitor(host="", process=(0, 0.0), alive=lambda _: True, clock=clock),
            clock=clock,
            ids=_RehearsalIds(),
            process_name=lambda: "test",
            user_name=lambda: "test",
            check_storage=lambda: None,
            explain_failure=lambda _, error: FailureExplanation(str(error)),
            make_volume_estimator=_ZeroVolumes,
            make_change_feeds=_AvailableFeeds,
            read_columns=lambda _: None,
            render_code=lambda _: ((), ()),
            sample_table=lambda asset, *_: RowSample(asset.name, None, (), ()),
            sample_computation=lambda *_: RowSample("", None, (), ()),
        )


def _with_event_sources(spec: ProjectSpec) -> ProjectSpec:
    """The project with sources known by events alone, and runs without retries."""
    assets = {}
    for name, asset in spec.assets.items():
        source = None if asset.source is None else SourceSpec("events")
        assets[name] = replace(asset, source=source, retries=0, retry_delay_seconds=0)
    return replace(spec, assets=assets)


class _RehearsalClock:
    """A clock that stands still at the moment of the step."""

    def __init__(self) -> None:
        self.time = DEFAULT_NOW

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return 0.0


class _RehearsalIds:
    """Numbered names, the same in every test; implements `ports.IdGenerator`."""

    def __init__(self) -> None:
        self._count = 0

    def invocation_id(self) -> str:
        self._count += 1
        return f"test-{self._count}"

    def run_id(self, asset: str, at: datetime) -> str:
        del at
        self._count += 1
        return f"{asset}-{self._count}"


class _UnchangedTargets:
    """Reports every table as it was recorded; implements `ports.TargetObserver`."""

    def missing_folder(self, asset: AssetSpec) -> str | None:
        del asset
        return None

    def spark_commit_reason(self, asset: AssetSpec) -> str | None:
        del asset
        return None

    def session_needed_reason(self, asset: AssetSpec) -> str | None:
        del asset
        return None

    def check_writable(self, asset: AssetSpec) -> int | None:
        del asset
        return None

    def check_unrecorded_commits(self, asset: AssetSpec, version: int, *, chain: UnrecordedChain) -> None:
        del asset, version, chain

    def read_position(self, asset: AssetSpec) -> TableFinding | None:
        del asset
        return None

    def detect_changes(self, asset: AssetSpec, known: RecordedTable) -> TableFinding | None:
        del asset, known
        return None


class _ZeroVolumes:
    """Says that every run reads nothing, so that no budget holds it; implements `ports.VolumeEstimator`."""

    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        del asset, pin, known
        return InletVolume(0, 0)


class _AvailableFeeds:
    """Says that all changes can be read; implements `ports.ChangeFeeds`."""

    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        del asset, position, version
        return ChangeAvailability()


@dataclass(frozen=True)
class _EmptyComputation:
    """A computation without rows; implements `ports.RunComputation`."""

    measures: Mapping[str, Any] = field(default_factory=dict)

    def release(self) -> None:
        pass


class _RehearsalEngine:
    """Implements `ports.Engine` and `ports.TargetFactory`: commits without rows, in memory.

    Attributes:
        failing: Assets whose runs fail.
        commits: By asset, in order.
    """

    def __init__(self) -> None:
        self.failing: set[str] = set()
        self.commits: dict[str, list[CommitStamp]] = {}
        self.lock = Lock()

    def start(self) -> None:
        pass

    def processes(self) -> Sequence[Process]:
        return ()

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        del attempt
        if order.asset.name in self.failing:
            raise RunError("the test makes it fail")
        return _EmptyComputation()

    def cancel(self, run: str) -> None:
        pass

    def close(self) -> None:
        pass

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> _RehearsalTarget:
        del enlist
        return _RehearsalTarget(self, asset.name, app_id)


@dataclass(frozen=True)
class _RehearsalTarget:
    """Keeps its commits in memory; implements `ports.Target`."""

    tables: _RehearsalEngine
    name: str
    app_id: str

    def transaction_version(self) -> int | None:
        own = [each.version for each in self._commits() if each.app_id == self.app_id]
        return own[-1] if own else None

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        return [
            DataCommit(each.run, each.token, each.attempt, version, self.name, each.measures, {})
            for version, each in enumerate(self._commits())
            if each.kind == "data" and each.app_id == self.app_id and each.run in runs and each.version >= above
        ]

    def fence(self, computation: RunComputation | None, *, stamp: CommitStamp) -> None:
        if computation is None and not self._commits():
            raise TargetMissingError(f"{self.name} does not exist")
        self._commit(stamp)

    def prepare(self, computation: RunComputation, *, stamp: CommitStamp) -> RunJudgement | None:
        del computation, stamp
        return None

    def write(self, computation: RunComputation, *, stamp: CommitStamp) -> None:
        del computation
        self._commit(stamp)

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        del order, committed
        return {}

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        del order
        return found

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        pass

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        pass

    def _commits(self) -> list[CommitStamp]:
        return self.tables.commits.setdefault(self.name, [])

    def _commit(self, stamp: CommitStamp) -> None:
        with self.tables.lock:
            newest = self.transaction_version()
            if newest is None or newest < stamp.version:
                self._commits().append(stamp)


def run_times(project: ProjectSpec, case: TimeCase) -> str:
    """The differences at the first moment that is not as expected; empty if the test passes.

    Raises:
        SparkAssetsError: The test itself is wrong, such as an invalid event.
    """
    rehearsal = ProjectRehearsal(project)
    for step in case.steps:
        differences = list(_step(rehearsal, project, step))
        if differences:
            return "\n".join(
                [f"at {_when(step.at, project)} ({step.location}):", *(f"  {each}" for each in differences)]
            )
    return ""


def _step(rehearsal: ProjectRehearsal, project: ProjectSpec, step: CaseStep) -> Iterator[str]:
    """Moves to one moment, runs the project, and yields the differences from the expected runs and reasons.

    An asset that should have run is named with the reasons for which it waits.
    """
    rehearsal.move_to(step.at)
    rehearsal.failing.clear()
    rehearsal.failing.update(step.fails)
    if step.events:
        rehearsal.project.events.add_many(step.events, name=str(step.location))
    summary = rehearsal.project.run(at=step.at, check=False)
    yield from (f"{name} cannot be observed: {error}" for name, error in summary.faults)
    unlike = [] if step.runs is None else list(_describe_differences(project, step, summary.runs))
    asks = bool(step.waits) or any(name for name, _ in unlike)  # a plan is only made where its reasons are shown
    waiting = rehearsal.project.plan(at=step.at).waiting if asks else ()
    for name, sentence in unlike:
        reasons = _reasons(waiting, name)
        yield f"{sentence} ({'; '.join(reasons)})" if reasons else sentence
    for name, text in step.waits.items():
        yield from _compare_reasons(name, text, _reasons(waiting, name))


def _compare_reasons(asset: str, expected: str, reasons: Sequence[str]) -> Iterator[str]:
    """The difference if no reason for which the asset waits contains the expected text."""
    if not reasons:
        yield f"{asset} does not wait; expected it to wait for {expected!r}"
    elif not any(expected in reason for reason in reasons):
        yield f"{asset} does not wait for {expected!r}, but: {'; '.join(reasons)}"


def _reasons(waiting: Iterable[Waiting], name: str) -> list[str]:
    """Reasons for which the asset waits, without repetitions; empty for an empty ``name``."""
    return list(dict.fromkeys(each.reason for each in waiting if each.asset == name))


def _describe_differences(project: ProjectSpec, step: CaseStep, runs: Sequence[RunResult]) -> Iterator[tuple[str, str]]:
    """(Asset that should have run, difference) for the runs of a moment; the asset is empty for unexpected runs."""
    expected = step.runs or {}
    ran: dict[str, list[RunResult]] = {}
    for run in runs:
        ran.setdefault(run.asset, []).append(run)
    for name, what in expected.items():
        yield from _compare_runs(project.assets[name], ran.pop(name, []), what)
    for name, own in ran.items():
        partitions = PartitionSet.union(each.partitions for each in own)
        yield "", f"{name} runs unexpectedly: {_describe_expected(project.assets[name], partitions)}"
    unexpected = (each for each in runs if each.status == "failed" and each.asset not in step.fails)
    yield from (("", f"{each.asset} fails: {each.error}") for each in unexpected)


def _compare_runs(
    asset: AssetSpec, runs: Sequence[RunResult], expected: PartitionSet | int | None
) -> Iterator[tuple[str, str]]:
    """(Asset, sentence) for each difference between an asset's runs of a moment and the expected ones.

    ``expected`` is a number of runs, the partitions of all of them together, or None for any run. The asset is empty
    if it ran: then there is no reason for waiting to show.
    """
    name, partitions = asset.name, PartitionSet.union(run.partitions for run in runs)
    if not runs:
        yield name, f"{name} does not run; expected {_describe_expected(asset, expected)}"
    elif isinstance(expected, int) and len(runs) != expected:
        yield "", f"{name} has {plural(len(runs), 'run')}; expected {expected}"
    elif isinstance(expected, PartitionSet):
        if lacking := expected - partitions:
            yield "", f"{name} does not run for {_describe_expected(asset, lacking)}"
        if more := partitions - expected:
            yield "", f"{name} also runs for {_describe_expected(asset, more)}"


def _describe_expected(asset: AssetSpec, what: PartitionSet | int | None) -> str:
    if isinstance(what, PartitionSet) and asset.partitioning.is_partitioned:
        return ", ".join(asset.partitioning.display_labels(what, most=10))
    return plural(what, "run") if isinstance(what, int) else "a run"


def _when(at: datetime, project: ProjectSpec) -> str:
    return format_zoned(at, project.timezone)
