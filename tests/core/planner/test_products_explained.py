"""Products of time and segments are planned, told and backfilled as time alone is."""

from dataclasses import replace

import pytest

from sparkassets.core.journal.announcements import parse_announcement
from sparkassets.core.partitions import Partitioning, PartitionSet, SegmentPartition, TimePartition
from sparkassets.core.planner.batch.backfill import plan_backfill
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.status import asset_status, partition_grid, status_stretches
from sparkassets.core.strategies import SegmentBatches
from sparkassets.errors import InputError
from tests.builders import Story, asset, project, source

REGIONS = SegmentPartition("region", ("de", "nl"))
DAYS = Partitioning(TimePartition("day", "UTC", "day"), (REGIONS,))
HOURS = Partitioning(TimePartition("hour", "UTC", "hour"), (REGIONS,))
ALONE = Partitioning(None, (REGIONS,))


def make_story(consumer=HOURS, **more):
    orders = replace(source("orders"), partitioning=DAYS)
    sums = replace(asset("sums", "orders"), partitioning=consumer, **more)
    return Story(project(orders, sums), now="2025-02-01")


def backfilled(told, key, *, force=False):
    sums = told.project.assets["sums"]
    plan = plan_backfill(told.context(), sums, sums.partitioning.parse(key), force=force)
    return [sums.partitioning.display_labels(run.partitions) for run in plan.runs], [
        wait.reason for wait in plan.waiting
    ]


def test_hours_of_a_day_of_one_segment():
    story = make_story()
    story.observed("orders", "2025-01-01,nl")
    (run,) = story.plan().runs
    assert HOURS.labels(run.partitions) == ["2025-01-01T00..2025-01-01T23,nl"]
    assert run.reason == "24 partitions missing"
    assert run.request.pins["orders"].parts == DAYS.parse("2025-01-01,nl")
    story.run("sums")
    story.observed("orders", "2025-01-01")
    (run,) = story.plan().runs
    assert run.reason == "24 partitions missing, 24 stale: orders changed"
    assert HOURS.display_labels(run.partitions) == ["2025-01-01T00..2025-01-01T23,*"]


def test_a_product_at_a_glance():
    story = make_story()
    story.observed("orders", "2025-01-01,nl", "2025-01-02")
    sums = story.project.assets["sums"]
    status = asset_status(story.context(), sums)
    assert (status.missing, status.current) == (72, 0)
    story.run("sums")
    assert asset_status(story.context(), sums).covered == (
        "2025-01-01T00..2025-01-02T23,nl",
        "2025-01-02T00..2025-01-02T23,de",
    )
    assert dict(partition_grid(story.context(), sums))["2025-01-02T05,de"] == "current"
    tree = repr(explain_asset(story.context(), sums, sums.partitioning.parse("*,de")))
    assert "24 partitions current: 2025-01-02T00..2025-01-02T23,de" in tree
    assert "48" not in tree


def test_segments_alone_are_told_in_their_order():
    story = make_story(ALONE, strategy=SegmentBatches())
    story.observed("orders", "2025-01-01,nl")
    story.run("sums")
    story.observed("orders", "2025-01-02,de")
    found = [
        (ALONE.labels(parts), status)
        for parts, status in status_stretches(story.context(), story.project.assets["sums"])
    ]
    assert found == [(["de"], "missing"), (["nl"], "current")]


def test_a_key_that_left_the_list_keeps_its_rows_and_that_is_said():
    story = make_story()
    story.observed("orders", "2025-01-01")
    story.run("sums")
    orders, sums = story.project.assets.values()
    story.change(orders, replace(sums, partitioning=replace(HOURS, segments=(SegmentPartition("region", ("nl",)),))))
    assert not story.plan().runs
    sums = story.project.assets["sums"]
    assert asset_status(story.context(), sums).notes == (
        (
            "2025-01-01T00..2025-01-01T23,de: no longer a segment of the list; its rows stay, and nothing "
            "recomputes them"
        ),
    )
    found = dict(partition_grid(story.context(), sums))
    assert (found["2025-01-01T05,de"], found["2025-01-01T05,nl"]) == ("unlisted", "current")


def test_a_run_of_segments_has_at_most_so_many():
    story = make_story(ALONE, strategy=SegmentBatches(max_partitions_per_run=1))
    story.observed("orders", "2025-01-01")
    assert [ALONE.labels(run.partitions) for run in story.run_all()] == [["de"], ["nl"]]


def test_a_star_in_place_of_time_is_all_that_is_wanted_or_there():
    story = make_story()
    assert backfilled(story, "*,nl") == ([], [])
    story.observed("orders", "2025-01-01..2025-01-02,nl", "2025-01-02,de")
    assert backfilled(story, "*,nl") == ([["2025-01-01T00..2025-01-02T23,nl"]], [])
    assert backfilled(story, "*") == ([["2025-01-01T00..2025-01-02T23,nl", "2025-01-02T00..2025-01-02T23,de"]], [])
    story.run("sums")
    assert backfilled(story, "*,nl") == ([], ["up to date (--force recomputes it)"])
    assert backfilled(story, "*,nl", force=True) == ([["2025-01-01T00..2025-01-02T23,nl"]], [])


def test_an_event_has_no_star_in_place_of_time():
    story = make_story()
    with pytest.raises(InputError, match="'\\*,nl' means all of time, but an event of 'orders' must name a time"):
        parse_announcement(story.project, "orders", partition="*,nl")
    assert parse_announcement(
        story.project, "orders", partition="2025-01-01"
    ).parts == DAYS.known_partitions & PartitionSet.span(1735689600, 1735776000)
