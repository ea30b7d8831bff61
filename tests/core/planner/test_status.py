"""When an asset runs next."""

import pytest

from sparkassets.core.planner.explain.status import asset_status
from sparkassets.core.spec.model import Schedule
from tests.builders import Story, asset, at, clock, project, source


def next_at(story: Story) -> int | None:
    return asset_status(story.context(), story.project.assets["r"]).next_at


def make_story(schedule: str | Schedule, now: str = "2025-02-01T05:00", **more: object) -> Story:
    return Story(project(source("a", by=None), asset("r", by=None, schedule=schedule, **more)), now=now)


def test_a_timetable_is_due_until_it_ran():
    story = make_story(Schedule(clock("@daily"), text="@daily"))
    assert next_at(story) == at("2025-02-01")
    story.run("r")
    assert next_at(story) == at("2025-02-02")


def test_a_paused_asset_runs_at_no_time():
    assert next_at(make_story(Schedule(clock("@daily"), text="@daily"), paused=True)) is None


@pytest.mark.parametrize(
    ("schedule", "before", "after"),
    [
        ("a | '0 6 * * *' | '0 4 * * *'", "2025-01-31T06:00", "2025-02-01T06:00"),
        ("a & '0 6 * * *'", None, None),
        ("a", None, None),
    ],
)
def test_a_condition_runs_by_itself_where_a_time_is_enough(schedule, before, after):
    story = make_story(schedule)
    assert next_at(story) == (before and at(before))
    story.observed("a")
    story.run("r")
    assert next_at(story) == (after and at(after))


def test_a_failure_of_partitions_that_are_no_longer_wanted_is_no_error():
    s = source("s")
    story = Story(project(s, asset("r", "s", start=at("2025-01-01"))), now="2025-01-05")
    story.observed("s", "2025-01-01..2025-01-03")
    (run,) = story.plan().runs
    story.fail("r", story.claim(run))
    assert asset_status(story.context(), story.project.assets["r"]).error == "boom"
    story.change(s, asset("r", "s", start=at("2025-01-03")))
    assert asset_status(story.context(), story.project.assets["r"]).error == "boom"
    story.change(s, asset("r", "s", start=at("2025-01-04")))
    assert asset_status(story.context(), story.project.assets["r"]).error is None
