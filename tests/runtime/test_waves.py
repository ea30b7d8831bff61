"""Claims and records of many runs at once share commits to the journal."""

from collections import Counter

import pytest

from sparkassets.ports import EngineLostError, HistoryQuery
from sparkassets.runtime import active_runs
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World, raising

DUE = 200


class Counting(MemoryStore):
    """Counts the commits that hold an entry of a kind."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = Counter[str]()

    def append(self, rows, *, after):
        super().append(rows, after=after)
        self.commits.update({row.kind for row in rows})


def world(slots: int) -> World:
    assets = [asset(f"a{number}", "s", by=None) for number in range(DUE)]
    w = World(project(source("s", by=None), *assets, max_parallel_runs=slots), Counting())
    w.tell("s")
    return w


@pytest.mark.parametrize(("slots", "claims", "records"), [(50, 1, 1), (4, 13, 13)])
def test_two_hundred_runs_share_commits(monkeypatch, slots, claims, records):
    monkeypatch.setattr(active_runs, "GATHER_SECONDS", 30.0)  # those that run together end together, on any machine
    w = world(slots)
    summary = w.driver().run_works([DueWork()])
    assert (len(summary.runs), summary.ok) == (DUE, True)
    assert len(w.store.read_history(HistoryQuery(kinds=["claim"]))) == DUE
    assert (w.store.commits["claim"], w.store.commits["success"]) == (claims, records)


def test_once_the_driver_was_asked_to_stop_no_claimed_run_starts():
    w = world(slots=1)
    driver = w.driver()
    w.engine.hooks["a0", "written"] = lambda _: driver.stop()
    results = {result.asset: result.status for result in driver.run_works([DueWork()]).runs}
    assert results == {"a0": "success", **dict.fromkeys(("a1", "a2", "a3"), "cancelled")}
    assert not any(w.engine.data(f"a{number}") for number in (1, 2, 3))


def test_once_the_engine_is_lost_no_claimed_run_starts():
    w = world(slots=1)
    w.engine.hooks["a0", "compute"] = raising(EngineLostError("a0: Spark's JVM was killed by SIGKILL"))
    summary = w.driver().run_works([DueWork()])
    results = {result.asset: result.status for result in summary.runs}
    assert results == {"a0": "failed", **dict.fromkeys(("a1", "a2", "a3"), "cancelled")}
    assert summary.lost
    assert not any(w.engine.data(f"a{number}") for number in (1, 2, 3))
