"""Conditions over updates and times: what a run uses up, and that nothing else is forgotten or counted twice."""

from typing import Any

import pytest

from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.journal.entries import PauseEntry
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.model import Schedule
from tests.builders import Story, asset, at, clock, names, project, source


def listening(condition: str, *sources: str, now: str = "2025-02-01T05:00", **more: Any) -> Story:
    """An asset ``r`` without partitions and without inlets."""
    return Story(project(*(source(name, by=None) for name in sources), reader(condition, **more)), now=now)


def reader(condition: str, **more: Any) -> Any:
    return asset("r", by=None, schedule=condition, **more)


def causes(story: Story) -> list[int]:
    (run,) = story.plan().runs
    return [ref.seq for ref in run.events]


# --------------------------------------------------------------------------- several updates, one run


def test_the_timeline_of_three_datasets_that_are_all_required():
    columns = {"d1": [0, 5, 9, 13, 36], "d2": [7, 11, 19, 26, 31], "d3": [15, 21, 28]}
    story = listening("d1 & d2 & d3", *columns)
    seqs: dict[int, int] = {}
    used: list[list[int]] = []
    ran = []
    for column in range(40):
        for name, marks in columns.items():
            if column in marks:
                seqs[story.observed(name)] = column
        if story.due():
            used.append(sorted(seqs[ref.seq] for ref in story.run("r").events))
            ran.append(column)
    assert ran == [15, 36]
    assert used == [[0, 5, 7, 9, 11, 13, 15], [19, 21, 26, 28, 31, 36]]  # each once, none twice


def test_several_updates_collapse():
    story = listening("a", "a")
    expected = [story.observed("a") for _ in range(3)]
    assert causes(story) == expected
    assert story.run("r").reason == "a updated"
    assert story.due() == {}


def test_updates_during_a_run_count_for_the_next():
    story = listening("a & b", "a", "b")
    story.observed("a")
    story.observed("b")
    claim = story.claim(story.plan().runs[0])
    later = [story.observed("a"), story.observed("b")]
    story.succeed("r", claim)
    assert causes(story) == later


def test_half_of_what_is_needed_that_came_during_a_run_is_kept():
    story = listening("a & b", "a", "b")
    story.observed("a")
    story.observed("b")
    claim = story.claim(story.plan().runs[0])
    early = story.observed("a")
    story.succeed("r", claim)
    assert story.waits("r") == ["waits for b (a & b)"]
    assert causes_after(story, "b") == [early]


def causes_after(story: Story, name: str) -> list[int]:
    """What triggers the run, but for the new event of ``name``."""
    seq = story.observed(name)
    return [each for each in causes(story) if each != seq]


# --------------------------------------------------------------------------- only what holds is used


def test_a_part_that_does_not_hold_does_not_forget():
    story = listening("a | (b & c)", "a", "b", "c")
    kept = story.observed("b")
    first = story.observed("a")
    assert causes(story) == [first]
    assert story.run("r").reason == "a updated"
    assert story.due() == {}
    second = story.observed("c")
    assert causes(story) == [kept, second]
    assert story.run("r").reason == "b and c updated"
    assert story.due() == {}


def test_what_is_kept_is_told():
    story = listening("a | (b & c)", "a", "b", "c")
    story.observed("b")
    story.observed("a")
    story.run("r")
    assert story.waits("r") == ["waits for a or c (a | (b & c))"]


def test_a_failed_run_uses_nothing():
    story = listening("a | (b & c)", "a", "b", "c")
    seq = story.observed("a")
    story.fail("r", story.claim(story.plan().runs[0]))
    assert causes(story) == [seq]
    assert story.run("r").reason == "a updated, failed before"
    assert story.due() == {}


# --------------------------------------------------------------------------- times in conditions


def test_a_day_and_an_update():
    story = listening("@daily & a", "a")
    story.observed("a")
    (run,) = story.plan().runs
    assert run.reason == "a updated, @daily at 2025-02-01T00:00Z"
    assert run.request.schedule_date == at("2025-02-01")
    assert run.interval == (at("2025-01-31"), at("2025-02-01"))
    story.run("r")
    story.observed("a")
    assert story.due() == {}
    (waiting,) = [item for item in story.plan().waiting if item.asset == "r"]
    assert waiting.reason == "waits for @daily (@daily & a)"
    assert waiting.until == at("2025-02-02")
    story.now = "2025-02-02"
    assert story.run("r").reason == "a updated, @daily at 2025-02-02T00:00Z"


def test_a_tick_that_has_passed_is_not_waited_for():
    story = Story(project(source("a", by=None), asset("c", by=None, schedule="@daily & a")), now="2025-01-03T12:00")
    (item,) = story.plan().waiting
    assert (item.reason, item.until) == ("waits for a (@daily & a)", None)


def test_a_day_without_an_update_waits_and_does_not_forget_the_day():
    story = listening("@daily & a", "a")
    story.observed("a")
    story.run("r")
    story.now = "2025-02-02T05:00"
    assert story.waits("r") == ["waits for a (@daily & a)"]
    story.now = "2025-02-02T23:00"
    story.observed("a")
    assert story.run("r").reason == "a updated, @daily at 2025-02-02T00:00Z"


