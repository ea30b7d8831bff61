"""Partitions that change after something was computed by them: coverage belongs to the partitions that made it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.partitions import Partitioning, SegmentPartition, TimePartition
from sparkassets.core.planner.batch.requested_runs import plan_rebuild
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite
from tests.builders import Story, asset, days, multi, project, source
from tests.core.planner.test_marks import say

DAY = TimePartition("day", "UTC", column="day")
STORES = SegmentPartition("store", ("a", "b"))
CHANGES = {
    "time zone": Partitioning(replace(DAY, timezone="Asia/Tokyo")),
    "offset": Partitioning(replace(DAY, offset=6 * 3600)),
    "grain": Partitioning(replace(DAY, by="month")),
    "finer grain": Partitioning(replace(DAY, by="hour")),
    "cron": Partitioning(replace(DAY, by="0 6 * * *")),
    "column": Partitioning(replace(DAY, column="sold_on")),
    "one dimension more": Partitioning(DAY, (STORES,), 1),
}
"""Every kind of change after which rows of one partition are rows of another."""


def in_partitions(partitioning: Partitioning, **more: Any) -> AssetSpec:
    return replace(asset("d", "s", **more), partitioning=partitioning)


def daily(**more: Any) -> Story:
    """A story of a daily table, of which a month of days are computed and one more is wanted."""
    made = in_partitions(Partitioning(DAY), **more)
    story = Story(project(source("s", by="hour"), made, asset("total", "d", by=None)), now="2025-03-10")
    story.observed("s", "2025-01-01T00..2025-01-31T23")
    story.run_all()
    assert story.state.assets["d"].coverage == days("2025-01-01..2025-01-31")
    return story


def change(story: Story, partitioning: Partitioning, **more: Any) -> None:
    made = in_partitions(partitioning, **more)
    story.change(source("s", by="hour"), made, asset("total", "d", by=None))


def reasons(story: Story, name: str = "d") -> list[str]:
    return [wait.reason for wait in story.plan().waiting if wait.asset == name and wait.stuck]


@pytest.mark.parametrize("kind", CHANGES)
def test_what_was_computed_by_other_partitions_waits_for_a_rebuild(kind: str):
    story = daily()
    story.observed("s", "2025-02-01T00..2025-02-01T23")
    change(story, CHANGES[kind])
    assert story.plan().runs == ()
    [reason] = reasons(story)
    assert reason.startswith("its table was computed by day in UTC (column day), but is now partitioned ")
    assert reason.endswith(": `sparkassets backfill d --rebuild` recomputes it")
    assert not story.state.assets["d"].coverage
    assert not story.state.dataset("d").coverage


@pytest.mark.parametrize("kind", CHANGES)
def test_a_rebuild_computes_all_and_the_asset_goes_on(kind: str):
    story = daily()
    change(story, CHANGES[kind])
    context = story.context()
    [run] = plan_rebuild(context, context.asset("d"), force=False).runs
    assert run.request.rebuilds
    story.succeed("d", story.claim(run))
    assert story.state.assets["d"].former is None
    assert story.state.assets["d"].coverage == run.partitions
    assert [run.asset for run in story.plan().runs] == ["total"]
    assert not reasons(story)


@pytest.mark.parametrize("kind", CHANGES)
def test_partitions_that_come_back_find_all_as_it_was(kind: str):
    story = daily()
    before = story.state.assets["d"].coverage
    change(story, CHANGES[kind])
    change(story, Partitioning(DAY))
    assert (story.state.assets["d"].coverage, story.state.assets["d"].former) == (before, None)
    assert story.state.dataset("d").coverage == before


@pytest.mark.parametrize("kind", CHANGES)
def test_what_was_updated_before_they_came_back_makes_all_stale(kind: str):
    story = daily()
    change(story, CHANGES[kind])
    story.observed("s", "2025-01-02T00..2025-01-02T23")
    change(story, Partitioning(DAY))
    [run] = [run for run in story.plan().runs if run.asset == "d"]
    assert run.partitions.covers(days("2025-01-02"))


@pytest.mark.parametrize("kind", CHANGES)
def test_a_table_of_which_nothing_was_computed_is_just_computed(kind: str):
    story = Story(project(source("s", by="hour"), in_partitions(Partitioning(DAY))), now="2025-03-10")
    story.observed("s", "2025-01-01T00..2025-02-28T23")
    story.change(source("s", by="hour"), in_partitions(CHANGES[kind]))
    assert not reasons(story)
    assert [run.asset for run in story.plan().runs] == ["d"]


@pytest.mark.parametrize("kind", CHANGES)
def test_the_state_survives_its_snapshot_and_its_journal(kind: str):
    story = daily()
    change(story, CHANGES[kind])
    assert decode(encode(story.state), journal_id="journal") == story.state
    assert fold(decode([], journal_id="journal"), map(from_row, story.rows), commit=story.state.commit) == story.state


def test_a_run_that_was_claimed_before_computes_nothing_of_the_new_partitions():
    story = daily()
    story.observed("s", "2025-02-01T00..2025-02-01T23")
    claim = story.claim(next(run for run in story.plan().runs if run.asset == "d"))
    change(story, CHANGES["time zone"])
    story.succeed("d", claim)
    assert not story.state.assets["d"].coverage
    assert len(reasons(story)) == 1


@pytest.mark.parametrize(
    "after",
    [
        Partitioning(replace(DAY, exclude="* * * * SAT,SUN")),
        Partitioning(replace(DAY, start=0)),
        Partitioning(replace(DAY, ahead="2d")),
    ],
)
def test_what_only_says_which_partitions_are_wanted_keeps_all(after: Partitioning):
    story = daily()
    change(story, after)
    assert not reasons(story)
    assert story.state.assets["d"].coverage


def test_a_person_can_say_that_what_is_there_stands():
    story = daily()
    change(story, CHANGES["column"])
    say(story, "d", "done", "2025-01-01..2025-01-31")
    assert not reasons(story)
    assert story.state.assets["d"].coverage == days("2025-01-01..2025-01-31")


def test_partitions_for_a_table_that_had_none_wait_for_a_rebuild():
    story = Story(project(source("s"), asset("d", "s", by=None)), now="2025-03-10")
    story.observed("s", "2025-01-01..2025-01-31")
    story.run_all()
    story.change(source("s"), in_partitions(Partitioning(DAY)))
    [reason] = reasons(story)
    assert reason.startswith("its table was computed as a whole, but is now partitioned by day in UTC")


def test_a_table_without_partitions_any_more_is_replaced_by_its_next_run():
    story = daily()
    story.change(source("s", by="hour"), asset("d", "s", by=None), asset("total", "d", by=None))
    assert not reasons(story)
    story.observed("s", "2025-02-01T00..2025-02-01T23")
    story.run_all()
    assert story.state.assets["d"].former is None


def test_an_observed_source_is_looked_at_from_the_beginning():
    story = daily()
    story.change(
        replace(source("s", by="hour"), partitioning=CHANGES["time zone"]),
        in_partitions(Partitioning(DAY)),
        asset("total", "d", by=None),
    )
    known = story.state.assets["s"]
    assert (dict(known.position), known.version, bool(story.state.dataset("s").coverage)) == ({}, None, False)


def test_what_was_appended_in_part_is_not_appended_twice():
    story = daily(write=AppendWrite(), strategy=EveryInstance())
    story.observed("s", "2025-02-01T00..2025-02-01T23")
    change(story, CHANGES["time zone"], write=AppendWrite(), strategy=EveryInstance())
    [reason] = reasons(story)
    assert reason.startswith("partly appended under earlier partitions")
    partitioning = CHANGES["time zone"]
    planned = [label for run in story.plan().runs if run.asset == "d" for label in partitioning.labels(run.partitions)]
    assert "2025-02-01" not in planned
    say(story, "d", "done", "2025-01-01")
    say(story, "d", "done", "2025-02-01")
    assert not reasons(story)


def test_the_outlets_of_a_multi_asset_are_rebuilt_together():
    def make_assets(zone: str) -> tuple[AssetSpec, ...]:
        return (source("s"), *multi(asset("m", "s", zone=zone), "x", "y"), asset("total", "x", by=None))

    story = Story(project(*make_assets("UTC")), now="2025-03-10")
    story.observed("s", "2025-01-01..2025-01-31")
    story.run_all()
    story.change(*make_assets("Asia/Tokyo"))
    assert story.plan().runs == ()
    assert len(reasons(story, "m")) == 1
    context = story.context()
    [run] = plan_rebuild(context, context.asset("m"), force=False).runs
    story.succeed("m", story.claim(run))
    assert [story.state.assets[name].former for name in ("m", "x", "y")] == [None] * 3
    assert [run.asset for run in story.plan().runs] == ["total"]
