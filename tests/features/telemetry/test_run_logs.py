"""What runs print and log: each in a file of its own, without secrets, bounded, and everything put back."""

import errno
import logging
import sys
import threading
import time
from dataclasses import dataclass

import pytest

from sparkassets.features.telemetry import run_logs
from sparkassets.features.telemetry.run_logs import LOG_CHARACTERS, RunLogs, remove_old_logs
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World


@dataclass
class Run:
    run: str


@pytest.fixture
def logs(tmp_path):
    found = RunLogs(tmp_path, variables={"TOKEN": "s3cr3t-of-the-receiver"})
    found.began()
    yield found
    found.ended(None, None)


def within(name, function):
    thread = threading.Thread(target=function, name=name)
    thread.start()
    thread.join()


def test_runs_side_by_side_are_told_apart_and_nobody_elses_words_are_taken(tmp_path, logs, capsys):
    both = threading.Barrier(2)

    def speaks(word):
        for number in range(50):
            both.wait(10)
            print(word, number)

    for name in ("a-1", "b-1"):
        logs.started(None, name)
    threads = [threading.Thread(target=speaks, args=(name,), name=f"{name}-1") for name in ("a-1", "b-1")]
    for thread in threads:
        thread.start()
    print("the driver")
    for thread in threads:
        thread.join()
    for name in ("a-1", "b-1"):
        logs.finished(Run(name))
        assert (tmp_path / f"{name}.log").read_text().splitlines() == [f"{name} {number}" for number in range(50)]
    assert len(capsys.readouterr().out.splitlines()) == 101


def test_what_is_logged_is_there_with_what_is_printed_to_stderr_and_without_secrets(tmp_path, logs, caplog):
    caplog.set_level(logging.INFO)

    def speaks():
        logging.getLogger("jobs").info("read https://u:hunter2@h/x with s3cr3t-of-the-receiver")
        logging.getLogger("py4j.x").info("noise")
        print("no newline at the end", end="", file=sys.stderr)

    logs.started(None, "a-1")
    within("a-1", speaks)
    logs.finished(Run("a-1"))
    logged, printed = (tmp_path / "a-1.log").read_text().splitlines()
    assert logged.endswith("Z INFO jobs: read https://u:***@h/x with ${TOKEN}")
    assert printed == "no newline at the end"


def test_a_run_that_says_nothing_has_no_file(tmp_path, logs):
    logs.started(None, "a-1")
    logs.finished(Run("a-1"))
    assert list(tmp_path.iterdir()) == []


def test_of_a_long_log_the_middle_is_left_out(tmp_path, logs):
    def speaks():
        print("begin")
        for number in range(4_000):
            print(number, "x" * 1_000)
        print("end")

    logs.started(None, "a-1")
    within("a-1", speaks)
    logs.finished(Run("a-1"))
    text = (tmp_path / "a-1.log").read_text()
    assert len(text) <= LOG_CHARACTERS + 10
    assert (text.splitlines()[0], text.splitlines()[-1], "[…]" in text) == ("begin", "end", True)


def test_warnings_of_a_process_without_logging_still_reach_stderr_once(tmp_path, logs, capsys, monkeypatch):
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [each for each in root.handlers if type(each).__name__ == "_RunLogHandler"])
    logs.started(None, "a-1")
    within("a-1", lambda: logging.getLogger("jobs").warning("mind"))
    logs.finished(Run("a-1"))
    assert capsys.readouterr().err == "mind\n"
    (line,) = (tmp_path / "a-1.log").read_text().splitlines()
    assert line.endswith("WARNING jobs: mind")


def test_all_is_put_back(tmp_path):
    root, before = logging.getLogger(), (sys.stdout, sys.stderr)
    handlers, level = list(root.handlers), root.level
    logs = RunLogs(tmp_path, variables={})
    logs.began()
    logs.started(None, "a-1")
    assert sys.stdout is not before[0]
    logs.ended(None, None)
    assert ((sys.stdout, sys.stderr), root.handlers, root.level) == (before, handlers, level)


def test_old_logs_make_way_by_age(tmp_path):
    import os

    for name, days in (("old", 31), ("new", 29)):
        (tmp_path / f"{name}.log").write_text("x")
        os.utime(tmp_path / f"{name}.log", (time.time() - days * 86_400,) * 2)
    remove_old_logs(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["new.log"]


def test_a_folder_that_cannot_be_written_to_fails_no_run(tmp_path):
    (tmp_path / "logs").write_text("a file")
    w = World(project(source("s"), asset("a", "s")), MemoryStore())
    w.tell("s", "2025-01-01")
    w.engine.hooks["a", "compute"] = lambda _: print("said")
    driving = w.opened()
    driving.events.watch(RunLogs(tmp_path / "logs", variables={}))
    assert driving.run().ok


def test_where_nothing_can_be_appended_the_log_is_written_anew(tmp_path, monkeypatch):
    """A volume of Databricks: it refuses to seek to the end."""
    write = run_logs._write

    def write_whole(path, text, *, mode):
        if mode == "a":
            raise OSError(errno.ESPIPE, "Illegal seek")
        write(path, text, mode=mode)

    monkeypatch.setattr(run_logs, "_write", write_whole)
    for text in ("one\n", "two\n"):
        run_logs.append(tmp_path / "logs" / "a.log", text)
    assert (tmp_path / "logs" / "a.log").read_text() == "one\ntwo\n"


def test_what_a_driver_runs_is_heard(tmp_path):
    w = World(project(source("s"), asset("a", "s"), asset("b", "s")), MemoryStore())
    w.tell("s", "2025-01-01")
    w.engine.hooks |= {(name, "compute"): lambda order: print("computing", order.asset.name) for name in "ab"}
    driving = w.opened()
    driving.events.watch(RunLogs(tmp_path, variables={}))
    summary = driving.run()
    said = {run.asset: (tmp_path / f"{run.run}.log").read_text() for run in summary.runs}
    assert said == {"a": "computing a\n", "b": "computing b\n"}
