"""Random projects of assets by time, by segments and by both, against what single partitions say.

Whatever arrives, fails and is computed in any order, in the end every partition that can be is computed from the newest
of what it needs, what waits lacks something, and nothing is computed more often than its causes ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, Duration
from sparkassets.core.journal.entries import ClaimEntry, ObservedEntry, SuccessEntry
from sparkassets.core.partitions import (
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentPartition,
    TimePartition,
    WindowMapping,
)
from sparkassets.core.planner.explain.explanation import explain_planned_asset
from sparkassets.core.planner.plan import Plan, PlannedRun
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, at, project, source
from tests.depth import histories
from tests.drivers import Drivers

ZERO = at("2025-01-01")
DAYS = TimePartition("day", "UTC", column="day")
REGIONS = SegmentPartition("region", ("de", "nl", "us"))
STORES = SegmentPartition("store", ("a", "b"))
KINDS = (
    Partitioning(DAYS),
    Partitioning(None, (REGIONS,)),
    Partitioning(DAYS, (REGIONS,), 1),
    Partitioning(DAYS, (STORES, REGIONS)),
    Partitioning(None, (REGIONS, STORES)),
)
WITHOUT_A_DAY = Partitioning(replace(DAYS, exclude="2025-01-03"), (REGIONS,))
"""Of no partition is the third of the five days."""
Partition = tuple[tuple[str, ...], int | None]
"""Its segments, and the number of its day."""


def partitions_of(partitioning: Partitioning, *, since: int = 0) -> list[Partition]:
    """Those of five days, or also of some before, that are not excluded."""
    keys, time = product(*(each.keys for each in partitioning.segments)), partitioning.time
    days = [day for day in range(since, 5) if time is not None and time.slot_of_instant(ZERO + day * DAY) is not None]
    numbers: list[int | None] = [*days] if time is not None else [None]
    return [(key, day) for key in keys for day in numbers]


def set_of(partitioning: Partitioning, partition: Partition) -> PartitionSet:
    """The partition as a set."""
    key, day = partition
    time = RangeSet.always() if day is None else RangeSet.span(ZERO + day * DAY, ZERO + (day + 1) * DAY)
    return partitioning.cover(PartitionSet.by_segment({key: time}) if partitioning.segments else PartitionSet(time))


def inside(partitioning: Partitioning, parts: PartitionSet) -> list[Partition]:
    return [partition for partition in partitions_of(partitioning) if parts.covers(set_of(partitioning, partition))]


class History(Drivers):
    """A project, its journal, and drivers that fail and go."""

    def __init__(self, random: Random) -> None:
        self.random = random
        sources = [replace(source(name), partitioning=random.choice(KINDS)) for name in ("s", "t")]
        assets = [self.another("one", "s", "t"), self.another("two", "one", "t"), self.another("three", "two", "one")]
        super().__init__(random, Story(project(*sources, *assets), now="2025-01-06"))
        self.asked: Counter[tuple[str, Partition]] = Counter()

    def another(self, name: str, *others: str) -> AssetSpec:
        random = self.random
        windows = [None, None, WindowMapping.trailing(Duration.parse("2d"))]
        names = random.sample(others, random.randint(1, len(others)))
        inlets = [InletSpec(each, "", random.choice(windows)) for each in names]
        strategy = DateRange(max_partitions_per_run=random.choice([1, 2, 5, 1000]))
        return replace(asset(name, *inlets, strategy=strategy), partitioning=random.choice(KINDS))

    # ------------------------------------------------------------------ what happens

    def check(self, context: PlanningContext, found: Plan) -> None:
        for each in self.story.project.assets.values():
            explain_planned_asset(context, found, each)
        for run in found.runs:
            strategy = self.story.project.assets[run.asset].strategy
            assert isinstance(strategy, DateRange)
            partitioning = self.story.project.assets[run.asset].partitioning
            assert run.partitions or run.recovers
            assert partitioning.count(run.partitions) <= strategy.max_partitions_per_run
            assert partitioning.known_partitions.covers(run.partitions)

    def step(self) -> None:
        random, runs = self.random, self.runs()
        what = random.choice(["event", "event", "run", "run", "run", "fail", "crash", "invocation"])
        if what == "event":
            self.event(random.choice("st"))
        elif what == "invocation":
            self.invocation += 1
        elif runs:
            self.end(random.choice(runs), what)

    def event(self, name: str) -> None:
        """Some partitions of a source changed."""
        spec = self.story.project.assets[name]
        some = self.random.sample(partitions_of(spec.partitioning), self.random.randint(1, 3))
        changed = PartitionSet.union(set_of(spec.partitioning, each) for each in some)
        self.story.add(ObservedEntry(name, spec.uri, changed))
        self.touch(name, some)

    def succeed(self, run: PlannedRun, claim: int) -> None:
        super().succeed(run, claim)
        self.touch(run.asset, inside(self.story.project.assets[run.asset].partitioning, run.partitions))

    def touch(self, name: str, changed: list[Partition]) -> None:
        """One more cause for every partition that needs one of these."""
        for each in self.story.project.assets.values():
            if name in each.inlets and each.inlets[name].on_update == "rerun":
                for partition in partitions_of(each.partitioning):
                    self.asked[each.name, partition] += bool(set(changed) & set(self.needed(each, name, partition)))

    # ------------------------------------------------------------------ the model

    def needed(self, consumer: AssetSpec, name: str, partition: Partition) -> list[Partition]:
        """The partitions of an inlet that a partition needs, one after the other."""
        up, down = self.story.project.assets[name].partitioning, consumer.partitioning
        mapping = consumer.inlets[name].mapping
        shares = {each.column for each in up.segments} & {each.column for each in down.segments}
        if mapping is None or (not shares and not (up.time and down.time)):
            return partitions_of(up)
        back = 2 if isinstance(mapping, WindowMapping) else 1
        own = {each.column: key for each, key in zip(down.segments, partition[0], strict=True)}
        found = []
        for key, day in partitions_of(up, since=-1):
            theirs = {each.column: value for each, value in zip(up.segments, key, strict=True)}
            agree = all(own[column] == theirs[column] for column in shares)
            if agree and (partition[1] is None or day is None or partition[1] - back < day <= partition[1]):
                found.append((key, day))
        return found

    def news(self) -> Iterator[tuple[int, str, list[Partition], int]]:
        """(Sequence, asset, partitions that are new, what was read up to) of each change, in order."""
        claims = {each.seq: each.entry for each in self.story.entries if isinstance(each.entry, ClaimEntry)}
        for each in self.story.entries:
            entry = each.entry
            if isinstance(entry, ObservedEntry):
                yield each.seq, entry.asset, inside(self.partitioning(entry.asset), entry.changed), 0
            elif isinstance(entry, SuccessEntry):
                assert claims[entry.token].request.partitions == entry.partitions
                yield each.seq, entry.asset, inside(self.partitioning(entry.asset), entry.partitions), entry.token

    def change_times(
        self,
    ) -> tuple[dict[str, dict[Partition, int]], dict[str, dict[Partition, int]], Counter[tuple[str, Partition]]]:
        """When each partition changed last, up to what its newest rows were read, and how often it came."""
        changed: dict[str, dict[Partition, int]] = {name: {} for name in self.story.project.assets}
        computed: dict[str, dict[Partition, int]] = {name: {} for name in self.story.project.assets}
        times: Counter[tuple[str, Partition]] = Counter()
        for seq, name, partitions, token in self.news():
            changed[name] |= dict.fromkeys(partitions, seq)
            computed[name] |= dict.fromkeys(partitions, token)
            times.update((name, partition) for partition in partitions)
        return changed, computed, times

    def partitioning(self, name: str) -> Partitioning:
        return self.story.project.assets[name].partitioning


@histories(20)
@given(st.randoms(use_true_random=False), st.integers(3, 30))
def test_in_the_end_all_is_computed_from_the_newest_and_no_more(random: Random, steps: int):
    history = History(random)
    for _ in range(steps):
        history.step()
    history.rest()
    changed, computed, times = history.change_times()
    for name, spec in history.story.project.assets.items():
        if spec.source is not None:
            continue
        coverage = history.story.state.assets[name].coverage
        for partition in partitions_of(spec.partitioning):
            needs = {inlet: history.needed(spec, inlet, partition) for inlet in spec.inlets}
            there = all(
                any(each in changed[inlet] for each in some)
                if spec.partitioning.time is None and history.partitioning(inlet).time
                else all(each in changed[inlet] for each in some)
                for inlet, some in needs.items()
            )
            told = spec.partitioning.time is None or any(history.partitioning(inlet).time for inlet in needs)
            if partition in computed[name]:
                causes = [(inlet, some) for inlet, some in needs.items() if spec.inlets[inlet].on_update == "rerun"]
                newest = max((changed[inlet].get(each, 0) for inlet, some in causes for each in some), default=0)
                assert coverage.covers(set_of(spec.partitioning, partition))
                assert computed[name][partition] > newest, f"{name} {partition} is older than what it needs"
                assert times[name, partition] <= max(1, history.asked[name, partition]), f"{name} {partition} too often"
            elif there and told:
                raise AssertionError(f"{name} {partition} has all that it needs and was not computed")
