"""Whatever a run's code raises ends the run as a recorded failure, and no thread is waited for in vain."""

import asyncio
import threading

import pytest

from sparkassets.errors import describe_error
from sparkassets.ports import EngineLostError, HistoryQuery
from sparkassets.runtime import attempt_threads, claimed_runs, execution
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import Recorder, World


class MuteError(Exception):
    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


class MaskedError(Exception):
    @property
    def __class__(self):
        raise SystemExit(3)


class Ended(BaseException):
    pass


RAISED = {
    "SystemExit: 1": lambda: SystemExit(1),
    "SystemExit": SystemExit,
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit: x": lambda: GeneratorExit("x"),
    "CancelledError": asyncio.CancelledError,
    "Ended: over": lambda: Ended("over"),
    "RecursionError: too deep": lambda: RecursionError("too deep"),
    "MemoryError": MemoryError,
    "ExceptionGroup: two (2 sub-exceptions): ValueError: a": lambda: ExceptionGroup(
        "two", [ValueError("a"), OSError("b")]
    ),
    "BaseExceptionGroup: one (1 sub-exception): SystemExit: 2": lambda: BaseExceptionGroup("one", [SystemExit(2)]),
    "MuteError, whose text is not available": MuteError,
    "MaskedError: who": lambda: MaskedError("who"),
}
"""What is told of an error, and the error: pytest itself ends of a parameter that is one of these."""


def world(*assets, **more) -> World:
    return World(project(*assets, **more), MemoryStore())


def raising(error):
    def hook(order):
        raise error

    return hook


@pytest.mark.parametrize("moment", ["compute", "write", "written"])
@pytest.mark.parametrize("text", RAISED)
def test_it_is_recorded_and_the_others_go_on(text, moment):
    error = RAISED[text]()
    w = world(source("s"), asset("a", "s", retries=0), asset("b", "s"))
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", moment] = raising(error)
    summary = w.driver().run_works([DueWork()])
    status = {result.asset: result.status for result in summary.runs}
    assert describe_error(error) == text
    if moment == "written":  # its commit is in
        assert status == {"a": "success", "b": "success"}
        return
    assert status == {"a": "failed", "b": "success"}
    (failure,) = w.store.read_history(HistoryQuery(kinds=["failure"]))
    assert failure.asset == "a"
    w.engine.hooks.clear()
    assert [result.status for result in w.driver().run_works([DueWork()]).runs] == ["success"]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_one_that_would_end_the_process_is_not_tried_again(error):
    w = world(source("s"), asset("a", "s", retries=3, retry_delay_seconds=0))
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "compute"] = raising(error)
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.attempts) == ("failed", 1)


@pytest.mark.parametrize("moment", ["fence", "committed"])
def test_one_that_is_raised_while_a_failed_write_is_settled_leaves_that_to_the_next_start(moment):
    w = world(source("s"), asset("a", "s", retries=0))
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "write"] = raising(OSError("lost"))
    w.engine.hooks["a", moment] = raising(SystemExit(1))
    (result,) = w.driver().run_works([DueWork()]).runs
    assert result.status == "failed"
    assert [row.kind for row in w.store.read_history(HistoryQuery(asset="a"))][-1] == "unfenced"
    w.engine.hooks.clear()
    assert [result.status for result in w.driver().run_works([DueWork()]).runs] == ["success"]


def test_an_execution_that_breaks_itself_ends_its_run(monkeypatch):
    w = world(source("s"), asset("a", "s"))
    w.tell("s", "2025-01-01")
    monkeypatch.setattr(execution.RunExecution, "_conclude_failure", lambda *_: raising(SystemExit(1))(None))
    w.engine.hooks["a", "compute"] = raising(SystemExit(2))
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.error) == ("failed", "1")


def test_where_no_thread_can_be_started_the_run_fails(monkeypatch):
    w = world(source("s"), asset("a", "s"))
    w.tell("s", "2025-01-01")

    class NoMore(threading.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading, "Thread", NoMore)
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.error) == ("failed", "can't start new thread")
    assert w.store.read_history(HistoryQuery(kinds=["failure"]))


@pytest.mark.parametrize("told", ["planned", "starting", "started", "finished"])
def test_a_progress_that_raises_is_told_no_more_and_the_work_goes_on(told):
    w = world(source("s"), asset("a", "s"), asset("b", "a"))
    w.tell("s", "2025-01-01")
    progress = Recorder()
    setattr(progress, told, lambda *_: raising(OSError("broken pipe"))(None))
    with pytest.warns(RuntimeWarning, match=r"^the progress listener raised OSError: broken pipe and is now ignored$"):
        summary = w.driver(progress=progress).run_works([DueWork()])
    assert [result.status for result in summary.runs] == ["success", "success"]
    assert len(progress.results) <= 1


