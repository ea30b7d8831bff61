"""Inlets with ``partitions: aligned``: each run reads what the upstream's run of its own tick wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

from sparkassets.core.planner.batch.backfill import plan_backfill_unpartitioned
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.spec.model import InletSpec
from tests.builders import Story, asset, at, project, source, timed

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "timetables.json").read_text())["execution_delta"]


def aligned(name: str, **more: Any) -> InletSpec:
    return InletSpec(name, "", None, aligned=True, **more)


def waits(story: Story, name: str) -> list[tuple[list[str], str]]:
    return [(story.keys(name, item.partitions), item.reason) for item in story.plan().waiting if item.asset == name]


# --------------------------------------------------------------------------- the cases of the vectors


@pytest.mark.parametrize("case", VECTORS, ids=[case["id"] for case in VECTORS])
def test_the_upstream_run_of_a_tick_with_its_delta(case: Any):
    up = asset("up", by=None, schedule=timed({"cron": case["upstream"], "start": "2025-03-10", "catchup": "all"}))
    down = asset("down", aligned("up"), by=None, schedule=timed(case["downstream"]))
    story = Story(project(up, down), now=case["at"])
    published = {}
    while runs := [run for run in story.plan().runs if run.asset == "up"]:
        assert runs[0].interval is not None
        published[story.succeed("up", story.claim(runs[0]))] = runs[0].interval[0]
    (run,) = story.plan().runs
    assert run.interval is not None
    assert run.interval[0] == at(case["downstream_logical_date"])
    assert published[run.request.pins["up"].seq] == at(case["upstream_logical_date"])
    seconds = case["execution_delta"]
    delta = f"{'-' if seconds < 0 else ''}{abs(seconds) // 3600}:00:00"
    assert run.reason.endswith(f"reads up's run of {case['upstream_logical_date']}Z (execution delta {delta})")


# --------------------------------------------------------------------------- a daily dump and an hourly table

DELTA = "(execution delta 23:00:00)"


def prices(now: str, *, catchup: str = "all", start: str | None = "2025-03-20T06:00") -> Story:
    """A dump at 06:00 and a table of hours that reads it."""
    bounds = {"start": start} if start else {}
    dump = asset("price_dump", by=None, schedule=timed({"cron": "0 6 * * *", "catchup": catchup, **bounds}))
    table = asset(
        "price_hourly",
        aligned("price_dump", on_update="ignore"),
        by="hour",
        schedule=timed("0 * * * *"),
        start=at("2025-03-21T03:00"),
    )
    return Story(project(dump, table), now=now)


def dumped(story: Story, version: int) -> None:
    """The next run of the dump writes ``version``."""
    run = next(run for run in story.plan().runs if run.asset == "price_dump")
    story.succeed("price_dump", story.claim(run), version=version)


def tables(story: Story) -> list[tuple[list[str], int | None]]:
    """The hours of each run of the table, with the dump's version that it reads."""
    return [(story.keys(run.asset, run.partitions), run.request.pins["price_dump"].version) for run in of_table(story)]


def of_table(story: Story) -> list[PlannedRun]:
    return [run for run in story.plan().runs if run.asset == "price_hourly"]


def test_hours_fuse_while_they_share_the_dump_and_pin_its_version():
    story = prices("2025-03-22T05:00")
    dumped(story, 7)
    story.now = "2025-03-22T09:00"
    dumped(story, 8)
    expected = [(["2025-03-21T05..2025-03-22T04"], 7), (["2025-03-22T05..2025-03-22T08"], 8)]
    assert tables(story) == expected
    assert of_table(story)[0].reason == (
        f"0 * * * * at 2025-03-22T09:00Z: 24 partitions missing, reads price_dump's run of 2025-03-20T06:00Z {DELTA}"
    )
    assert [story.keys(run.asset, run.partitions) for run in story.run_all()] == [hours for hours, _ in expected]


def test_a_newer_dump_does_not_become_that_of_older_hours():
    story = prices("2025-03-22T05:00")
    dumped(story, 7)
    story.now = "2025-03-24T05:30"
    dumped(story, 8)
    dumped(story, 9)
    assert [version for _, version in tables(story)] == [7, 8, 9]


