"""`read: changes` in the plan: from the version read last to the pinned one, all of it first, again or not at all."""

import pytest

from sparkassets.core.documents.status import status_document
from sparkassets.core.instants import from_unix
from sparkassets.core.journal.codec import decode, encode, from_row, to_row
from sparkassets.core.journal.entries import NumberedEntry
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.batch.backfill import plan_backfill_unpartitioned
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.partition_marks import MarkRequest, mark_asset
from sparkassets.core.planner.explain.status import asset_status
from sparkassets.core.runs import ChangeAvailability, TablePosition
from sparkassets.core.spec.model import InletSpec, ReadAfter, ReadChanges
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite, ReplaceWrite
from sparkassets.errors import InputError
from tests.builders import Story, asset, project, source

LOST = ChangeAvailability("lost", "its log no longer has version 3")


def consumer(write=None, read=None, **more):
    inlet = InletSpec("orders", "", None, read=read or ReadChanges(), **more)
    return asset("log", inlet, by=None, strategy=LatestOnly(), write=write or AppendWrite())


def make_story(write=None, read=None):
    return Story(project(source("orders", by=None), consumer(write, read)))


def updated(story, version, table="t"):
    story.observed("orders", table_id=table, version=version)


def planned(it, **more):
    (run,) = it.plan(**more).runs
    return run.request.pins["orders"].low, run.request.pins["orders"].version, run.reason


def succeed(it, **more):
    """The run that is due now, which reads up to its pin."""
    (run,) = it.plan(**more).runs
    pin = run.request.pins["orders"]
    it.succeed("log", it.claim(run), watermarks={"orders": str(TablePosition(pin.table_id, pin.version))})


def test_the_first_run_reads_all_and_each_next_one_what_came_since():
    story = make_story()
    updated(story, 3)
    assert planned(story) == (None, 3, "orders updated, reads all of orders first (version 3)")
    succeed(story)
    assert story.plan().runs == ()
    updated(story, 4)
    low = "version 3 of table t"
    assert planned(story) == (low, 4, "orders updated, reads the changes of orders in version 4")
    updated(story, 7)
    assert planned(story) == (low, 7, "orders updated, reads the changes of orders in versions 4..7")
    succeed(story)
    assert story.plan().runs == ()


def test_an_event_without_a_version_reads_nothing_new():
    story = make_story()
    updated(story, 3)
    succeed(story)
    story.event("x-orders")
    assert planned(story) == (
        "version 3 of table t",
        3,
        "orders updated, orders has no changes after version 3",
    )


def test_a_failure_and_a_backfill_move_nothing():
    story = make_story(ReplaceWrite())
    updated(story, 3)
    succeed(story)
    updated(story, 4)
    story.fail("log", story.claim(story.plan().runs[0]))
    assert planned(story, invocation="j")[:2] == ("version 3 of table t", 4)


ANEW = [
    ({"table": "u", "version": 1}, ChangeAvailability(), "the table was replaced by another"),
    ({"version": 2}, ChangeAvailability(), "its table went back from version 3 to 2"),
    ({"version": 9}, LOST, "its log no longer has version 3"),
]


@pytest.mark.parametrize(("update", "changes", "reason"), ANEW)
def test_what_is_not_told_is_read_anew_where_that_doubles_nothing(update, changes, reason):
    story = make_story(ReplaceWrite())
    updated(story, 3)
    succeed(story)
    updated(story, **update)
    version = update["version"]
    low, pinned, said = planned(story, check_availability=lambda *_: changes)
    assert (low, pinned, said) == (
        None,
        version,
        f"orders updated, reads all of orders again (version {version}): {reason}",
    )
    succeed(story, check_availability=lambda *_: changes)
    assert story.plan(check_availability=lambda *_: changes).runs == ()


@pytest.mark.parametrize(("update", "changes", "reason"), ANEW)
def test_what_is_not_told_is_refused_where_rows_would_be_twice(update, changes, reason):
    story = make_story()
    updated(story, 3)
    succeed(story)
    updated(story, **update)
    assert story.plan(check_availability=lambda *_: changes).runs == ()
    (said,) = story.waits("log", check_availability=lambda *_: changes)
    assert said == (
        f"the changes of orders are not available: {reason}; `sparkassets mark log --done --reason …` continues at "
        f"version {update['version']}"
    )


