"""What planned runs are to cost: bytes by their pins, seconds and rows by earlier runs, no figure that is not known."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.codec.snapshot import decode, encode
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.batch.cost_estimates import add_cost_estimates, estimate_followers
from sparkassets.core.planner.plan import CostTotals
from sparkassets.core.run_costs import InletVolume, RunCost, forecast_cost
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, days, project, source
from tests.runtime.fakes import FakeVolumes

SECONDS = st.integers(1, 1000).map(float)
COSTS = st.lists(st.builds(RunCost, st.integers(1, 50), SECONDS, st.none() | st.integers(0, 1000)), min_size=1)


def story(**more):
    return Story(project(source("s"), asset("a", "s", **more), asset("b", "a", by=None)), now="2025-02-01")


def estimated_plan(story, volumes):
    return add_cost_estimates(story.plan(), story.context(), volumes.estimate_volume)


def ran(story, name, *, seconds, rows=None):
    run = next(run for run in story.plan().runs if run.asset == name)
    story.succeed(name, story.claim(run), seconds=seconds, extra={} if rows is None else {"rows": rows})


class TestBytes:
    def test_are_those_of_the_mapped_partitions(self):
        it, volumes = story(strategy=DateRange(max_partitions_per_run=2)), FakeVolumes()
        volumes.bytes["s"] = 10
        it.observed("s", "2025-01-01..2025-01-03")
        plan = estimated_plan(it, volumes)
        assert [(run.estimate.bytes, run.estimate.files) for run in plan.runs] == [(20, 2)]
        assert plan.totals == CostTotals(1, 20, 2, 0.0, 0, {"seconds": 1, "rows": 1})

    def test_that_cannot_be_told_are_told_for_no_inlet(self):
        it = Story(project(source("s"), source("t"), asset("a", "s", "t")))
        volumes = FakeVolumes()
        volumes.bytes |= {"s": 10, "t": None}
        it.observed("s", "2025-01-01")
        it.observed("t", "2025-01-01")
        plan = estimated_plan(it, volumes)
        assert [(run.estimate.bytes, run.estimate.unknown) for run in plan.runs] == [(None, ("t: it is gone",))]
        assert (plan.totals.bytes, plan.totals.unknown["bytes"]) == (0, 1)

    def test_of_what_is_only_waited_for_are_none(self):
        it = Story(project(source("s"), asset("a", InletSpec("s", "", None, waits_only=True))))
        volumes = FakeVolumes()
        it.observed("s", "2025-01-01")
        assert [run.estimate.bytes for run in estimated_plan(it, volumes).runs] == [0]
        assert volumes.asked == []

    def test_a_plan_alone_asks_for_nothing(self):
        it = story()
        it.observed("s", "2025-01-01")
        assert [run.estimate for run in it.plan().runs] == [None]
        assert it.plan().totals is None


class TestEarlierRuns:
    def test_tell_seconds_and_rows(self):
        it = story()
        it.observed("s", "2025-01-01..2025-01-02")
        ran(it, "a", seconds=20.0, rows=100)
        it.observed("s", "2025-01-03")
        (run,) = [run for run in estimated_plan(it, FakeVolumes()).runs if run.asset == "a"]
        assert (run.estimate.seconds, run.estimate.rows, run.estimate.earlier) == (10.0, 50, 1)
        assert run.estimate.between == (10.0, 20.0)

    def test_of_another_driver_that_was_recorded_later_tell_nothing(self):
        it = story()
        it.observed("s", "2025-01-01")
        claim = it.claim(it.plan().runs[0])
        second = it.claim(replace(it.plan(gone_claims=[claim]).runs[0]))
        state = it.state.assets["a"]
        assert len(state.chain) == 2
        it.succeed("a", claim, seconds=99.0)
        assert [each.seconds for each in it.state.assets["a"].costs] == [99.0]
        assert second > claim

    def test_are_the_newest_ten_and_outlive_the_snapshot(self):
        it = story()
        for day in range(1, 13):
            it.observed("s", f"2025-01-{day:02}")
            ran(it, "a", seconds=float(day), rows=day)
        costs = it.state.assets["a"].costs
        assert costs == tuple(RunCost(1, float(day), day) for day in range(3, 13))
        assert decode(encode(it.state), journal_id="journal").assets["a"].costs == costs

    def test_of_what_was_lost_tell_what_it_is_to_cost_again(self):
        from sparkassets.core.journal.table_findings import TableFinding, TargetEntry

        it = story()
        it.observed("s", "2025-01-01")
        ran(it, "a", seconds=7.0)
        it.add(TargetEntry("a", "a", TableFinding("gone", "its table is gone", EVERYTHING)))
        assert [run.estimate.seconds for run in estimated_plan(it, FakeVolumes()).runs if run.asset == "a"] == [7.0]


def test_what_follows_is_told_by_what_is_there_now():
    it = story(strategy=DateRange(max_partitions_per_run=2))
    volumes = FakeVolumes()
    volumes.bytes |= {"s": 10, "a": 3}
    it.observed("s", "2025-01-01..2025-01-03")
    it.run_all()
    found = estimate_followers(
        it.context(), {"a": days("2025-01-01..2025-01-03"), "b": EVERYTHING}, volumes.estimate_volume
    )
    assert [(each.bytes, each.assumed) for each in found["a"]] == [(20, True), (10, True)]
    assert [each.bytes for each in found["b"]] == [9]


def test_what_follows_in_partitions_without_end_has_no_known_duration():
    it = story()
    it.observed("s", "2025-01-01..2025-01-03")
    ran(it, "a", seconds=3.0, rows=3)
    (found,) = estimate_followers(it.context(), {"a": EVERYTHING}, FakeVolumes().estimate_volume)["a"]
    assert (found.seconds, found.rows, found.between) == (None, None, None)


@given(COSTS, st.integers(1, 100))
def test_a_forecast_is_within_its_own_bounds(costs, partitions):
    found = forecast_cost(costs, partitions)
    assert found.low <= found.seconds <= found.high
    assert found.runs == len(costs)


@given(st.integers(0, 100), st.integers(0, 20), st.lists(st.integers(1, 50), min_size=1), st.integers(1, 100))
def test_a_machine_that_takes_some_time_once_and_some_for_each_partition_is_within_the_bounds(
    once, each, sizes, partitions
):
    costs = [RunCost(size, float(once + each * size), 7 * size) for size in sizes]
    found, true = forecast_cost(costs, partitions), once + each * partitions
    assert found.low <= true + 1e-9
    assert true <= found.high + 1e-9
    assert found.rows == 7 * partitions
    if len(set(sizes)) > 1:
        assert found.seconds == pytest.approx(true)


def test_nothing_is_foretold_without_an_earlier_run():
    assert forecast_cost([], 3) is None


def test_a_volume_is_nothing_by_default():
    assert InletVolume() == InletVolume(0, 0, "")
