from dataclasses import replace

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import WindowMapping
from sparkassets.core.spec.model import InletSpec, PartitionRequirement
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, at, days, names, project, source


def test_first_run_takes_every_partition_of_the_inlet():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01..2025-01-03")
    (run,) = story.plan().runs
    assert story.due() == {"a": ["2025-01-01..2025-01-03"]}
    assert run.reason == "3 partitions missing"
    assert [ref.seq for ref in run.events] == [3]


def test_second_tick_has_nothing_to_do():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01..2025-01-03")
    assert names(story.run_all()) == ["a"]
    assert story.due() == {}
    assert story.waits("a") == ["up to date since a-4"]


def test_a_changed_partition_makes_only_itself_stale():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01..2025-01-05")
    story.run_all()
    story.observed("s", "2025-01-02")
    (run,) = story.plan().runs
    assert story.due() == {"a": ["2025-01-02"]}
    assert run.reason == "1 stale: s changed"


def test_a_window_makes_every_partition_stale_that_reads_the_change():
    inlet = InletSpec("s", "", WindowMapping.trailing(Duration.parse("7d")))
    story = Story(project(source("s", start=at("2025-01-01")), asset("a", inlet)))
    story.observed("s", "2025-01-01..2025-01-20")
    story.run_all()
    story.observed("s", "2025-01-05")
    assert story.due() == {"a": ["2025-01-05..2025-01-11"]}


def test_an_update_during_a_run_counts_for_the_next():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01..2025-01-02")
    claim = story.claim(story.plan().runs[0])
    story.observed("s", "2025-01-02")
    story.succeed("a", claim)
    assert story.due() == {"a": ["2025-01-02"]}


def test_a_partition_counts_once_it_is_over():
    story = Story(project(source("s"), asset("a", "s")), now="2025-01-03T12:00")
    story.observed("s", "2025-01-01..2025-01-03")
    assert story.due() == {"a": ["2025-01-01..2025-01-02"]}
    later = next(item for item in story.plan().waiting if item.asset == "a")
    assert later.reason == "2025-01-03 is not over before 2025-01-04T00:00Z"
    assert story.keys("a", later.partitions) == ["2025-01-03"]


def test_a_hole_in_the_inlet_is_named_and_does_not_stop_the_rest():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01", "2025-01-03")
    assert story.due() == {"a": ["2025-01-01", "2025-01-03"]}
    assert story.waits("a") == ["waits for s: 0 of 1 partition, missing 2025-01-02"]


def test_a_day_requires_all_of_its_hours():
    story = Story(project(source("s", by="hour"), asset("a", "s")))
    story.observed("s", "2025-01-01T00..2025-01-02T22")
    assert story.due() == {"a": ["2025-01-01"]}
    assert story.waits("a") == ["waits for s: 23 of 24 partitions, missing 2025-01-02T23"]


def test_a_day_of_a_clock_change_requires_the_hours_it_really_has():
    story = Story(project(source("s", by="hour"), asset("a", "s", zone="Europe/Berlin")), now="2025-04-02")
    story.observed("s", "2025-03-29T23..2025-03-30T21")
    assert story.due() == {"a": ["2025-03-30"]}


def test_require_at_least_lets_a_day_with_few_hours_through():
    inlet = InletSpec("s", "", None, PartitionRequirement("at_least", 20))
    story = Story(project(source("s", by="hour"), asset("a", inlet)))
    story.observed("s", "2025-01-01T00..2025-01-01T19", "2025-01-02T00..2025-01-02T18", "2025-01-03T00..2025-01-03T23")
    assert story.due() == {"a": ["2025-01-01", "2025-01-03"]}
    (reason,) = story.waits("a")
    assert reason.startswith("waits for s: 19 of 24 partitions, missing 2025-01-02T19..2025-01-02T23")
    assert reason.endswith("(require: at_least 20)")


