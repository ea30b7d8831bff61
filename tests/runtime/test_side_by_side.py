"""Instances of one asset side by side: 48 of a day, several drivers, and drivers that die in the middle."""

import threading
from collections import Counter

import pytest

from sparkassets.core.results import Summary
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite, ReplaceWrite
from sparkassets.errors import RunError
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import BackfillWork, RebuildWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.depth import deep
from tests.runtime.fakes import FakeEngine, World, raising

TWO = {"w": ("x", "y")}
DAY = "2025-01-01T00..2025-01-01T23,*"


def world(*, first=True, runs=4, **more) -> World:
    """The hours of a day of two warehouses; where ``first``, the table is there with another."""
    spec = {"by": "hour", "segments": TWO, "strategy": EveryInstance(), "write": AppendWrite(), "retries": 0, **more}
    w = World(
        project(source("s", by="hour", segments=TWO), asset("a", "s", **spec), max_parallel_runs=runs), MemoryStore()
    )
    if first:
        w.tell("s", "2024-12-31T23,x")
        assert w.driver().run_works([DueWork()]).ok
    return w


def computed(w: World) -> Counter[str]:
    """How often each partition is in the table."""
    partitioning = w.project.assets["a"].partitioning
    return Counter(label for commit in w.engine.data("a") for label in partitioning.labels(commit.order.partitions))


def once(w: World) -> bool:
    return len(computed(w)) == 49 and set(computed(w).values()) == {1}


def test_the_hours_of_a_day_of_two_warehouses_are_48_runs():
    w = world()
    w.tell("s", DAY)
    summary = w.driver().run_works([DueWork()])
    assert (len(summary.runs), summary.ok, once(w)) == (48, True, True)
    assert len({commit.stamp.app_id for commit in w.engine.data("a")}) <= 16
    claims = w.store.read_history(HistoryQuery(kinds=["claim"]))
    assert len(claims) == 49
    assert w.driver().run_works([DueWork()]).runs == ()


def test_as_many_run_at_once_as_may():
    w = world(runs=3)
    w.tell("s", DAY)
    meeting = threading.Barrier(3, timeout=10)
    w.engine.hooks["a", "compute"] = lambda _: meeting.wait()
    assert w.driver().run_works([DueWork()]).ok
    assert once(w)


def test_the_first_of_a_new_table_runs_alone():
    w = world(first=False)
    w.tell("s", DAY)
    running, most = [], []

    def computing(_):
        running.append(1)
        most.append((len(running), len(w.engine.data("a"))))

    w.engine.hooks["a", "compute"] = computing
    w.engine.hooks["a", "written"] = lambda _: running.pop()
    assert w.driver().run_works([DueWork()]).ok
    assert [count for count, there in most if not there] == [1]
    assert len(computed(w)) == 48


def test_one_that_fails_holds_back_no_other():
    w = world()
    w.tell("s", DAY)
    bad = w.project.assets["a"].partitioning.parse("2025-01-01T05,y")

    def failing(order):
        if order.partitions == bad:
            raise RunError("a: bad")

    w.engine.hooks["a", "compute"] = failing
    summary = w.driver().run_works([DueWork()])
    assert Counter(run.status for run in summary.runs) == {"success": 47, "failed": 1}
    assert "2025-01-01T05,y" not in computed(w)
    w.engine.hooks.clear()
    assert len(w.driver().run_works([DueWork()]).runs) == 1
    assert once(w)


def test_several_drivers_share_them():
    w = world()
    w.tell("s", DAY)
    w.alive = True
    summaries: list[Summary] = []
    drivers = [threading.Thread(target=lambda: summaries.append(w.driver().run_works([DueWork()]))) for _ in range(3)]
    for each in drivers:
        each.start()
    for each in drivers:
        each.join(30)
    assert once(w)
    assert sum(len(summary.runs) for summary in summaries) == 48


def dying(w: World, moment: str, *keys: str, commits: bool = False) -> None:
    """A driver whose runs of these partitions reach ``moment`` and never return, as if it were killed."""
    partitioning = w.project.assets["a"].partitioning
    stuck_at, reached = {partitioning.parse(key) for key in keys}, threading.Semaphore(0)

    def stuck(order):
        if order.partitions in stuck_at:
            reached.release()
        if order.partitions in stuck_at or not moment:
            threading.Event().wait()

    engine = FakeEngine(w.engine.tables)
    engine.commits = commits
    engine.hooks["a", moment] = stuck
    driver = w.driver(engine=engine)
    threading.Thread(target=driver.run_works, args=([DueWork()],), daemon=True).start()
    for _ in keys:
        assert reached.acquire(timeout=10)


