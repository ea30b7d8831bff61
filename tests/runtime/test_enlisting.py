"""Processes that commit besides the driver are named by the claim before they do, and only then outlive it."""

import threading
from contextlib import suppress

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import RenewEntry
from sparkassets.ports import HistoryQuery
from sparkassets.runtime import attempt_threads
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import FakeEngine, World, dying, raising_once, ticking

DRIVER, JVM = (101, 0.0), (2, 0.0)  # the first driver of a world, and what commits for it


def world(*, commits: bool, **more) -> World:
    """The asset ``a`` has something to do, by an engine that commits by itself or does not."""
    w = World(project(source("s"), asset("a", "s", **{"retries": 0, **more})), MemoryStore())
    w.engine.commits = commits
    w.tell("s", "2025-01-01")
    return w


def claimed(w: World):
    """The newest claim that is not settled."""
    driver = w.driver()
    driver.ledger.open()
    return driver.ledger.state.assets["a"].chain[-1]


def entries(w: World) -> list:
    return [row.kind for row in w.store.read_history() if row.kind not in ("spec", "observed")]


def test_a_claim_names_the_driver_alone_where_it_commits():
    w = world(commits=False)
    dying(w, "write", commits=w.engine.commits)
    assert claimed(w).entry.processes == (DRIVER,)
    assert entries(w) == ["claim"]


def test_it_names_what_else_commits_before_that_does():
    w = world(commits=True)
    dying(w, "compute", commits=w.engine.commits)
    assert claimed(w).entry.processes == (DRIVER,)
    w = world(commits=True)
    dying(w, "write", commits=w.engine.commits)
    assert w.engine.tables == {}
    assert claimed(w).entry.processes == (DRIVER, JVM)
    renewal = [from_row(row).entry for row in w.store.read_history(HistoryQuery(kinds=["renew"]))]
    assert renewal == [RenewEntry((("a", claimed(w).token),), (JVM,))]
    assert claimed(w).renewed_seq > claimed(w).token


def test_it_names_it_once():
    w = world(commits=True, retries=1, retry_delay_seconds=0)
    w.engine.hooks["a", "write"] = raising_once(OSError("gone for a moment"))
    assert w.driver().run_works([DueWork()]).ok
    assert entries(w) == ["claim", "renew", "success"]


def test_a_run_whose_claim_was_taken_over_enlists_nobody_and_commits_nothing():
    w = world(commits=True)
    reached, go_on = threading.Event(), threading.Event()

    def wait(order):
        reached.set()
        assert go_on.wait(10)

    slow = FakeEngine(w.engine.tables)
    slow.commits = True
    slow.hooks["a", "compute"] = wait
    first = ticking(w.driver(engine=slow))
    assert reached.wait(10)
    assert w.driver().run_works([DueWork()]).ok
    go_on.set()
    first.join(10)
    assert not first.is_alive()
    assert [commit.stamp.kind for commit in w.engine.tables["a"]] == ["fence", "data"]
    assert entries(w) == ["claim", "claim", "renew", "success"]


def test_a_run_that_was_left_behind_is_refused_once_its_driver_has_ended(monkeypatch):
    monkeypatch.setattr(attempt_threads, "GRACE_SECONDS", 0.05)
    w, ended = world(commits=True, timeout_seconds=0.05), threading.Event()

    class Staged(dict):
        """Staging takes until the driver has ended."""

        def setdefault(self, *given):
            assert ended.wait(10)
            return super().setdefault(*given)

    w.engine.staged = Staged()
    before = threading.enumerate()
    (result,) = w.driver().run_works([DueWork()]).runs
    (left,) = (each for each in threading.enumerate() if each.name == f"{result.run}-1" and each not in before)
    ended.set()
    left.join(10)
    assert not left.is_alive()
    assert w.engine.data("a") == []


def test_whoever_takes_over_waits_for_processes_that_were_enlisted_alone():
    for commits in (False, True):
        w = world(commits=commits)
        dying(w, "write", commits=w.engine.commits)
        driver = w.driver()
        driver.ledger.open()
        alive = LeaseMonitor(host="h", process=(3, 0.0), alive=lambda processes: JVM in processes, clock=w.clock)
        assert bool(alive.expired_claims(driver.ledger.state, mine=frozenset())) == (not commits)
        dead = LeaseMonitor(host="h", process=(3, 0.0), alive=lambda _: False, clock=w.clock)
        assert dead.expired_claims(driver.ledger.state, mine=frozenset())


def test_a_state_that_is_gone_when_a_process_is_enlisted_ends_the_driver_and_commits_nothing():
    w = world(commits=True)
    append = w.store.append

    def gone(rows, *, after):
        if rows[0].kind == "renew":
            raise OSError("the disk is gone")
        append(rows, after=after)

    w.store.append = gone
    with suppress(OSError):
        w.driver().run_works([DueWork()])
    assert w.engine.tables == {}
