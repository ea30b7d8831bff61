"""Runs that compute nothing: the real driver, with its journal and tables in memory and the time that a test says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any

from sparkassets.app.adapters import Adapters
from sparkassets.app.project import OpenProject
from sparkassets.core.cases.reading import UNSAID
from sparkassets.core.journal.found import Found
from sparkassets.core.journal.state import AssetState
from sparkassets.core.runs import ChangesTold, Pin, Position, Volume
from sparkassets.core.spec.model import AssetSpec, ProjectSpec, SourceSpec
from sparkassets.core.validations import Judgement
from sparkassets.errors import RunError
from sparkassets.ports import (
    CommitMarker,
    Committed,
    Computation,
    Enlist,
    Recorded,
    RunOrder,
    TargetMissingError,
)
from sparkassets.processes import Process
from sparkassets.runtime.leases import Leases
from sparkassets.runtime.progress import Explained
from sparkassets.state.memory import MemoryStore


class Rehearsal:
    """A project whose runs succeed at once, but for those of the assets that are to fail.

    Attributes:
        adapters: The outside of the project, in memory.
        project: The project.
    """

    def __init__(self, spec: ProjectSpec) -> None:
        self._clock = _Clock()
        self._tables = _Tables()
        self.adapters = self._outside()
        self.project = OpenProject(_told_by_events(spec), self.adapters)

    @property
    def failing(self) -> set[str]:
        """The assets whose runs fail."""
        return self._tables.failing

    def move_to(self, at: datetime) -> None:
        """Sets what time it is."""
        self._clock.time = at

    def _outside(self) -> Adapters:
        clock, tables = self._clock, self._tables
        return Adapters(
            store=MemoryStore(),
            observer=lambda _: None,
            targets=_NothingToLookAt,
            computing=lambda _: (tables, tables),
            leases=lambda: Leases(host="", process=(0, 0.0), alive=lambda _: True, clock=clock),
            clock=clock,
            ids=_Ids(),
            process=lambda: "test",
            user=lambda: "test",
            check_storage=lambda: None,
            explain_failure=lambda _, error: Explained(str(error)),
            volumes=_Volumes,
            feeds=_Feeds,
            stored=lambda _: None,
        )


def _told_by_events(spec: ProjectSpec) -> ProjectSpec:
    """The project with sources that nobody looks at, and runs that are not tried again."""
    assets = {}
    for name, asset in spec.assets.items():
        source = None if asset.source is None else SourceSpec("events")
        assets[name] = replace(asset, source=source, retries=0, retry_delay_seconds=0)
    return replace(spec, assets=assets)


class _Clock:
    """Stands still at the moment of the test."""

    def __init__(self) -> None:
        self.time = UNSAID

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return 0.0


class _Ids:
    def __init__(self) -> None:
        self._count = 0

    def invocation_id(self) -> str:
        self._count += 1
        return f"test-{self._count}"

    def run_id(self, asset: str, at: datetime) -> str:
        del at
        self._count += 1
        return f"{asset}-{self._count}"


class _NothingToLookAt:
    """Implements `ports.TargetObserver`: tables are as they were recorded."""

    def absent_folder(self, asset: AssetSpec) -> str | None:
        del asset
        return None

    def why_spark(self, asset: AssetSpec) -> str | None:
        del asset
        return None

    def unseen(self, asset: AssetSpec) -> str | None:
        del asset
        return None

    def check(self, asset: AssetSpec) -> int | None:
        del asset
        return None

    def check_runs(self, asset: AssetSpec, version: int, *, app: str, claimed: Collection[str]) -> None:
        del asset, version, app, claimed

    def position(self, asset: AssetSpec) -> Found | None:
        del asset
        return None

    def look(self, asset: AssetSpec, known: Recorded) -> Found | None:
        del asset, known
        return None


class _Volumes:
    def volume(self, asset: AssetSpec, pin: Pin, known: AssetState) -> Volume:
        del asset, pin, known
        return Volume(0, 0)


class _Feeds:
    def told(self, asset: AssetSpec, position: Position, version: int) -> ChangesTold:
        del asset, position, version
        return ChangesTold()


@dataclass(frozen=True)
class _Nothing:
    """Implements `ports.Computation`."""

    measures: Mapping[str, Any] = field(default_factory=dict)

    def release(self) -> None:
        pass


class _Tables:
    """Implements `ports.Engine` and `ports.Outlets`: commits without rows, in memory.

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

    def compute(self, order: RunOrder, *, attempt: int) -> Computation:
        del attempt
        if order.asset.name in self.failing:
            raise RunError("it is to fail, says the test")
        return _Nothing()

    def cancel(self, run: str) -> None:
        pass

    def close(self) -> None:
        pass

    def of(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> _Table:
        del enlist
        return _Table(self, asset.name, app_id)


@dataclass(frozen=True)
class _Table:
    """Implements `ports.Target`."""

    tables: _Tables
    name: str
    app_id: str

    def transaction_version(self) -> int | None:
        own = [each.version for each in self._commits() if each.app_id == self.app_id]
        return own[-1] if own else None

    def committed(self, runs: Sequence[str], *, above: int = 0) -> Sequence[Committed]:
        return [
            Committed(each.run, each.token, each.attempt, version, self.name, each.measures, {})
            for version, each in enumerate(self._commits())
            if each.kind == "data" and each.app_id == self.app_id and each.run in runs and each.version >= above
        ]

    def fence(self, computation: Computation | None, *, marker: CommitMarker) -> None:
        if computation is None and not self._commits():
            raise TargetMissingError(f"{self.name} does not exist")
        self._commit(marker)

    def prepare(self, computation: Computation, *, marker: CommitMarker) -> Judgement | None:
        del computation, marker
        return None

    def write(self, computation: Computation, *, marker: CommitMarker) -> None:
        del computation
        self._commit(marker)

    def segments(self, order: RunOrder, committed: Committed) -> Mapping[str, Sequence[str]]:
        del order, committed
        return {}

    def compared(self, order: RunOrder, found: Committed) -> Committed:
        del order
        return found

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: Committed | None) -> None:
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
