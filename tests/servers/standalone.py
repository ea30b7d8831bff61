"""A standalone cluster of Spark on loopback: a master and two workers, each a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pyspark

from tests.e2e.projects import COMMAND, environment

WORKERS = 2
PATIENCE_SECONDS = 300
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_until(holds: Callable[[], Any], what: str) -> Any:
    """The first true result."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS} s"
        time.sleep(0.1)
    return found


class Cluster:
    """The master and its workers.

    Attributes:
        url: What ``--master`` takes.
        workers: The processes of workers that live.
    """

    def __init__(self, home: Path) -> None:
        port, self._status_port = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self._home = home
        self._processes: list[subprocess.Popen[bytes]] = []
        packages = Path(pyspark.__file__).parents[1]
        python = home / "executor-python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec {sys.executable} -S "$@"\n')
        python.chmod(0o755)
        self._python = python
        self.workers: list[subprocess.Popen[bytes]] = []
        self._start("master.Master", "--port", str(port), "--webui-port", str(self._status_port))

    @property
    def environment(self) -> dict[str, str]:
        """Of processes that use the cluster. Its executors have a Python without sparkassets and without a project."""
        python = str(self._python)
        return environment(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=python, PYSPARK_DRIVER_PYTHON=sys.executable)

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [COMMAND.with_name("spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        log = self._home / f"{name}-{len(self._processes)}.log"
        settings = {"SPARK_DAEMON_MEMORY": "192m", "SPARK_MASTER_OPTS": "-Dspark.worker.timeout=15"}
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*command, *arguments],
                cwd=self._home,
                env=self.environment | settings,
                stdout=out,
                stderr=out,
            )
        self._processes.append(process)
        return process

    def start_workers(self) -> None:
        """As many workers as there are to be, each with a core and a gigabyte."""
        while len(self.workers) < WORKERS:
            folder = str(self._home / f"worker-{len(self._processes)}")
            options = ["--webui-port", "0", "-c", "1", "-m", "1g", "-d", folder]
            self.workers.append(self._start("worker.Worker", *options, self.url))

        def are_alive() -> bool:
            status = self.status()
            return status is not None and status["aliveworkers"] == WORKERS

        wait_until(are_alive, f"{WORKERS} workers")

    def status(self) -> dict[str, Any] | None:
        """What the master says of itself; None while it does not answer."""
        with contextlib.suppress(OSError, ValueError):  # at first it shows its page instead
            address = f"http://127.0.0.1:{self._status_port}/json/"
            with urllib.request.urlopen(address, timeout=10) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        return None

    def executors(self) -> list[psutil.Process]:
        """The JVMs of executors, of all workers."""
        return [process for worker in self.workers for process in executors_of(worker)]

    def kill_worker(self) -> None:
        """Ends a worker that has an executor, and with it that executor."""
        worker = next(each for each in self.workers if executors_of(each))
        executors = executors_of(worker)
        worker.kill()
        worker.wait()
        for executor in executors:
            with contextlib.suppress(psutil.NoSuchProcess):
                executor.kill()
        self.workers.remove(worker)

    def end(self) -> None:
        executors = self.executors()
        for process in self._processes:
            process.kill()
            process.wait()
        for executor in executors:
            with contextlib.suppress(psutil.NoSuchProcess):
                executor.kill()


def executors_of(worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The JVMs of a worker's executors."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(worker.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if _EXECUTOR in process.cmdline():
                    found.append(process)
    return found


def kill_group(process: subprocess.Popen[str]) -> None:
    """Ends a process and all that it started, at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def standalone(home: Path) -> Iterator[Cluster]:
    """A cluster whose logs and work are below ``home``."""
    found = Cluster(home)
    try:
        found.start_workers()
        yield found
    finally:
        found.end()
