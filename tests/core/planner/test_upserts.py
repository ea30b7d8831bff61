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


def story(read, write=UPSERT):
    """An asset that has read its inlet up to 7, and version 3."""
    inlet = InletSpec("orders", "", None, read=read)
    log = asset("log", inlet, by=None, strategy=LatestOnly(), write=write)
    told = Story(project(source("orders", by=None), log))
    told.observed("orders", table_id="t", version=3)
    high = "7" if isinstance(read, ReadAfter) else str(TablePosition("t", 3))
    (run,) = told.plan().runs
    told.succeed("log", told.claim(run), watermarks={"orders": high})
    return told, told.project.assets["log"]


def planned(it, **more):
    (run,) = it.plan(**more).runs
    return run.request.pins["orders"].low, run.request.rebuilds


@pytest.mark.parametrize("read", [ReadAfter("id"), ReadChanges()])
def test_the_next_run_goes_on_and_a_backfill_reads_all(read):
    told, log = story(read)
    told.observed("orders", table_id="t", version=4)
    low, rebuilds = planned(told)
    assert low is not None
    assert not rebuilds
    for rebuild in (False, True):
        (run,) = plan_backfill_unpartitioned(told.context(), log, None, rebuilds=rebuild).runs
        assert (run.request.pins["orders"].low, run.request.rebuilds) == (None, rebuild)
        assert run.reason.startswith("rebuild" if rebuild else "backfill")


@pytest.mark.parametrize("read", [ReadAfter("id"), ReadChanges()])
def test_what_is_marked_as_missing_is_read_from_the_beginning(read):
    told, log = story(read)
    entry = mark_asset(told.context(), MarkRequest(log, EVERYTHING, "missing", "the source was restated", "ann"))
    assert entry is not None
    told.add(entry)
    assert planned(told) == (None, False)


def test_what_is_appended_is_never_read_again():
    told, log = story(ReadAfter("id"), AppendWrite())
    (run,) = plan_backfill_unpartitioned(told.context(), log, None).runs
    assert run.request.pins["orders"].low == "7"


def test_where_changes_are_not_told_any_more_the_rows_take_the_place_of_all():
    told, _ = story(ReadChanges())
    told.observed("orders", table_id="t", version=9)
    lost = ChangeAvailability("lost", "its log no longer has version 4")
    assert planned(told, check_availability=lambda *_: lost) == (None, True)


def test_a_table_that_lost_its_position_is_made_anew():
    told, log = story(ReadChanges())
    told.observed("orders", table_id="t", version=4)
    found = TableFinding("restored", "restored to version 1", EVERYTHING, "t", 1, "m")
    told.add(TargetEntry("log", log.uri, found))
    assert planned(told) == (None, True)


def test_a_killed_backfill_is_completed_from_the_beginning():
    told, log = story(ReadAfter("id"))
    (run,) = plan_backfill_unpartitioned(told.context(), log, None).runs
    claim = told.claim(run)
    assert planned(told, gone_claims=frozenset({claim})) == (None, False)


def test_runs_of_partitions_are_one_at_a_time():
    days = source("orders")
    daily = asset("daily", "orders", strategy=EveryInstance(), write=UPSERT)
    told = Story(project(days, daily))
    told.observed("orders", "2025-01-01", "2025-01-02", "2025-01-03")
    told.succeed("daily", told.claim(told.plan().runs[0]))
    assert len(told.plan().runs) == 1
    assert any("one at a time, because each upsert" in each.reason for each in told.plan().waiting)
