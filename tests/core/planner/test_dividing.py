"""A bad slice holds back nothing else: runs that fail of their data are tried in parts."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import FailureEntry
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.runs import allowed_division_runs
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, project, source, timed
from tests.depth import histories


class World:
    """A project of which some partitions of ``sales`` cannot be computed.

    Attributes:
        bad: Those partitions.
        tried: The runs of ``sales``, in order, with how each ended.
    """

    def __init__(self, spec: ProjectSpec, *bad: str, retries: int = 1) -> None:
        self.story = Story(spec, now="2025-03-01")
        self.bad = self.parts(*bad)
        self.retries = retries
        self.tried: list[tuple[PlannedRun, bool]] = []
        self.planner = IncrementalPlanner(spec)

    def parts(self, *keys: str) -> PartitionSet:
        partitioning = self.story.project.assets["sales"].partitioning
        return PartitionSet.union(partitioning.parse(key) for key in keys)

    def labels(self, parts: PartitionSet) -> list[str]:
        return self.story.keys("sales", parts)

    def next_run(self, invocation: str) -> PlannedRun | None:
        context = self.story.context(invocation=invocation)
        found = make_plan(context)
        assert self.planner.plan(replace(context, decisions={})) == found
        assert decode(encode(self.story.state), journal_id="journal") == self.story.state
        return next(iter(found.runs), None)

    def step(self, run: PlannedRun, invocation: str) -> None:
        claim = self.story.claim(run, invocation=invocation)
        if run.asset == "sales":
            fails = run.partitions.overlaps(self.bad)
            self.tried.append((run, not fails))
            if fails:
                count = self.story.project.assets["sales"].partitioning.count(run.partitions)
                self.fail(run, claim, invocation, divisions=allowed_division_runs(count, retries=self.retries))
                return
        self.story.succeed(run.asset, claim)

    def fail(self, run: PlannedRun, claim: int, invocation: str, *, divisions: int | None) -> None:
        link = self.story.state.assets[run.asset].chain[-1]
        entry = FailureEntry(run.asset, link.entry.run, claim, link.entry.partitions, "error", "boom", invocation)
        self.story.add(replace(entry, divisions=divisions))

    def until_idle(self, invocation: str = "i") -> list[list[str]]:
        """Runs all that is due; returns the partitions of each run of ``sales``."""
        before = len(self.tried)
        while (run := self.next_run(invocation)) is not None:
            assert len(self.tried) - before < 200, "never idle"
            self.step(run, invocation)
        return [self.labels(run.partitions) for run, _ in self.tried[before:]]

    @property
    def there(self) -> PartitionSet:
        return self.story.state.assets["sales"].coverage


def flights(**more: object) -> ProjectSpec:
    return project(source("flights"), asset("sales", "flights", **more), asset("report", "sales"))


class TestOneBadPartition:
    def test_it_is_found_by_halves_and_all_else_is_published(self):
        world = World(flights(), "2025-01-06")
        world.story.observed("flights", "2025-01-01..2025-01-08")
        assert world.until_idle() == [
            ["2025-01-01..2025-01-08"],
            ["2025-01-01..2025-01-04"],
            ["2025-01-05..2025-01-06"],
            ["2025-01-07..2025-01-08"],
            ["2025-01-05"],
            ["2025-01-06"],
        ]
        assert world.labels(world.there) == ["2025-01-01..2025-01-05", "2025-01-07..2025-01-08"]

    def test_the_plan_names_it_with_its_error_and_consumers_wait_for_it_alone(self):
        world = World(flights(), "2025-01-02")
        world.story.observed("flights", "2025-01-01..2025-01-04")
        world.until_idle()
        assert world.story.waits("sales", invocation="i") == ["failed: boom"]
        assert world.story.state.assets["report"].coverage == world.parts("2025-01-01", "2025-01-03..2025-01-04")
        assert world.story.waits("report", invocation="i") == ["waits for sales 2025-01-02, which failed"]

    def test_while_parts_are_tried_the_plan_says_so(self):
        world = World(flights(), "2025-01-03")
        world.story.observed("flights", "2025-01-01..2025-01-04")
        world.step(world.next_run("i"), "i")  # type: ignore[arg-type]
        run = world.next_run("i")
        assert run is not None
        assert run.reason == "2 partitions missing, 2 failed before, searching for the failing one of 4 partitions"
        assert world.story.waits("sales", invocation="i") == ["left for a separate run, because it failed before: boom"]

    def test_another_invocation_tries_it_alone_and_new_days_do_not_wait_for_it(self):
        world = World(flights(), "2025-01-02")
        world.story.observed("flights", "2025-01-01..2025-01-04")
        world.until_idle()
        world.story.observed("flights", "2025-01-05..2025-01-06")
        assert world.until_idle("j") == [["2025-01-05..2025-01-06"], ["2025-01-02"]]

    def test_a_tick_asks_for_it_once_more_and_alone(self):
        world = World(flights(schedule=timed("@daily")), "2025-01-02")
        world.story.observed("flights", "2025-01-01..2025-01-04")
        world.until_idle()
        world.story.now = "2025-03-02"
        world.story.observed("flights", "2025-01-05")
        assert world.until_idle() == [["2025-01-05"], ["2025-01-02"]]

    def test_a_correction_of_its_input_makes_it_one_of_all(self):
        world = World(flights(), "2025-01-02")
        world.story.observed("flights", "2025-01-01..2025-01-04")
        world.until_idle()
        world.bad = NOTHING
        world.story.observed("flights", "2025-01-02", "2025-01-05")
        assert world.until_idle("j") == [["2025-01-02", "2025-01-05"]]
        assert world.labels(world.there) == ["2025-01-01..2025-01-05"]

    def test_it_costs_twice_the_logarithm_of_all(self):
        for bad in ("2024-01-01", "2024-12-30", "2024-07-14"):
            world = World(flights(), bad)
            world.story.observed("flights", "2024-01-01..2024-12-30")
            assert len(world.until_idle()) <= 1 + 2 * 9
            assert world.parts("2024-01-01..2024-12-30") - world.there == world.bad


class TestBudget:
    def test_without_retries_nothing_is_tried_in_parts(self):
        world = World(flights(), "2025-01-02", retries=0)
        world.story.observed("flights", "2025-01-01..2025-01-04")
        assert world.until_idle() == [["2025-01-01..2025-01-04"]]

    def test_what_failed_of_the_machine_is_not_tried_in_parts(self):
        world = World(flights())
        world.story.observed("flights", "2025-01-01..2025-01-04")
        run = world.next_run("i")
        assert run is not None
        world.fail(run, world.story.claim(run), "i", divisions=None)
        assert world.until_idle() == []
        assert world.until_idle("j") == [["2025-01-01..2025-01-04"]]

    def test_where_all_is_bad_it_ends_and_another_invocation_goes_on(self):
        world = World(flights(), "2024-01-01..2024-12-30")
        world.story.observed("flights", "2024-01-01..2024-12-30")
        assert len(world.until_idle()) <= 1 + allowed_division_runs(365, retries=1)
        world.bad = world.parts("2024-03-01")
        for invocation in "jk":
            world.until_idle(invocation)
        assert world.parts("2024-01-01..2024-12-30") - world.there == world.bad


@histories(25)
@given(st.randoms(use_true_random=False))
def test_in_the_end_only_what_is_bad_is_not_there(random: Random):
    """Caps, lookback, schedules, late days, dead drivers and several invocations beside it."""
    lookback = random.choice([None, None, Duration.parse("2d")])
    more = {"strategy": DateRange(lookback, random.choice([3, 5, 366]))}
    if random.random() < 0.3:
        more["schedule"] = timed("@daily")  # type: ignore[assignment]
    world = World(flights(**more))
    days = [f"2025-01-{number:02}" for number in range(1, 25)]
    world.bad = world.parts(*random.sample(days, random.randint(0, 3)))
    arrived = NOTHING
    for number in range(random.randint(2, 5)):
        some = random.sample(days, random.randint(1, 20))
        world.story.observed("flights", *some)
        arrived |= world.parts(*some)
        world.story.now = f"2025-03-{number + 1:02}"
        dead = random.random() < 0.3 and world.next_run(str(number))
        if dead:
            claim = world.story.claim(dead, invocation=str(number))
            link = world.story.state.assets[dead.asset].chain[-1]
            world.story.add(
                FailureEntry(dead.asset, link.entry.run, claim, link.entry.partitions, "cancelled", "died", str(number))
            )
        world.until_idle(str(number))
    for invocation in "xyz":
        world.until_idle(invocation)
    assert arrived - world.there == arrived & world.bad
    assert world.story.state.assets["report"].coverage == world.there
    for item in world.story.state.assets["sales"].failed:
        assert world.labels(item.partitions - world.there) == world.labels(item.partitions & world.bad - world.there)


def test_what_failed_of_other_partitions_is_not_counted_among_those_of_today():
    story = Story(project(source("s"), asset("a", "s")), now="2025-01-15")
    story.observed("s", "2025-01-06..2025-01-07")
    (run,) = story.plan().runs
    story.fail("a", story.claim(run))
    assert story.plan().runs[0].reason.endswith("2 failed before")
    story.observed("s", "2025-01-08..2025-01-12")
    story.change(source("s"), asset("a", "s", by="week"))
    (run,) = story.plan().runs
    assert run.reason == "1 partition missing"
