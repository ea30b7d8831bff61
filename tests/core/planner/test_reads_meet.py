"""What is read from a watermark on, beside backfills, marks and losses: nothing is there twice, and nothing lost."""

from __future__ import annotations

import pytest

from sparkassets.core.journal.table_findings import TableFinding
from sparkassets.core.journal.table_losses import build_target_entry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.batch.backfill import plan_backfill_unpartitioned
from sparkassets.core.planner.explain.partition_marks import MarkRequest, mark_asset
from sparkassets.core.runs import TablePosition
from sparkassets.core.spec.model import InletSpec, ReadAfter, ReadChanges, Schedule
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite, UpsertWrite
from sparkassets.errors import InputError
from tests.builders import Story, asset, multi, project, source

UPSERT = UpsertWrite(("id",))


def reader(read, write, **more):
    inlet = InletSpec("orders", "", None, read=read)
    return asset("log", inlet, by=None, strategy=LatestOnly(), write=write, **more)


def make_story(read, write, **more):
    """An asset that has read its inlet up to 7, and version 3."""
    story = Story(project(source("orders", by=None), reader(read, write, **more)))
    story.observed("orders", table_id="t", version=3)
    (run,) = story.plan().runs
    story.succeed("log", story.claim(run), watermarks={"orders": high(read, 3)})
    return story


def high(read, version):
    return str(version + 4) if isinstance(read, ReadAfter) else str(TablePosition("t", version))


def backfill(told, **more):
    (run,) = plan_backfill_unpartitioned(told.context(), told.project.assets["log"], None, **more).runs
    return run


def low(run):
    return run.request.pins["orders"].low


def test_what_a_backfill_appended_is_not_appended_again():
    story = make_story(ReadAfter("id"), AppendWrite())
    story.observed("orders", table_id="t", version=4)
    run = backfill(story)
    assert low(run) == "7"
    story.succeed("log", story.claim(run), watermarks={"orders": "8"})
    (next_one,) = story.plan().runs
    assert low(next_one) == "8"


def test_what_a_backfill_merged_moves_nothing():
    story = make_story(ReadAfter("id"), UPSERT)
    story.observed("orders", table_id="t", version=4)
    story.succeed("log", story.claim(backfill(story)), watermarks={"orders": "8"})
    (next_one,) = story.plan().runs
    assert low(next_one) == "7"


@pytest.mark.parametrize("read", [ReadAfter("id"), ReadChanges()])
def test_what_runs_by_hand_alone_goes_on_from_where_it_was(read):
    story = Story(project(source("orders", by=None), reader(read, AppendWrite(), schedule=Schedule())))
    story.observed("orders", table_id="t", version=3)
    run = backfill(story)
    assert low(run) is None
    story.succeed("log", story.claim(run), watermarks={"orders": high(read, 3)})
    story.observed("orders", table_id="t", version=4)
    run = backfill(story)
    assert low(run) == high(read, 3)
    story.succeed("log", story.claim(run), watermarks={"orders": high(read, 4)})
    assert low(backfill(story)) == high(read, 4)


def test_where_a_person_goes_on_with_what_is_there_no_change_is_passed_over():
    story = make_story(ReadChanges(), AppendWrite())
    log = story.project.assets["log"]
    story.add(
        build_target_entry(
            log, story.state.assets["log"], TableFinding("replaced", "the table was replaced by another", EVERYTHING)
        )
    )
    story.observed("orders", table_id="t", version=4)
    run = backfill(story)
    story.succeed("log", story.claim(run), watermarks={"orders": str(TablePosition("t", 4))})
    (next_one,) = story.plan().runs
    assert low(next_one) == str(TablePosition("t", 3))


def test_what_is_read_anew_beyond_its_position_takes_the_place_of_all():
    """What was deleted since the position is told by nothing else."""
    story = make_story(ReadChanges(), UPSERT)
    story.observed("orders", table_id="t", version=4)
    story.add(
        mark_asset(story.context(), MarkRequest(story.project.assets["log"], EVERYTHING, "missing", "restated", "ann"))
    )
    (run,) = story.plan().runs
    assert (low(run), run.request.rebuilds) == (None, True)
    assert run.reason == "orders updated, marked as missing by ann: restated, reads all of orders (version 4)"


def test_a_position_is_no_highest_value_of_a_column():
    story = make_story(ReadChanges(), AppendWrite())
    story.change(source("orders", by=None), reader(ReadAfter("id"), AppendWrite()))
    story.observed("orders", table_id="t", version=4)
    assert story.plan().runs == ()
    (reason,) = story.waits("log")
    assert reason == (
        "the new rows of orders are unknown: it was read by its changes before, and is now read above the highest "
        "id; read it by its changes again, or drop the table of log to start over"
    )
    with pytest.raises(InputError, match="log: the new rows of orders are unknown"):
        backfill(story)


def test_what_was_read_by_its_changes_is_read_anew_above_a_column_where_that_doubles_nothing():
    story = make_story(ReadChanges(), UPSERT)
    story.change(source("orders", by=None), reader(ReadAfter("id"), UPSERT))
    story.observed("orders", table_id="t", version=4)
    (run,) = story.plan().runs
    assert (low(run), run.request.rebuilds) == (None, True)


@pytest.mark.parametrize("kind", ["restored", "gone"])
def test_what_an_outlet_lost_is_made_anew_of_what_is_read_by_its_changes(kind):
    story = Story(project(source("orders", by=None), *multi(reader(ReadChanges(), UPSERT), "train", "test")))
    story.observed("orders", table_id="t", version=3)
    (run,) = story.plan().runs
    story.succeed("log", story.claim(run), watermarks={"orders": str(TablePosition("t", 3))})
    train = story.project.assets["train"]
    what = TableFinding(kind, f"its table is {kind}", EVERYTHING, *(("t", 9, "m") if kind == "restored" else ()))
    story.add(build_target_entry(train, story.state.assets["train"], what))
    story.observed("orders", table_id="t", version=4)
    (run,) = story.plan().runs
    assert (low(run), run.request.rebuilds) == (None, True)
