"""The next runs of timetables."""

from datetime import UTC, datetime

import pytest

from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.planner.explain.preview import preview_schedule
from sparkassets.core.spec.model import Schedule
from sparkassets.core.timetables.parse import parse_timetable
from tests.builders import asset, clock, project, source


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def timed(text: str, **bounds: str):
    timetable = parse_timetable({"cron": text, **bounds}, timezone="Europe/Berlin")
    return asset("report", by=None, schedule=Schedule(timetable, text=text))


def coming(text: str, since: str, count: int = 2, **bounds: str) -> list[str]:
    found = preview_schedule(timed(text, **bounds), start=at(since), count=count)
    return [f"{slot.run_after:%m-%d %H:%M}" for slot in found.slots]


def test_the_next_runs_from_an_instant_on():
    assert coming("0 6 * * *", "2025-03-29T05:00:01") == ["03-30 04:00", "03-31 04:00"]


def test_a_run_at_that_very_instant_is_one_of_them():
    assert coming("0 6 * * *", "2025-03-28T05:00") == ["03-28 05:00", "03-29 05:00"]


@pytest.mark.parametrize(
    ("schedule", "since", "expected"),
    [
        (
            {"cron": "@daily", "delay": "1mo", "timezone": "UTC"},
            "2025-02-28",
            ["02-28 after 01-27", "02-28 after 01-28", "02-28 after 01-29", "02-28 after 01-30", "03-01 after 01-31"],
        ),
        (
            {"cron": "0 2,3 * * *", "interval": "1d", "timezone": "Europe/Berlin"},
            "2025-03-30",
            ["03-30 after 03-29", "03-30 after 03-29", "03-31 after 03-30", "04-01 after 03-31"],
        ),
    ],
)
def test_runs_of_one_instant_are_all_told(schedule, since, expected):
    timetable = parse_timetable(schedule, timezone="UTC")
    slots = preview_schedule(asset("a", schedule=Schedule(timetable)), start=at(since), count=len(expected)).slots
    assert [f"{slot.run_after:%m-%d} after {slot.start:%m-%d}" for slot in slots] == expected
    assert len({slot.start for slot in slots}) == len(slots)


def test_the_ends_of_the_calendar_are_no_error():
    assert len(coming("0 6 * * *", "0001-01-01")) == 2
    assert coming("0 6 * * *", "9999-12-31T23:59:59") == []


def test_bounds_judge_the_intervals():
    assert coming("@daily", "2025-03-01", start="2025-03-05", end="2025-03-06") == ["03-05 23:00"]


def test_a_timetable_that_is_over_says_so():
    found = preview_schedule(timed("@daily", end="2025-03-06"), start=at("2026-01-01"), count=3)
    assert found.reason == (
        "no run at 2026-01-01T01:00+01:00 or later: @daily (Europe/Berlin) until 2025-03-06T00:00+01:00"
    )


def test_what_has_no_instants_says_what_it_does():
    def reason(text: str) -> str:
        return preview_schedule(
            asset("a", by=None, schedule=Schedule(parse_timetable(text, timezone="UTC"), text=text)),
            start=at("2025-01-01"),
            count=1,
        ).reason

    assert reason("@continuous") == "runs again as soon as a run ends: @continuous (UTC)"
    assert reason("@once") == "runs once, at any time: @once (UTC)"


def test_what_has_no_timetable_says_what_it_goes_by():
    found = project(source("s"), asset("a", "s"), asset("b", "a", schedule="a & s"), asset("hand"))
    assert [preview_schedule(each, start=at("2025-01-01"), count=1).reason for each in found.assets.values()] == [
        "no timetable: others write it",
        "no timetable: runs on s",
        "no timetable: runs on a & s",
        "no timetable: runs only by hand",
    ]


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ({"all": ["@hourly", "b"]}, "runs on @hourly & b; @hourly ticks next at 2025-01-01T00:00Z"),
        (
            {"all": ["0 6 * * *", {"any": ["b", {"cron": "@daily", "end": "2024-12-01"}]}]},
            (
                """runs on '0 6 * * *' & (b | {"cron": "@daily", "end": "2024-12-01"}); """
                """'0 6 * * *' ticks next at 2025-01-01T06:00Z; """
                """{"cron": "@daily", "end": "2024-12-01"} ticks no more"""
            ),
        ),
    ],
)
def test_what_has_times_in_its_condition_says_when_they_come(condition, reason):
    parsed = parse_condition(condition, clock)
    found = preview_schedule(
        asset("a", schedule=Schedule(None, parsed, parsed.text())), start=at("2025-01-01"), count=3
    )
    assert (found.slots, found.reason) == ((), f"no timetable: {reason}")


def test_times_that_suffice_alone_are_runs_and_those_of_one_instant_are_one():
    six = {"at": "0 6 * * *", "timezone": "UTC"}
    condition = parse_condition({"any": ["0 0 * * *", "0 */6 * * *", six, {"all": ["@hourly", "b"]}, "c"]}, clock)
    found = preview_schedule(asset("a", schedule=Schedule(None, condition)), start=at("2025-01-01"), count=3)
    assert found.reason == ""
    assert [tuple(f"{each:%d %H}" for each in (slot.run_after, slot.start, slot.end)) for slot in found.slots] == [
        ("01 00", "31 00", "01 00"),
        ("01 06", "01 00", "01 06"),
        ("01 12", "01 06", "01 12"),
    ]


def test_what_is_paused_says_so():
    def paused(*, verb: bool, yaml: bool) -> bool:
        return preview_schedule(asset("a", paused=yaml), start=at("2025-01-01"), count=1, paused=verb).paused

    assert [paused(verb=verb, yaml=yaml) for verb in (False, True) for yaml in (False, True)] == [
        False,
        True,
        True,
        True,
    ]
