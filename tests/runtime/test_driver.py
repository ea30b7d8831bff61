import json
import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from sparkassets.core.instants import from_unix
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.model import Schedule
from sparkassets.core.strategies import DateRange
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.errors import RunError, SourceChangedError, SourceError
from sparkassets.ports import HistoryQuery
from sparkassets.runtime import attempt_threads
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import BackfillWork, RebuildWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, at, days, project, source
from tests.runtime.fakes import FakeEngine, FakeTarget, Recorder, World, dying, raising


def world(*assets, **more) -> World:
    return World(project(*assets, **more), MemoryStore())


def ran(summary) -> list[str]:
    return [result.asset for result in summary.runs]


def test_a_cascade_runs_in_one_invocation_and_a_second_has_nothing_to_do():
    w = world(source("s"), asset("a", "s"), asset("b", "a"), asset("r", "b", by=None))
    w.tell("s", "2025-01-01..2025-01-03")
    assert ran(w.driver().run_works([DueWork()])) == ["a", "b", "r"]
    again = w.driver(engine=(idle := FakeEngine(w.engine.tables))).run_works([DueWork()])
    assert again.runs == ()
    assert idle.started == 0, "nothing due ends before Spark starts"


@pytest.mark.parametrize(
    ("metrics", "counts"),
    [
        (
            {"numOutputRows": 7, "numFiles": 2, "numOutputBytes": 9, "other": 1},
            {"rows": 7, "files": 2, "bytes": 9},
        ),
        ({"numFiles": 0, "numOutputBytes": 0}, {"rows": 0, "files": 0, "bytes": 0}),
        (
            {"numOutputRows": 33, "numCopiedRows": 30, "numDeletedRows": 10, "numFiles": 3, "numOutputBytes": 2317},
            {"rows": 3, "deleted": 10, "copied": 30, "files": 3, "bytes": 2317},
        ),
        ({"numFiles": 1}, {"files": 1}),
        ({}, {}),
    ],
)
def test_the_event_of_a_run_counts_what_was_written(metrics, counts):
    w = world(source("s"), asset("a", "s"))
    w.tell("s", "2025-01-01")
    w.engine.metrics = metrics
    (result,) = w.driver().run_works([DueWork()]).runs
    (success,) = w.store.read_history(HistoryQuery(kinds=["success"]))
    assert json.loads(success.extra) == counts
    assert result.rows == counts.get("rows")


def test_news_that_land_while_it_runs_are_part_of_the_invocation():
    w = world(source("s"), asset("a", "s"))
    w.tell("s", "2025-01-01")
    w.tell("s", "2025-01-02")
    summary = w.driver().run_works([DueWork()])
    assert [days("2025-01-01"), days("2025-01-02")] == [result.partitions for result in summary.runs]


def test_independent_assets_run_side_by_side_up_to_the_limit():
    w = world(source("s"), *(asset(f"a{n}", "s") for n in range(6)), max_parallel_runs=3)
    w.tell("s", "2025-01-01")
    together, peak, lock = 0, 0, threading.Lock()
    barrier = threading.Barrier(3, timeout=10)

    def compute(order):
        nonlocal together, peak
        with lock:
            together += 1
            peak = max(peak, together)
        barrier.wait()
        with lock:
            together -= 1

    for n in range(6):
        w.engine.hooks[f"a{n}", "compute"] = compute
    assert len(w.driver().run_works([DueWork()]).runs) == 6
    assert peak == 3


def test_a_consumer_does_not_wait_for_a_branch_it_does_not_read():
    w = world(source("s"), asset("slow", "s"), asset("a", "s"), asset("b", "a"))
    w.tell("s", "2025-01-01")
    done = threading.Event()
    w.engine.hooks["slow", "compute"] = lambda _: done.wait(10)
    recorder = Recorder()
    recorder.on_finish = lambda result: done.set() if result.asset == "b" else None
    assert ran(w.driver(progress=recorder).run_works([DueWork()])) == ["a", "b", "slow"]


def test_a_failure_is_recorded_its_descendants_wait_and_the_rest_goes_on():
    w = world(source("s"), asset("a", "s", retries=0), asset("b", "a"), asset("c", "s"))
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "compute"] = raising(RunError("no such column"))
    summary = w.driver().run_works([DueWork()])
    assert {result.asset: result.status for result in summary.runs} == {"a": "failed", "c": "success"}
    failed = next(result for result in summary.runs if result.asset == "a")
    assert (failed.error, failed.details) == ("no such column", f"{failed.run}.log")
    assert not summary.ok
    assert [item.reason for item in summary.waiting if item.asset == "b"] == ["waits for a 2025-01-01, which failed"]
    assert w.engine.data("a") == []
    assert not [row for row in w.store.read_history(HistoryQuery(kinds=["success"])) if row.asset == "a"]
    del w.engine.hooks["a", "compute"]
    assert ran(w.driver().run_works([DueWork()])) == ["a", "b"]


