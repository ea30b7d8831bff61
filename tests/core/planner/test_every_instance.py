"""``strategy: every_instance`` without partitions: one run an event, or an interval, in order."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite
from tests.builders import Story, asset, at, names, project, source, timed
from tests.depth import examples


def every(condition: str, *sources: str, **more: Any) -> Story:
    reader = asset("r", by=None, schedule=condition, strategy=EveryInstance(), write=AppendWrite(), **more)
    return Story(project(*(source(name, by=None) for name in sources), reader), now="2025-02-01T05:00")


def answered(runs: list[PlannedRun]) -> list[list[int]]:
    return [[ref.seq for ref in run.events] for run in runs]


def test_each_event_is_a_run():
    story = every("a", "a")
    seqs = [story.observed("a") for _ in range(3)]
    assert answered(list(story.plan().runs)) == [[seq] for seq in seqs]
    runs = story.run_all()
    assert answered(runs) == [[seq] for seq in seqs]
    assert {run.reason for run in runs} == {"a updated"}
    assert {run.strategy for run in runs} == {"every_instance"}


def test_events_of_several_datasets_come_in_order():
    story = every("a | b", "a", "b")
    seqs = [story.observed(name) for name in "abbab"]
    assert answered(story.run_all()) == [[seq] for seq in seqs]


def test_events_during_a_run_are_runs_of_their_own():
    story = every("a", "a")
    story.observed("a")
    claim = story.claim(story.plan().runs[0])
    later = [story.observed("a"), story.observed("a")]
    story.succeed("r", claim)
    assert answered(story.run_all()) == [[seq] for seq in later]


def test_the_reason_names_only_what_the_run_answers():
    story = every("a | b", "a", "b")
    story.observed("a")
    story.observed("b")
    assert [run.reason for run in story.run_all()] == ["a updated", "b updated"]


def test_a_condition_that_asks_for_several_is_one_run():
    story = every("a & b", "a", "b")
    seqs = [story.observed(name) for name in "aab"]
    assert answered(story.run_all()) == [seqs]


def test_an_event_whose_run_failed_keeps_no_other_from_its_own():
    story = every("a", "a")
    first, second = (story.observed("a") for _ in range(2))
    story.fail("r", story.claim(story.plan().runs[0]))
    (run,) = story.plan(invocation="i").runs
    assert answered([run]) == [[second]]
    story.succeed("r", story.claim(run))
    assert story.waits("r", invocation="i") == ["failed: boom"]
    third = story.observed("a")
    assert answered(list(story.plan(invocation="i").runs)) == [[third]]
    assert answered(story.run_all()) == [[first], [third]]


def test_more_events_than_a_plan_names_follow():
    story = every("a", "a")
    seqs = [story.observed("a") for _ in range(250)]
    planned = story.plan().runs
    assert answered(list(planned)) == [[seq] for seq in seqs[:100]]
    assert (planned[98].reason, planned[99].reason) == ("a updated", "a updated; more follow")
    for _ in range(120):
        story.fail("r", story.claim(story.plan(invocation="i").runs[0]))
    assert answered(list(story.plan(invocation="i").runs)) == [[seq] for seq in seqs[120:220]]
    assert len(story.run_all(limit=300)) == 250


def test_a_condition_over_several_that_failed_is_tried_again_with_the_next_event():
    story = every("a & b", "a", "b")
    seqs = [story.observed(name) for name in "ab"]
    story.fail("r", story.claim(story.plan().runs[0]))
    assert story.due(invocation="i") == {}
    seqs.append(story.observed("a"))
    assert answered(list(story.plan(invocation="i").runs)) == [seqs]


@settings(deadline=None, max_examples=examples(150))
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.booleans()), max_size=12))
def test_each_event_has_one_run_that_succeeds_whatever_fails(history: list[tuple[str, int, bool]]):
    """``history``: where an event comes from, how often its run fails, whether the driver runs before the next."""
    story = every("a | b", "a", "b")
    failures: dict[int, int] = {}
    done: list[int] = []
    for number, (name, often, pause) in enumerate([*history, ("a", 0, True), ("a", 0, True), ("a", 0, True)]):
        failures[story.observed(name)] = often
        tried: list[int] = []
        while pause and (runs := story.plan(invocation=str(number)).runs):
            (event,) = runs[0].events
            assert event.seq not in tried, "once an invocation"
            tried.append(event.seq)
            claim = story.claim(runs[0], invocation=str(number))
            if failures[event.seq]:
                failures[event.seq] -= 1
                story.fail("r", claim, invocation=str(number))
            else:
                story.succeed("r", claim)
                done.append(event.seq)
        assert tried == sorted(tried)
        assert decode(encode(story.state), journal_id="journal") == story.state
    assert sorted(done) == sorted(failures)
    assert story.state.assets["r"].partly_used == {}
    assert not story.state.assets["r"].failed


def test_a_pause_keeps_every_one():
    story = every("a", "a", paused=True)
    seqs = [story.observed("a") for _ in range(3)]
    assert story.waits("r") == ["paused"]
    story.change(source("a", by=None), asset("r", by=None, schedule="a", strategy=EveryInstance(), write=AppendWrite()))
    assert answered(story.run_all()) == [[seq] for seq in seqs]


def test_each_run_has_the_interval_of_its_event():
    up = asset("a", by=None, schedule=timed({"cron": "@daily", "catchup": "all", "start": "2025-01-29"}))
    reader = asset("r", "a", by=None, schedule="a", strategy=EveryInstance(), write=AppendWrite())
    story = Story(project(up, reader), now="2025-02-01T05:00")
    for _ in range(3):
        story.run("a")
    runs = story.run_all()
    assert names(runs) == ["r", "r", "r"]
    assert [run.interval for run in runs] == [
        (at("2025-01-29"), at("2025-01-30")),
        (at("2025-01-30"), at("2025-01-31")),
        (at("2025-01-31"), at("2025-02-01")),
    ]


def test_an_upstream_that_catches_up_comes_first():
    up = asset("a", by=None, schedule=timed({"cron": "@daily", "catchup": "all", "start": "2025-01-31"}))
    reader = asset("r", "a", by=None, schedule="a", strategy=EveryInstance(), write=AppendWrite())
    story = Story(project(up, reader), now="2025-02-01T05:00")
    assert story.waits("r") == ["waits for a, which runs first"]
    assert names(story.run_all()) == ["a", "r"]


def test_each_interval_is_a_run():
    reader = asset(
        "r",
        by=None,
        schedule=timed({"cron": "@daily", "start": "2025-01-29"}),
        strategy=EveryInstance(),
        write=AppendWrite(),
    )
    story = Story(project(reader), now="2025-02-01T05:00")
    assert [run.interval[0] for run in story.run_all() if run.interval] == [
        at("2025-01-29"),
        at("2025-01-30"),
        at("2025-01-31"),
    ]


def test_only_what_failed_is_said_to_have_failed_before():
    story = every("a", "a")
    for _ in range(2):
        story.observed("a")
    story.fail("r", story.claim(story.plan().runs[0]))
    assert [run.reason for run in story.plan().runs] == ["a updated, failed before", "a updated"]