def test_ctrl_c_in_a_notebook_between_the_record_and_its_telling_waits_for_nobody():
    w = world(source("s"), asset("a", "s"), asset("b", "s"))
    w.tell("s", "2025-01-01")
    progress = Recorder()
    progress.on_finish = raising(KeyboardInterrupt())
    driver = w.driver(progress=progress)
    with pytest.raises(KeyboardInterrupt):
        driver.run_works([DueWork()])
    assert not driver._active
    ends = {row.asset: row.kind for row in w.store.read_history(HistoryQuery(kinds=["success", "failure"]))}
    assert set(ends) == {"a", "b"}


def test_a_function_that_never_ends_is_left_behind_when_the_driver_is_stopped(monkeypatch):
    monkeypatch.setattr(attempt_threads, "GRACE_SECONDS", 0.05)
    w = world(source("s"), asset("a", "s", timeout_seconds=10**12))
    w.tell("s", "2025-01-01")
    running, over = threading.Event(), threading.Event()
    driver = w.driver()

    def endless(order):
        running.set()
        over.wait(60)

    w.engine.hooks["a", "compute"] = endless
    threading.Thread(target=lambda: (running.wait(10), driver.stop()), daemon=True).start()
    summary = driver.run_works([DueWork()])
    over.set()
    assert [(result.status, result.error) for result in summary.runs] == [("cancelled", "interrupted before it ended")]
    assert [row.kind for row in w.store.read_history(HistoryQuery(asset="a"))][-1] == "failure"


def test_what_does_not_even_let_itself_be_left_behind_is_told_as_cancelled(monkeypatch):
    monkeypatch.setattr(claimed_runs, "STOP_SECONDS", 0.0)
    w = world(source("s"), asset("a", "s"))
    w.tell("s", "2025-01-01")
    running, over = threading.Event(), threading.Event()
    driver = w.driver()

    def endless(order):
        running.set()
        over.wait(60)

    w.engine.hooks["a", "compute"] = endless
    threading.Thread(target=lambda: (running.wait(10), driver.stop()), daemon=True).start()
    (result,) = driver.run_works([DueWork()]).runs
    over.set()
    assert (result.status, result.error) == ("cancelled", "interrupted before it ended; the next start recovers it")


def test_what_was_interrupted_is_not_failed_and_runs_again_in_the_same_invocation():
    w = world(source("s"), asset("a", "s"))
    w.tell("s", "2025-01-01")
    driver, running = w.driver(), threading.Event()

    def endless(order):
        running.set()
        while order.run not in w.engine.cancelled:
            threading.Event().wait(0.01)
        raise OSError("cancelled by Spark")

    w.engine.hooks["a", "compute"] = endless
    threading.Thread(target=lambda: (running.wait(10), driver.stop()), daemon=True).start()
    (result,) = driver.run_works([DueWork()]).runs
    assert (result.status, result.error, result.details) == ("cancelled", "interrupted before it ended", "")
    assert driver.ledger.state.assets["a"].failed == ()
    w.engine.hooks.clear()
    (again,) = w.driver().run_works([DueWork()]).runs
    assert (again.status, again.reason) == ("success", "1 partition missing")


def test_when_the_engine_is_lost_nothing_more_is_claimed_and_the_next_start_goes_on():
    w = world(source("s"), asset("a", "s", retries=3), asset("b", "a"), asset("c", "s"), asset("d", "c"))
    w.tell("s", "2025-01-01")
    lost = threading.Event()

    def gone(order):
        lost.set()
        raise EngineLostError("a: Spark's JVM was killed by SIGKILL")

    recorder = Recorder()
    ended = threading.Event()
    recorder.on_finish = lambda result: ended.set() if result.asset == "a" else None
    w.engine.hooks["a", "compute"] = gone
    w.engine.hooks["c", "compute"] = lambda _: ended.wait(10)
    summary = w.driver(progress=recorder).run_works([DueWork(), DueWork()])
    assert [(run.asset, run.status, run.attempts) for run in summary.runs] == [("a", "failed", 1), ("c", "success", 1)]
    assert (summary.lost, summary.ok, w.engine.data("d")) == (True, False, [])
    w.engine.hooks.clear()
    after = w.driver().run_works([DueWork()])
    assert sorted(run.asset for run in after.runs) == ["a", "b", "d"]
    assert after.ok


@pytest.mark.parametrize("told", [{"events": [{"no": "uri"}]}, {"extra": 3}])
def test_what_a_run_told_that_cannot_be_recorded_is_its_failure_and_the_others_are_recorded(told):
    w = world(source("s"), asset("a", "s"), asset("b", "s"), asset("c", "a"))
    w.tell("s", "2025-01-01")
    w.engine.measures["a"] = told
    summary = w.driver().run_works([DueWork()])
    status = {result.asset: (result.status, result.error.partition(": ")[2][:35]) for result in summary.runs}
    assert status == {"a": ("failed", "the run's result cannot be recorded"), "b": ("success", "")}
    assert [row.kind for row in w.store.read_history(HistoryQuery(asset="a"))][-1] == "unfenced"
