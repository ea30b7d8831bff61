"""Segments that leave an asset's list, and dimensions that change, while runs are claimed, failed or owe a lookback."""

import pytest

from sparkassets.core.instants import Duration
from sparkassets.core.planner.explain.status import status_stretches
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, project, source


def mk(segments, **more):
    up = source("up", by="day", segments={"region": ("de", "nl")})
    return up, asset("a", "up", by="day", segments=segments, **more)


def status_by_keys(story):
    spec = story.project.assets["a"]
    return [(story.keys("a", parts), status) for parts, status in status_stretches(story.context(), spec)]


def begun(segments, **more):
    story = Story(project(*mk(segments, **more)))
    story.observed("up", "2025-01-01,*")
    return story, story.claim(story.plan().runs[0])


def test_what_a_dead_run_was_to_compute_of_a_segment_that_left_is_not_computed():
    story, claim = begun({"region": ("de", "nl")})
    story.fail("a", claim, fenced=False)
    story.change(*mk({"region": ("nl",)}))
    assert story.due(invocation="j") == {"a": ["2025-01-01,nl"]}


def test_the_lookback_that_is_owed_to_a_segment_that_left_is_not_computed():
    strategy = DateRange(Duration.parse("2d"), max_partitions_per_run=2)
    story = Story(project(*mk({"region": ("de", "nl")}, strategy=strategy)))
    story.observed("up", "2025-01-01..2025-01-03,*")
    story.run_all()
    story.observed("up", "2025-01-04..2025-01-06,*")
    story.run("a")
    assert story.keys("a", story.state.assets["a"].owed_lookback) == ["2025-01-03,de", "2025-01-03,nl"]
    story.change(*mk({"region": ("nl",)}, strategy=strategy))
    keys = [key for run in story.run_all() for key in story.keys("a", run.partitions)]
    assert keys == ["2025-01-03..2025-01-04,nl", "2025-01-05..2025-01-06,nl"]


REGION, BOTH, STORE = {"region": ("de", "nl")}, {"region": ("de", "nl"), "store": ("x",)}, {"store": ("x",)}


@pytest.mark.parametrize(("first", "second"), [(REGION, BOTH), (BOTH, REGION), (REGION, STORE), (BOTH, {})])
@pytest.mark.parametrize("fenced", [True, False])
def test_a_run_of_other_dimensions_is_over_without_a_trace(first, second, fenced):
    story, claim = begun(first)
    story.change(*mk(second))
    assert [status for _, status in status_by_keys(story)] == ["missing"] * len(status_by_keys(story))
    story.fail("a", claim, fenced=fenced)
    (run,) = story.plan(invocation="j").runs
    assert story.project.assets["a"].partitioning.inside(run.partitions) == run.partitions
    story.run_all()
    assert {status for _, status in status_by_keys(story)} == {"current"}


def test_a_failure_of_a_segment_that_left_is_none_any_more():
    story, claim = begun({"region": ("de", "nl")})
    story.fail("a", claim)
    story.change(*mk({"region": ("nl",)}))
    story.run_all()
    assert status_by_keys(story) == [(["2025-01-01,nl"], "current")]
