"""A run that is to cost more than its budget waits and says so, and what reads it waits; a person may let it run."""

import pytest

from sparkassets.core.journal.entries import BackfillEntry
from sparkassets.core.planner.batch.budgets import plan_within_budget
from sparkassets.core.planner.batch.requested_runs import plan_rebuild
from sparkassets.core.planner.explain.status import asset_status
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.asset_services import RunBudget
from sparkassets.core.strategies import DateRange, EveryInstance
from sparkassets.runtime.requested_works import BackfillWork
from tests.builders import Story, asset, project, source
from tests.runtime.fakes import FakeVolumes

SMALL = RunBudget(bytes=15)
HELD = "over budget: reads 20 B, budget 15 B; --over-budget runs it anyway"


@pytest.fixture
def volumes():
    made = FakeVolumes()
    made.bytes |= {"s": 10}
    return made


def story(*more, budget=SMALL, **options):
    return Story(project(source("s"), asset("a", "s", budget=budget, **options), *more), now="2025-02-01")


class TestBytes:
    def test_over_budget_hold_a_run_back(self, volumes):
        it = story()
        it.observed("s", "2025-01-01..2025-01-02")
        assert it.plan(estimate_volume=volumes.estimate_volume).runs == ()
        assert it.waits("a", estimate_volume=volumes.estimate_volume) == [HELD]
        assert it.due() == {"a": ["2025-01-01..2025-01-02"]}

    def test_within_budget_hold_nothing(self, volumes):
        it = story()
        it.observed("s", "2025-01-01")
        assert it.due(estimate_volume=volumes.estimate_volume) == {"a": ["2025-01-01"]}

    def test_that_cannot_be_told_hold_nothing(self, volumes):
        volumes.bytes["s"] = None
        it = story()
        it.observed("s", "2025-01-01")
        assert it.due(estimate_volume=volumes.estimate_volume) == {"a": ["2025-01-01"]}

    def test_are_asked_for_only_where_there_is_a_budget(self, volumes):
        it = story(budget=None)
        it.observed("s", "2025-01-01..2025-01-09")
        assert it.due(estimate_volume=volumes.estimate_volume) == {"a": ["2025-01-01..2025-01-09"]}
        assert volumes.asked == []

    def test_go_by_run_so_that_smaller_ones_fit(self, volumes):
        it = story(strategy=DateRange(max_partitions_per_run=1))
        it.observed("s", "2025-01-01..2025-01-02")
        assert it.due(estimate_volume=volumes.estimate_volume) == {"a": ["2025-01-01"]}

    def test_of_an_asset_without_partitions_count_likewise(self, volumes):
        it = Story(project(source("s", by=None), asset("a", "s", by=None, budget=RunBudget(bytes=9))))
        it.observed("s")
        assert it.waits("a", estimate_volume=volumes.estimate_volume) == [
            "over budget: reads 10 B, budget 9 B; --over-budget runs it anyway"
        ]

    def test_of_runs_side_by_side_count_each(self, volumes):
        it = story(budget=RunBudget(bytes=9), strategy=EveryInstance())
        it.observed("s", "2025-01-01..2025-01-02")
        assert it.plan(estimate_volume=volumes.estimate_volume).runs == ()
        assert len(it.waits("a", estimate_volume=volumes.estimate_volume)) == 2


class TestSeconds:
    def test_go_by_earlier_runs(self, volumes):
        it = story(budget=RunBudget(seconds=60))
        it.observed("s", "2025-01-01")
        run = it.plan(estimate_volume=volumes.estimate_volume).runs[0]
        it.succeed("a", it.claim(run), seconds=40.0)
        it.observed("s", "2025-01-02..2025-01-03")
        assert it.waits("a", estimate_volume=volumes.estimate_volume) == [
            "over budget: takes ~1 min, budget 1 min; --over-budget runs it anyway"
        ]
        assert volumes.asked.count("s") == 2


def test_what_reads_it_waits_and_says_for_what(volumes):
    it = story(asset("b", "a"), asset("c", "b", by=None))
    it.observed("s", "2025-01-01..2025-01-02")
    held = "waits for a 2025-01-01..2025-01-02, held by its budget"
    assert it.waits("b", estimate_volume=volumes.estimate_volume) == [held]
    assert it.waits("c", estimate_volume=volumes.estimate_volume) == [held]


def test_status_says_so(volumes):
    it = story()
    it.observed("s", "2025-01-01..2025-01-02")
    status = asset_status(it.context(estimate_volume=volumes.estimate_volume), it.project.assets["a"])
    assert status.notes == (f"2025-01-01..2025-01-02: {HELD}",)


def test_a_run_that_settles_an_older_one_is_not_held(volumes):
    it = story()
    it.observed("s", "2025-01-01..2025-01-02")
    claim = it.claim(it.plan().runs[0])
    assert it.due(estimate_volume=volumes.estimate_volume, gone_claims=[claim]) == {"a": ["2025-01-01..2025-01-02"]}


def test_backfills_and_rebuilds_have_the_same_budget(volumes):
    it = story(strategy=DateRange(max_partitions_per_run=2))
    made = it.project.assets["a"]
    it.observed("s", "2025-01-01..2025-01-03")
    it.run_all()
    work = BackfillWork(made, made.partitioning.parse("2025-01-01..2025-01-03"), force=True)
    it.add(*work.begin(it.context(estimate_volume=volumes.estimate_volume)))
    found = work.plan(it.context(estimate_volume=volumes.estimate_volume))
    assert [it.keys("a", run.partitions) for run in found.runs] == [["2025-01-03"]]
    assert [item.reason for item in found.waiting] == [HELD]
    assert len(work.plan(it.context()).runs) == 2
    assert HELD in it.waits("a", estimate_volume=volumes.estimate_volume)  # what is asked for waits in every plan
    context = it.context(estimate_volume=volumes.estimate_volume)
    assert plan_within_budget(context, made, plan_rebuild(context, made, force=False)).runs == ()


def test_planning_again_holds_what_planning_from_nothing_holds(volumes):
    it = story(asset("b", "a"))
    planner = IncrementalPlanner(it.project)
    for keys in ("2025-01-01", "2025-01-02..2025-01-03", "2025-01-04"):
        it.observed("s", keys)
        assert planner.plan(it.context(estimate_volume=volumes.estimate_volume)) == make_plan(
            it.context(estimate_volume=volumes.estimate_volume)
        )


def test_of_what_is_current_and_asked_for_again_nobody_waits_while_it_is_held(volumes):
    it = Story(project(source("s"), source("t"), asset("a", "s", budget=SMALL), asset("b", "a", "t")), now="2025-02-01")
    for name in "st":
        it.observed(name, "2025-01-01..2025-01-02")
    it.run_all()
    both = it.state.assets["a"].coverage
    it.add(BackfillEntry("a", both, both))
    it.observed("t", "2025-01-01")
    assert it.waits("a", estimate_volume=volumes.estimate_volume) == [HELD]
    assert it.due(estimate_volume=volumes.estimate_volume) == {"b": ["2025-01-01"]}