def test_a_source_that_changed_since_the_plan_is_planned_anew_and_not_retried():
    w = world(source("s"), asset("a", "s", retries=5, retry_delay_seconds=0))
    w.tell("s", "2025-01-01")
    engine, pinned = FakeEngine(), []

    def changed(order):
        pinned.append(order.pins["s"].seq)
        if len(pinned) == 1:
            w.tell("s", "2025-01-01")
            raise SourceChangedError("the files of 's' changed before they were read: 2025-01-01", source="s")

    engine.hooks["a", "compute"] = changed
    summary = w.driver(engine=engine).run_works([DueWork()])
    assert [(run.status, run.attempts) for run in summary.runs] == [("replanned", 1), ("success", 1)]
    assert pinned[0] < pinned[1]
    assert summary.faults == ()
    assert summary.ok
    assert summary.failures == ()
    assert [row.kind for row in w.store.read_history(HistoryQuery(kinds=["failure"]))] == ["failure"]


def test_all_that_the_run_was_to_compute_is_planned_anew():
    w = world(source("s"), asset("a", "s", retries=0), asset("b", "s", retries=0))
    w.tell("s", "2025-01-01", "2025-01-02")
    engine, failed = FakeEngine(), set()

    def changed(order):
        if order.asset.name not in failed:
            failed.add(order.asset.name)
            if len(failed) == 1:
                w.tell("s", "2025-01-01")
            raise SourceChangedError("the files of 's' changed before they were read: 2025-01-01", source="s")

    engine.hooks["a", "compute"] = engine.hooks["b", "compute"] = changed
    summary = w.driver(engine=engine).run_works([DueWork()])
    assert summary.ok
    for name in "ab":
        runs = [(run.status, run.partitions) for run in summary.runs if run.asset == name]
        assert runs == [("replanned", days("2025-01-01..2025-01-02")), ("success", days("2025-01-01..2025-01-02"))]


def test_a_backfill_is_planned_anew_too():
    w = world(source("s"), asset("a", "s", retries=0))
    w.tell("s", "2025-01-01", "2025-01-02")
    engine, pinned = FakeEngine(), []

    def changed(order):
        pinned.append(order.pins["s"].seq)
        if len(pinned) == 1:
            w.tell("s", "2025-01-01")
            raise SourceChangedError("the files of 's' changed before they were read: 2025-01-01", source="s")

    engine.hooks["a", "compute"] = changed
    work = BackfillWork(w.project.assets["a"], days("2025-01-01..2025-01-02"))
    summary = w.driver(engine=engine).run_works([work])
    assert [run.status for run in summary.runs] == ["replanned", "success"]
    assert pinned[0] < pinned[1]


def test_a_change_that_no_look_finds_is_tried_once():
    w = world(source("s"), asset("a", "s", retries=0))
    w.tell("s", "2025-01-01", "2025-01-02")
    engine = FakeEngine()
    engine.hooks["a", "compute"] = raising(
        SourceChangedError("the files of 's' changed before they were read: 2025-01-01", source="s")
    )
    summary = w.driver(engine=engine).run_works([DueWork()])
    assert [run.status for run in summary.runs] == ["failed"]
    del engine.hooks["a", "compute"]
    assert ran(w.driver(engine=engine).run_works([DueWork()])) == ["a"]


def test_a_source_that_always_changes_ends_the_invocation_with_what_to_do():
    w = world(source("s"), asset("a", "s", retries=5, retry_delay_seconds=0))
    w.tell("s", "2025-01-01")
    engine = FakeEngine()

    def changed(order):
        w.tell("s", "2025-01-01")
        raise SourceChangedError("the files of 's' changed before they were read: 2025-01-01", source="s")

    engine.hooks["a", "compute"] = changed
    summary = w.driver(engine=engine).run_works([DueWork()])
    assert [run.status for run in summary.runs] == ["failed"] * 3
    said = "it changed 3 times while it was read; 'settle' skips files that are still being written"
    assert summary.faults == (("s", said),)
    assert ("s", said) in [(each.asset, each.reason) for each in summary.waiting]


