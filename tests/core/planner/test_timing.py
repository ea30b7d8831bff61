"""Ticks of an asset's own timetable: which are due, what they stand for, and what a changed schedule makes of them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.instants import format_instant, from_unix
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.strategies import EveryInstance
from tests.builders import Story, asset, at, project, timed
from tests.depth import examples


def story_of(value: Any, now: str, *, zone: str = "UTC", **more: Any) -> Story:
    return Story(project(asset("a", by=None, schedule=timed(value, zone), **more)), now=now)


def change(story: Story, value: Any, now: str, *, zone: str = "UTC") -> None:
    story.change(asset("a", by=None, schedule=timed(value, zone)))
    story.now = now


def interval(run: PlannedRun) -> str:
    assert run.interval is not None
    return "..".join(format_instant(from_unix(each)).removesuffix(":00Z") for each in run.interval)


def intervals(story: Story) -> list[str]:
    return [interval(run) for run in story.plan().runs]


def reasons(story: Story) -> list[str]:
    return [run.reason for run in story.plan().runs]


# --------------------------------------------------------------------------- the timetables of the vectors


@pytest.mark.parametrize(
    ("value", "now", "expected"),
    [
        ({"cron": "0 0 * * *", "delay": "2h"}, "2025-03-21T02:00", "2025-03-20T00:00..2025-03-21T00:00"),
        ({"cron": "0 0 * * *", "window": "7d"}, "2025-03-21T00:00", "2025-03-14T00:00..2025-03-21T00:00"),
        ({"cron": "0 0 * * MON-FRI", "interval": "1d"}, "2025-03-22T00:00", "2025-03-21T00:00..2025-03-22T00:00"),
        ({"cron": "0 0 * * MON-FRI"}, "2025-03-24T00:00", "2025-03-21T00:00..2025-03-24T00:00"),
        ({"at": "0 6 * * *"}, "2025-03-21T06:00", "2025-03-21T06:00..2025-03-21T06:00"),
    ],
)
def test_the_interval_of_a_run(value: Any, now: str, expected: str):
    story = story_of(value, now)
    assert intervals(story) == [expected]
    assert story.plan().runs[0].request.schedule_date == at(now)
    story.run("a")
    assert intervals(story) == []


def test_a_delay_is_waited_for():
    story = story_of({"cron": "0 0 * * *", "delay": "2h"}, "2025-03-21T02:00")
    story.run("a")
    story.now = "2025-03-22T01:59"
    assert story.plan().runs == ()
    (waiting,) = story.plan().waiting
    assert waiting.reason.endswith(": not before 2025-03-22T02:00Z")
    assert waiting.until == at("2025-03-22T02:00")


def test_an_interval_of_its_own_leaves_the_weekend_out():
    story = story_of({"cron": "0 0 * * MON-FRI", "interval": "1d", "catchup": "all"}, "2025-03-22T00:00")
    story.run("a")
    story.now = "2025-03-25T12:00"
    assert intervals(story) == ["2025-03-24T00:00..2025-03-25T00:00"]


# --------------------------------------------------------------------------- catchup


def missed(catchup: str | None, **more: Any) -> Story:
    value = {"cron": "0 0 * * *"} | ({"catchup": catchup} if catchup else {})
    story = story_of(value, "2025-03-18T00:00", **more)
    story.run("a")
    story.now = "2025-03-21T00:30"
    return story


def test_rollup_spans_all_missed_intervals():
    story = missed("rollup")
    assert intervals(story) == ["2025-03-18T00:00..2025-03-21T00:00"]
    (run,) = story.plan().runs
    assert run.request.cursor == (at("2025-03-20"), at("2025-03-21"))
    assert run.request.schedule_date == at("2025-03-21")
    story.run("a")
    assert intervals(story) == []


def test_all_takes_every_missed_interval_in_order():
    story = missed("all")
    assert intervals(story) == [
        "2025-03-18T00:00..2025-03-19T00:00",
        "2025-03-19T00:00..2025-03-20T00:00",
        "2025-03-20T00:00..2025-03-21T00:00",
    ]
    story.run("a")
    assert intervals(story)[0] == "2025-03-19T00:00..2025-03-20T00:00"
    assert len(story.run_all()) == 2


def test_latest_is_the_default_and_takes_the_newest_only():
    assert intervals(missed(None)) == intervals(missed("latest")) == ["2025-03-20T00:00..2025-03-21T00:00"]


def test_every_instance_takes_all_by_default():
    assert len(intervals(missed(None, strategy=EveryInstance()))) == 3
    assert len(intervals(missed("latest", strategy=EveryInstance()))) == 1


def test_all_begins_at_the_start():
    story = story_of({"cron": "@daily", "catchup": "all", "start": "2025-03-18"}, "2025-03-20T12:00")
    assert intervals(story) == ["2025-03-18T00:00..2025-03-19T00:00", "2025-03-19T00:00..2025-03-20T00:00"]


def test_without_a_start_the_first_run_is_of_the_last_complete_interval():
    assert intervals(story_of({"cron": "@daily", "catchup": "all"}, "2025-03-20T12:00")) == [
        "2025-03-19T00:00..2025-03-20T00:00"
    ]


def test_a_failed_interval_is_not_skipped():
    story = missed("all")
    story.fail("a", story.claim(story.plan().runs[0]))
    assert story.due(invocation="i") == {}
    assert story.waits("a", invocation="i") == ["failed: boom"]
    assert intervals(story)[0] == "2025-03-18T00:00..2025-03-19T00:00"
    assert reasons(story)[0].endswith(" at 2025-03-19T00:00Z, failed before")


def test_more_missed_intervals_than_a_plan_names_follow():
    story = story_of({"cron": "@hourly", "catchup": "all", "start": "2025-03-01"}, "2025-03-06")
    ran = [interval(run) for run in story.run_all(limit=200)]
    assert len(ran) == 120
    assert [each[:16] for each in ran[1:]] == [each[-16:] for each in ran[:-1]]


# --------------------------------------------------------------------------- once, continuous, the end


def test_once_runs_once_and_says_which_was_it():
    story = story_of("@once", "2025-03-21T06:00")
    assert intervals(story) == ["2025-03-21T06:00..2025-03-21T06:00"]
    story.run("a")
    story.now = "2026-01-01"
    assert story.due() == {}
    assert story.waits("a") == ["@once: done by a-2"]


def test_once_with_a_start_waits_for_it():
    story = story_of({"cron": "@once", "start": "2025-03-22"}, "2025-03-21")
    (waiting,) = story.plan().waiting
    assert waiting.until == at("2025-03-22")
    assert waiting.reason.endswith("not before 2025-03-22T00:00Z")
    story.now = "2025-04-01"
    assert intervals(story) == ["2025-03-22T00:00..2025-03-22T00:00"]


def test_once_may_run_until_its_end():
    value = {"cron": "@once", "end": "2025-03-22"}
    assert intervals(story_of(value, "2025-03-21T23:59")) == ["2025-03-21T23:59..2025-03-21T23:59"]
    story = story_of(value, "2025-03-22")
    assert intervals(story) == []
    assert story.waits("a") == ["@once: its end has passed"]


def test_a_list_of_instants_comes_to_its_end():
    story = story_of({"at": ["2025-03-20T06:00"]}, "2025-03-21")
    story.run("a")
    assert story.waits("a") == ["at 2025-03-20T06:00Z: it has no more runs"]


def test_continuous_that_ran_already_at_a_later_time_is_said_so_when_planned_before():
    story = story_of("@continuous", "2025-03-21T06:00")
    story.run("a")
    assert story.waits("a") == []
    story.now = "2025-03-20T06:00"
    assert story.due() == {}
    assert story.waits("a") == [
        "@continuous: a plan for a later time already ran it up to 2025-03-21T06:00Z; not before that"
    ]


def test_continuous_runs_once_an_invocation_and_its_intervals_abut():
    story = story_of("@continuous", "2025-03-21T06:00")
    assert intervals(story) == ["2025-03-21T06:00..2025-03-21T06:00"]
    story.run("a")
    story.now = "2025-03-21T06:10"
    assert story.due(invocation="i") == {}
    assert story.waits("a", invocation="i") == ["@continuous: ran in this invocation"]
    assert intervals(story) == ["2025-03-21T06:00..2025-03-21T06:10"]


def test_after_its_end_nothing_is_due():
    story = story_of({"cron": "@daily", "end": "2025-03-20"}, "2025-03-21")
    assert intervals(story) == ["2025-03-19T00:00..2025-03-20T00:00"]
    story.run("a")
    assert story.waits("a")[0].endswith(": its end has passed")


# --------------------------------------------------------------------------- a changed schedule


def all_of(cron: str) -> dict[str, str]:
    return {"cron": cron, "catchup": "all"}


def test_hourly_to_daily_goes_on_where_the_last_hour_ended():
    story = story_of(all_of("@hourly"), "2025-03-20T05:00")
    story.run("a")
    change(story, all_of("@daily"), "2025-03-22T00:00")
    assert intervals(story) == ["2025-03-20T05:00..2025-03-21T00:00", "2025-03-21T00:00..2025-03-22T00:00"]
    assert reasons(story)[0].endswith(
        "at 2025-03-21T00:00Z; the schedule changed: the interval starts at the end of the last one, 2025-03-20T05:00Z"
    )
    assert "changed" not in reasons(story)[1]


def test_daily_to_hourly_repeats_nothing():
    story = story_of(all_of("@daily"), "2025-03-20T00:00")
    story.run("a")
    change(story, all_of("@hourly"), "2025-03-20T02:30")
    assert intervals(story) == ["2025-03-20T00:00..2025-03-20T01:00", "2025-03-20T01:00..2025-03-20T02:00"]


def test_daily_to_weekdays_takes_the_rest_of_the_weekend():
    story = story_of(all_of("0 0 * * *"), "2025-03-22T00:00")
    story.run("a")  # Friday
    change(story, all_of("0 0 * * MON-FRI"), "2025-03-25T00:00")
    assert intervals(story) == ["2025-03-22T00:00..2025-03-24T00:00", "2025-03-24T00:00..2025-03-25T00:00"]


def test_exact_time_to_cron_begins_at_the_last_instant():
    story = story_of({"at": "0 6 * * *", "catchup": "all"}, "2025-03-20T06:00")
    story.run("a")
    change(story, all_of("0 0 * * *"), "2025-03-22T00:00")
    assert intervals(story) == ["2025-03-20T06:00..2025-03-21T00:00", "2025-03-21T00:00..2025-03-22T00:00"]


def test_cron_to_exact_time_runs_at_the_next_instant_only():
    story = story_of(all_of("0 0 * * *"), "2025-03-20T00:00")
    story.run("a")
    change(story, {"at": "0 6 * * *", "catchup": "all"}, "2025-03-20T05:59")
    assert intervals(story) == []
    story.now = "2025-03-20T06:00"
    assert intervals(story) == ["2025-03-20T06:00..2025-03-20T06:00"]


def test_another_zone_neither_repeats_nor_loses_its_offset():
    story = story_of(all_of("@daily"), "2025-03-20T00:00")
    story.run("a")
    change(story, all_of("@daily"), "2025-03-21T00:00", zone="Europe/Berlin")
    assert intervals(story) == ["2025-03-20T00:00..2025-03-20T23:00"]


def test_a_rollup_over_a_change_begins_where_the_last_interval_ended():
    story = story_of({"cron": "@hourly", "catchup": "rollup"}, "2025-03-20T05:00")
    story.run("a")
    change(story, {"cron": "@daily", "catchup": "rollup"}, "2025-03-23T00:00")
    assert intervals(story) == ["2025-03-20T05:00..2025-03-23T00:00"]
    assert "the schedule changed" in reasons(story)[0]


SCHEDULES = st.sampled_from(
    [
        (all_of("@hourly"), "UTC"),
        (all_of("@daily"), "UTC"),
        (all_of("@daily"), "Europe/Berlin"),
        (all_of("0 0 * * MON-FRI"), "America/New_York"),
        (all_of("30 */7 * * *"), "Australia/Lord_Howe"),
        ({"cron": ["0 6 * * *", "0 18 * * *"], "catchup": "all"}, "UTC"),
        ({"every": "5h", "catchup": "all"}, "UTC"),
        ({"cron": "@daily", "delay": "3h", "catchup": "all"}, "UTC"),
        ({"cron": "@daily", "catchup": "rollup"}, "Asia/Kathmandu"),
    ]
)


@settings(max_examples=examples(40), deadline=None)
@given(steps=st.lists(st.tuples(SCHEDULES, st.integers(0, 60)), min_size=1, max_size=5))
def test_whatever_the_changes_no_instant_is_in_none_or_in_two_intervals(steps: list[Any]):
    (first, zone), _ = steps[0]
    story = story_of(first, "2025-03-28", zone=zone)
    found = [run.interval for run in story.run_all(limit=1000)]
    for (value, name), hours in steps:
        now = format_instant(from_unix(at(story.now) + hours * 3600))
        change(story, value, now, zone=name)
        found += [run.interval for run in story.run_all(limit=1000)]
        assert found[-1][1] <= at(now)
    assert all(start < end for start, end in found)
    assert [start for start, _ in found[1:]] == [end for _, end in found[:-1]]


# --------------------------------------------------------------------------- intervals that share an end


@pytest.mark.parametrize(
    ("value", "zone", "before", "now", "expected"),
    [
        (
            {"cron": "0 2 * * *", "interval": "1mo", "catchup": "all"},
            "UTC",
            "2025-02-27T03:00",
            "2025-02-28T03:00",
            [f"2025-01-{day}T02:00..2025-02-28T02:00" for day in (28, 29, 30, 31)],
        ),
        (
            {"cron": "@hourly", "interval": "1d", "catchup": "all"},
            "Europe/Berlin",
            "2025-03-30T00:30",
            "2025-03-30T02:30",
            [
                "2025-03-29T01:00..2025-03-30T01:00",
                "2025-03-29T02:00..2025-03-30T01:00",
                "2025-03-29T03:00..2025-03-30T02:00",
            ],
        ),
    ],
)
def test_each_of_several_intervals_with_one_end_runs(value: Any, zone: str, before: str, now: str, expected: list[str]):
    story = story_of(value, before, zone=zone)
    story.run("a")
    story.now = now
    assert intervals(story)[-len(expected) :] == expected
    ran = [interval(run) for run in story.run_all()]
    assert ran[-len(expected) :] == expected
    assert len(ran) == len(set(ran))


# --------------------------------------------------------------------------- what is left out is said


@pytest.mark.parametrize(
    ("catchup", "noted"),
    [
        (None, "; skips older intervals: 2 since 2025-03-18T00:00Z (catchup: latest)"),
        ("rollup", "; spans 3 intervals since 2025-03-18T00:00Z (catchup: rollup)"),
        ("all", ""),
    ],
)
def test_the_plan_says_what_becomes_of_missed_intervals(catchup: str | None, noted: str):
    story = missed(catchup)
    assert reasons(story)[-1] == f"0 0 * * * at 2025-03-21T00:00Z{noted}"


def test_a_schedule_that_became_finer_says_what_it_skips():
    story = story_of("@daily", "2025-03-20T00:00")
    story.run("a")
    change(story, "@hourly", "2025-03-20T09:00")
    assert intervals(story) == ["2025-03-20T08:00..2025-03-20T09:00"]
    assert reasons(story)[0].endswith("; skips older intervals: 8 since 2025-03-20T00:00Z (catchup: latest)")


def test_more_than_a_plan_names_is_said():
    story = story_of({"cron": "@hourly", "catchup": "all", "start": "2025-03-01"}, "2025-03-06")
    assert len(reasons(story)) == 100
    assert reasons(story)[-1].endswith("; more missed intervals follow")
    story = story_of({"cron": "@hourly", "start": "2025-03-01"}, "2025-03-06")
    assert reasons(story)[0].endswith(
        "; skips older intervals: more than 100 since 2025-03-01T00:00Z (catchup: latest)"
    )


def test_a_newer_tick_is_a_new_cause():
    story = story_of("@hourly", "2025-03-20T09:00")
    story.fail("a", story.claim(story.plan().runs[0]))
    story.now = "2025-03-20T09:59"
    assert story.due(invocation="i") == {}
    story.now = "2025-03-20T10:00"
    assert story.due(invocation="i") == {"a": []}
