"""An engine and targets without Spark that implement the ports: tables with transaction versions, as Delta has them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from sparkassets.app.adapters import Adapters
from sparkassets.core.documents.row_sample import RowSample
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_findings import TableFinding
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.results import RunResult
from sparkassets.core.run_costs import InletVolume
from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.validations import RunJudgement
from sparkassets.errors import SourceError, SparkAssetsError, describe_error
from sparkassets.open_project import OpenProject
from sparkassets.ports import (
    CommitStamp,
    DataCommit,
    Enlist,
    LastLook,
    Observation,
    RecordedTable,
    RunOrder,
    Sink,
    SourceObserver,
    TargetMissingError,
    UnrecordedChain,
)
from sparkassets.processes import Process
from sparkassets.runtime.driver import Driver, DriverIdentity
from sparkassets.runtime.driver_work import DriverWork, DueWork
from sparkassets.runtime.leases import ActiveInvocations, LeaseMonitor
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.progress import FailureExplanation, SilentProgress


@dataclass
class Commit:
    """What is in a table: rows of an order, of the partitions that are published, or a fence without any."""

    stamp: CommitStamp
    order: RunOrder | None


@dataclass
class Result:
    order: RunOrder
    measures: Mapping[str, Any] = field(default_factory=dict)
    released: bool = False

    def release(self) -> None:
        self.released = True


Hook = Callable[[RunOrder | None], None]


def raising(error: Exception) -> Hook:
    """Fails whenever it is reached."""

    def hook(_: RunOrder | None) -> None:
        raise error

    return hook


def raising_once(error: Exception) -> Hook:
    """Fails when it is reached first."""
    left = [error]

    def hook(_: RunOrder | None) -> None:
        if left:
            raise left.pop()

    return hook


def ticking(driver: Driver, work: DriverWork | None = None) -> threading.Thread:
    """A tick of the driver, or other work of its, begun in a thread of its own."""
    thread = threading.Thread(target=driver.run_works, args=([work or DueWork()],), daemon=True)
    thread.start()
    return thread


def dying(w: World, moment: str, table: str = "a", *, work: DriverWork | None = None, **like: Any) -> None:
    """A driver whose run comes to a moment of a table and never returns, as that of a killed process.

    Args:
        w: Whose tables it shares.
        moment: As of `FakeEngine.hooks`.
        table: Whose moment.
        work: What it does; None is a tick.
        like: Attributes of its engine, where they are not those of every new one.
    """
    reached, engine = threading.Event(), w.engine.beside()
    for name, value in like.items():
        setattr(engine, name, value)

    def stuck(_: RunOrder | None) -> None:
        reached.set()
        threading.Event().wait()

    engine.hooks[table, moment] = stuck
    ticking(w.driver(engine=engine), work)
    assert reached.wait(10)


class FakeEngine:
    """Computes nothing; its tables are in memory, and `FakeOutlets` writes to them.

    Attributes:
        tables: What was committed to each.
        hooks: (asset, ``compute``), and (table, moment), to what happens there: ``prepare``, ``write``, ``written``,
            ``fence``, ``fenced``, ``committed``.
        measures: Asset to what its runs measure, besides watermarks.
        metrics: What Delta tells of every commit.
        same: Table to the partitions that its runs are found to leave as they were.
        judged: Table to what the rules of its asset say of its runs; asked of assets with rules, and of outlets.
        commits: Whether it commits by itself; the driver else.
        staged: Of every table the run, token and attempt of each write that has begun.
        segments: What comes out of runs of all segments, by column.
        removals: What was kept of iterations, table by table, whenever others were to be removed.
    """

    def __init__(self, tables: dict[str, list[Commit]] | None = None) -> None:
        self.tables = {} if tables is None else tables
        self.hooks: dict[tuple[str, str], Hook] = {}
        self.measures: dict[str, Mapping[str, Any]] = {}
        self.metrics: Mapping[str, int] = {"numOutputRows": 5}
        self.same: dict[str, PartitionSet] = {}
        self.judged: dict[str, RunJudgement] = {}
        self.commits = False
        self.staged: dict[str, list[tuple[str, int, int]]] = {}
        self.segments: dict[str, Sequence[str]] = {}
        self.removals: list[tuple[str, list[str], list[int], range]] = []
        self.cancelled: set[str] = set()
        self.started = 0
        self.closed = 0
        self.lock = threading.Lock()

    def start(self) -> None:
        self.started += 1

    def processes(self) -> Sequence[tuple[int, float]]:
        return [(2, 0.0)]

    def compute(self, order: RunOrder, *, attempt: int) -> Result:
        self.hook(order.asset.name, "compute", order)
        watermarks = {name: f"high-{pin.seq}" for name, pin in order.pins.items()}
        return Result(order, {"watermarks": watermarks, **self.measures.get(order.asset.name, {})})

    def cancel(self, run: str) -> None:
        self.cancelled.add(run)

    def close(self) -> None:
        self.closed += 1

    def beside(self) -> FakeEngine:
        """The engine of another process: of the same tables, and of the same rows."""
        other = FakeEngine(self.tables)
        other.staged, other.measures, other.segments = self.staged, self.measures, self.segments
        return other

    def data(self, name: str) -> list[Commit]:
        """The data commits of a table."""
        return [c for c in self.tables.get(name, []) if c.stamp.kind == "data"]

    def judgement(self, name: str, order: RunOrder) -> RunJudgement | None:
        """What the rules of a table say of a run."""
        del order
        return self.judged.get(name)

    def hook(self, name: str, moment: str, order: RunOrder | None) -> None:
        if hook := self.hooks.get((name, moment)):
            hook(order)


@dataclass
class FakeTarget:
    """A table in memory with transaction versions, as Delta has them."""

    engine: FakeEngine
    name: str
    app_id: str
    enlist: Enlist = lambda: None

    def transaction_version(self) -> int | None:
        versions = [c.stamp.version for c in self.engine.tables.get(self.name, []) if c.stamp.app_id == self.app_id]
        return versions[-1] if versions else None

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        self.engine.hook(self.name, "committed", None)
        metrics = self.engine.metrics
        return [
            DataCommit(c.stamp.run, c.stamp.token, c.stamp.attempt, version, "t", c.stamp.measures, metrics)
            for version, c in enumerate(self.engine.tables.get(self.name, []))
            if c.stamp.kind == "data"
            and c.stamp.run in runs
            and c.stamp.app_id == self.app_id
            and c.stamp.version >= above
        ]

    def fence(self, computation: Result | None, *, stamp: CommitStamp) -> None:
        self.engine.hook(self.name, "fence", computation.order if computation else None)
        if self.name not in self.engine.tables and computation is None:
            raise TargetMissingError(f"{self.name} does not exist")
        if self.engine.commits:
            self.enlist()
        self.commit(stamp, None)
        self.engine.hook(self.name, "fenced", computation.order if computation else None)

    def prepare(self, computation: Result, *, stamp: CommitStamp) -> RunJudgement | None:
        self.stage(stamp)
        self.engine.hook(self.name, "prepare", computation.order)
        return None if stamp.judgement is not None else self.engine.judgement(self.name, computation.order)

    def stage(self, stamp: CommitStamp) -> None:
        """The attempt's files are there."""
        staged, own = self.engine.staged.setdefault(self.name, []), (stamp.run, stamp.token, stamp.attempt)
        staged.extend([own] if own not in staged else [])

    def write(self, computation: Result, *, stamp: CommitStamp) -> None:
        self.stage(stamp)
        if self.engine.commits:
            self.enlist()
        self.engine.hook(self.name, "write", computation.order)
        order, withheld = computation.order, stamp.withheld
        self.commit(stamp, order.restrict_to(order.partitions - withheld) if withheld else order)
        self.engine.hook(self.name, "written", computation.order)

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        self.engine.hook(self.name, "segments", order)
        return self.engine.segments if committed.run == order.run else {}

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        self.engine.hook(self.name, "compared", order)
        same = self.engine.same.get(self.name)
        return found if same is None or order.asset.unchanged == "publish" else found.with_unchanged(same)

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        kept = None if keep is None else (keep.run, keep.token, keep.attempt)
        staged = self.engine.staged.get(self.name, [])
        staged[:] = [each for each in staged if each[0] not in runs or each[1] > upto or each == kept]

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        self.engine.hook(self.name, "remove", None)
        self.engine.removals.append((self.name, sorted(keep), sorted(unsettled), tokens))

    def commit(self, stamp: CommitStamp, order: RunOrder | None) -> None:
        """A lower version is skipped in silence, as Delta skips it."""
        with self.engine.lock:
            newest = self.transaction_version()
            if newest is None or newest < stamp.version:
                self.engine.tables.setdefault(self.name, []).append(Commit(stamp, order))


