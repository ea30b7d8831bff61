"""Events that a run announces: recorded with its success, once, whoever records it."""

from sparkassets.core.journal.announcements import encode_announcement, parse_announcement
from sparkassets.errors import RunError
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
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
            encode_announcement(parse_announcement(PROJECT, "side", partition="2025-01-05", extra={"n": 1})),
            encode_announcement(parse_announcement(PROJECT, "x-other://thing")),
        ],
    }
    return w


def test_they_stand_beside_the_success_and_trigger_what_listens():
    w = world()
    w.tell("s", "2025-01-01")
    assert sorted(run.asset for run in w.driver().run_works([DueWork()]).runs) == ["a", "b", "w"]
    success, *_ = w.store.read_history(HistoryQuery(kinds=["success"]))
    side, other = w.store.read_history(HistoryQuery(kinds=["event"]))
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
    assert w.store.read_history(HistoryQuery(kinds=["event"])) == []
    summary = w.driver().run_works([DueWork()])
    assert summary.runs[0].adopted is not None
    success, *_ = w.store.read_history(HistoryQuery(kinds=["success"]))
    assert [row.run for row in w.store.read_history(HistoryQuery(kinds=["event"]))] == [success.run] * 2
    assert w.driver().run_works([DueWork()]).runs == ()
    assert len(w.store.read_history(HistoryQuery(kinds=["event"]))) == 2


def test_a_run_that_fails_announces_nothing():
    w = world()
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "write"] = raising(RunError("no disk"))
    (failed,) = w.driver().run_works([DueWork()]).runs
    assert failed.status == "failed"
    assert w.store.read_history(HistoryQuery(kinds=["event"])) == []