def test_retries_keep_the_run_and_its_version():
    w = world(source("s"), asset("a", "s", retries=2, retry_delay_seconds=0))
    w.tell("s", "2025-01-01")
    orders = []

    def flaky(order):
        orders.append(order)
        if len(orders) < 3:
            raise OSError("connection reset")

    w.engine.hooks["a", "compute"] = flaky
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.attempts) == ("success", 3)
    assert orders[0] == orders[2]
    (commit,) = w.engine.data("a")
    assert (commit.stamp.attempt, commit.stamp.version) == (3, 2 * commit.stamp.token + 1)


def test_an_error_that_trying_again_cannot_help_is_not_tried_again():
    w = world(source("s"), asset("a", "s", retries=5))
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "compute"] = raising(RunError("rows outside"))
    assert w.driver().run_works([DueWork()]).runs[0].attempts == 1


def test_a_write_that_reports_an_error_but_is_in_counts_as_success():
    w = world(source("s"), asset("a", "s", retries=0))
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "written"] = raising(OSError("connection lost after the commit"))
    assert w.driver().run_works([DueWork()]).runs[0].status == "success"
    assert len(w.engine.data("a")) == 1


def test_a_failed_write_is_fenced_by_its_own_version():
    w = world(source("s"), asset("a", "s", retries=0))
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "write"] = raising(OSError("disk full"))
    (result,) = w.driver().run_works([DueWork()]).runs
    assert result.status == "failed"
    (fence,) = w.engine.tables["a"]
    assert (fence.stamp.kind, fence.stamp.version) == ("fence", 2 * fence.stamp.token + 1)
    late = replace(fence.stamp, kind="data", attempt=1)
    FakeTarget(w.engine, "a", late.app_id).commit(late, None)
    assert w.engine.data("a") == [], "a write that comes late is skipped"


@pytest.mark.parametrize("first", [None, OSError("disk full")])
def test_a_write_that_certainly_wrote_nothing_needs_no_fence_unless_an_attempt_before_it_does(first):
    """As where Delta refuses the columns of a new table, which no fence could make either."""
    w = world(source("s"), asset("a", "s", retries=1, retry_delay_seconds=0))
    w.tell("s", "2025-01-01")
    refused = RunError("Delta refuses the column 'a b'")
    refused.wrote_nothing = True
    errors = [each for each in (first, refused) if each is not None]

    def write(order):
        raise errors.pop(0)

    w.engine.hooks["a", "write"] = write
    w.engine.hooks["a", "fence"] = raising(RunError("Delta refuses the column 'a b'"))
    summary = w.driver().run_works([DueWork()])
    assert [result.error for result in summary.runs] == ["Delta refuses the column 'a b'"]
    assert w.store.read_history(HistoryQuery(asset="a"))[-1].kind == ("failure" if first is None else "unfenced")
    assert ("may still have committed" in str(summary.waiting)) == (first is not None)


def test_a_target_out_of_reach_leaves_the_chain_for_the_next_invocation():
    w = world(source("s"), asset("a", "s", retries=0))
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "write"] = w.engine.hooks["a", "fence"] = raising(OSError("unreachable"))
    summary = w.driver().run_works([DueWork()])
    assert [result.status for result in summary.runs] == ["failed"]
    assert [row.kind for row in w.store.read_history(HistoryQuery(asset="a"))][-1] == "unfenced"
    w.engine.hooks.clear()
    (result,) = w.driver().run_works([DueWork()]).runs
    assert result.status == "success"
    assert result.reason.startswith("takes over a-1, which never ended")
    assert [c.stamp.kind for c in w.engine.tables["a"]] == ["fence", "data"]


def test_a_timeout_fences_the_run_and_what_comes_late_does_not_land():
    w = world(source("s"), asset("a", "s", retries=0, timeout_seconds=0.05))
    w.tell("s", "2025-01-01")
    late, gone = threading.Event(), threading.Event()

    def slow(order):
        late.wait(10)

    def after(order):
        gone.set()

    w.engine.hooks["a", "write"], w.engine.hooks["a", "written"] = slow, after
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt_threads, "GRACE_SECONDS", 0.05)
        (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.error) == ("failed", "a: no result within its timeout of 0.05 s")
    late.set()
    assert gone.wait(10)
    assert w.engine.data("a") == []
    assert w.store.read_history(HistoryQuery(asset="a"))[-1].kind == "failure"