def test_without_a_feed_the_plan_says_how_to_turn_it_on():
    story = make_story(ReplaceWrite())
    updated(story, 3)
    succeed(story)
    updated(story, 4)
    untold = ChangeAvailability("unrecorded", "version 4 (UPDATE) changed or removed rows")
    (reason,) = story.waits("log", check_availability=lambda *_: untold)
    assert reason == (
        "the changes of orders are not available: version 4 (UPDATE) changed or removed rows, and it has no change "
        "feed; enable it for later changes by ALTER TABLE … SET TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    unread = ChangeAvailability("unreadable", "version 4 of the Delta table at '/data/orders' is damaged")
    assert story.waits("log", check_availability=lambda *_: unread) == [
        "the changes of orders are not available: version 4 of the Delta table at '/data/orders' is damaged"
    ]


def test_the_log_is_asked_for_what_came_since_only():
    story = make_story()
    updated(story, 3)
    succeed(story)
    updated(story, 6)
    asked = []
    story.plan(
        check_availability=lambda asset, since, version: (
            asked.append((asset.name, since, version)) or ChangeAvailability()
        )
    )
    assert set(asked) == {("orders", TablePosition("t", 3), 6)}


def test_a_run_that_never_ended_is_settled_whatever_is_told_now():
    """It may be in its table, and only a run that continues with it can tell."""
    story = make_story()
    updated(story, 3)
    succeed(story)
    updated(story, 4)
    claim = story.claim(story.plan().runs[0])
    updated(story, 1, table="u")
    (run,) = story.plan(gone_claims=[claim]).runs
    assert run.request.pins["orders"].low == "version 3 of table t"  # with which its reading is refused
    assert run.recovers


def test_what_was_read_above_a_column_before_has_no_version():
    story = make_story(read=ReadAfter("id"))
    updated(story, 3)
    (run,) = story.plan().runs
    story.succeed("log", story.claim(run), watermarks={"orders": "41"})
    story.change(source("orders", by=None), consumer())
    updated(story, 4)
    (reason,) = story.waits("log")
    assert reason.startswith("the changes of orders are not available: it was read above the highest value of a column")


def test_who_marks_it_as_done_goes_on_from_what_is_there():
    story = make_story()
    updated(story, 3)
    succeed(story)
    updated(story, 1, table="u")
    assert story.plan().runs == ()
    entry = mark_asset(
        story.context(), MarkRequest(story.project.assets["log"], EVERYTHING, "done", "read by hand", "ann")
    )
    story.add(from_row(to_row(NumberedEntry(entry, 9, from_unix(0), "test"))).entry)
    assert story.plan().runs == ()
    assert story.waits("log")[0].startswith("up to date")
    updated(story, 2, table="u")
    assert planned(story)[:2] == ("version 1 of table u", 2)
    kept = decode(encode(story.state), journal_id="journal").assets["log"]
    assert kept.watermarks == {"orders": "version 1 of table u"}


def test_a_backfill_reads_all_where_that_doubles_nothing_and_moves_no_position():
    story = make_story(ReplaceWrite())
    updated(story, 3)
    succeed(story)
    updated(story, 4)
    log = story.project.assets["log"]
    (run,) = plan_backfill_unpartitioned(story.context(), log, None).runs
    assert (run.request.pins["orders"].low, run.request.pins["orders"].version) == (None, 4)
    story.succeed("log", story.claim(run), watermarks={"orders": "version 4 of table t"})
    assert story.state.assets["log"].watermarks == {"orders": "version 3 of table t"}
    assert planned(story)[:2] == ("version 3 of table t", 4)


def test_a_backfill_would_append_twice():
    story = make_story()
    updated(story, 3)
    succeed(story)
    updated(story, 4)
    with pytest.raises(InputError) as refused:
        plan_backfill_unpartitioned(story.context(), story.project.assets["log"], None)
    assert str(refused.value) == (
        "asset 'log' appends changes since its last run; a backfill would duplicate them\n  hint: `sparkassets "
        "run` appends new changes"
    )


def test_who_goes_on_with_a_table_that_lost_rows_appends_nothing_twice():
    """The backfill that a person asks for only says that what is there is right."""
    story = make_story()
    updated(story, 3)
    succeed(story)
    lost = TableFinding("changed", "rows were deleted", EVERYTHING, "t", 2, "m")
    story.add(TargetEntry("log", "log", lost, stuck=True, watermarks=story.state.assets["log"].watermarks))
    updated(story, 4)
    assert story.plan().runs == ()
    (run,) = plan_backfill_unpartitioned(story.context(), story.project.assets["log"], None).runs
    assert run.request.pins["orders"].low == "version 4 of table t"
    story.succeed("log", story.claim(run), watermarks={"orders": "version 4 of table t"})
    assert planned(story)[:2] == ("version 3 of table t", 4)


def reached(told):
    status = asset_status(told.context(), told.project.assets["log"])
    (mark,) = status.watermarks
    (document,) = status_document(status, told.project)["watermarks"]
    (inlet,) = (
        each
        for each in explain_asset(told.context(), told.project.assets["log"]).children
        if each.text.startswith("inlet ")
    )
    assert mark.text in [each.text for each in inlet.children]
    return mark.text, document


def test_status_and_explain_tell_how_far_the_changes_were_read():
    story = make_story()
    assert reached(story) == (
        "nothing read yet",
        {"inlet": "orders", "version": None, "newest": None, "behind": None, "newest_at": None},
    )
    updated(story, 3)
    succeed(story)
    at = "2025-01-01T00:00:00Z"
    assert reached(story) == (
        "read up to version 3",
        {"inlet": "orders", "version": 3, "newest": 3, "behind": 0, "newest_at": at},
    )
    updated(story, 5)
    assert reached(story) == (
        "read up to version 3, 2 versions behind",
        {"inlet": "orders", "version": 3, "newest": 5, "behind": 2, "newest_at": at},
    )
    updated(story, 1, table="u")
    assert reached(story) == (
        "read up to version 3",
        {"inlet": "orders", "version": 3, "newest": 1, "behind": None, "newest_at": at},
    )


def test_status_and_explain_tell_how_far_a_column_was_read():
    story = make_story(read=ReadAfter("id"))
    updated(story, 3)
    story.succeed("log", story.claim(story.plan().runs[0]), watermarks={"orders": "41"})
    updated(story, 4)
    updated(story, 5)
    assert reached(story) == (
        "read up to id 41, 2 updates behind",
        {"inlet": "orders", "column": "id", "high": "41", "behind": 2, "newest_at": "2025-01-01T00:00:00Z"},
    )
