"""Runs that compute nothing: the real driver, with journal and tables in memory and the clock of a test."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any

from sparkassets.app.adapters import Adapters
from sparkassets.app.project import OpenProject
from sparkassets.core.cases.reader import UNSAID
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_findings import TableFinding
from sparkassets.core.runs import ChangeAvailability, InletPin, InletVolume, TablePosition
from sparkassets.core.spec.model import AssetSpec, ProjectSpec, SourceSpec
from sparkassets.core.validations import RunJudgement
from sparkassets.errors import RunError
from sparkassets.ports import (
    CommitMarker,
    DataCommit,
    Enlist,
    RecordedTable,
    RunComputation,
    RunOrder,
    TargetMissingError,
)
from sparkassets.processes import Process
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.runtime.progress import FailureExplanation
from sparkassets.state.memory_store import MemoryStore


class ProjectRehearsal:
    """A project whose runs succeed at once, except those of assets set to fail.

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
        clock, tables = self._clock, self._tables
        return Adapters(
            store=MemoryStore(),
            observer=lambda _: None,
            targets=_UnchangedTargets,
            computing=lambda _: (tables, tables),
            leases=lambda: LeaseMonitor(host="", process=(0, 0.0), alive=lambda _: True, clock=clock),
            clock=clock,
            ids=_RehearsalIds(),
            process=lambda: "test",
            user=lambda: "test",
            check_storage=lambda: None,
            explain_failure=lambda _, error: FailureExplanation(str(error)),
            volumes=_ZeroVolumes,
            feeds=_AvailableFeeds,
            stored=lambda _: None,
        )


def _with_event_sources(spec: ProjectSpec) -> ProjectSpec:
    """The project with sources known by events alone, and runs without retries."""
    assets = {}
    for name, asset in spec.assets.items():
        source = None if asset.source is None else SourceSpec("events")
        assets[name] = replace(asset, source=source, retries=0, retry_delay_seconds=0)
    return replace(spec, assets=assets)


class _RehearsalClock:
    """Stands still at the moment of the test."""

    def __init__(self) -> None:
        self.time = UNSAID

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return 0.0


class _RehearsalIds:
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
    """Implements `ports.TargetObserver`: tables are as they were recorded."""

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

    def check_unrecorded_commits(self, asset: AssetSpec, version: int, *, app: str, claimed: Collection[str]) -> None:
        del asset, version, app, claimed

    def read_position(self, asset: AssetSpec) -> TableFinding | None:
        del asset
        return None

    def detect_changes(self, asset: AssetSpec, known: RecordedTable) -> TableFinding | None:
        del asset, known
        return None


class _ZeroVolumes:
    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        del asset, pin, known
        return InletVolume(0, 0)


class _AvailableFeeds:
    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        del asset, position, version
        return ChangeAvailability()


@dataclass(frozen=True)
class _EmptyComputation:
    """Implements `ports.RunComputation`."""

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
        self.commits: dict[str, list[CommitMarker]] = {}
        self.lock = Lock()

    def start(self) -> None:
        pass

    def processes(self) -> Sequence[Process]:
        return ()

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        del attempt
        if order.asset.name in self.failing:
            raise RunError("it is to fail, says the test")
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
    """Implements `ports.Target`."""

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

    def fence(self, computation: RunComputation | None, *, marker: CommitMarker) -> None:
        if computation is None and not self._commits():
            raise TargetMissingError(f"{self.name} does not exist")
        self._commit(marker)

    def prepare(self, computation: RunComputation, *, marker: CommitMarker) -> RunJudgement | None:
        del computation, marker
        return None

    def write(self, computation: RunComputation, *, marker: CommitMarker) -> None:
        del computation
        self._commit(marker)

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

    def _commits(self) -> list[CommitMarker]:
        return self.tables.commits.setdefault(self.name, [])

    def _commit(self, marker: CommitMarker) -> None:
        with self.tables.lock:
            newest = self.transaction_version()
            if newest is None or newest < marker.version:
                self._commits().append(marker)