def test_inlet_partitions_before_its_declared_start_are_not_required():
    inlet = InletSpec("s", "", WindowMapping.trailing(Duration.parse("7d")))
    story = Story(project(source("s", start=at("2025-01-01")), asset("a", inlet)))
    story.observed("s", "2025-01-01..2025-01-02")
    assert story.due() == {"a": ["2025-01-01..2025-01-02"]}


def test_bounds_of_the_asset_limit_what_is_wanted():
    bounded = replace(asset("a", "s"), start=days("2025-01-02").first, end=days("2025-01-03").last)
    story = Story(project(source("s"), bounded))
    story.observed("s", "2025-01-01..2025-01-09")
    assert story.due() == {"a": ["2025-01-02..2025-01-03"]}


def test_what_lies_before_the_first_inlet_partition_is_left_out_and_named():
    story = Story(project(source("s"), replace(asset("a", "s"), start=days("2024-12-25").first)))
    story.observed("s", "2025-01-01..2025-01-02")
    assert story.due() == {"a": ["2025-01-01..2025-01-02"]}
    (left,) = [item for item in story.plan().waiting if item.asset == "a"]
    assert (left.reason, left.quiet) == (
        "before the first partition of s; declare `start` where s begins",
        True,
    )
    assert story.keys("a", left.partitions) == ["2024-12-25..2024-12-31"]


def test_a_dimension_makes_nothing_stale_but_is_required():
    story = Story(project(source("s"), source("d", by=None), asset("a", "s", "d")))
    story.observed("s", "2025-01-01")
    assert story.due() == {}
    assert story.waits("a") == ["waits for d: no data yet"]
    story.observed("d")
    story.run_all()
    story.observed("d")
    assert story.due() == {}


def test_what_exceeds_the_cap_is_another_run_and_is_named():
    story = Story(project(source("s"), asset("a", "s", strategy=DateRange(max_partitions_per_run=2))))
    story.observed("s", "2025-01-01..2025-01-05")
    assert story.due() == {"a": ["2025-01-01..2025-01-02"]}
    assert story.waits("a") == ["left for the next run: more than max_partitions_per_run (2)"]
    assert [story.keys("a", run.partitions) for run in story.run_all()] == [
        ["2025-01-01..2025-01-02"],
        ["2025-01-03..2025-01-04"],
        ["2025-01-05"],
    ]


def test_lookback_computes_what_lies_before_a_gap_again():
    story = Story(project(source("s"), asset("a", "s", strategy=DateRange(lookback=Duration.parse("2d")))))
    story.observed("s", "2025-01-01..2025-01-05")
    story.run_all()
    story.observed("s", "2025-01-06")
    (run,) = story.plan().runs
    assert story.due() == {"a": ["2025-01-04..2025-01-06"]}
    assert run.reason == "1 partition missing, 2 by lookback"


def test_weeks_come_from_days_once_all_are_there():
    story = Story(project(source("s"), asset("w", "s", by="week")))
    story.observed("s", "2025-01-06..2025-01-12", "2025-01-13..2025-01-15")
    assert story.due() == {"w": ["2025-W02"]}


def test_a_condition_waits_for_every_leaf_partition_by_partition():
    story = Story(project(source("s"), source("t"), asset("a", "s", "t", schedule="s & t")))
    story.observed("s", "2025-01-01..2025-01-03")
    story.observed("t", "2025-01-01..2025-01-02")
    assert story.due() == {"a": ["2025-01-01..2025-01-02"]}
    story.run_all()
    story.observed("s", "2025-01-01..2025-01-02")
    story.observed("t", "2025-01-02")
    assert story.due() == {"a": ["2025-01-02"]}


def test_manual_runs_by_backfill_only():
    from sparkassets.core.spec.model import Schedule

    story = Story(project(source("s"), asset("a", "s", schedule=Schedule())))
    story.observed("s", "2025-01-01")
    assert story.due() == {}
    assert story.waits("a") == ["manual: runs only by `sparkassets backfill`"]
