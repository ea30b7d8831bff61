"""What an earlier run, a backfill or a failure has answered already is not run again, and nothing else is lost."""

import pytest

from sparkassets.core.planner.batch.backfill import plan_backfill_unpartitioned
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import InputError
from tests.builders import Story, asset, at, project, source, timed


def backfilled(story: Story, interval: tuple[int, int] | None = None) -> None:
    (run,) = plan_backfill_unpartitioned(story.context(), story.project.assets["a"], interval).runs
    story.succeed("a", story.claim(run))


def whole(schedule: str | None = None, **more: object) -> Story:
    sources = (source("p", by=None), source("q", by=None))
    return Story(project(*sources, asset("a", "p", "q", by=None, schedule=schedule, **more)))


def test_a_backfill_of_everything_answers_the_events_that_it_saw():
    story = whole()
    first, second = story.observed("p"), story.observed("q")
    (run,) = plan_backfill_unpartitioned(story.context(), story.project.assets["a"], None).runs
    assert [ref.seq for ref in run.events] == [first, second]
    story.succeed("a", story.claim(run))
    assert story.due() == {}


def test_an_event_that_comes_while_a_backfill_runs_is_not_lost():
    story = whole()
    story.observed("p")
    story.observed("q")
    claim = story.claim(plan_backfill_unpartitioned(story.context(), story.project.assets["a"], None).runs[0])
    late = story.observed("p")
    story.succeed("a", claim)
    (run,) = story.plan().runs
    assert [ref.seq for ref in run.events] == [late]


def test_a_backfill_leaves_an_update_whose_condition_does_not_hold():
    story = whole("p & q")
    story.event("x-p")
    story.event("x-q")
    story.run_all()
    first = story.observed("p")
    backfilled(story)
    second = story.observed("q")
    (run,) = story.plan().runs
    assert [ref.seq for ref in run.events] == [first, second]


def test_a_backfill_of_an_interval_or_of_what_is_new_answers_nothing():
    story = whole()
    story.observed("p")
    story.observed("q")
    backfilled(story, (at("2024-01-01"), at("2024-01-02")))
    assert story.due() == {"a": []}
    story = whole(strategy=LatestOnly(), write=AppendWrite())
    story.observed("p")
    story.observed("q")
    backfilled(story)
    assert story.due() == {"a": []}


def test_a_backfill_is_not_the_run_of_a_tick():
    story = whole("@daily | p")
    story.observed("p")
    story.observed("q")
    story.run_all()
    story.now = "2025-02-02T01:00"
    (run,) = plan_backfill_unpartitioned(story.context(), story.project.assets["a"], None).runs
    assert (run.events, run.request.consumption.consumes) == ((), {})


def test_an_interval_outside_the_bounds_is_refused_unless_forced():
    bounded = asset("a", by=None, schedule=timed("@daily", start=at("2025-01-01")), start=at("2025-01-01"))
    story = Story(project(bounded))
    interval = at("2024-12-31"), at("2025-01-01")
    with pytest.raises(InputError, match="of 'a' is before the start of the asset, 2025-01-01T00:00Z"):
        plan_backfill_unpartitioned(story.context(), bounded, interval)
    assert plan_backfill_unpartitioned(story.context(), bounded, interval, force=True).runs


def test_continuous_begins_at_its_start():
    story = Story(project(asset("a", by=None, schedule=timed({"cron": "@continuous"}, start=at("2025-01-20")))))
    (run,) = story.plan().runs
    assert run.interval == (at("2025-01-20"), at("2025-02-01"))
    story.succeed("a", story.claim(run))
    story.now = "2025-02-02"
    assert story.plan().runs[0].interval == (at("2025-02-01"), at("2025-02-02"))


@pytest.mark.parametrize("schedule", ["@once", "@continuous"])
def test_what_is_due_at_any_time_fails_once_an_invocation(schedule: str):
    story = Story(project(asset("a", by=None, schedule=timed(schedule))))
    story.fail("a", story.claim(story.plan(invocation="i").runs[0]))
    story.now = "2025-02-02"
    assert story.plan(invocation="i").runs == ()
    assert story.waits("a", invocation="i") == ["failed: boom"]
    assert len(story.plan(invocation="j").runs) == 1


def test_a_tick_that_ran_is_told_as_such_when_an_earlier_time_is_planned_for():
    story = Story(project(asset("a", by=None, schedule=timed("@daily"))), now="2025-02-03T01:00")
    story.run_all()
    assert story.waits("a") == ["@daily: not before 2025-02-04T00:00Z"]
    story.now = "2025-02-01T12:00"
    assert story.waits("a") == [
        "@daily: a plan for a later time already ran it up to 2025-02-03T00:00Z; not before 2025-02-04T00:00Z"
    ]
