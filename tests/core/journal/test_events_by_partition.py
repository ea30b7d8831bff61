"""An event is used block by block: what a limit, a gate, a failure or the condition leaves for later keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.instants import Duration
from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.history import recorded_event_values
from sparkassets.core.journal.state import EventRef
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.runs import RunConsumption
from sparkassets.core.spec.model import AssetSpec, InletSpec, Schedule
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, EveryInstance
from tests.builders import Story, asset, clock, days, project, source, timed

ONE = DateRange(max_partitions_per_run=1)
TWO = DateRange(max_partitions_per_run=2)
GO = "x-go://go"


def ran(story: Story) -> list[tuple[list[str], list[int]]]:
    """Runs all that is due; (partitions, numbers of the triggering events) of each run."""
    return [partitions_and_events(story, run) for run in story.run_all()]


def by_hand(run: PlannedRun) -> PlannedRun:
    """The same run as a backfill, which uses nothing up."""
    request = replace(run.request, kind="backfill", events=(), consumption=RunConsumption())
    return replace(run, request=request, events=())


def partitions_and_events(story: Story, run: PlannedRun) -> tuple[list[str], list[int]]:
    return story.keys(run.asset, run.partitions), [ref.seq for ref in run.events]


def due(story: Story) -> list[tuple[list[str], list[int]]]:
    return [partitions_and_events(story, run) for run in story.plan().runs]


def conditional(spec: AssetSpec, text: str) -> AssetSpec:
    return replace(spec, schedule=Schedule(None, parse_condition(text, clock), text))


@pytest.mark.parametrize("condition", ["x-go://go", "s & x-go://go", "x-go://go & (s | x-no://no)"])
def test_a_limit_leaves_the_trigger_for_the_partitions_that_follow(condition: str):
    story = Story(project(source("s"), asset("d", "s", schedule=condition, strategy=TWO)))
    data = story.observed("s", "2025-01-01..2025-01-05")
    go = story.event(GO)
    events = [data, go] if "s" in condition else [go]
    assert ran(story) == [
        (["2025-01-01..2025-01-02"], events),
        (["2025-01-03..2025-01-04"], events),
        (["2025-01-05"], events),
    ]
    story.observed("s", "2025-01-06")
    assert due(story) == []


def test_a_gate_leaves_the_trigger_for_what_it_keeps():
    story = Story(project(source("h", by="hour"), asset("d", "h", schedule=GO)))
    story.observed("h", "2025-01-01T00..2025-01-02T20")
    go = story.event(GO)
    assert ran(story) == [(["2025-01-01"], [go])]
    story.observed("h", "2025-01-02T21..2025-01-02T23")
    assert ran(story) == [(["2025-01-02"], [go])]


def test_what_a_later_day_adds_waits_for_a_trigger_of_its_own():
    story = Story(project(source("s"), asset("d", "s", schedule=GO)), now="2025-01-02T10:00")
    story.observed("s", "2025-01-01..2025-01-02")
    story.event(GO)
    assert [partitions for partitions, _ in ran(story)] == [["2025-01-01"]]
    story.now = "2025-01-03T00:00"
    assert due(story) == []
    story.event(GO)
    assert [partitions for partitions, _ in ran(story)] == [["2025-01-02"]]


def test_an_update_of_a_day_that_is_not_over_triggers_it_when_it_is():
    story = Story(project(source("h", by="hour"), asset("d", "h")), now="2025-01-02T20:30")
    first = story.observed("h", "2025-01-01T00..2025-01-01T23")
    second = story.observed("h", "2025-01-02T00..2025-01-02T19")
    assert ran(story) == [(["2025-01-01"], [first])]
    third = story.observed("h", "2025-01-02T20..2025-01-02T23")
    story.now = "2025-01-03T00:00"
    assert ran(story) == [(["2025-01-02"], [second, third])]


def test_a_failed_partition_keeps_its_trigger_when_others_run():
    story = Story(project(source("s"), asset("d", "s", schedule=f"s & {GO}")))
    first = story.observed("s", "2025-01-01")
    go = story.event(GO)
    story.fail("d", story.claim(story.plan().runs[0], invocation="one"), invocation="one")
    second = story.observed("s", "2025-01-02")
    (run,) = story.plan(invocation="one").runs
    assert partitions_and_events(story, run) == (["2025-01-02"], [go, second])
    story.succeed("d", story.claim(run, invocation="one"))
    assert ran(story) == [(["2025-01-01"], [first, go])]


@pytest.mark.parametrize("schedule", ["@daily & s", timed("@daily")])
def test_a_failed_partition_is_tried_again_before_the_next_tick(schedule: str | Schedule):
    story = Story(project(source("s"), asset("d", "s", schedule=schedule, strategy=ONE)), now="2025-01-05")
    story.observed("s", "2025-01-01..2025-01-02")
    story.fail("d", story.claim(story.plan().runs[0], invocation="one"), invocation="one")
    (run,) = story.plan(invocation="one").runs
    story.succeed("d", story.claim(run, invocation="one"))
    assert story.plan(invocation="one").runs == ()
    (again,) = story.plan(invocation="two").runs
    assert story.keys("d", again.partitions) == ["2025-01-01"]
    assert again.request.cursor is None
    story.succeed("d", story.claim(again, invocation="two"))
    assert story.plan().runs == ()


def either(*, together: bool) -> Story:
    """``a | (b & c)``; b came for the first day, then a for it, then b and c for the second."""
    story = Story(project(*map(source, "abc"), asset("x", *"abc", schedule="a | (b & c)")))
    for name in "abc":
        story.observed(name, "2025-01-01..2025-01-02")
    story.run_all()
    steps: list[Callable[[], object]] = [
        lambda: story.observed("b", "2025-01-01"),
        lambda: story.observed("a", "2025-01-01"),
        lambda: [story.observed(name, "2025-01-02") for name in "bc"],
    ]
    for step in steps:
        step()
        if not together:
            story.run_all()
    story.run_all()
    return story


@pytest.mark.parametrize("together", [True, False])
def test_a_part_that_holds_for_other_partitions_only_does_not_forget(*, together: bool):
    story = either(together=together)
    c = story.observed("c", "2025-01-01")
    ((partitions, events),) = due(story)
    assert partitions == ["2025-01-01"]
    assert events == [10, c]
    story.run_all()
    story.observed("c", "2025-01-02")
    assert due(story) == []


def test_partitions_are_told_apart_by_what_they_wait_for():
    story = either(together=True)
    story.observed("b", "2025-01-02")
    story.observed("c", "2025-01-01")
    story.run_all()
    story.observed("c", "2025-01-01")
    waiting = [(item.reason, story.keys("x", item.partitions)) for item in story.plan().waiting]
    assert waiting == [
        ("waits for a or b (a | (b & c))", ["2025-01-01"]),
        ("waits for a or c (a | (b & c))", ["2025-01-02"]),
    ]


def test_the_backfill_of_a_partition_answers_what_was_left_for_it():
    story = Story(project(source("s"), asset("d", "s", schedule=GO, strategy=TWO)))
    story.observed("s", "2025-01-01..2025-01-03")
    story.event(GO)
    (run,) = story.plan().runs
    story.succeed("d", story.claim(run))
    (run,) = story.plan().runs
    story.succeed("d", story.claim(by_hand(run)))
    assert story.state.assets["d"].partly_used == {}


def test_what_is_left_survives_a_snapshot():
    story = Story(project(source("s"), asset("d", "s", schedule="@daily & x-go://go", strategy=TWO)))
    story.observed("s", "2025-01-01..2025-01-05")
    story.event(GO)
    story.run("d")
    state = story.state.assets["d"]
    assert sorted(state.partly_used) == ["@daily", GO]
    assert decode(encode(story.state), journal_id="journal") == story.state


# --------------------------------------------------------------------------- what triggers, and what is only read


def test_a_tick_is_no_event():
    story = Story(project(source("s", by=None), asset("x", "s", by=None, schedule=timed("@daily"))))
    story.observed("s")
    (run,) = story.plan().runs
    assert run.events == ()
    assert run.request.pins["s"].seq == story.state.dataset("x-s").seq


def test_an_inlet_that_the_condition_does_not_name_is_no_trigger():
    story = Story(project(source("s"), source("dim", by=None), asset("d", "s", "dim", schedule="s")))
    story.observed("dim")
    data = story.observed("s", "2025-01-01")
    assert ran(story) == [(["2025-01-01"], [data])]


def test_a_consumer_that_comes_later_is_triggered_by_the_newest_event():
    first, late = asset("x", by=None, schedule="a"), asset("y", by=None, schedule="a")
    story = Story(project(source("a", by=None), first))
    story.observed("a")
    story.run_all()
    newest = story.observed("a")
    story.run_all()
    story.change(source("a", by=None), first, late)
    assert ran(story) == [([], [newest])]


# --------------------------------------------------------------------------- changes


@pytest.mark.parametrize("others", [0, 1])
def test_a_condition_that_comes_back_finds_what_it_had_not_used(others: int):
    each = asset("x", by=None, schedule="a", strategy=EveryInstance())
    sources = [source(name, by=None) for name in "ab"]
    more = [asset("other", by=None, schedule="a")] * others
    story = Story(project(*sources, *more, each))
    pending = [story.observed("a") for _ in range(3)]
    story.change(*sources, *more, conditional(each, "b"))
    for _ in range(2):
        newest = story.observed("a")
        if others:
            story.run("other")
    story.change(*sources, *more, each)
    assert [events for _, events in ran(story) if len(events) == 1] == [[seq] for seq in (*pending, newest)]


def listening(condition: str, *inlets: str) -> list[AssetSpec]:
    return [source("a", by=None), source("b", by=None), asset("n", *inlets, by=None, schedule=condition)]


def test_what_a_recovery_took_over_is_used_also_if_the_condition_is_changed_and_changed_back():
    story = Story(project(*listening("a")))
    event = story.observed("a")
    dead = story.claim(story.plan().runs[0])
    story.change(*listening("b"))
    (run,) = story.plan(gone_claims={dead}).runs
    assert partitions_and_events(story, run) == ([], [event]), "it stands for the run that it takes over"
    claim = story.claim(run)
    story.change(*listening("a"))
    story.succeed("n", claim)
    assert due(story) == []


def test_what_a_run_read_is_used_also_if_the_condition_names_it_before_the_run_ends():
    story = Story(project(*listening("a", "a", "b")))
    story.observed("b")
    story.observed("a")
    claim = story.claim(story.plan().runs[0])
    story.change(*listening("a | b", "a", "b"))
    story.succeed("n", claim)
    assert due(story) == []
    later = story.observed("b")
    assert due(story) == [([], [later])]


def test_what_a_run_read_is_used_also_of_what_the_condition_named_once():
    story = Story(project(*listening("a | b", "a", "b")))
    story.observed("a")
    story.observed("b")
    story.change(*listening("a", "a", "b"))
    story.change(*listening("a | b", "a", "b"))  # from here on its events are told one by one
    story.change(*listening("a", "a", "b"))
    story.run("n")
    story.change(*listening("a | b", "a", "b"))
    assert due(story) == []


def test_another_uri_of_the_same_place_changes_nothing_for_its_consumers():
    inbox = source("a", by=None)
    each = asset("x", "a", by=None, schedule="a", strategy=EveryInstance())
    story = Story(project(inbox, each))
    story.observed("a")
    story.run_all()
    story.change(replace(inbox, uri="x-renamed://a"), each)
    assert due(story) == []
    newest = story.observed("a")
    assert ran(story) == [([], [newest])]


def test_another_place_has_nothing_yet_whatever_its_uri():
    made = replace(asset("d", "s"), uri="x-d://d")
    story = Story(project(source("s"), made))
    story.observed("s", "2025-01-01")
    story.run_all()
    story.change(source("s"), replace(made, storage=StorageLocation("/moved", "moved")))
    assert [partitions for partitions, _ in due(story)] == [["2025-01-01"]]
    assert not story.state.dataset("x-d://d").coverage


def test_nothing_is_kept_for_those_who_never_run_for_it():
    hourly = asset("x", "s", by=None, schedule=timed("@hourly"))
    manual = replace(asset("m", "s", by=None), schedule=Schedule())
    story = Story(project(source("s", by=None), hourly, manual))
    for _ in range(5):
        newest = story.observed("s")
    assert [ref.seq for ref in story.state.dataset("x-s").recent] == [newest]


# --------------------------------------------------------------------------- datasets


def test_assets_that_share_a_uri_are_read_from_their_own_tables():
    one, other = (replace(source(name, by=None), uri="x-u://u") for name in "ab")
    story = Story(project(one, other, asset("x", "a", by=None)))
    story.observed("a", table_id="A", version=3)
    story.observed("b", table_id="B", version=77)
    (run,) = story.plan().runs
    assert (run.request.pins["a"].table_id, run.request.pins["a"].version) == ("A", 3)
    assert run.request.pins["a"].seq == story.state.dataset("x-u://u").seq


def test_an_update_of_everything_is_not_quiet_either():
    inlet = InletSpec("h", "", None, settle_seconds=900)
    story = Story(project(source("h"), asset("d", inlet)), now="2025-01-05T00:00")
    story.clock = "2025-01-05T00:00"
    story.observed("h", "2025-01-01")
    story.clock = "2025-01-05T00:20"
    story.event("x-h")
    assert due(story) == []
    assert story.waits("d") == ["waits until h has been quiet for 15m"]


def test_a_deletion_is_an_update_of_what_is_gone():
    story = Story(project(source("s"), asset("d", InletSpec("s", "", None, on_removed="keep"), strategy=TWO)))
    story.observed("s", "2025-01-01..2025-01-03")
    story.run_all()
    gone = days("2025-01-03")
    deleted = story.observed("s", removed=gone)
    changed = story.observed("s", "2025-01-01")
    assert [ref.parts for ref in story.state.dataset("x-s").recent if ref.seq == deleted] == [gone]
    (entry,) = [each for each in story.entries if each.seq == deleted]
    ref = EventRef.from_entry(entry)
    assert recorded_event_values(entry, ref, story.project.assets["s"].partitioning)["partitions"] == ["2025-01-03"]
    assert due(story) == [(["2025-01-01"], [changed])]


def test_the_fold_in_pieces_is_the_fold_in_one():
    story = either(together=False)
    whole = fold(decode([], journal_id="journal"), map(from_row, story.rows), commit=story.state.commit)
    assert whole == story.state


# --------------------------------------------------------------------------- lookback, tolerance, failures


BACK = DateRange(lookback=Duration.parse("1d"))


def test_an_event_is_listed_only_for_the_partitions_that_use_it():
    story = Story(project(*map(source, "abc"), asset("x", *"abc", schedule="a | (b & c)", strategy=ONE)))
    for name in "abc":
        story.observed(name, "2025-01-01..2025-01-02")
    story.run_all()
    b1, a1 = (story.observed(name, "2025-01-01") for name in "ba")
    b2, c2 = (story.observed(name, "2025-01-02") for name in "bc")
    assert ran(story) == [(["2025-01-01"], [a1]), (["2025-01-02"], [b2, c2])]
    c1 = story.observed("c", "2025-01-01")
    assert ran(story) == [(["2025-01-01"], [b1, c1])]


def test_a_partition_that_only_lookback_adds_keeps_no_trigger():
    story = Story(project(source("s"), asset("d", "s", schedule=GO, strategy=BACK)))
    for day in ("2025-01-01", "2025-01-02"):
        story.observed("s", day)
        go = story.event(GO)
        *_, last = ran(story)
    assert last == (["2025-01-01..2025-01-02"], [go])
    story.observed("s", "2025-01-01")
    assert due(story) == []


def test_a_partition_that_lookback_adds_waits_for_its_gates():
    story = Story(project(source("s"), asset("d", InletSpec("s", "", None, settle_seconds=3600), strategy=BACK)))
    story.clock = "2025-01-31T00:00"
    story.observed("s", "2025-01-01..2025-01-02")
    story.clock = "2025-02-01T00:00"
    story.run_all()
    story.observed("s", "2025-01-02")
    story.clock = "2025-02-01T01:30"
    story.observed("s", "2025-01-01")
    assert [partitions for partitions, _ in due(story)] == [["2025-01-02"]]


def test_a_partition_that_lookback_adds_did_not_fail_in_this_invocation():
    daily = asset("d", "s", strategy=replace(BACK, max_partitions_per_run=1))
    story = Story(project(source("s"), daily))
    story.observed("s", "2025-01-01")
    story.run_all()
    story.observed("s", "2025-01-01")
    story.fail("d", story.claim(story.plan().runs[0]))
    story.observed("s", "2025-01-02")
    assert [story.keys("d", run.partitions) for run in story.plan(invocation="i").runs] == [["2025-01-02"]]


@pytest.mark.parametrize("schedule", [None, "h", "@daily | h", "@daily & h", f"{GO} | h", f"{GO} & h", GO])
def test_the_tolerance_holds_for_conditions_too(schedule: str | None):
    inlet = InletSpec("h", "", None, tolerance=Duration.parse("6h"))
    story = Story(project(source("h", by="hour"), asset("d", inlet, schedule=schedule)), now="2025-01-02T00:10")
    story.observed("h", "2025-01-01T00..2025-01-01T20")
    story.event(GO)
    assert due(story) == []
    story.now = "2025-01-02T12:00"
    assert [partitions for partitions, _ in ran(story)] == [["2025-01-01"]]


@pytest.mark.parametrize("cause", ["go", "tick", "everything"])
def test_a_new_cause_of_all_partitions_tries_what_failed_again(cause: str):
    schedule: str | Schedule | None = {"go": GO, "tick": timed("@daily"), "everything": None}[cause]
    story = Story(project(source("s"), asset("d", "s", schedule=schedule)), now="2025-01-03")
    story.observed("s", "2025-01-01")
    story.event(GO)
    story.fail("d", story.claim(story.plan(invocation="i").runs[0]))
    assert story.plan(invocation="i").runs == ()
    if cause == "tick":
        story.now = "2025-01-04"
    else:
        story.event(GO if cause == "go" else "x-s")
    assert [story.keys("d", run.partitions) for run in story.plan(invocation="i").runs] == [["2025-01-01"]]


def test_a_recovery_without_partitions_uses_nothing():
    reader = asset("d", InletSpec("h", "", None, on_removed="keep"), schedule=GO)
    story = Story(project(source("h", by="hour"), reader))
    story.observed("h", "2025-01-01T00..2025-01-01T23")
    first = story.event(GO)
    lost = story.claim(story.plan().runs[0])
    story.observed("h", removed=days("2025-01-01T05", by="hour"))
    second = story.event(GO)
    (run,) = story.plan(gone_claims={lost}).runs
    assert (partitions_and_events(story, run), run.request.consumption.consumes) == (([], []), {})
    story.succeed("d", story.claim(run))
    story.observed("h", "2025-01-01T05")
    assert ran(story) == [(["2025-01-01"], [first, second])]


def test_a_run_for_several_events_leaves_none_of_them():
    reader = asset("x", by=None, schedule="a | (b & c)", strategy=EveryInstance())
    story = Story(project(*(source(name, by=None) for name in "abc"), reader))
    first = story.observed("a")
    story.fail("x", story.claim(story.plan().runs[0]))
    seqs = [story.observed(name) for name in "bc"]
    (run,) = story.plan(invocation="i").runs
    assert partitions_and_events(story, run) == ([], [first, *seqs])
    story.succeed("x", story.claim(run))
    assert due(story) == []


def test_failures_for_events_that_are_used_are_forgotten():
    reader = asset("x", by=None, schedule="a")
    sources = [source(name, by=None) for name in "ab"]
    story = Story(project(*sources, reader))
    story.observed("a")
    (run,) = story.plan().runs
    story.fail("x", story.claim(run))
    story.succeed("x", story.claim(by_hand(run)))
    assert not story.state.assets["x"].failed
