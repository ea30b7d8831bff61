"""Events that a run announces: recorded with its success, once, whoever records it."""

from sparkassets.core.journal.announce import announced, told_of
from sparkassets.errors import RunError
from sparkassets.runtime.work import Tick
from sparkassets.state.memory import MemoryStore
from tests.builders import asset, days, project, source
from tests.runtime.fakes import World, dying, raising

PROJECT = project(
    source("s"), source("side"), asset("a", "s", retries=0), asset("b", "side"), asset("w", by=None, schedule="side")
)


def world():
    w = World(PROJECT, MemoryStore())
    w.engine.measures["a"] = {
        "extra": {"note": "ok"},
        "events": [
            told_of(announced(PROJECT, "side", partition="2025-01-05", extra={"n": 1})),
            told_of(announced(PROJECT, "x-other://thing")),
        ],
    }
    return w


def test_they_stand_beside_the_success_and_trigger_what_listens():
    w = world()
    w.tell("s", "2025-01-01")
    assert sorted(run.asset for run in w.driver().run([Tick()]).runs) == ["a", "b", "w"]
    success, *_ = w.store.history(kinds=["success"])
    side, other = w.store.history(kinds=["event"])
    assert (side.seq, other.seq) == (success.seq + 1, success.seq + 2)
    assert (side.asset, side.uri, side.run, side.extra) == ("side", "x-side", success.run, '{"n": 1}')
    assert (side.starts, side.ends) == (days("2025-01-05").time.starts, days("2025-01-05").time.ends)
    assert (other.asset, other.uri) == (None, "x-other://thing")
    assert '"note": "ok"' in success.extra
    (order,) = [commit.order for commit in w.engine.data("b")]
    (event,) = order.events["side"]
    assert event["source_run"]["run_id"] == success.run
    assert event["source_run"]["data_interval_start"] is not None


def test_they_survive_the_driver_that_wrote_and_did_not_record():
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, "written")
    assert w.store.history(kinds=["event"]) == []
    summary = w.driver().run([Tick()])
    assert summary.runs[0].adopted is not None
    success, *_ = w.store.history(kinds=["success"])
    assert [row.run for row in w.store.history(kinds=["event"])] == [success.run] * 2
    assert w.driver().run([Tick()]).runs == ()
    assert len(w.store.history(kinds=["event"])) == 2


def test_a_run_that_fails_announces_nothing():
    w = world()
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "write"] = raising(RunError("no disk"))
    (failed,) = w.driver().run([Tick()]).runs
    assert failed.status == "failed"
    assert w.store.history(kinds=["event"]) == []
