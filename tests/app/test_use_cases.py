"""The use cases over ports alone: a project, its journal in memory, and no file, no Spark and no clock."""

import pytest

from sparkassets.app.backfills import BackfillRequest
from sparkassets.errors import InputError, SpecError
from sparkassets.runtime.progress import RunFailedError
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, multi, project, source, timed
from tests.runtime.fakes import World


@pytest.fixture
def world():
    assets = source("s"), asset("a", "s", retries=0), asset("nightly", by=None, schedule=timed("0 6 * * *"))
    return World(project(*assets), MemoryStore())


@pytest.fixture
def use(world):
    """Opens the project again, as another process would."""
    return world.opened


def test_a_look_records_nothing_and_a_run_does(world, use):
    world.tell("s", "2025-01-01..2025-01-03")
    (run,) = (run for run in use().plan().runs if run.asset == "a")
    assert run.partition_keys == ("2025-01-01..2025-01-03",)
    assert not world.store.exists()

    world.tell("s", "2025-01-01..2025-01-03")
    summary = use().run()
    assert [(each.asset, each.status) for each in summary.runs if each.asset == "a"] == [("a", "success")]
    assert use().partitions.statuses("a")[0] == ("2025-01-01", "current")
    assert [(record.asset, record.partition_keys) for record in use().history.runs(asset="a")] == [
        ("a", ("2025-01-01..2025-01-03",))
    ]


def test_runs_are_told_of_an_asset_that_is_not_in_the_project_any_more(world, use):
    world.project = project(source("s"), asset("a", "s"), *multi(asset("both", "s"), "one", "two"))
    world.tell("s", "2025-01-01..2025-01-03")
    use().run()
    world.project = project(source("s"))
    assert {record.asset for record in use().history.runs()} == {"a", "both"}
    assert [record.asset for record in use().history.runs(asset="a")] == ["a"]
    assert [record.asset for record in use().history.runs(asset="two")] == ["both"]
    with pytest.raises(InputError, match="no asset 'b' in project"):
        use().history.runs(asset="b")


def test_what_is_announced_is_told_and_makes_its_readers_due(world, use):
    told = use().events.add("s", partition="2025-01-05", extra={"by": "ann"})
    assert (told["asset"], told["partitions"], told["extra"]) == ("s", ["2025-01-05"], {"by": "ann"})
    assert [event["asset"] for event in use().history.events(last=1)] == ["s"]
    assert [run.partition_keys for run in use().plan(select=["a"]).runs] == [("2025-01-05",)]


def test_what_is_paused_runs_no_more(use):
    use().events.add("s", partition="2025-01-05")
    assert use().assets.pause("a") == ["a"]
    assert use().plan(select=["a"]).runs == ()
    assert use().assets.resume("a") == ["a"]
    assert len(use().plan(select=["a"]).runs) == 1


def test_a_backfill_takes_what_it_is_asked_for_and_an_impact_tells_what_follows(world, use):
    world.tell("s", "2025-01-01..2025-01-03")
    request = BackfillRequest("a", "2025-01-02")
    assert [run.partition_keys for run in use().backfills.plan(request).runs] == [("2025-01-02",)]
    use().events.add("s", partition="2025-01-01..2025-01-03")
    (result,) = use().backfills.run(request).runs
    assert (result.kind, result.partition_keys) == ("backfill", ("2025-01-02",))
    assert use().backfills.downstream(use().backfills.plan(BackfillRequest("a", "2025-01-01"))) == {}


def test_a_failure_is_raised_unless_the_caller_looks_itself(world, use):
    def broken(order):
        raise ValueError("no such day")

    world.engine.hooks["a", "compute"] = broken
    use().events.add("s", partition="2025-01-05")
    with pytest.raises(RunFailedError, match="a 2025-01-05 failed: no such day"):
        use().run(select=["a"])
    assert not use().run(select=["a"], check=False).ok


def test_a_project_that_would_write_where_something_else_is_does_not_run(world, use):
    def refused():
        raise SpecError([])

    with pytest.raises(SpecError):
        use(check_storage=refused).run()
    assert not world.store.exists()


def test_what_time_alone_tells_needs_no_journal(use):
    (preview,) = use().assets.preview("nightly", count=1)
    assert [slot.run_after.isoformat() for slot in preview.slots] == ["2025-02-01T06:00:00+00:00"]
    assert use().assets.align("nightly", "@daily").case == 2
    with pytest.raises(InputError, match="asset 'a' has no timetable"):
        use().assets.align("a", "@daily")


def test_a_session_is_closed_once_and_only_where_one_was_opened(world, use):
    with use() as idle:
        idle.run(select=["a"])
    assert world.engine.closed == 0
    use().events.add("s", partition="2025-01-05")
    with use() as busy:
        busy.run(select=["a"])
        busy.run(select=["a"])
    assert (world.engine.started, world.engine.closed) == (1, 1)