def test_interrupting_cancels_what_runs_and_loses_nothing():
    w = world(source("s"), asset("a", "s"), asset("b", "s"))
    w.tell("s", "2025-01-01")
    running = threading.Event()
    driver = w.driver()

    def endless(order):
        running.set()
        while order.run not in w.engine.cancelled:
            threading.Event().wait(0.01)
        raise OSError("cancelled by Spark")

    w.engine.hooks["b", "compute"] = endless
    threading.Thread(target=lambda: (running.wait(10), driver.stop()), daemon=True).start()
    summary = driver.run_works([DueWork()])
    assert summary.interrupted
    assert {r.asset: r.status for r in summary.runs}["b"] == "cancelled"
    w.engine.hooks.clear()
    w.driver().run_works([DueWork()])
    assert len(w.engine.data("a")) == len(w.engine.data("b")) == 1


@pytest.mark.parametrize("late", [False, True], ids=["interrupted", "too late"])
def test_what_a_run_begins_only_after_it_was_cancelled_is_cancelled_too(late):
    """Between two calls of Spark there is nothing to interrupt."""
    w = world(source("s"), asset("a", "s", retries=0, **({"timeout_seconds": 0.05} if late else {})))
    w.tell("s", "2025-01-01")
    driver, cancel, asked = w.driver(), w.engine.cancel, []

    def counted(run):
        asked.append(run)
        cancel(run)

    def slow(order):
        if not late:
            driver.stop()
        while not asked:
            threading.Event().wait(0.01)
        w.engine.cancelled.clear()
        while order.run not in w.engine.cancelled:
            threading.Event().wait(0.01)
        raise OSError("cancelled by Spark")

    w.engine.cancel, w.engine.hooks["a", "compute"] = counted, slow
    began = time.monotonic()
    (result,) = driver.run_works([DueWork()]).runs
    assert result.status == ("failed" if late else "cancelled")
    assert len(asked) > 1
    assert time.monotonic() - began < attempt_threads.GRACE_SECONDS / 2


def test_what_fails_once_the_driver_is_to_stop_is_cancelled_as_the_signal_may_have_reached_spark_first():
    w = world(source("s"), asset("a", "s"))
    w.tell("s", "2025-01-01")
    driver = w.driver()

    def killed(order):
        driver.stop()
        raise OSError("the executor is gone")

    w.engine.hooks["a", "compute"] = killed
    assert {r.asset: r.status for r in driver.run_works([DueWork()]).runs} == {"a": "cancelled"}
    w.engine.hooks.clear()
    assert {r.asset: r.status for r in w.driver().run_works([DueWork()]).runs} == {"a": "success"}


def test_a_source_that_cannot_be_looked_at_is_a_fault_and_the_rest_goes_on():
    w = world(source("s"), source("t"), asset("a", "s"), asset("b", "t"))
    w.tell("t", "2025-01-01")

    def vanished(asset, last, *, now):
        raise SourceError("the folder landing/ has vanished")

    w.source("s").observe = vanished  # type: ignore[method-assign]
    summary = w.driver().run_works([DueWork()])
    assert ran(summary) == ["b"]
    assert summary.faults == (("s", "the folder landing/ has vanished"),)
    assert not summary.ok
    assert "waits for s: the folder landing/ has vanished" in [item.reason for item in summary.waiting]


def test_watermarks_and_rows_come_from_the_commit_that_is_in():
    w = world(source("s", by=None), asset("a", "s", by=None))
    w.tell("s")
    w.driver().run_works([DueWork()])
    row = w.store.read_history(HistoryQuery(kinds=["success"]))[-1]
    assert row.extra == '{"rows": 5}'
    assert '"watermarks":{"s":"high-' in row.body


def test_a_backfill_computes_what_is_missing_or_stale_there_and_nothing_else():
    w = world(source("s"), asset("a", "s"), asset("b", "a"))
    w.tell("s", "2025-01-01..2025-01-09")
    w.driver().run_works([DueWork(["a"])])
    item = w.project.assets["a"]
    assert w.driver().run_works([BackfillWork(item, days("2025-01-02..2025-01-03"))]).runs == ()
    (result,) = w.driver().run_works([BackfillWork(item, days("2025-01-02..2025-01-03"), force=True)]).runs
    assert (result.kind, result.partitions) == ("backfill", days("2025-01-02..2025-01-03"))
    b = w.project.assets["b"]
    assert ran(w.driver().run_works([BackfillWork(b, days("2025-01-04"))])) == ["b"]


def test_only_the_selected_assets_run():
    w = world(source("s"), asset("a", "s"), asset("b", "s"))
    w.tell("s", "2025-01-01")
    assert ran(w.driver().run_works([DueWork(["b"])])) == ["b"]