def test_an_hour_waits_for_the_dump_of_its_own_tick_and_runs_when_it_is_there():
    story = prices("2025-03-22T05:00")
    dumped(story, 7)
    story.now = "2025-03-22T06:00"
    assert waits(story, "price_hourly")[1:] == [
        (["2025-03-22T05"], f"waits for price_dump's run of 2025-03-21T06:00Z {DELTA}")
    ]
    story.run("price_hourly")  # the hours before
    assert tables(story) == []
    dumped(story, 8)
    assert tables(story) == [(["2025-03-22T05"], 8)]  # at once, not at the next tick
    story.run_all()
    assert story.waits("price_hourly")[0] == "0 * * * *: not before 2025-03-22T07:00Z"


def test_hours_before_the_first_dump_are_not_wanted():
    story = prices("2025-03-22T05:00")
    dumped(story, 7)
    assert waits(story, "price_hourly") == [
        (
            ["2025-03-21T03..2025-03-21T04"],
            "not wanted: price_dump has no run at or before 2025-03-21T04:00Z: it starts at 2025-03-20T06:00Z",
        )
    ]
    (item,) = [item for item in story.plan().waiting if item.asset == "price_hourly"]
    assert item.quiet


def test_a_failed_dump_is_told_and_the_older_hours_go_on():
    story = prices("2025-03-22T05:00")
    dumped(story, 7)
    story.now = "2025-03-22T07:00"
    run = next(run for run in story.plan().runs if run.asset == "price_dump")
    story.fail("price_dump", story.claim(run), error="disk full")
    assert tables(story) == [(["2025-03-21T05..2025-03-22T04"], 7)]
    assert waits(story, "price_hourly")[1:] == [
        (
            ["2025-03-22T05..2025-03-22T06"],
            f"waits for price_dump's run of 2025-03-21T06:00Z {DELTA}, which failed",
        )
    ]


def test_a_failure_of_the_newest_dump_says_nothing_of_an_older_one():
    story = prices("2025-03-22T05:00", catchup="latest")
    dumped(story, 7)
    story.now = "2025-03-24T07:00"
    run = next(run for run in story.plan().runs if run.asset == "price_dump")
    story.fail("price_dump", story.claim(run), error="disk full")
    said = {keys[0]: reason for keys, reason in waits(story, "price_hourly")}
    assert said["2025-03-24T05..2025-03-24T06"].endswith("which failed")
    assert "which published nothing" in said["2025-03-22T05..2025-03-23T04"]


def test_a_dump_that_comes_after_a_failed_one_is_told_so():
    story = prices("2025-03-22T05:00")
    dumped(story, 7)
    story.now = "2025-03-23T07:00"
    run = next(run for run in story.plan().runs if run.asset == "price_dump")
    story.fail("price_dump", story.claim(run), error="disk full")
    assert [reason.partition(", ")[2] for _, reason in waits(story, "price_hourly")[1:]] == [
        "which failed",
        "which comes after a failed run",
    ]


def test_a_dump_that_was_passed_over_is_named_with_the_way_to_make_it():
    story = prices("2025-03-22T05:00", catchup="latest")
    dumped(story, 7)
    story.now = "2025-03-23T07:00"
    dumped(story, 9)
    assert tables(story) == [
        (["2025-03-21T05..2025-03-22T04"], 7),
        (["2025-03-23T05..2025-03-23T06"], 9),
    ]
    assert waits(story, "price_hourly")[1:] == [
        (
            ["2025-03-22T05..2025-03-23T04"],
            (
                f"waits for price_dump's run of 2025-03-21T06:00Z {DELTA}, which published nothing: "
                "`sparkassets backfill price_dump --interval 2025-03-21T06:00Z..2025-03-22T06:00Z`"
            ),
        )
    ]


def test_a_live_run_of_the_dump_is_waited_for():
    story = prices("2025-03-22T05:00")
    dumped(story, 7)
    story.run_all()
    story.now = "2025-03-22T06:00"
    story.claim(story.plan().runs[0])
    assert waits(story, "price_hourly")[1:] == [
        (["2025-03-22T05"], f"waits for price_dump's run of 2025-03-21T06:00Z {DELTA}")
    ]


# --------------------------------------------------------------------------- other shapes