def test_a_time_or_two_updates():
    story = listening("'0 6 * * *' | (a & b)", "a", "b", now="2025-02-01T06:00")
    assert story.run("r").reason == "'0 6 * * *' at 2025-02-01T06:00Z"
    kept = story.observed("a")
    story.now = "2025-02-02T06:00"
    assert causes(story) == []
    assert story.run("r").reason == "'0 6 * * *' at 2025-02-02T06:00Z"
    seq = story.observed("b")
    assert causes(story) == [kept, seq]
    assert story.run("r").reason == "a and b updated"
    assert story.due() == {}


def test_the_map_form_is_the_same_tree():
    written = {"any": ["0 6 * * *", "a & b"]}
    assert parse_condition(written, clock).text() == "'0 6 * * *' | a & b"


def test_a_run_for_an_update_does_not_use_the_tick_of_a_part_that_does_not_hold():
    story = listening("a | (b & @daily)", "a", "b")
    story.observed("a")
    assert story.run("r").reason == "a updated"
    story.observed("b")
    assert story.run("r").reason == "b updated, @daily at 2025-02-01T00:00Z"
    story.observed("b")
    assert story.due() == {}


def test_a_tick_that_comes_while_a_run_is_under_way_counts_for_the_next():
    story = listening("@hourly", now="2025-02-01T05:59")
    claim = story.claim(story.plan().runs[0])
    story.now = "2025-02-01T06:01"
    story.succeed("r", claim)
    (run,) = story.plan().runs
    assert run.request.schedule_date == at("2025-02-01T06:00")


def test_two_times_are_used_apart():
    story = listening("('0 6 * * *' & a) | ('0 18 * * *' & b)", "a", "b", now="2025-02-01T19:00")
    story.observed("a")
    assert story.run("r").reason == "a updated, '0 6 * * *' at 2025-02-01T06:00Z"
    story.observed("b")
    assert story.run("r").reason == "b updated, '0 18 * * *' at 2025-02-01T18:00Z"
    assert story.due() == {}


def test_a_partitioned_asset_waits_for_its_time():
    story = Story(project(source("s"), asset("r", "s", schedule="s & '0 6 * * *'")), now="2025-02-01T06:00")
    story.observed("s", "2025-01-30")
    assert names(story.run_all()) == ["r"]
    story.observed("s", "2025-01-31")
    assert story.due() == {}
    waiting = story.plan().waiting[0]
    assert waiting.reason == "waits for '0 6 * * *' (s & '0 6 * * *')"
    assert waiting.until == at("2025-02-02T06:00")
    story.now = "2025-02-02T06:00"
    assert story.due() == {"r": ["2025-01-31"]}


# --------------------------------------------------------------------------- pauses and changes


@pytest.mark.parametrize("by", ["file", "verb"])
def test_a_pause_keeps_the_backlog(by: str):
    story = listening("a", "a", paused=by == "file")
    if by == "verb":
        story.add(PauseEntry("r", paused=True))
    request = [story.observed("a") for _ in range(3)]
    assert story.due() == {}
    assert story.waits("r") == ["paused"]
    if by == "verb":
        story.add(PauseEntry("r", paused=False))
    else:
        story.change(source("a", by=None), reader("a"))
    assert causes(story) == request


def test_a_changed_condition_keeps_what_is_not_used():
    sources = [source(name, by=None) for name in "abc"]
    story = listening("a & b", "a", "b", "c")
    kept = story.observed("a")
    story.change(*sources, reader("a & c"))
    assert story.waits("r") == ["waits for c (a & c)"]
    seq = story.observed("c")
    assert causes(story) == [kept, seq]
    story.run("r")
    story.change(*sources, reader("a | b | c"))
    assert story.due() == {}
    last = story.observed("b")
    assert causes(story) == [last]


def test_what_was_used_stays_used_when_the_condition_changes():
    story = listening("a", "a", "b")
    story.observed("a")
    story.run("r")
    story.change(source("a", by=None), source("b", by=None), reader("a & b"))
    story.observed("b")
    assert story.waits("r") == ["waits for a (a & b)"]


def test_a_plan_is_the_same_however_often_it_is_made():
    story = listening("@daily & a", "a")
    story.observed("a")
    assert make_plan(story.context()) == make_plan(story.context())


def test_a_part_that_does_not_hold_keeps_its_days():
    story = Story(
        project(source("s"), source("t"), source("u"), asset("x", "s", "t", "u", schedule="s | (t & u)")),
        now="2025-01-03",
    )
    for name in "stu":
        story.observed(name, "2025-01-01..2025-01-02")
    story.run("x")
    story.observed("t", "2025-01-01")
    assert story.due() == {}
    story.observed("s", "2025-01-01")
    assert story.due() == {"x": ["2025-01-01"]}
    story.run("x")
    assert story.due() == {}
    story.observed("u", "2025-01-01")
    assert story.due() == {"x": ["2025-01-01"]}
    story.run("x")
    assert story.due() == {}
    assert not story.state.assets["x"].stale


def test_a_time_of_a_map_is_told_in_words():
    spec = asset("c", by=None, schedule=Schedule(None, parse_condition({"all": [{"every": "6h"}, "a"]}, clock), "both"))
    story = Story(project(source("a", by=None), spec), now="2025-01-03T12:00")
    assert story.waits("c") == ["waits for a (both)"]
    story.observed("a")
    assert [run.reason for run in story.plan().runs] == ["a updated, every 6h at 2025-01-03T12:00Z"]