def test_two_drivers_never_run_one_asset_at_a_time():
    w = world(source("s"), *(asset(f"a{n}", "s") for n in range(8)))
    w.alive = True
    w.tell("s", "2025-01-01")
    first, second = w.driver(), w.driver(engine=FakeEngine(w.engine.tables))
    summaries = []
    threads = [threading.Thread(target=lambda d=d: summaries.append(d.run_works([DueWork()]))) for d in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(name for summary in summaries for name in ran(summary)) == [f"a{n}" for n in range(8)]
    assert all(len(w.engine.data(f"a{n}")) == 1 for n in range(8))


def test_progress_is_told():
    w = world(source("s"), asset("a", "s"))
    w.tell("s", "2025-01-01")
    recorder = Recorder()
    w.driver(progress=recorder).run_works([DueWork()])
    assert [result.status for result in recorder.results] == ["success"]


def test_a_run_knows_the_interval_of_the_last_success_and_a_backfill_only_an_earlier_one():
    daily = Schedule(parse_timetable("@daily", timezone="UTC"), text="@daily")
    w = world(asset("report", by=None, schedule=daily))
    seen = []
    w.engine.hooks["report", "compute"] = lambda order: seen.append((order.interval, order.previous_interval))
    w.driver().run_works([DueWork()])
    w.clock.instant += timedelta(days=2)
    w.driver().run_works([DueWork()])
    report = w.project.assets["report"]
    w.driver().run_works([BackfillWork(report, EVERYTHING, interval=(at("2025-01-31"), at("2025-02-01")), force=True)])
    w.clock.instant += timedelta(days=1)
    w.driver().run_works([DueWork()])
    (first, second, again, last) = seen
    assert first[1] is None
    assert second[1] == first[0] == again[0]
    assert again[1] is None, "the newest success is later than what is computed again"
    assert last[1] == second[0]


def test_events_are_told_under_every_name_of_their_dataset():
    twin = replace(source("twin"), uri="x-s")
    w = world(source("s"), twin, asset("a", schedule="twin", by=None))
    w.tell("s", "2025-01-01")
    seen = []
    w.engine.hooks["a", "compute"] = lambda order: seen.append(order.events)
    w.driver().run_works([DueWork()])
    (events,) = seen
    assert list(events) == ["s", "twin", "x-s"]
    assert [event["partitions"] for event in events["twin"]] == [["2025-01-01"]]


def test_an_event_of_a_run_has_its_data_interval():
    daily = Schedule(parse_timetable("@daily", timezone="UTC"), text="@daily")
    w = world(asset("a", by=None, schedule=daily), asset("b", "a", by=None))
    seen = []
    w.engine.hooks["b", "compute"] = seen.append
    w.driver().run_works([DueWork()])
    (order,) = seen
    ((event,),) = order.events.values()
    assert event["source_run"] == {
        "run_id": event["run"],
        "data_interval_start": from_unix(at("2025-01-31")),
        "data_interval_end": from_unix(at("2025-02-01")),
    }
    assert order.interval == (from_unix(at("2025-01-31")), from_unix(at("2025-02-01")))


def test_a_rebuild_is_one_run_over_all_whatever_the_cap_and_its_success_is_an_event_of_all():
    capped = replace(asset("a", "s"), strategy=DateRange(max_partitions_per_run=2))
    w = world(source("s"), capped, asset("b", "a"))
    w.tell("s", "2025-01-01..2025-01-05")
    w.driver().run_works([DueWork()])
    item = w.project.assets["a"]
    (result,) = w.driver().run_works([RebuildWork(item)]).runs
    assert (result.status, result.partitions) == ("success", days("2025-01-01..2025-01-05"))
    assert [commit.order.rebuilds for commit in w.engine.data("a")] == [False, False, False, True]
    assert ran(w.driver().run_works([DueWork()])) == ["b"]


@pytest.mark.parametrize("moment", ["write", "written"])
def test_a_rebuild_that_died_leaves_the_old_table_and_nothing_due_or_is_adopted(moment):
    w = world(source("s"), asset("a", "s"))
    w.tell("s", "2025-01-01..2025-01-05")
    w.driver().run_works([DueWork()])
    item = w.project.assets["a"]
    dying(w, moment, work=RebuildWork(item))
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.adopted is not None) == (
        ("success", True) if moment == "written" else ("replanned", False)
    )
    assert w.driver().ledger.open().assets["a"].failed == ()
    assert [commit.order.rebuilds for commit in w.engine.data("a")] == [False, *([True] if moment == "written" else [])]
    assert w.driver().run_works([DueWork()]).runs == ()
    assert [run.partitions for run in w.driver().run_works([RebuildWork(item)]).runs] == [
        days("2025-01-01..2025-01-05")
    ]
