"""`run` and `backfill` around the runtime: signals, the loop, the summary, the exit code, and a clean stdout."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from inspect import signature

import pytest

from sparkassets.cli.run_loop import MOST_RUNS_KEPT, STOPPING, LoopSummary, drive
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.results import RunResult, Summary
from sparkassets.core.runs import RunRequest
from sparkassets.errors import SparkUnavailableError, StateError
from tests.builders import asset, project, source

SHOP = project(source("flights"), asset("delays", "flights", by=None))


class Invocations:
    """A project whose runs are told beforehand, as summaries, exceptions or functions."""

    def __init__(self, *steps):
        self.spec = SHOP
        self.steps = list(steps)
        self.stopped = threading.Event()
        self.running = False
        self.closed = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.closed = True

    def stop(self):
        self.stopped.set()
        return self.running

    def run(self, progress):
        self.running = True
        step = self.steps.pop(0)
        try:
            if isinstance(step, Exception):
                raise step
            return play_step(step, progress)
        finally:
            self.running = False


def play_step(step, progress):
    """What a step comes to."""
    if not callable(step):
        return step
    return step(progress) if signature(step).parameters else step()


def run(status="success", number=1):
    request = RunRequest("delays", "scheduled", EVERYTHING, reason="why")
    return RunResult(request, f"delays-{number}", status, 1.0, error="boom" * (status == "failed"))


def driven(made, *, as_json=False, every_seconds=None):
    return drive(made, made.run, as_json=as_json, every_seconds=every_seconds)


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        (Summary((), ()), 0),
        (Summary((run(),), ()), 0),
        (Summary((run("superseded"),), ()), 0),
        (Summary((run("replanned"), run()), ()), 0),
        (Summary((run(), run("failed")), ()), 1),
        (Summary((), (), (("flights", "vanished"),)), 1),
    ],
)
def test_the_exit_code_tells_whether_a_run_failed(summary, code):
    made = Invocations(summary)
    assert driven(made) == code
    assert made.closed


def test_people_get_the_summary_on_stderr(capsys):
    driven(Invocations(Summary((run(),), ())))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "1 run: 1 success" in captured.err


def test_machines_get_one_document_whatever_else_is_written_to_stdout(capfd):
    def noisy():
        sys.stdout.write("from a function\n")
        os.write(1, b"from the JVM\n")
        return Summary((run(),), (Waiting("flights", "later"),))

    assert driven(Invocations(noisy), as_json=True) == 0
    captured = capfd.readouterr()
    document = json.loads(captured.out)
    assert [item["run"] for item in document["runs"]] == ["delays-1"]
    assert [item["asset"] for item in document["waiting"]] == ["flights"]
    assert document["interrupted"] is False
    assert "from a function" in captured.err
    assert "from the JVM" in captured.err


def test_stdout_is_itself_again_after_an_error(capfd):
    with pytest.raises(StateError):
        driven(Invocations(StateError("read-only")), as_json=True)
    sys.stdout.write("still here\n")
    sys.stdout.flush()
    assert capfd.readouterr().out == "still here\n"


def test_streams_without_descriptors_are_kept_apart_too(capsys):
    def noisy():
        sys.stdout.write("from a function\n")
        return Summary((), ())

    driven(Invocations(noisy), as_json=True)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["runs"] == []
    assert "from a function" in captured.err


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_asks_for_an_orderly_end_and_the_summary_is_printed(signum, code, capfd):
    def stopped():
        os.kill(os.getpid(), signum)
        assert made.stopped.wait(30)
        return Summary((run("cancelled"),), (), interrupted=True)

    made = Invocations(stopped)
    before = signal.getsignal(signum)
    assert driven(made) == code
    assert signal.getsignal(signum) is before
    printed = capfd.readouterr().err
    assert printed.splitlines()[0].endswith(f"Z {STOPPING}")
    assert "1 run: 1 cancelled; interrupted" in printed


def test_a_signal_that_finds_nothing_to_stop_ends_at_once(capfd):
    def early():
        made.running = False
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("the signal was not noticed")

    made = Invocations(early)
    assert driven(made, as_json=True) == 143
    captured = capfd.readouterr()
    assert captured.err == "interrupted\n"
    assert json.loads(captured.out) == {
        "runs": [],
        "waiting": [],
        "notes": [],
        "late": [],
        "faults": [],
        "interrupted": True,
    }


def test_what_a_dying_spark_says_after_a_signal_is_not_an_error_of_its_own(capfd):
    def dying():
        os.kill(os.getpid(), signal.SIGTERM)
        raise SparkUnavailableError("the JVM is gone")

    assert driven(Invocations(dying)) == 143
    assert capfd.readouterr().err.partition("Z ")[2] == STOPPING + "\ninterrupted: the JVM is gone\n"


def test_a_second_signal_ends_the_process_at_once():
    code = (
        "import os, signal\n"
        "from sparkassets.cli.run_loop import SignalStopper\n"
        "with SignalStopper(lambda: True):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "print('not reached')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "")


def test_in_another_thread_signals_are_left_alone():
    codes = []
    thread = threading.Thread(target=lambda: codes.append(driven(Invocations(Summary((), ())))))
    thread.start()
    thread.join()
    assert codes == [0]


def test_a_loop_goes_on_until_it_is_interrupted_and_tells_only_news(capfd):
    def last():
        os.kill(os.getpid(), signal.SIGINT)
        return Summary((run("cancelled", 3),), (), interrupted=True)

    idle = Summary((), (Waiting("delays", "waits for flights"),))
    made = Invocations(idle, idle, Summary((run("failed", 2),), ()), last)
    assert driven(made, every_seconds=0.01) == 130
    printed = capfd.readouterr().err
    assert printed.count("nothing was due") == 1
    assert "1 run: 1 failed" in printed
    assert printed.endswith("1 run: 1 cancelled; interrupted\n")


def test_a_loop_prints_one_document_of_all_its_runs(capfd):
    def last():
        os.kill(os.getpid(), signal.SIGINT)
        return Summary((), (Waiting("delays", "not over"),), interrupted=True)

    made = Invocations(Summary((run("success", 1),), ()), Summary((run("success", 2),), ()), last)
    assert driven(made, as_json=True, every_seconds=0.01) == 130
    document = json.loads(capfd.readouterr().out)
    assert [item["run"] for item in document["runs"]] == ["delays-1", "delays-2"]
    assert document["waiting"] == []
    assert document["interrupted"] is True


def test_a_signal_between_two_ticks_ends_the_loop():
    made = Invocations(Summary((), ()))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    assert driven(made, every_seconds=30) == 130


def test_a_handler_that_spark_installs_is_replaced_by_the_first_plan(capfd):
    def stopped(progress):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as pyspark does when its session starts
        progress.planned(0, 0)
        os.kill(os.getpid(), signal.SIGINT)
        return Summary((run("cancelled"),), (), interrupted=True)

    made = Invocations(stopped)
    assert driven(made) == 130
    assert STOPPING in capfd.readouterr().err


def test_a_keyboard_interrupt_while_spark_starts_is_an_interruption(capfd):
    def starting():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.kill(os.getpid(), signal.SIGINT)

    assert driven(Invocations(starting), as_json=True) == 130
    captured = capfd.readouterr()
    assert captured.err == "interrupted\n"
    assert json.loads(captured.out)["interrupted"] is True


def test_a_loop_tells_the_time_of_its_ticks(capfd):
    made = Invocations(Summary((run(),), ()), Summary((run("failed", 2),), (), lost=True))
    assert driven(made, every_seconds=0.01) == 1, "what lost its engine can run nothing more"
    ticks = [line for line in capfd.readouterr().err.splitlines() if line.endswith("Z tick")]
    assert len(ticks) == 2


def test_what_a_loop_keeps_does_not_grow_with_its_ticks():
    tally = LoopSummary()
    for number in range(3 * MOST_RUNS_KEPT):
        waiting = tuple(Waiting(f"a{each}", "kept by whom?") for each in range(3))
        tally.add(Summary((run("success", number),), waiting))
    assert (len(tally.runs), len(tally.last_invocation.waiting), len(tally.last_invocation.runs)) == (
        MOST_RUNS_KEPT,
        3,
        0,
    )
    alive = [each for each in gc.get_objects() if type(each) is Waiting and each.reason == "kept by whom?"]
    assert len(alive) <= 6, "of the newest tick, and of the one being made"
    assert tally.summary(interrupted=False).runs[-1].run == f"delays-{3 * MOST_RUNS_KEPT - 1}"


def test_a_failure_of_an_early_tick_is_not_forgotten_though_its_run_is():
    tally = LoopSummary()
    tally.add(Summary((run("failed"),), ()))
    for number in range(MOST_RUNS_KEPT):
        tally.add(Summary((run("success", number),), ()))
    assert not tally.ok
    assert tally.summary(interrupted=False).ok, "its run is beyond those that are told"


def test_a_source_that_can_be_looked_at_again_is_no_fault():
    tally = LoopSummary()
    tally.add(Summary((), (), (("flights", "vanished"),)))
    assert not tally.ok
    tally.add(Summary((), ()))
    assert tally.ok
