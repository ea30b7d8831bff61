"""Starts drivers by forking a process that has loaded all modules, and has opened nothing: ``python -m`` this.

Reads orders and answers with a process's number; or a number, and what to do with that: numbers are those of its own
namespace. It tells how a process ended, or that it is stopped.
"""

from __future__ import annotations

import importlib
import os
import pickle
import pkgutil
import signal
import sys
import time
import traceback
from base64 import b64decode
from contextlib import suppress

import sparkassets
from tests.crash.driver import drive

PATIENCE_SECONDS = 120.0
LOOK_SECONDS = 0.002
NEEDS = ("tenacity", "deltalake.transaction", "deltalake.exceptions", "pyarrow.fs", "pyarrow.parquet", "pandas")
"""What a run loads of others where it first uses it; pyarrow loads pandas where it finds it."""


def main() -> None:
    """Until nobody asks any more; what runs then is killed."""
    load()
    running: set[int] = set()
    for line in sys.stdin:
        what, _, rest = line.strip().partition(" ")
        match what:
            case "start":
                answer = str(begun(rest, running))
            case "wait":
                answer = ended(int(rest), running)
            case "kill":
                os.kill(int(rest), signal.SIGKILL)
                answer = "killed"
            case "continue":
                os.kill(int(rest), signal.SIGCONT)
                answer = "continues"
            case _:
                answer = what
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def load() -> None:
    """What needs Spark is not there, or is loaded by its driver."""
    own = (each.name for each in pkgutil.walk_packages(sparkassets.__path__, "sparkassets."))
    for name in (*NEEDS, *(each for each in own if ".cli" not in each and "__main__" not in each)):
        with suppress(ImportError):
            importlib.import_module(name)


def begun(orders: str, running: set[int]) -> int:
    """The number of a new driver."""
    pid = os.fork()
    if pid:
        running.add(pid)
        return pid
    code = 1
    try:
        drive(pickle.loads(b64decode(orders)))  # noqa: S301  of the test that started this
        code = 0
    except BaseException:  # noqa: BLE001  whatever it is, it is told where the driver's words are
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(pid: int, running: set[int]) -> str:
    """``exited CODE``, ``killed SIGNAL``, ``stopped``, or ``runs`` after a long time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if found and os.WIFSTOPPED(status):
            return "stopped"
        if found:
            running.discard(pid)
            return f"killed {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exited {os.WEXITSTATUS(status)}"
        time.sleep(LOOK_SECONDS)
    return "runs"


if __name__ == "__main__":
    main()
