"""Runs that share a pool: as many as it has places, by the claims of all drivers; others wait and say for what."""

import pytest

from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.planner import make_plan
from sparkassets.runtime.requested_works import BackfillWork
from tests.builders import Story, asset, project, source

FULL = "waits for the pool 'api' of 2, which runs of a and b hold"


@pytest.fixture
def story():
    assets = [asset(name, "s", by=None, pool="api") for name in "abc"]
    it = Story(project(source("s", by=None), *assets, asset("free", "s", by=None), pools={"api": 2}), now="2025-02-01")
    it.observed("s")
    return it


def claimed(story, name):
    """A driver claims the due run of an asset; its fence token."""
    return story.claim(next(run for run in story.plan().runs if run.asset == name))


def test_a_pool_with_free_places_holds_nothing_back(story):
    assert set(story.due()) == {"a", "b", "c", "free"}
    claimed(story, "a")
    assert set(story.due()) == {"b", "c", "free"}


def test_a_full_pool_holds_back_others_until_a_run_ends(story):
    claimed(story, "a")
    claimed(story, "b")
    assert set(story.due()) == {"free"}
    assert story.waits("c") == [FULL]


def test_a_run_whose_driver_is_gone_holds_no_place(story):
    first = claimed(story, "a")
    claimed(story, "b")
    assert "c" in story.due(gone_claims=frozenset({first}))


def test_what_is_planned_again_is_what_is_planned_from_nothing(story):
    planner = IncrementalPlanner(story.project)
    planner.plan(story.context())
    for name in "ab":
        claimed(story, name)
        assert planner.plan(story.context()) == make_plan(story.context())


def test_a_backfill_waits_for_a_place(story):
    claimed(story, "a")
    claimed(story, "b")
    plan = BackfillWork(story.project.assets["c"], EVERYTHING, force=True).plan(story.context())
    assert (plan.runs, [each.reason for each in plan.waiting if not each.quiet]) == ((), [FULL])