@pytest.mark.parametrize("moment", ["compute", "write", "written"])
@pytest.mark.parametrize("write", [AppendWrite(), deep(ReplaceWrite())])
def test_two_that_died_side_by_side_are_settled_each_in_its_slot(moment, write):
    w = world(write=write, runs=2)
    w.tell("s", DAY)
    dying(w, moment, "2025-01-01T00,x", "2025-01-01T00,y")
    summary = w.driver().run_works([DueWork()])
    assert summary.ok
    assert once(w)
    adopted = [run for run in summary.runs if run.adopted is not None]
    assert len(adopted) == (2 if moment == "written" else 0)
    recorded = Counter(row.run for row in w.store.read_history(HistoryQuery(kinds=["success"])))
    assert set(recorded.values()) == {1}
    assert recorded.keys() == {commit.stamp.run for commit in w.engine.data("a")}
    assert w.driver().run_works([DueWork()]).runs == ()


def test_a_zombie_of_one_slot_disturbs_no_other():
    w = world(runs=2)
    w.tell("s", DAY)
    go, waits = threading.Event(), threading.Event()
    engine = FakeEngine(w.engine.tables)
    partition = w.project.assets["a"].partitioning.parse("2025-01-01T00,y")

    def late(order):
        if order.partitions == partition:
            waits.set()
            go.wait(20)

    engine.hooks["a", "write"] = late
    zombie = w.driver(engine=engine)
    thread = threading.Thread(target=zombie.run_works, args=([DueWork()],), daemon=True)
    thread.start()
    assert waits.wait(10)
    assert w.driver().run_works([DueWork()]).ok
    go.set()
    thread.join(20)
    assert once(w)


def test_a_backfill_of_several_is_one_run_each():
    w = world(write=ReplaceWrite())
    w.tell("s", DAY)
    w.driver().run_works([DueWork()])
    spec = w.project.assets["a"]
    partitions = spec.partitioning.parse("2025-01-01T05..2025-01-01T08")
    summary = w.driver().run_works([BackfillWork(spec, partitions, force=True)])
    assert (len(summary.runs), summary.ok) == (8, True)
    assert {run.request.kind for run in summary.runs} == {"backfill"}


def test_a_rebuild_settles_what_never_ended_first():
    w = world(write=ReplaceWrite(), runs=2)
    w.tell("s", DAY)
    dying(w, "written", "2025-01-01T00,x", "2025-01-01T00,y")
    w.driver().run_works([RebuildWork(w.project.assets["a"])])
    assert w.engine.data("a")[-1].order.rebuilds
    assert w.driver().run_works([DueWork()]).runs == ()


def test_a_failure_that_cannot_be_fenced_keeps_its_own_slot_alone():
    w = world()
    w.tell("s", DAY)
    partition = w.project.assets["a"].partitioning.parse("2025-01-01T05,y")

    def failing(order):
        if order is not None and order.partitions == partition:
            raise RunError("a: bad")

    w.engine.hooks["a", "write"] = failing
    fence = raising(RunError("out of reach"))
    w.engine.hooks["a", "fence"] = fence
    summary = w.driver().run_works([DueWork()])
    assert Counter(run.status for run in summary.runs) == {"success": 47, "failed": 1}
    assert len(w.store.read_history(HistoryQuery(kinds=["unfenced"]))) == 1
    w.engine.hooks.clear()
    (run,) = w.driver().run_works([DueWork()]).runs
    assert run.status == "success"
    assert once(w)


def test_spark_of_two_drivers_does_not_commit_to_a_table_at_once():
    w = world(runs=1)
    w.engine.commits, w.alive = True, True
    w.tell("s", "2025-01-01T00..2025-01-01T07,x")
    dying(w, "write", "2025-01-01T00,x", commits=True)
    summary = w.driver().run_works([DueWork()])
    assert [run.status for run in summary.runs] == ["failed"] * 4
    assert (summary.runs[0].error or "").startswith("a: its run may not commit: the Spark session of another driver")
    w.alive = False
    assert w.driver().run_works([DueWork()]).ok
    assert set(computed(w).values()) == {1}
