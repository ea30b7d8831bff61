"""Random projects by crons, shifted slots and slots ahead of now, across a clock change, against single slots.

Time goes on, sources change and are changed again, runs fail and drivers die, persons force backfills: in the end each
slot is computed, and from the newest of what it needs, just where that is there and counts.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, Duration, zone_offsets
from sparkassets.core.journal.entries import ObservedEntry, SuccessEntry
from sparkassets.core.partitions import Partitioning, PartitionSet, RangeSet, TimePartition, WindowMapping
from sparkassets.core.planner.batch.backfill import plan_backfill
from sparkassets.core.planner.explain.explanation import explain_planned_asset
from sparkassets.core.planner.plan import Plan, PlannedRun
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.strategies import DateRange
from sparkassets.errors import InputError
from tests.builders import Story, asset, at, project, source
from tests.depth import histories
from tests.drivers import Drivers

ZONE = "Europe/Berlin"
FIRST, NOW = at("2025-03-27T12:00"), at("2025-04-01T09:30")
GRAINS = (
    {"by": "0 */6 * * *"},
    {"by": "0 6 * * *"},
    {"by": "45 2,14 * * *"},
    {"by": "0 0 * * SUN,WED"},
    {"by": "day", "offset": 6 * 3600},
    {"by": "day", "offset": -150 * 60},
    {"by": "day", "ahead": "36h"},
    {"by": "0 */8 * * *", "ahead": "2d"},
    {"by": "day"},
    {"by": "week", "offset": -DAY},
)
EXCLUDING = (
    {"by": "day", "exclude": "* * * * SAT,SUN"},
    {"by": "day", "exclude": "* * * * SUN; 2025-03-28 2025-03-31"},
    {"by": "0 6 * * *", "exclude": "* * * * SAT"},
    {"by": "0 */6 * * *", "exclude": "0 0 * * *; 2025-03-30"},
    {"by": "day", "offset": 6 * 3600, "exclude": "2025-03-29 2025-03-30"},
    {"by": "day", "ahead": "36h", "exclude": "* * * * SAT,SUN"},
    {"by": "0 */8 * * *", "ahead": "2d", "exclude": "* * * * SUN"},
)
Slot = tuple[int, int]


def slots(spec: AssetSpec, *, low: int = FIRST, high: int = NOW + 4 * DAY) -> list[Slot]:
    """Each with its own time: those that are excluded are between them."""
    time = spec.partitioning.time
    return own(time, RangeSet.span(low, high))


def own(time: TimePartition, ranges: RangeSet) -> list[Slot]:
    plain = replace(time, exclude="")
    found = plain.slots(plain.cover(ranges))
    return [slot for slot in found if time.floor(slot[0]) == slot[0]]


def counts(spec: AssetSpec, slot: Slot, now: int) -> bool:
    """Whether a slot is over, or so little ahead, by the wall clock."""
    time, clock = spec.partitioning.time, zone_offsets(ZONE)
    ahead = Duration.parse(time.ahead or "0s")
    end = slot[1]
    return clock.boundary(end + clock.offset_at(end) - ahead.days * DAY) - ahead.seconds <= now


class History(Drivers):
    """A project, its journal, and drivers that fail and go."""

    grains = GRAINS
    most = 400

    def __init__(self, random: Random) -> None:
        self.random = random
        self.ahead = random.choice([{}, {}, {"ahead": "36h"}])
        sources = [self.placed(source(name)) for name in ("s", "t")]
        assets = [self.another("one", "s", "t"), self.another("two", "one", "t"), self.another("three", "two", "one")]
        super().__init__(random, Story(project(*sources, *assets)))
        self.now = FIRST + DAY
        self.asked: set[tuple[str, Slot]] = set()

    def placed(self, spec: AssetSpec) -> AssetSpec:
        time = TimePartition(timezone=ZONE, column="at", **(self.random.choice(self.grains) | self.ahead))
        return replace(spec, partitioning=Partitioning(time), timezone=ZONE)

    def another(self, name: str, *others: str) -> AssetSpec:
        random = self.random
        windows = [None, None, WindowMapping.trailing(Duration.parse("30h"))]
        names = random.sample(others, random.randint(1, len(others)))
        inlets = [InletSpec(each, "", random.choice(windows)) for each in names]
        lookback = random.choice([None, None, Duration(days=1)])
        strategy = DateRange(lookback, max_partitions_per_run=random.choice([2, 5, 1000]))
        return self.placed(asset(name, *inlets, strategy=strategy))

    def context(self) -> PlanningContext:
        self.story.now = f"{at_text(self.now)}"
        return super().context()

    def check(self, context: PlanningContext, found: Plan) -> None:
        for run in found.runs:
            spec = self.story.project.assets[run.asset]
            assert spec.partitioning.count(run.partitions) <= spec.strategy.max_partitions_per_run
            assert all(counts(spec, slot, self.now) for slot in computed_by(spec, run.partitions))
            explain_planned_asset(context, found, spec)

    def step(self) -> None:
        random, runs = self.random, self.runs()
        what = random.choice(["event", "event", "time", "run", "run", "run", "fail", "crash", "invocation", "backfill"])
        if what == "event":
            for name in random.choice(["s", "t", "st"]):
                self.event(name)
        elif what == "time":
            self.now = min(NOW, self.now + random.choice([900, 3600, 5 * 3600, DAY]))
        elif what == "invocation":
            self.invocation += 1
        elif what == "backfill":
            runs = self.backfill(random.choice(["one", "two", "three"]))
        if runs and what in ("run", "fail", "crash", "backfill"):
            self.end(random.choice(runs), "run" if what == "backfill" else what)

    def event(self, name: str) -> None:
        """Some slots of a source changed; also some that do not count yet."""
        spec = self.story.project.assets[name]
        known = slots(spec)
        some = self.random.sample(known, min(self.random.randint(1, 6), len(known)))
        if self.random.choice([True, True, False]):
            some = [(min(some)[0], max(some)[1])]
        time = spec.partitioning.time
        self.story.add(ObservedEntry(name, spec.uri, PartitionSet(time.cover(RangeSet.from_pairs(some)))))

    def backfill(self, name: str) -> list[PlannedRun]:
        spec = self.story.project.assets[name]
        context = self.story.context(invocation=str(self.invocation), gone_claims=frozenset(self.gone))
        slot = self.random.choice(slots(spec))
        self.asked.add((name, slot))
        some = spec.partitioning.cover(PartitionSet.from_time_pairs([slot]))
        try:
            return list(plan_backfill(context, spec, some, force=self.random.random() < 0.5).runs)
        except InputError:
            return []

    def rest(self) -> int:
        self.now = NOW
        return super().rest()

    def needed(self, consumer: AssetSpec, name: str, partition: Slot) -> list[Slot]:
        """The slots of an inlet that a partition needs, one after the other."""
        low, high = partition
        if isinstance(consumer.inlets[name].mapping, WindowMapping):
            low = high - 30 * 3600
        up = self.story.project.assets[name]
        return [slot for slot in slots(up, low=low, high=high) if slot[0] < high and low < slot[1]]


def computed_by(spec: AssetSpec, partitions: PartitionSet) -> list[Slot]:
    time = spec.partitioning.time
    return [(start, time.stop(start)) for start, _ in time.slots(partitions.time)]


def at_text(unix: int) -> str:
    from sparkassets.core.instants import format_instant, from_unix

    return format_instant(from_unix(unix))


class WithoutSomeDays(History):
    """The same where slots of most are excluded."""

    grains = (*EXCLUDING, *EXCLUDING, *GRAINS)


@histories(25)
@given(st.randoms(use_true_random=False), st.integers(5, 40), st.sampled_from([History, WithoutSomeDays]))
def test_in_the_end_all_is_computed_from_the_newest(random: Random, steps: int, kind: type[History]):
    history = kind(random)
    for _ in range(steps):
        history.step()
    history.rest()
    assets = history.story.project.assets
    changed: dict[str, dict[Slot, int]] = {name: {} for name in assets}
    computed: dict[str, dict[Slot, int]] = {name: {} for name in assets}
    for each in history.story.entries:
        if isinstance(each.entry, ObservedEntry | SuccessEntry):
            entry = each.entry
            parts = entry.changed if isinstance(entry, ObservedEntry) else entry.partitions
            some = computed_by(assets[entry.asset], parts)
            changed[entry.asset] |= dict.fromkeys(some, each.seq)
            if isinstance(entry, SuccessEntry):
                computed[entry.asset] |= dict.fromkeys(some, entry.token)
    for name, spec in assets.items():
        if spec.source is not None:
            continue
        for partition in slots(spec, low=FIRST - 8 * DAY):
            needs = [(up, slot) for up in spec.inlets for slot in history.needed(spec, up, partition)]
            if not needs and (name, partition) in history.asked:  # of nothing but excluded time: only a person wants it
                continue
            there = bool(needs) and all(slot in changed[up] and counts(assets[up], slot, NOW) for up, slot in needs)
            assert (partition in computed[name]) == (there and counts(spec, partition, NOW)), (name, partition)
            if partition in computed[name]:
                assert all(changed[up][slot] < computed[name][partition] for up, slot in needs)