@dataclass
class FakeOutlets:
    """The tables of an engine without Spark."""

    engine: FakeEngine

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> FakeTarget:
        return FakeTarget(self.engine, asset.name, app_id, enlist)


class FakeSource:
    """A source whose news are told by the test."""

    def __init__(self) -> None:
        self.news: list[Observation] = []

    def observe(self, asset: AssetSpec, last: LastLook, *, now: datetime) -> Observation | None:
        return self.news.pop(0) if self.news else None


class FakeTargets:
    """Tables that are as they were recorded, until the test tells otherwise.

    Attributes:
        news: Asset to what the next look at its table finds, or what it raises.
        looked: The assets whose tables were looked at, in order.
        absent: Asset to the folder of its table that is not there.
        against: Asset to what of its table is against any run.
        positions: Asset to where its table stands.
    """

    def __init__(self) -> None:
        self.news: dict[str, TableFinding | Exception] = {}
        self.looked: list[str] = []
        self.absent: dict[str, str] = {}
        self.against: dict[str, SourceError] = {}
        self.positions: dict[str, TableFinding] = {}

    def spark_commit_reason(self, asset: AssetSpec) -> str | None:
        return None

    def missing_folder(self, asset: AssetSpec) -> str | None:
        return self.absent.get(asset.name)

    def session_needed_reason(self, asset: AssetSpec) -> str | None:
        return None

    def check_writable(self, asset: AssetSpec) -> int | None:
        if asset.name in self.against:
            raise self.against[asset.name]
        return None

    def check_unrecorded_commits(self, asset: AssetSpec, version: int, *, chain: UnrecordedChain) -> None:
        """Forbids nothing."""

    def read_position(self, asset: AssetSpec) -> TableFinding | None:
        return self.positions.get(asset.name)

    def detect_changes(self, asset: AssetSpec, known: RecordedTable) -> TableFinding | None:
        self.looked.append(asset.name)
        found = self.news.pop(asset.name, None)
        if isinstance(found, Exception):
            raise found
        return found


