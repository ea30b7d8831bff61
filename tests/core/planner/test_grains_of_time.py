"""What is due of crons as grains, of slots with an offset, and of slots that are wanted ahead of now."""

import pytest

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.state import State
from tests.builders import Story
from tests.core.spec.in_memory import compiled


def make_story(now, **assets):
    """A project of assets by name, each its YAML; sources are Delta tables, the others read what they name."""
    files = {}
    for name, text in assets.items():
        files[f"{name}.yml"] = f"asset: {name}\n{text}"
        if "source:" not in text:
            reads = [other for other in assets if other != name and f"inlets: [{other}" in text]
            files[f"{name}.sql"] = " ".join(["SELECT * FROM", *(f"{{{{ inlets.{other} }}}}" for other in reads)])
    return Story(compiled(files), now=now)


SOURCE = "source: delta\npath: {}\npartition: {{by: {}, column: at}}\n"


def refolded(told):
    """The state of its rows, read back as a store holds them."""
    return fold(State("journal"), [from_row(row) for row in told.rows], commit=told.state.commit)


def test_quarters_of_an_hour_become_weeks_from_sunday_on():
    story = make_story(
        "2025-04-06T00:00+02:00",
        quarters=SOURCE.format("q", "'*/15 * * * *'") + "timezone: Europe/Berlin\n",
        weeks="inlets: [quarters]\npartition: {by: '0 0 * * SUN', column: week}\ntimezone: Europe/Berlin\n",
    )
    story.observed("quarters", "2025-03-23T00:00..2025-03-31T11:45")
    assert story.due() == {"weeks": ["2025-03-23"]}
    story.observed("quarters", "2025-03-31T12:00..2025-04-05T23:45")
    assert story.due() == {"weeks": ["2025-03-23..2025-03-30"]}
    story.run_all()
    story.observed("quarters", "2025-03-30T03:15")
    assert story.due() == {"weeks": ["2025-03-30"]}
    assert refolded(story).assets == story.state.assets


def test_a_day_from_six_to_six_waits_for_its_hours():
    story = make_story(
        "2025-03-03T06:00",
        hours=SOURCE.format("h", "hour"),
        days="inlets: [hours]\npartition: {by: day, offset: 6h, column: day}\n",
    )
    story.observed("hours", "2025-03-01T06..2025-03-03T04")
    assert story.due() == {"days": ["2025-03-01"]}
    story.observed("hours", "2025-03-03T05")
    assert story.due() == {"days": ["2025-03-01..2025-03-02"]}
    story.run_all()
    assert refolded(story).assets == story.state.assets


def test_forecasts_are_wanted_ahead_of_now():
    story = make_story("2025-03-01T12:00", forecast="partition: {by: day, column: day, end: +2d}\nschedule: '@daily'\n")
    assert story.due() == {"forecast": ["2025-02-28..2025-03-02"]}
    story.run_all()
    assert story.due() == {}
    story.now = "2025-03-01T23:59"
    assert story.due() == {}
    story.now = "2025-03-02T00:00"
    assert story.due() == {"forecast": ["2025-03-03"]}


def test_what_reads_forecasts_has_them_ahead_too():
    story = make_story(
        "2025-03-01T12:00",
        weather="source: delta\npath: w\npartition: {by: day, column: day, end: +3d}\n",
        orders="inlets: [weather]\npartition: {by: day, column: day, end: +2d}\n",
        actuals="inlets: [weather]\npartition: {by: day, column: day}\n",
    )
    story.observed("weather", "2025-02-28..2025-03-04")
    assert story.due() == {"orders": ["2025-02-28..2025-03-02"], "actuals": ["2025-02-28"]}
    story.run_all()
    story.observed("weather", "2025-03-02")
    assert story.due() == {"orders": ["2025-03-02"]}


def test_what_is_not_wanted_ahead_does_not_count_as_there():
    story = make_story(
        "2025-03-01T12:00",
        weather="source: delta\npath: w\npartition: {by: day, column: day}\n",
        orders="inlets: [weather]\npartition: {by: day, column: day, end: +2d}\n",
    )
    story.observed("weather", "2025-02-28..2025-03-02")
    assert story.due() == {"orders": ["2025-02-28"]}


@pytest.mark.parametrize("now", ["2025-03-01T00:00", "2025-03-04T06:30"])
def test_auto_follows_the_schedule(now):
    story = make_story(now, a="partition: {by: auto, column: at}\nschedule: '0 6 * * *'\nstart: 2025-02-26T06:00\n")
    assert story.project.assets["a"].partitioning.time.by == "0 6 * * *"
    newest = {"2025-03-01T00:00": "2025-02-27T06:00", "2025-03-04T06:30": "2025-03-03T06:00"}[now]
    assert story.due() == {"a": [f"2025-02-26T06:00..{newest}"]}
