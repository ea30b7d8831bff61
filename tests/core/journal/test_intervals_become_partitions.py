"""An asset that appends by a timetable gets partitions: what ran is there, what was withheld of it is owed."""

from dataclasses import replace

import pytest

from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite
from tests.builders import Story, asset, at, days, multi, project, timed

DAILY = {
    "schedule": timed({"cron": "0 0 * * *", "start": "2025-01-28"}),
    "strategy": EveryInstance(),
    "write": AppendWrite(),
}
"""The newest of its intervals is the last of January, as a story is told on the first of February."""


def partitioned(made):
    day = asset("x", by="day").partitioning
    return replace(made, partitioning=replace(day, time=replace(day.time, start=at("2025-01-28"))))


def make_asset_and_story(*, outlets=()):
    made = asset("log", by=None, **DAILY)
    return made, Story(project(*(multi(made, *outlets) if outlets else (made,))))


def run_through(story, *, withheld=()):
    """All that is due runs, these of the runs withhold what they computed."""
    for number in range(4):
        run = story.plan().runs[0]
        story.succeed("log", story.claim(run), withheld=EVERYTHING if number in withheld else days())


@pytest.mark.parametrize("withheld", [(), (3,)])
def test_what_is_withheld_is_not_there(withheld):
    made, story = make_asset_and_story()
    run_through(story, withheld=withheld)
    story.change(partitioned(made))
    there = days("2025-01-28..2025-01-31") - (days("2025-01-31") if withheld else days())
    assert story.state.assets["log"].coverage == there
    assert story.state.datasets["log"].coverage == there
    assert story.due() == ({"log": ["2025-01-31"]} if withheld else {})


def test_of_a_multi_asset_it_is_in_the_outlets():
    made, story = make_asset_and_story(outlets=("x", "y"))
    run_through(story)
    story.change(*multi(partitioned(made), "x", "y"))
    there = days("2025-01-28..2025-01-31")
    assert [story.state.assets[name].coverage for name in ("log", "x", "y")] == [there] * 3
    assert [story.state.datasets[name].coverage for name in ("x", "y")] == [there] * 2
    assert story.due() == {}
