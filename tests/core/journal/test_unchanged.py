"""Partitions that came out as they were: current, and no news to anybody."""

from dataclasses import replace

import pytest

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.state import EventRef
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.spec.model import InletSpec
from sparkassets.runtime.run_entries import unchanged_for_consumers
from tests.builders import Story, asset, at, days, names, project, source

BOTH = days("2025-01-01..2025-01-02")


def story_of(*assets) -> Story:
    """Two days of `s` have come, and all is computed."""
    story = Story(project(source("s"), asset("a", "s"), *assets))
    story.observed("s", "2025-01-01..2025-01-02")
    story.run_all()
    return story


def again(story: Story, unchanged, *keys: str) -> None:
    """`s` changed, and the run of `a` that follows finds so much as it was."""
    story.observed("s", *keys or ("2025-01-01..2025-01-02",))
    run = next(run for run in story.plan().runs if run.asset == "a")
    story.succeed("a", story.claim(run), version=2, unchanged=unchanged)


def test_consumers_are_told_only_of_what_changed():
    story = story_of(asset("b", "a"))
    again(story, days("2025-01-01"))
    assert story.due() == {"b": ["2025-01-02"]}
    (ref,) = (each for each in map(EventRef.from_entry, story.entries[-1:]) if each)
    assert ref.parts == days("2025-01-02")


def test_where_nothing_changed_there_is_no_event_and_nothing_is_due():
    story = story_of(asset("b", "a"), asset("c", "b", by=None))
    before = story.state.dataset("a")
    again(story, BOTH)
    assert EventRef.from_entry(story.entries[-1]) is None
    assert (story.due(), story.state.assets["a"].stale, story.state.assets["a"].chain) == ({}, {}, ())
    after = story.state.dataset("a")
    assert replace(after, confirmed=0) == before
    assert from_row(story.rows[-1]) == story.entries[-1]


def test_the_foot_of_a_diamond_is_released():
    story = story_of(asset("left", "a"), asset("foot", "left", "s"))
    story.observed("s", "2025-01-01")
    assert names(story.plan().runs) == ["a"]
    assert story.waits("foot") == ["waits for left 2025-01-01, which runs first"]
    run = story.plan().runs[0]
    story.succeed("a", story.claim(run), version=2, unchanged=run.partitions)
    assert story.due() == {"foot": ["2025-01-01"]}
    assert story.plan().runs[0].request.pins["left"].version == 1


def test_what_is_read_later_is_the_newest_version_all_the_same():
    story = story_of(asset("b", "a", "s"))
    again(story, BOTH)
    (run,) = story.plan().runs
    assert (run.asset, run.request.pins["a"].version) == ("b", 2)


def test_an_asset_without_partitions_is_unchanged_as_a_whole():
    story = Story(project(source("s", by=None), asset("a", "s", by=None), asset("b", "a", by=None)))
    story.observed("s")
    assert names(story.run_all()) == ["a", "b"]
    again(story, EVERYTHING)
    assert story.due() == {}
    again(story, NOTHING)
    assert story.due() == {"b": []}


def test_a_condition_waits_for_something_new():
    story = story_of(asset("both", by=None, schedule="a & s"))
    story.run_all()
    again(story, BOTH)
    assert story.waits("both") == ["waits for a (a & s)"]


def test_what_was_found_unchanged_is_as_fresh_as_after_an_update():
    story = story_of(asset("b", InletSpec("a", "", None), by=None, schedule="s"))
    story.clock = "2025-01-20"
    again(story, BOTH)
    dataset = story.state.dataset("a")
    assert (dataset.at, dataset.last_fresh_at) == (at("2025-01-01"), at("2025-01-20"))


@pytest.mark.parametrize("same", [BOTH, days("2025-01-01..2025-01-05"), NOTHING])
def test_only_what_was_there_can_be_no_news(same):
    state = story_of().state.assets["a"]
    assert unchanged_for_consumers(state, same, table_id="t") == same & BOTH
    assert unchanged_for_consumers(state, same, table_id="another") == NOTHING


def test_what_was_lost_is_news():
    story = story_of()
    found = TableFinding("restored", "restored", days("2025-01-01"), "t", 3, "m")
    story.add(TargetEntry("a", "a", found))
    assert unchanged_for_consumers(story.state.assets["a"], BOTH, table_id="t") == days("2025-01-02")


def test_the_first_run_of_an_asset_without_partitions_is_news():
    story = Story(project(source("s", by=None), asset("a", "s", by=None)))
    assert unchanged_for_consumers(story.state.assets["a"], EVERYTHING, table_id="t") == NOTHING
    story.observed("s")
    story.run_all()
    assert unchanged_for_consumers(story.state.assets["a"], EVERYTHING, table_id="t") == EVERYTHING
    story.add(TargetEntry("a", "a", TableFinding("gone", "gone", EVERYTHING)))
    assert unchanged_for_consumers(story.state.assets["a"], EVERYTHING, table_id="t") == NOTHING