class FakeFeeds:
    """Tells all changes, but those after the version of an inlet that it is told.

    Attributes:
        lost: By inlet, what is told of changes that began before a version.
    """

    def __init__(self) -> None:
        self.lost: dict[str, tuple[int, ChangeAvailability]] = {}

    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        del version
        since, told = self.lost.get(asset.name, (0, ChangeAvailability()))
        return told if position.version < since else ChangeAvailability()


class FakeVolumes:
    """Reads as many bytes of an inlet as it is told for each of its partitions, in a file each.

    Attributes:
        bytes: Of a partition, by inlet; of what is None it cannot be determined.
        asked: Of which inlets somebody has asked.
    """

    def __init__(self) -> None:
        self.bytes: dict[str, int | None] = {}
        self.asked: list[str] = []

    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        self.asked.append(asset.name)
        each = self.bytes.get(asset.name, 0)
        if each is None:
            return InletVolume(None, None, "it is gone")
        there = known.coverage if asset.source is None else pin.parts
        count = asset.partitioning.count(pin.parts & there) if asset.partitioning.is_partitioned else 1
        return InletVolume(each * count, count)


class FakeClock:
    """Real monotonic time is not needed by most tests; both hands stand still until moved."""

    def __init__(self, now: str = "2025-02-01T00:00:00+00:00") -> None:
        self.instant = datetime.fromisoformat(now)
        self.seconds = 0.0

    def now(self) -> datetime:
        return self.instant.astimezone(UTC)

    def monotonic(self) -> float:
        return self.seconds


class FakeIds:
    def __init__(self) -> None:
        self._numbers = count(1)  # also of drivers in several threads no two have the same

    def invocation_id(self) -> str:
        return f"i{next(self._numbers)}"

    def run_id(self, asset: str, at: datetime) -> str:
        return f"{asset}-{next(self._numbers)}"


class Recorder(SilentProgress):
    """Remembers what the driver tells."""

    def __init__(self) -> None:
        self.results: list[RunResult] = []
        self.on_finish: Callable[[RunResult], None] | None = None

    def finished(self, result: RunResult) -> None:
        self.results.append(result)
        if self.on_finish:
            self.on_finish(result)


