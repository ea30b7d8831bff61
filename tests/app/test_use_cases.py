"""The use cases over ports alone: a project, its journal in memory, and no file, no Spark and no clock."""

from dataclasses import replace

import pytest

from sparkassets.app.announcing import Announcing
from sparkassets.app.backfilling import BackfillRequest
from sparkassets.app.driving import Driving
from sparkassets.app.history import History
from sparkassets.app.looking import Looking
from sparkassets.app.pausing import Pausing
from sparkassets.app.timing import Timing
from sparkassets.errors import InputError, SpecError
from sparkassets.runtime.progress import RunFailedError
from sparkassets.state.memory import MemoryStore
from tests.builders import asset, multi, project, source, timed
from tests.runtime.fakes import World


@pytest.fixture
def world():
    assets = source("s"), asset("a", "s", retries=0), asset("nightly", by=None, schedule=timed("0 6 * * *"))
    return World(project(*assets), MemoryStore())


@pytest.fixture
def use(world):
    """One use case, such as ``use(Looking)``."""
    return lambda kind, **changed: kind(world.project, replace(world.adapters(), **changed))


def test_a_look_records_nothing_and_a_run_does(world, use):
    world.tell("s", "2025-01-01..2025-01-03")
    (run,) = (run for run in use(Looking).plan().runs if run.asset == "a")
    assert run.partitions == ("2025-01-01..2025-01-03",)
    assert not world.store.exists()

    world.tell("s", "2025-01-01..2025-01-03")
    summary = use(Driving).run()
    assert [(each.asset, each.status) for each in summary.runs if each.asset == "a"] == [("a", "success")]
    assert use(Looking).partitions("a")[0] == ("2025-01-01", "current")
    assert [(record.asset, record.partitions) for record in use(History).runs(asset="a")] == [
        ("a", ("2025-01-01..2025-01-03",))
    ]


def test_runs_are_told_of_an_asset_that_is_not_in_the_project_any_more(world, use):
    world.project = project(source("s"), asset("a", "s"), *multi(asset("both", "s"), "one", "two"))
    world.tell("s", "2025-01-01..2025-01-03")
    use(Driving).run()
    world.project = project(source("s"))
    assert {record.asset for record in use(History).runs()} == {"a", "both"}
    assert [record.asset for record in use(History).runs(asset="a")] == ["a"]
    assert [record.asset for record in use(History).runs(asset="two")] == ["both"]
    with pytest.raises(InputError, match="no asset 'b' in project"):
        use(History).runs(asset="b")


def test_what_is_announced_is_told_and_makes_its_readers_due(world, use):
    told = use(Announcing).add_event("s", partition="2025-01-05", extra={"by": "ann"})
    assert (told["asset"], told["partitions"], told["extra"]) == ("s", ["2025-01-05"], {"by": "ann"})
    assert [event["asset"] for event in use(History).events(last=1)] == ["s"]
    assert [run.partitions for run in use(Looking).plan(select=["a"]).runs] == [("2025-01-05",)]


def test_what_is_paused_runs_no_more(use):
    use(Announcing).add_event("s", partition="2025-01-05")
    assert use(Pausing).pause("a") == ["a"]
    assert use(Looking).plan(select=["a"]).runs == ()
    assert use(Pausing).resume("a") == ["a"]
    assert len(use(Looking).plan(select=["a"]).runs) == 1


def test_a_backfill_takes_what_it_is_asked_for_and_an_impact_tells_what_follows(world, use):
    world.tell("s", "2025-01-01..2025-01-03")
    request = BackfillRequest("a", "2025-01-02")
    assert [run.partitions for run in use(Looking).plan_backfill(request).runs] == [("2025-01-02",)]
    use(Announcing).add_event("s", partition="2025-01-01..2025-01-03")
    (result,) = use(Driving).backfill(request).runs
    assert (result.kind, result.partitions) == ("backfill", ("2025-01-02",))
    assert use(Looking).impact(use(Looking).plan_backfill(BackfillRequest("a", "2025-01-01"))) == {}


def test_a_failure_is_raised_unless_the_caller_looks_itself(world, use):
    def broken(order):
        raise ValueError("no such day")

    world.engine.hooks["a", "compute"] = broken
    use(Announcing).add_event("s", partition="2025-01-05")
    with pytest.raises(RunFailedError, match="a 2025-01-05 failed: no such day"):
        use(Driving).run(select=["a"])
    assert not use(Driving).run(select=["a"], check=False).ok


def test_a_project_that_would_write_where_something_else_is_does_not_run(world, use):
    def refused():
        raise SpecError([])

    with pytest.raises(SpecError):
        use(Driving, check_storage=refused).run()
    assert not world.store.exists()


def test_what_time_alone_tells_needs_no_journal(use):
    (preview,) = use(Timing).preview("nightly", count=1)
    assert [slot.run_after.isoformat() for slot in preview.slots] == ["2025-02-01T06:00:00+00:00"]
    assert use(Timing).align("nightly", "@daily").case == 2
    with pytest.raises(InputError, match="asset 'a' has no timetable"):
        use(Timing).align("a", "@daily")


def test_a_session_is_closed_once_and_only_where_one_was_opened(world, use):
    with use(Driving) as idle:
        idle.run(select=["a"])
    assert world.engine.closed == 0
    use(Announcing).add_event("s", partition="2025-01-05")
    with use(Driving) as busy:
        busy.run(select=["a"])
        busy.run(select=["a"])
    assert (world.engine.started, world.engine.closed) == (1, 1)
