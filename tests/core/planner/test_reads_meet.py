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


def story(read, write, **more):
    """An asset that has read its inlet up to 7, and version 3."""
    told = Story(project(source("orders", by=None), reader(read, write, **more)))
    told.observed("orders", table_id="t", version=3)
    (run,) = told.plan().runs
    told.succeed("log", told.claim(run), watermarks={"orders": high(read, 3)})
    return told


def high(read, version):
    return str(version + 4) if isinstance(read, ReadAfter) else str(TablePosition("t", version))


def backfill(told, **more):
    (run,) = plan_backfill_unpartitioned(told.context(), told.project.assets["log"], None, **more).runs
    return run


def low(run):
    return run.request.pins["orders"].low


def test_what_a_backfill_appended_is_not_appended_again():
    told = story(ReadAfter("id"), AppendWrite())
    told.observed("orders", table_id="t", version=4)
    run = backfill(told)
    assert low(run) == "7"
    told.succeed("log", told.claim(run), watermarks={"orders": "8"})
    (next_one,) = told.plan().runs
    assert low(next_one) == "8"


def test_what_a_backfill_merged_moves_nothing():
    told = story(ReadAfter("id"), UPSERT)
    told.observed("orders", table_id="t", version=4)
    told.succeed("log", told.claim(backfill(told)), watermarks={"orders": "8"})
    (next_one,) = told.plan().runs
    assert low(next_one) == "7"


@pytest.mark.parametrize("read", [ReadAfter("id"), ReadChanges()])
def test_what_runs_by_hand_alone_goes_on_from_where_it_was(read):
    told = Story(project(source("orders", by=None), reader(read, AppendWrite(), schedule=Schedule())))
    told.observed("orders", table_id="t", version=3)
    run = backfill(told)
    assert low(run) is None
    told.succeed("log", told.claim(run), watermarks={"orders": high(read, 3)})
    told.observed("orders", table_id="t", version=4)
    run = backfill(told)
    assert low(run) == high(read, 3)
    told.succeed("log", told.claim(run), watermarks={"orders": high(read, 4)})
    assert low(backfill(told)) == high(read, 4)


def test_where_a_person_goes_on_with_what_is_there_no_change_is_passed_over():
    told = story(ReadChanges(), AppendWrite())
    log = told.project.assets["log"]
    told.add(
        build_target_entry(
            log, told.state.assets["log"], TableFinding("replaced", "the table was replaced by another", EVERYTHING)
        )
    )
    told.observed("orders", table_id="t", version=4)
    run = backfill(told)
    told.succeed("log", told.claim(run), watermarks={"orders": str(TablePosition("t", 4))})
    (next_one,) = told.plan().runs
    assert low(next_one) == str(TablePosition("t", 3))


def test_what_is_read_anew_beyond_its_position_takes_the_place_of_all():
    """What was deleted since the position is told by nothing else."""
    told = story(ReadChanges(), UPSERT)
    told.observed("orders", table_id="t", version=4)
    told.add(
        mark_asset(told.context(), MarkRequest(told.project.assets["log"], EVERYTHING, "missing", "restated", "ann"))
    )
    (run,) = told.plan().runs
    assert (low(run), run.request.rebuilds) == (None, True)
    assert run.reason == "orders updated, marked as missing by ann: restated, reads all of orders (version 4)"


def test_a_position_is_no_highest_value_of_a_column():
    told = story(ReadChanges(), AppendWrite())
    told.change(source("orders", by=None), reader(ReadAfter("id"), AppendWrite()))
    told.observed("orders", table_id="t", version=4)
    assert told.plan().runs == ()
    (reason,) = told.waits("log")
    assert reason == (
        "the new rows of orders are unknown: it was read by its changes before, and is now read above the highest "
        "id; read it by its changes again, or drop the table of log to start over"
    )
    with pytest.raises(InputError, match="log: the new rows of orders are unknown"):
        backfill(told)


def test_what_was_read_by_its_changes_is_read_anew_above_a_column_where_that_doubles_nothing():
    told = story(ReadChanges(), UPSERT)
    told.change(source("orders", by=None), reader(ReadAfter("id"), UPSERT))
    told.observed("orders", table_id="t", version=4)
    (run,) = told.plan().runs
    assert (low(run), run.request.rebuilds) == (None, True)


@pytest.mark.parametrize("kind", ["restored", "gone"])
def test_what_an_outlet_lost_is_made_anew_of_what_is_read_by_its_changes(kind):
    told = Story(project(source("orders", by=None), *multi(reader(ReadChanges(), UPSERT), "train", "test")))
    told.observed("orders", table_id="t", version=3)
    (run,) = told.plan().runs
    told.succeed("log", told.claim(run), watermarks={"orders": str(TablePosition("t", 3))})
    train = told.project.assets["train"]
    what = TableFinding(kind, f"its table is {kind}", EVERYTHING, *(("t", 9, "m") if kind == "restored" else ()))
    told.add(build_target_entry(train, told.state.assets["train"], what))
    told.observed("orders", table_id="t", version=4)
    (run,) = told.plan().runs
    assert (low(run), run.request.rebuilds) == (None, True)