@dataclass
class World:
    """A project with its state, its targets and its sources, which outlive any driver."""

    project: ProjectSpec
    store: Any
    engine: FakeEngine = field(default_factory=FakeEngine)
    sources: dict[str, FakeSource] = field(default_factory=dict)
    targets: FakeTargets = field(default_factory=FakeTargets)
    clock: FakeClock = field(default_factory=FakeClock)
    ids: FakeIds = field(default_factory=FakeIds)
    alive: bool = False
    invocations: int = 0
    volumes: FakeVolumes = field(default_factory=FakeVolumes)
    feeds: FakeFeeds = field(default_factory=FakeFeeds)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sinks: tuple[Sink, ...] = ()
    process: Process | None = None
    under_way: ActiveInvocations = field(default_factory=ActiveInvocations)

    def source(self, name: str) -> FakeSource:
        return self.sources.setdefault(name, FakeSource())

    def tell(self, name: str, *keys: str, **more: Any) -> None:
        """The source has news at the next look."""

        partitioning = self.project.assets[name].partitioning
        partitioned = partitioning.is_partitioned
        changed = PartitionSet.union(partitioning.parse(key, learns=True) for key in keys) if partitioned else NOTHING
        self.source(name).news.append(Observation(name, changed, whole=not partitioned, **more))

    def driver(self, *, engine: FakeEngine | None = None, host: str = "h", progress: Recorder | None = None) -> Driver:
        self.invocations += 1
        self.store.create(project=self.project.name)
        used = engine or self.engine

        return Driver(
            project=self.project,
            ledger=JournalLedger(
                self.store, project=self.project.name, driver=f"d{self.invocations}", clock=self.clock
            ),
            open_engine=lambda: (used, FakeOutlets(used)),
            find_observer=self.observer,
            targets=self.targets,
            leases=LeaseMonitor(
                host=host,
                process=self.process or (100 + self.invocations, 0.0),
                alive=lambda _: self.alive,
                clock=self.clock,
                invocations=self.under_way,
            ),
            clock=self.clock,
            ids=self.ids,
            identity=DriverIdentity(f"d{self.invocations}", f"i{self.invocations}"),
            progress=progress or Recorder(),
            explain_failure=explained,
            check_availability=self.feeds.check_availability,
            stored_columns=self.stored,
        )

    def observer(self, asset: AssetSpec) -> SourceObserver | None:
        """Who looks at a source."""
        return self.source(asset.name) if asset.source is not None else None

    def stored(self, asset: AssetSpec) -> tuple[str, ...] | None:
        """The columns of a table, where a test says them."""
        return self.columns.get(asset.name)

    def opened(self, spec: ProjectSpec | None = None, **changed: Any) -> OpenProject:
        """The project as it is used in Python, with some of its adapters changed."""
        return OpenProject(spec or self.project, replace(self.adapters(), **changed))

    def adapters(self) -> Adapters:
        """What the use cases reach this world by."""
        return Adapters(
            store=self.store,
            find_observer=self.observer,
            make_target_observer=lambda: self.targets,
            open_engine=lambda _: (self.engine, FakeOutlets(self.engine)),
            make_lease_monitor=lambda: LeaseMonitor(
                host="h", process=(1, 0.0), alive=lambda _: self.alive, clock=self.clock
            ),
            clock=self.clock,
            ids=self.ids,
            process_name=lambda: "h:1",
            user_name=lambda: "ann",
            check_storage=lambda: None,
            explain_failure=explained,
            make_volume_estimator=lambda: self.volumes,
            make_change_feeds=lambda: self.feeds,
            read_columns=self.stored,
            render_code=lambda _: ((), ()),
            sample_table=lambda asset, *_: RowSample(asset.name, None, (), ()),
            sample_computation=lambda *_: RowSample("", None, (), ()),
            sinks=self.sinks,
        )


def explained(run: str, error: BaseException) -> FailureExplanation:
    """What a run failed of, what to do about it, and the name of a file."""
    hint = error.hint if isinstance(error, SparkAssetsError) else None
    text = describe_error(error).partition("\n  hint: ")[0]
    return FailureExplanation(text.partition(": ")[2] or text, hint or "", f"{run}.log")