def test_runs_without_partitions_wait_in_order():
    up = asset("up", by=None, schedule=timed({"cron": "0 6 * * *", "start": "2025-03-18T06:00", "catchup": "all"}))
    down = asset(
        "down",
        aligned("up", on_update="ignore"),
        by=None,
        schedule=timed({"cron": "0 6 * * *", "start": "2025-03-18T06:00", "catchup": "all"}),
    )
    story = Story(project(up, down), now="2025-03-21T06:00")
    story.fail("up", story.claim(story.plan().runs[0]))
    assert story.waits("down") == ["waits for up's run of 2025-03-18T06:00Z (execution delta 0:00:00), which failed"]
    story.run("up")
    assert len([run for run in story.plan().runs if run.asset == "down"]) == 1
    assert story.waits("down") == ["waits for up's run of 2025-03-19T06:00Z (execution delta 0:00:00)"]
    assert [run.asset for run in story.run_all()].count("down") == 3


def test_a_run_that_spans_several_intervals_is_told():
    up = asset("up", by=None, schedule=timed({"cron": "@daily", "start": "2025-03-18", "catchup": "rollup"}))
    down = asset("down", aligned("up", on_update="ignore"), by=None, schedule=timed("@daily"))
    story = Story(project(up, down), now="2025-03-21")
    story.run("up")
    (run,) = story.plan().runs
    assert run.reason.endswith(
        "reads up's run of 2025-03-18T00:00Z..2025-03-21T00:00Z, "
        "which is for 2025-03-20T00:00Z (execution delta 0:00:00)"
    )


def test_the_backfill_of_a_run_waits_for_its_gates():
    story = Story(project(source("s", by=None), asset("down", "s", by=None, schedule=timed("@daily"))))
    found = plan_backfill_unpartitioned(story.context(), story.project.assets["down"], None)
    assert found.runs == ()
    assert [item.reason for item in found.waiting] == ["waits for s: no data yet"]


def test_the_backfill_of_an_interval_reads_the_run_of_its_tick():
    bounds = {"start": "2025-03-18", "catchup": "all"}
    up = asset("up", by=None, schedule=timed({"cron": "@daily", **bounds}))
    down = asset("down", aligned("up", on_update="ignore"), by=None, schedule=timed({"cron": "@daily", **bounds}))
    story = Story(project(up, down), now="2025-03-21")
    first = story.claim(next(run for run in story.plan().runs if run.asset == "up"))
    published = story.succeed("up", first, version=7)
    story.run_all()
    interval = at("2025-03-18"), at("2025-03-19")
    (run,) = plan_backfill_unpartitioned(story.context(), story.project.assets["down"], interval).runs
    assert (run.request.pins["up"].seq, run.request.pins["up"].version) == (published, 7)
    assert run.reason == (
        "backfill of 2025-03-18T00:00Z..2025-03-19T00:00Z, "
        "reads up's run of 2025-03-18T00:00Z (execution delta 0:00:00)"
    )
    later = plan_backfill_unpartitioned(
        story.context(), story.project.assets["down"], (at("2025-03-21"), at("2025-03-22"))
    )
    assert later.runs == ()
    assert [item.reason for item in later.waiting] == [
        "waits for up's run of 2025-03-21T00:00Z (execution delta 0:00:00)"
    ]


def test_an_upstream_with_partitions_is_waited_for_by_its_own_partitions():
    up = asset("up", by="day", schedule=timed("@daily"), start=at("2025-03-18"))
    down = asset("down", aligned("up", on_update="ignore"), by=None, schedule=timed("@daily"))
    story = Story(project(up, down), now="2025-03-20T00:00")
    story.run("up")
    story.run("down")
    story.now = "2025-03-21T00:00"
    assert story.waits("down") == [
        "waits for up's run of 2025-03-20T00:00Z (execution delta 0:00:00): missing 2025-03-20"
    ]
    story.run("up")
    (run,) = story.plan().runs
    assert run.reason == "@daily at 2025-03-21T00:00Z, reads up's run of 2025-03-20T00:00Z (execution delta 0:00:00)"


def test_a_delay_of_the_upstream_is_waited_for_until_it_is_due():
    up = asset(
        "up", by=None, schedule=timed({"cron": "@daily", "delay": "2h", "start": "2025-03-18", "catchup": "all"})
    )
    down = asset("down", aligned("up", on_update="ignore"), by=None, schedule=timed("@daily"))
    story = Story(project(up, down), now="2025-03-20T02:00")
    story.run_all()
    story.now = "2025-03-21T00:30"
    (item,) = [item for item in story.plan().waiting if item.asset == "down"]
    assert item.reason == "waits for up's run of 2025-03-20T00:00Z (execution delta 0:00:00)"
    assert item.until == at("2025-03-21T02:00")
