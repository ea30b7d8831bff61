"""Timers in conditions: a span without an update of a dataset makes an asset due, again and again until one comes."""

import pytest

from sparkassets.core.spec.model import InletSpec, PartitionRequirement
from tests.builders import Story, asset, at, project, source
from tests.core.spec.in_memory import errors_of, one

TIMER = '{"without": "s", "for": "1d"}'


def time_passes(story: Story, now: str) -> None:
    story.now = story.clock = now


def runs(story: Story) -> str | None:
    """Why the asset runs now, which it does; None where it is not due."""
    found = [run for run in story.plan().runs if run.asset == "r"]
    for run in found:
        story.succeed("r", story.claim(run))
    return found[0].reason if found else None


@pytest.fixture
def story():
    return Story(project(source("s", by=None), asset("r", "s", by=None, schedule=f"s | {TIMER}")))


def test_an_asset_runs_when_its_upstream_is_updated_or_a_day_has_passed_without_an_update(story):
    time_passes(story, "2025-01-01T10:00")
    assert runs(story) is None
    story.observed("s")
    assert runs(story) == "s updated"
    time_passes(story, "2025-01-02T09:59")
    assert runs(story) is None
    (waits,) = (each for each in story.plan().waiting if each.asset == "r")
    assert waits.until == at("2025-01-02T10:00")
    time_passes(story, "2025-01-02T10:00")
    assert runs(story) == "1d without s at 2025-01-02T10:00Z"
    assert runs(story) is None
    time_passes(story, "2025-01-02T20:00")
    story.observed("s")
    assert runs(story) == "s updated"
    time_passes(story, "2025-01-03T19:59")
    assert runs(story) is None
    time_passes(story, "2025-01-05T06:00")
    assert runs(story) == "1d without s at 2025-01-04T20:00Z"


def test_a_timer_does_not_run_before_the_first_update(story):
    time_passes(story, "2025-03-01")
    assert runs(story) is None


def test_partitions_that_are_due_wait_for_the_timer_as_for_any_time():
    inlet = InletSpec("s", "", None, require=PartitionRequirement("none"))
    reader = asset("r", inlet, schedule=f"s & s | {TIMER}", start=at("2025-01-01"))
    story = Story(project(source("s"), reader))
    time_passes(story, "2025-01-02T01:00")
    story.observed("s", "2025-01-01")
    assert runs(story) is not None
    time_passes(story, "2025-01-03T00:30")
    assert story.due() == {}
    time_passes(story, "2025-01-03T01:00")
    assert story.due() == {"r": ["2025-01-02"]}


def test_what_is_written_is_printed_back_and_checked():
    text = "asset: a\nschedule: {any: [flights, {without: flights, for: 6h}]}\n"
    made = one(text, sql="SELECT 1 FROM {{ inlets.flights }}")
    assert made.schedule.text == 'flights | {"without": "flights", "for": "6h"}'
    again = one(f"asset: a\nschedule: '{made.schedule.text}'\n", sql="SELECT 1 FROM {{ inlets.flights }}")
    assert again.schedule.condition == made.schedule.condition
    assert one("asset: a\nschedule: {without: flights, for: 6h}\n").schedule.condition.without.ref == "flights"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{without: fligths, for: 1d}", "a.yml:2:21: unknown asset 'fligths'"),
        ("{without: flights}", "a.yml:2:11: expected {without: <asset>, for: <duration>}"),
        ("{without: flights, for: soon}", "a.yml:2:35: 'for' of a schedule: 'soon' is not a duration"),
        ("{without: flights, for: 1d, every: 1d}", "a.yml:2:39: 'without' and 'every' exclude each other"),
    ],
)
def test_what_is_wrong_is_told_at_its_place(written, message):
    assert errors_of(f"asset: a\nschedule: {written}\n").startswith(message)
