"""The command as people and machines use it: real processes, Spark and Delta, from `init` on."""

import json
import os
import pty
import signal
import subprocess
import time

import pytest

from tests.e2e.projects import COMMAND, called, environment, rows

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
def home(tmp_path):
    """The folder of a project that `init` wrote."""
    assert called("init", cwd=tmp_path).returncode == 0
    return tmp_path


def add_function(home, name):
    """An asset whose function is one of `NOISY`'s."""
    (home / "conf/project.yml").write_text((home / "conf/project.yml").read_text() + "python: [tasks]\n")
    (home / "tasks").mkdir()
    (home / "tasks/__init__.py").write_text("")
    (home / "tasks/noisy.py").write_text(NOISY)
    (home / f"conf/assets/{name}.yml").write_text(
        f"asset: {name}\npython: tasks.noisy:{name}\ninlets: [daily_revenue]\nretries: 0\n"
    )


def test_what_init_writes_runs_and_a_new_file_runs_only_its_day(home):
    first = called("run", cwd=home)
    assert (first.returncode, first.stdout) == (0, ""), first.stderr
    assert first.stderr.splitlines()[-1] == "2 runs: 2 success"
    assert rows(home / "conf/warehouse/best_shops", "shop", "orders") == [("Amsterdam", 3), ("Berlin", 2), ("Cairo", 2)]
    again = called("run", cwd=home)
    assert (again.returncode, again.stderr) == (0, "nothing was due\n")
    (home / "conf/landing/orders/2025-01-03.csv").write_text("order_id,shop,amount\n8,Cairo,1.00\n")
    plan = json.loads(called("plan", "--json", cwd=home).stdout)
    assert [run["partitions"] for run in plan["runs"]] == [{"ranges": ["2025-01-03..2025-01-03"], "count": 1}]
    third = json.loads(called("run", "--json", cwd=home).stdout)
    assert [(run["asset"], run["rows"]) for run in third["runs"]] == [("daily_revenue", 1), ("best_shops", 3)]
    listed = json.loads(called("runs", "--json", cwd=home).stdout)
    assert [run["status"] for run in listed] == ["success"] * 4


def test_stdout_holds_the_document_and_nothing_else_whatever_functions_print(home):
    add_function(home, "loud")
    done = called("run", "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {run["asset"]: run["status"] for run in document["runs"]} == {
        "daily_revenue": "success",
        "best_shops": "success",
        "loud": "success",
    }
    assert "from a function" in done.stderr
    assert "from below Python" in done.stderr


def test_a_failure_is_its_first_line_and_the_name_of_a_file_and_the_rest_goes_on(home):
    add_function(home, "broken")
    done = called("run", cwd=home)
    assert (done.returncode, done.stdout) == (1, "")
    assert "3 runs: 2 success, 1 failed" in done.stderr
    failure = next(line for line in done.stderr.splitlines() if line.startswith("broken failed: "))
    assert "revenu" in failure
    for noise in ("Traceback", "\tat ", "Py4J", "org.apache.spark"):
        assert noise not in done.stderr, done.stderr
    (log,) = (home / "conf/state/logs").glob("broken-*.log")
    assert f"  the whole story: {log}" in done.stderr.splitlines()
    assert "Traceback" in log.read_text()
    assert not (home / "conf/warehouse/broken").exists()
    assert [run["status"] for run in json.loads(called("runs", "--asset", "broken", "--json", cwd=home).stdout)] == [
        "failed"
    ]


def test_a_second_signal_quits_at_once_and_the_next_run_makes_up_for_it(home):
    add_function(home, "slow")
    with subprocess.Popen([COMMAND, "run", "--json"], cwd=home, env=environment(), stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 90
        while not (home / "tasks/computing").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert time.monotonic() - began < 3
    (home / "tasks/noisy.py").write_text(NOISY.replace("time.sleep(120)", ""))
    after = json.loads(called("run", "--json", cwd=home).stdout)
    assert [(run["asset"], run["status"]) for run in after["runs"] if run["asset"] == "slow"] == [("slow", "success")]
    slow = json.loads(called("runs", "--asset", "slow", "--json", cwd=home).stdout)
    assert [run["status"] for run in slow] == ["lost", "success"]
    assert len(rows(home / "conf/warehouse/slow", "day", "shop")) == 5


def test_on_a_terminal_there_are_bars_and_colour_and_a_pipe_sees_neither(home):
    watcher, terminal = pty.openpty()
    env = environment(TERM="xterm", COLUMNS="80")
    with subprocess.Popen(
        [COMMAND, "run"], cwd=home, env=env, stdout=subprocess.PIPE, stderr=terminal, stdin=subprocess.DEVNULL
    ) as process:
        os.close(terminal)
        shown = b""
        while chunk := _read(watcher):
            shown += chunk
        assert process.wait(10) == 0
        assert process.stdout.read() == b""
    os.close(watcher)
    text = shown.decode()
    assert "\x1b[32msuccess" in text
    assert "━" in text
    assert "2 runs: 2 success" in text
    assert "\x1b" not in called("status", cwd=home).stdout


def _read(descriptor):
    """What a pseudo-terminal shows next; nothing when its program has ended."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""
