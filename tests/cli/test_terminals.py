"""A terminal that is closed while a driver works, and a pipeline that Ctrl-C ends: runs end in order, or go on."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

pty = pytest.importorskip("pty")

CODE = """
import os, signal, sys
import sparkassets.cli.app as app
from sparkassets.cli.run_loop import drive
from sparkassets.core.results import Summary
from sparkassets.runtime.progress import GuardedProgress
from tests.cli.test_driving import Invocations, run

class Working(Invocations):
    def run(self, progress):
        self.running = True
        progress = GuardedProgress(progress)
        if {ignored}:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if not self.steps:
            print("working", flush=True)
        self.stopped.wait({seconds})
        self.steps.append("tick")
        if len(self.steps) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        progress.finished(run("cancelled"))
        with open({out!r}, "a") as file:
            file.write("in order,")
        self.running = False
        return Summary((run(),), (), interrupted=self.stopped.is_set())

made = Working()
app._invoke = lambda arguments: drive(made, made.run, as_json=False, every_seconds={every})
sys.argv = ["sparkassets", "run"]
from sparkassets.cli import main
main()
"""


def in_a_terminal(out, term, *, ignored=False, seconds=30, every=None):
    """The exit code of a driver whose terminal is closed while it works."""
    code = CODE.format(out=str(out), ignored=ignored, seconds=seconds, every=every)
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = term
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever started the tests may ignore it
        os.execv(sys.executable, [sys.executable, "-W", "ignore", "-c", code])  # noqa: S606  itself
    shown = b""
    with contextlib.suppress(OSError):
        while b"working" not in shown:
            shown += os.read(terminal, 1000)
    assert b"working" in shown, shown
    time.sleep(0.2)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_a_terminal_that_is_closed_ends_a_driver_in_order(tmp_path, term):
    assert in_a_terminal(tmp_path / "out", term) == 128 + signal.SIGHUP
    assert (tmp_path / "out").read_text() == "in order,"


def test_a_loop_that_ignores_that_outlives_its_terminal(tmp_path):
    assert in_a_terminal(tmp_path / "out", "xterm", ignored=True, seconds=0.5, every=0.1) == 128 + signal.SIGTERM
    assert (tmp_path / "out").read_text() == "in order," * 3


def test_ctrl_c_of_a_pipeline_whose_reader_is_gone(tmp_path):
    code = CODE.format(out=str(tmp_path / "out"), ignored=False, seconds=30, every=None)
    driver = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert driver.stdout.readline() == "working\n"
    driver.stdout.close()
    driver.send_signal(signal.SIGINT)
    assert driver.wait(30) == 128 + signal.SIGINT
    assert (tmp_path / "out").read_text() == "in order,"
