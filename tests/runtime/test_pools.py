"""Drivers that keep within the places of a pool, and claim by priority."""

import threading

import pytest

from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import BackfillWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, days, project, source
from tests.runtime.fakes import World, dying


def world(*, places=2, count=5, **more):
    assets = [asset(f"a{number}", "s", by=None, pool="api", retries=0) for number in range(count)]
    return World(
        project(source("s", by=None), *assets, pools={"api": places}, max_parallel_runs=4, **more), MemoryStore()
    )


@pytest.mark.parametrize("places", [1, 2, 9])
def test_never_more_runs_at_once_than_a_pool_has_places(places):
    w, lock, running, most = world(places=places), threading.Lock(), [0], [0]

    def enter(_):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])

    def leave(_):
        with lock:
            running[0] -= 1

    for name in w.project.assets:
        w.engine.hooks[name, "compute"] = enter
        w.engine.hooks[name, "write"] = leave
    w.tell("s")
    summary = w.driver().run_works([DueWork()])
    assert (len(summary.runs), summary.ok) == (5, True)
    assert most[0] <= places


def test_another_driver_that_holds_the_places_is_named():
    w = world(places=1, count=2)
    w.tell("s")
    dying(w, "compute", "a0")
    w.alive = True
    summary = w.driver().run_works([DueWork()])
    assert summary.runs == ()
    assert {each.asset: each.reason for each in summary.waiting if "pool" in each.reason} == {
        "a1": "waits for the pool 'api' of 1, which runs of a0 hold"
    }
    w.alive = False
    assert {run.asset for run in w.driver().run_works([DueWork()]).runs} == {"a0", "a1"}


def test_runs_of_a_higher_priority_are_claimed_first():
    priorities = {"low": -1, "usual": 0, "high": 5, "higher": 7}
    assets = [asset(name, "s", by=None, priority=priority) for name, priority in priorities.items()]
    w = World(project(source("s", by=None), *assets, max_parallel_runs=1), MemoryStore())
    w.tell("s")
    summary = w.driver().run_works([DueWork()])
    assert [run.asset for run in summary.runs] == ["higher", "high", "usual", "low"]


def test_a_driver_may_run_fewer_at_once_than_the_project_allows():
    w = World(project(source("s"), asset("a", "s", by="day"), max_parallel_runs=4), MemoryStore())
    w.tell("s", "2025-01-01..2025-01-03")
    driver = w.driver()
    driver.max_parallel = 1
    driver.__post_init__()
    assert driver.run_works([BackfillWork(w.project.assets["a"], days("2025-01-01..2025-01-03"))]).ok
