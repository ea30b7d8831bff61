"""What is upserted can be written again: below a watermark, too, and in the place of all."""

import pytest

from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.batch.backfill import plan_backfill_unpartitioned
from sparkassets.core.planner.explain.partition_marks import MarkRequest, mark_asset
from sparkassets.core.runs import ChangeAvailability, TablePosition
from sparkassets.core.spec.model import InletSpec, ReadAfter, ReadChanges
from sparkassets.core.strategies import EveryInstance, LatestOnly
from sparkassets.core.writes import AppendWrite, UpsertWrite
from tests.builders import Story, asset, project, source

UPSERT = UpsertWrite(("id",))


def make_story(read, write=UPSERT):
    """An asset that has read its inlet up to 7, and version 3."""
    inlet = InletSpec("orders", "", None, read=read)
    log = asset("log", inlet, by=None, strategy=LatestOnly(), write=write)
    story = Story(project(source("orders", by=None), log))
    story.observed("orders", table_id="t", version=3)
    high = "7" if isinstance(read, ReadAfter) else str(TablePosition("t", 3))
    (run,) = story.plan().runs
    story.succeed("log", story.claim(run), watermarks={"orders": high})
    return story, story.project.assets["log"]


def planned(it, **more):
    (run,) = it.plan(**more).runs
    return run.request.pins["orders"].low, run.request.rebuilds


@pytest.mark.parametrize("read", [ReadAfter("id"), ReadChanges()])
def test_the_next_run_goes_on_and_a_backfill_reads_all(read):
    story, log = make_story(read)
    story.observed("orders", table_id="t", version=4)
    low, rebuilds = planned(story)
    assert low is not None
    assert not rebuilds
    for rebuild in (False, True):
        (run,) = plan_backfill_unpartitioned(story.context(), log, None, rebuilds=rebuild).runs
        assert (run.request.pins["orders"].low, run.request.rebuilds) == (None, rebuild)
        assert run.reason.startswith("rebuild" if rebuild else "backfill")


@pytest.mark.parametrize("read", [ReadAfter("id"), ReadChanges()])
def test_what_is_marked_as_missing_is_read_from_the_beginning(read):
    story, log = make_story(read)
    entry = mark_asset(story.context(), MarkRequest(log, EVERYTHING, "missing", "the source was restated", "ann"))
    assert entry is not None
    story.add(entry)
    assert planned(story) == (None, False)


def test_what_is_appended_is_never_read_again():
    told, log = make_story(ReadAfter("id"), AppendWrite())
    (run,) = plan_backfill_unpartitioned(told.context(), log, None).runs
    assert run.request.pins["orders"].low == "7"


def test_where_changes_are_not_told_any_more_the_rows_take_the_place_of_all():
    story, _ = make_story(ReadChanges())
    story.observed("orders", table_id="t", version=9)
    lost = ChangeAvailability("lost", "its log no longer has version 4")
    assert planned(story, check_availability=lambda *_: lost) == (None, True)


def test_a_table_that_lost_its_position_is_made_anew():
    story, log = make_story(ReadChanges())
    story.observed("orders", table_id="t", version=4)
    found = TableFinding("restored", "restored to version 1", EVERYTHING, "t", 1, "m")
    story.add(TargetEntry("log", log.uri, found))
    assert planned(story) == (None, True)


def test_a_killed_backfill_is_completed_from_the_beginning():
    story, log = make_story(ReadAfter("id"))
    (run,) = plan_backfill_unpartitioned(story.context(), log, None).runs
    claim = story.claim(run)
    assert planned(story, gone_claims=frozenset({claim})) == (None, False)


def test_runs_of_partitions_are_one_at_a_time():
    days = source("orders")
    daily = asset("daily", "orders", strategy=EveryInstance(), write=UPSERT)
    story = Story(project(days, daily))
    story.observed("orders", "2025-01-01", "2025-01-02", "2025-01-03")
    story.succeed("daily", story.claim(story.plan().runs[0]))
    assert len(story.plan().runs) == 1
    assert any("one at a time, because each upsert" in each.reason for each in story.plan().waiting)
