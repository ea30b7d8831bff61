"""A driver that dies at any moment of a run: the next one loses and doubles nothing (docs/design/run-protocol.md)."""

import threading
from itertools import pairwise

import pytest

from sparkassets.core.journal.codec import from_row
from sparkassets.errors import RunError
from sparkassets.ports import HistoryQuery
from sparkassets.runtime import attempt_threads
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import FakeEngine, World, dying


class Killed(BaseException):
    """What happens to a process: nothing after it runs."""


def world(**more) -> World:
    return World(project(source("s"), asset("a", "s", retries=0, **more)), MemoryStore())


@pytest.mark.parametrize("moment", ["compute", "write", "written"])
@pytest.mark.parametrize("exists", [False, True])
def test_the_next_driver_settles_a_run_that_died(moment, exists):
    w = world()
    if exists:
        w.tell("s", "2025-01-01")
        w.driver().run_works([DueWork()])
    w.tell("s", "2025-01-02")
    dying(w, moment)
    committed = len(w.engine.data("a"))
    summary = w.driver().run_works([DueWork()])
    assert summary.ok
    data = w.engine.data("a")
    assert [str(commit.order.partitions) for commit in data].count(str(data[-1].order.partitions)) == 1
    assert len(data) == 1 + exists
    assert (summary.runs[0].adopted is not None) == (moment == "written")
    assert committed == exists + (moment == "written")
    recorded = [row.run for row in w.store.read_history(HistoryQuery(kinds=["success"]))]
    assert recorded == [commit.stamp.run for commit in data]
    assert w.driver().run_works([DueWork()]).runs == ()


def test_a_zombie_that_writes_after_its_lease_is_skipped():
    w = world()
    go, tried = threading.Event(), threading.Event()

    def late(order):
        go.wait(10)

    zombie = FakeEngine(w.engine.tables)
    zombie.hooks["a", "write"] = late
    zombie.hooks["a", "written"] = lambda _: tried.set()
    w.tell("s", "2025-01-01")
    driver = w.driver(engine=zombie)
    reached = threading.Event()
    zombie.hooks["a", "compute"] = lambda _: reached.set()
    threading.Thread(target=driver.run_works, args=([DueWork()],), daemon=True).start()
    assert reached.wait(10)
    while not w.store.read_history(HistoryQuery(kinds=["claim"])):
        pass
    assert w.driver().run_works([DueWork()]).ok
    go.set()
    assert tried.wait(10)
    assert len(w.engine.data("a")) == 1
    assert [row.kind for row in w.store.read_history(HistoryQuery(asset="a"))].count("success") == 1


def test_a_live_driver_on_this_host_keeps_its_claim():
    w = world()
    w.alive = True
    w.tell("s", "2025-01-01")
    dying(w, "compute")
    summary = w.driver().run_works([DueWork()])
    assert summary.runs == ()
    assert summary.waiting[0].reason.startswith("running: a-1 since ")


def test_a_claim_of_another_host_is_waited_for_until_its_lease_is_over():
    w = world(lease_seconds=60)
    w.tell("s", "2025-01-01")
    dying(w, "compute")

    class Running(type(w.clock)):
        def monotonic(self):
            self.seconds += 15
            return self.seconds

    w.clock = Running()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Event, "wait", lambda self, timeout=None: True)
        summary = w.driver(host="elsewhere").run_works([DueWork()])
    assert [result.asset for result in summary.runs] == ["a"]


def test_the_lease_of_a_long_run_is_renewed_while_the_driver_claims_others():
    chain = [asset(after, before, retries=0) for before, after in pairwise("sbcdef")]
    long = asset("a", "s", retries=0, lease_seconds=60)
    w = World(project(source("s"), long, *chain, max_parallel_runs=2), MemoryStore())
    w.tell("s", "2025-01-01")
    last_began = threading.Event()

    def pass_time(_):
        w.clock.seconds += 15

    for each in chain:
        w.engine.hooks[each.name, "compute"] = pass_time
    w.engine.hooks["a", "compute"] = lambda _: last_began.wait(10)
    w.engine.hooks["f", "write"] = lambda _: last_began.set()
    assert w.driver().run_works([DueWork()]).ok
    claims = {row.asset: row.seq for row in w.store.read_history(HistoryQuery(kinds=["claim"]))}
    renewed = [from_row(row).entry for row in w.store.read_history(HistoryQuery(kinds=["renew"]))]
    assert ("a", claims["a"]) in [claim for entry in renewed for claim in entry.claims]


def test_two_runs_of_a_chain_that_never_landed_are_settled_by_one():
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, "compute")
    dying(w, "fence")
    summary = w.driver().run_works([DueWork()])
    assert summary.ok
    assert len(w.engine.data("a")) == 1
    assert summary.runs[0].reason.startswith("takes over a-1 and a-2, which never ended")


def test_the_reason_names_a_few_of_many_runs_that_never_ended():
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, "compute")
    for _ in range(4):
        dying(w, "fence")
    (run,) = w.driver().run_works([DueWork()]).runs
    assert run.reason.startswith("takes over a-1, a-2, a-3 and 2 more, which never ended")


def test_a_history_that_cannot_tell_stops_and_asks_a_person():
    from sparkassets.ports import HistoryGoneError

    w = world()
    w.tell("s", "2025-01-01")
    dying(w, "write")

    def gone(_):
        raise HistoryGoneError("a: its history was vacuumed")

    w.engine.hooks["a", "committed"] = gone
    summary = w.driver().run_works([DueWork()])
    assert [result.status for result in summary.runs] == ["failed"]
    assert w.engine.data("a") == []
    assert w.store.read_history(HistoryQuery(asset="a"))[-1].kind == "unfenced"


def test_a_dead_run_with_nothing_left_to_do_is_closed():
    w = world()
    w.tell("s", "2025-01-01")

    def broken(order):
        raise RunError("never")

    w.engine.hooks["a", "compute"] = broken
    w.driver().run_works([DueWork()])
    assert w.store.read_history(HistoryQuery(asset="a"))[-1].kind == "failure"
    del w.engine.hooks["a", "compute"]
    assert w.driver().run_works([DueWork()]).ok


def left_without_a_table() -> World:
    """Its first run died before it wrote, so the next claim creates the table with a fence."""
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, "compute")
    return w


def test_computing_the_columns_of_a_missing_table_ends_by_the_timeout_of_the_run(monkeypatch):
    monkeypatch.setattr(attempt_threads, "GRACE_SECONDS", 0.05)
    w, done = left_without_a_table(), threading.Event()
    patient, w.project = w.project, world(timeout_seconds=0.05).project  # the dead driver's run never ends
    w.engine.hooks["a", "compute"] = lambda _: done.wait(10)
    (result,) = w.driver().run_works([DueWork()]).runs
    done.set()
    assert (result.status, result.error) == ("failed", "a: no result within its timeout of 0.05 s")
    assert w.store.read_history(HistoryQuery(asset="a"))[-1].kind == "unfenced"
    w.engine.hooks.clear()
    w.project = patient
    assert w.driver().run_works([DueWork()]).ok
    assert len(w.engine.data("a")) == 1


def test_what_is_computed_for_the_columns_of_a_missing_table_is_released(monkeypatch):
    w, computed = left_without_a_table(), []
    compute = w.engine.compute
    monkeypatch.setattr(
        w.engine, "compute", lambda order, *, attempt: computed.append(compute(order, attempt=attempt)) or computed[-1]
    )
    assert w.driver().run_works([DueWork()]).ok
    assert [each.released for each in computed] == [True, True]
