"""The command as people and machines use it: Spark and Delta, from `init` on.

Where nothing depends on the process it is invoked in this one, whose session stands already.
"""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from sparkassets.cli import main
from tests.e2e.projects import COMMAND, ORDERS, environment, orders, rows

pytestmark = pytest.mark.spark

NOISY = """\
import os
import time
from pathlib import Path


def loud(daily_revenue):
    print("from a function")
    os.write(1, b"from below Python\\n")
    return daily_revenue


def slow(daily_revenue):
    Path(__file__).with_name("computing").touch()
    time.sleep(120)
    return daily_revenue


def broken(daily_revenue):
    return daily_revenue.selectExpr("revenu * 2 AS twice")
"""


@pytest.fixture
def home(tmp_path, monkeypatch, spark):
    """The folder of a project that `init` wrote, and the current one."""
    assert spark.version
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    return tmp_path


@pytest.fixture
def document(run_cli):
    """Runs a command with --json, which must succeed: its document."""

    def run(*arguments):
        code, out, err = run_cli(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return run


def add_function(home, name):
    """An asset whose function is one of `NOISY`'s."""
    (home / "conf/project.yml").write_text((home / "conf/project.yml").read_text() + "python: [tasks]\n")
    (home / "tasks").mkdir()
    (home / "tasks/__init__.py").write_text("")
    (home / "tasks/noisy.py").write_text(NOISY)
    (home / f"conf/assets/{name}.yml").write_text(
        f"asset: {name}\npython: tasks.noisy:{name}\ninlets: [daily_revenue]\nretries: 0\n"
    )


def test_what_init_writes_runs_and_a_new_file_runs_only_its_day(home, run_cli, document):
    code, out, err = run_cli("run")
    assert (code, out) == (0, ""), err
    assert err.splitlines()[-1] == "2 runs: 2 success"
    assert orders(home) == ORDERS
    assert run_cli("run") == (0, "", "nothing was due\n")
    (home / "conf/landing/orders/2025-01-03.csv").write_text("order_id,shop,amount\n8,Cairo,1.00\n")
    assert [run["partitions"] for run in document("plan")["runs"]] == [
        {"ranges": ["2025-01-03..2025-01-03"], "count": 1}
    ]
    third = document("run")
    assert [(run["asset"], run["rows"]) for run in third["runs"]] == [("daily_revenue", 1), ("best_shops", 3)]
    assert [run["status"] for run in document("runs")] == ["success"] * 4


def test_stdout_holds_the_document_and_nothing_else_whatever_functions_print(home, run_cli):
    add_function(home, "loud")
    code, out, err = run_cli("run", "--json")
    assert code == 0, err
    assert {run["asset"]: run["status"] for run in json.loads(out)["runs"]} == {
        "daily_revenue": "success",
        "best_shops": "success",
        "loud": "success",
    }
    assert "from a function" in err
    assert "from below Python" in err


def test_a_failure_is_its_first_line_and_the_name_of_a_file_and_the_rest_goes_on(home, run_cli, document):
    add_function(home, "broken")
    code, out, err = run_cli("run")
    assert (code, out) == (1, "")
    assert "3 runs: 2 success, 1 failed" in err
    failure = next(line for line in err.splitlines() if line.startswith("broken failed: "))
    assert "revenu" in failure
    for noise in ("Traceback", "\tat ", "Py4J", "org.apache.spark"):
        assert noise not in err, err
    (log,) = (home / "conf/state/logs").glob("broken-*.log")
    assert f"  details: {log}" in err.splitlines()
    assert "Traceback" in log.read_text()
    assert not (home / "conf/warehouse/broken").exists()
    assert [run["status"] for run in document("runs", "--asset", "broken")] == ["failed"]


@pytest.mark.crash
def test_a_second_signal_quits_at_once_and_the_next_run_makes_up_for_it(home, document):
    add_function(home, "slow")
    with subprocess.Popen([COMMAND, "run", "--json"], cwd=home, env=environment(), stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 90
        while not (home / "tasks/computing").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
        (jvm,) = [below for below in psutil.Process(process.pid).children() if below.name() == "java"]
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert time.monotonic() - began < 15
    (home / "tasks/noisy.py").write_text(NOISY.replace("time.sleep(120)", ""))
    jvm.wait(60)  # as long as it may still write nobody takes over
    after = document("run")
    assert [(run["asset"], run["status"]) for run in after["runs"] if run["asset"] == "slow"] == [("slow", "success")]
    assert [run["status"] for run in document("runs", "--asset", "slow")] == ["lost", "success"]
    assert len(rows(home / "conf/warehouse/slow", "day", "shop")) == 5


def test_on_a_terminal_there_are_bars_and_colour_and_a_pipe_sees_neither(home, run_cli, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    watcher, terminal = pty.openpty()
    shown = []
    reading = threading.Thread(target=lambda: shown.extend(iter(lambda: _read(watcher), b"")))
    reading.start()
    with os.fdopen(terminal, "w", encoding="utf-8") as screen, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", screen)
        assert run_cli("run") == (0, "", "")
    reading.join()
    os.close(watcher)
    text = b"".join(shown).decode()
    assert "\x1b[32msuccess" in text
    assert "━" in text
    assert "2 runs: 2 success" in text
    assert "\x1b" not in run_cli("status")[1]


def _read(descriptor):
    """What a pseudo-terminal shows next; nothing when its program has ended."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""
