"""A lake in memory: each partition holds a number, computed by the real driver from the versions that it pinned.

What a table must hold in the end is computed from scratch, partition by partition, without any set of partitions.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from zlib import crc32

from sparkassets.core.instants import DAY, Duration
from sparkassets.core.partitions import (
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentPartition,
    TimePartition,
    WindowMapping,
)
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.strategies import DateRange
from sparkassets.core.validations import RuleVerdict, RunJudgement
from sparkassets.errors import RunError
from sparkassets.ports import CommitStamp, Observation, RunOrder
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, at, multi, project, source
from tests.runtime.fakes import FakeEngine, Result, World

Partition = tuple[tuple[str, ...], int, int]
"""Its segments, and its time in Unix seconds; (0, 0) where it has none."""
Table = Mapping[Partition, int]

ZERO = at("2025-01-06")
"""A Monday."""
DAYS = TimePartition("day", "UTC", column="day")
WEEKS = TimePartition("week", "UTC", column="week")
REGIONS = SegmentPartition("region", ("de", "nl"))
STORES = SegmentPartition("store", ("a", "b"))
KINDS = (
    Partitioning(DAYS),
    Partitioning(WEEKS),
    Partitioning(None, (REGIONS,)),
    Partitioning(DAYS, (REGIONS,), 1),
    Partitioning(WEEKS, (STORES, REGIONS)),
)
MODULUS = 3
"""Small, so that what is computed again often comes out the same."""


def partitions_of(partitioning: Partitioning, *, since: int = 0) -> list[Partition]:
    """Those of two weeks, and some before."""
    step = 0 if partitioning.time is None else 7 * DAY if partitioning.time.by == "week" else DAY
    times = [(ZERO + n * step, ZERO + (n + 1) * step) for n in range(since, 14 * DAY // step)] if step else [(0, 0)]
    return [(key, *time) for key in product(*(each.keys for each in partitioning.segments)) for time in times]


def set_of(partitioning: Partitioning, partition: Partition) -> PartitionSet:
    """The partition as a set."""
    key, start, end = partition
    time = RangeSet.span(start, end) if partitioning.time else RangeSet.always()
    return PartitionSet.by_segment({key: time}) if partitioning.segments else PartitionSet(time)


def inside(partitioning: Partitioning, parts: PartitionSet) -> list[Partition]:
    """The partitions of a set."""
    return [partition for partition in partitions_of(partitioning) if parts.covers(set_of(partitioning, partition))]


def needed(consumer: AssetSpec, up: AssetSpec, partition: Partition) -> list[Partition]:
    """The partitions of an inlet that a partition is computed from."""
    mapping = consumer.inlets[up.name].mapping
    names = [each.column for each in consumer.partitioning.segments]
    own = dict(zip(names, partition[0], strict=True))
    low = partition[2] - 2 * DAY if isinstance(mapping, WindowMapping) else partition[1]
    found = []
    for each in partitions_of(up.partitioning, since=-2):
        theirs = dict(zip((segment.column for segment in up.partitioning.segments), each[0], strict=True))
        agree = all(own.get(column, key) == key for column, key in theirs.items())
        if agree and (not partition[2] or not each[2] or (low < each[2] and each[1] < partition[2])):
            found.append(each)
    return found


def number(consumer: AssetSpec, partition: Partition, inlets: Mapping[str, list[int | None]], *, code: int) -> int:
    """What is computed of a partition; what may change without making it stale does not count."""
    counts = [(name, values) for name, values in sorted(inlets.items()) if consumer.inlets[name].on_update == "rerun"]
    told = [f"{name}{sorted(map(str, values))}" for name, values in counts]
    return crc32(f"{consumer.name}{partition}{told}{code}".encode()) % MODULUS


@dataclass
class Lake(World):
    """A world with contents.

    Attributes:
        sources_at: Source to its contents at each version.
        codes: Asset to the number of its definition.
        bad: Partitions of an asset that cannot be computed now.
        unfit: Partitions of a table that its rules withhold now; asked of tables with rules.
        changes: How often each partition of a source was changed.
        rows: Run and attempt to what it computed.
        compares: Whether a partition that came out as it was is told to be so.
    """

    sources_at: dict[str, list[dict[Partition, int]]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    bad: set[tuple[str, Partition]] = field(default_factory=set)
    unfit: set[tuple[str, Partition]] = field(default_factory=set)
    changes: Counter[tuple[str, Partition]] = field(default_factory=Counter)
    rows: dict[tuple[str, int], Table] = field(default_factory=dict)
    compares: bool = False

    def __post_init__(self) -> None:
        self.engine = LakeEngine(self)

    @property
    def written(self) -> Counter[tuple[str, Partition]]:
        """How often each partition of each asset was written."""
        found: Counter[tuple[str, Partition]] = Counter()
        for name, spec in self.project.assets.items():
            if spec.source is None:
                for commit in self.engine.data(name):
                    found.update((name, partition) for partition in self.rows[commit.stamp.run, commit.stamp.attempt])
        return found + self.changes

    @property
    def news(self) -> Counter[tuple[str, Partition]]:
        """How often each partition of each asset was written and was another than before, or nobody looked."""
        found: Counter[tuple[str, Partition]] = Counter()
        for name, spec in self.project.assets.items():
            table: dict[Partition, int] = {}
            for commit in self.engine.data(name) if spec.source is None else ():
                rows = self.rows[commit.stamp.run, commit.stamp.attempt]
                same = {each for each in rows if rows[each] == table.get(each)} if self.compares else set()
                found.update((name, partition) for partition in rows.keys() - same)
                table |= rows
        return found + self.changes

    def change(self, name: str, values: Mapping[Partition, int]) -> None:
        """A source has new values; the next look sees it."""
        versions = self.sources_at.setdefault(name, [{}])
        versions.append({**versions[-1], **values})
        self.changes.update((name, partition) for partition in values)
        partitioning = self.project.assets[name].partitioning
        changed = PartitionSet.union(set_of(partitioning, partition) for partition in values)
        news = Observation(name, changed, table_id="t", version=len(versions) - 1)
        self.source(name).news.append(news)

    @property
    def has_news(self) -> bool:
        """Whether a source has changed since it was looked at."""
        return any(each.news for each in self.sources.values())

    def table(self, name: str, version: int | None = None) -> Table:
        """What a table holds, at a version or now."""
        if self.project.assets[name].source is not None:
            return self.sources_at.get(name, [{}])[-1 if version is None else version]
        commits = self.engine.tables.get(name, [])
        rows: dict[Partition, int] = {}
        for commit in commits if version is None else commits[: version + 1]:
            if commit.order is not None:
                computed = self.rows[commit.stamp.run, commit.stamp.attempt]
                published = computed.keys()
                if commit.stamp.withheld:
                    published &= set(inside(commit.order.asset.partitioning, commit.order.partitions))
                rows |= {partition: computed[partition] for partition in published}
        return rows

    def from_scratch(self, name: str) -> dict[Partition, int]:
        """What every partition would hold if computed now from those that are there; the same in all outlets."""
        spec = self.project.assets[self.project.assets[name].written_by or name]
        if spec.source is not None:
            return dict(self.sources_at.get(name, [{}])[-1])
        ups = {inlet: self._fresh(inlet) for inlet in spec.inlets}
        return {
            partition: number(
                spec,
                partition,
                {
                    inlet: [rows.get(each) for each in needed(spec, self.project.assets[inlet], partition)]
                    for inlet, rows in ups.items()
                },
                code=self.codes.get(name, 0),
            )
            for partition in partitions_of(spec.partitioning)
        }

    def _fresh(self, name: str) -> dict[Partition, int]:
        """What the partitions that are there would hold if they were computed now."""
        there = self.table(name)
        return {partition: value for partition, value in self.from_scratch(name).items() if partition in there}


class LakeEngine(FakeEngine):
    """Computes the partitions of a run from what it pinned."""

    def __init__(self, lake: Lake) -> None:
        super().__init__(lake.engine.tables)
        self.lake = lake

    def compute(self, order: RunOrder, *, attempt: int) -> Result:
        made_by = super().compute(order, attempt=attempt)
        assert attempt == 0 or order.pins.keys() == order.asset.inlets.keys()
        ups = {name: self.lake.table(name, pin.version) for name, pin in order.pins.items()}
        partitions = inside(order.asset.partitioning, order.partitions)
        rows = {}
        for partition in partitions if attempt else []:
            values = {}
            for name, table in ups.items():
                some = needed(order.asset, order.inlets[name], partition)
                pinned = [
                    each
                    for each in some
                    if order.pins[name].parts.covers(set_of(order.inlets[name].partitioning, each))
                ]
                assert pinned == some, f"{order.asset.name} {partition} reads {name} in part"
                values[name] = [table.get(each) for each in some]
            code = self.lake.codes.get(order.asset.name, 0)
            rows[partition] = number(order.asset, partition, values, code=code)
        if any((order.asset.name, partition) in self.lake.bad for partition in partitions):
            error = RunError("a bad partition")
            error.is_data_error = True
            raise error
        self.lake.rows[order.run, attempt] = rows
        return self._compared(made_by, rows) if self.lake.compares else made_by

    def judgement(self, name: str, order: RunOrder) -> RunJudgement | None:
        partitioning = order.asset.partitioning
        unfit = (set_of(partitioning, partition) for table, partition in self.lake.unfit if table == name)
        withheld = (PartitionSet.union(unfit) & order.partitions) - order.accepted_partitions
        told = RuleVerdict("unfit", "fail", "withheld", withheld, 1, 1)
        return RunJudgement(withheld, (told,)) if withheld else RunJudgement()

    def _compared(self, result: Result, rows: Table) -> Result:
        """With the partitions that are in the table as they came out, as a target tells them with its commit."""
        name, partitioning = result.order.asset.name, result.order.asset.partitioning
        there = self.lake.table(name)
        same = [set_of(partitioning, each) for each in rows if rows[each] == there.get(each)]
        stamp = CommitStamp("", 0, 0, "", 0, "data", measures=result.measures)
        told = stamp.with_unchanged(PartitionSet.union(same), rows=len(same))
        return replace(result, measures=told.measures)


def random_lake(random: Random) -> Lake:
    """A lake of two sources and three assets of random partitionings, windows and caps."""
    sources = [replace(source(name), partitioning=random.choice(KINDS)) for name in ("s", "t")]
    others = {"one": ("s", "t"), "two": ("one", "t"), "three": ("two", "one")}
    assets = [_random(random, name, *inlets) for name, inlets in others.items()]
    return Lake(project(*sources, *assets), MemoryStore())


def random_outlets(random: Random) -> Lake:
    """The same, of which the first asset has two outlets, and the others read these."""
    sources = [replace(source(name), partitioning=random.choice(KINDS)) for name in ("s", "t")]
    one = multi(_random(random, "one", "s", "t"), "train", "test")
    two, three = _random(random, "two", "train", "t"), _random(random, "three", "test", "two", "train")
    return Lake(project(*sources, *one, two, three), MemoryStore())


def _random(random: Random, name: str, *others: str) -> AssetSpec:
    windows = [None, None, WindowMapping.trailing(Duration.parse("2d"))]
    names = random.sample(others, random.randint(1, len(others)))
    inlets = [InletSpec(each, "", random.choice(windows)) for each in names]
    strategy = DateRange(max_partitions_per_run=random.choice([1, 2, 5, 1000]))
    return replace(
        asset(name, *inlets, strategy=strategy, retries=1, retry_delay_seconds=0), partitioning=random.choice(KINDS)
    )


def some_values(random: Random, partitioning: Partitioning) -> Iterator[tuple[Partition, int]]:
    """A few partitions with new values, or many."""
    partitions = partitions_of(partitioning)
    most = random.choice([8, len(partitions)])
    for partition in random.sample(partitions, min(len(partitions), random.randint(1, most))):
        yield partition, random.randrange(MODULUS)


def killed(lake: Lake, name: str, moment: str) -> bool:
    """A driver that dies where its first run of an asset comes to ``moment``; whether it came to that."""
    reached, ended = threading.Event(), threading.Event()

    def stuck(_: RunOrder | None) -> None:
        reached.set()
        threading.Event().wait()

    engine = LakeEngine(lake)
    engine.hooks[name, moment] = stuck
    driver = lake.driver(engine=engine)

    def run() -> None:
        driver.run_works([DueWork()])
        ended.set()
        reached.set()

    threading.Thread(target=run, daemon=True).start()
    assert reached.wait(60)
    return not ended.is_set()
