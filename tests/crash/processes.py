"""Drivers as processes that begin in hundredths of a second, and what became of them."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from sparkassets import Project
from tests.crash.driver import Orders, PlainProject

KILLED = f"killed {int(signal.SIGKILL)}"


@dataclass
class Figures:
    """What came of all kills, added up.

    Attributes:
        kills: Drivers that were ended by SIGKILL.
        stops: Drivers that were stopped, taken over, and went on.
        restarts: Drivers that settled what these left.
        lost, doubled: Rows, all tables together.
        longest: Seconds that the slowest restart took, its own start included.
        ended: How many drivers came to their end at each point.
    """

    kills: int = 0
    stops: int = 0
    restarts: int = 0
    lost: int = 0
    doubled: int = 0
    longest: float = 0.0
    ended: Counter[str] = field(default_factory=Counter)

    def add(self, other: Figures) -> None:
        """That of others."""
        for name in ("kills", "stops", "restarts", "lost", "doubled"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest = max(self.longest, other.longest)
        self.ended.update(other.ended)

    def killed(self, driver: Started) -> bool:
        """Waits for a driver's end; whether it was killed."""
        killed = driver.ends() == KILLED
        self.kills += killed
        self.ended.update([driver.point or "any moment"] if killed else [])
        return killed


class Server:
    """The process that starts drivers.

    Args:
        within: The command that it is a command of, as one that makes a container.
    """

    def __init__(self, *within: str) -> None:
        command = [*within, sys.executable, "-m", "tests.crash.server"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: str) -> str:
        """Its answer."""
        told, answers = self._process.stdin, self._process.stdout
        assert told is not None and answers is not None  # noqa: PT018  both are pipes
        told.write(f"{question}\n")
        told.flush()
        return answers.readline().strip()

    def ready(self) -> None:
        """Waits until it has loaded all it needs."""
        self.ask("ready")

    def close(self) -> None:
        """Kills what it started."""
        self._process.communicate()


@cache
def server() -> Server:
    """The one of this process."""
    return Server()


class Started:
    """One driver in a process of its own."""

    def __init__(self, orders: Orders, *, by: Server | None = None) -> None:
        self._server = by or server()
        base = orders.home / f"driver-{time.monotonic_ns()}"
        self.orders = replace(orders, log=base.with_suffix(".point"), said=base.with_suffix(".txt"))
        self.pid = int(self._server.ask(f"start {b64encode(pickle.dumps(self.orders)).decode()}"))
        self.end = ""

    @property
    def point(self) -> str:
        """Where it ended or stands; empty where at no point."""
        log = self.orders.log
        return log.read_text() if log is not None and log.exists() else ""

    @property
    def output(self) -> str:
        """What it wrote."""
        return self.orders.said.read_text() if self.orders.said is not None and self.orders.said.exists() else ""

    def ends(self, *, also: str = "") -> str:
        """Waits until it ends, well or by SIGKILL, is stopped, or ends in a way that is fine ``also``; how."""
        if self.end in ("", "stopped"):
            self.end = self._server.ask(f"wait {self.pid}")
        assert self.end in ("exited 0", "stopped", KILLED, also), (
            f"{self.end} at {self.point or 'no point'}:\n{self.output}"
        )
        return self.end

    def go_on(self) -> None:
        """After it was stopped."""
        self._server.ask(f"continue {self.pid}")

    def kill(self) -> None:
        """Wherever it is; a driver that has ended stays so."""
        if self.end in ("", "stopped"):
            self._server.ask(f"kill {self.pid}")


def start(folder: Path, *, by: Server | None = None, **orders: Any) -> Started:
    """A driver of the project in that folder."""
    project = Project if orders.get("spark") else PlainProject
    return Started(Orders(folder.parent, partial(project.load, folder), **orders), by=by)
