"""100,000 events in the journal: cold starts of a tick with nothing due, of `events list` and of `events add`.

Once with every event used, once with all of them waiting for a paused asset.
Usage: ``python -m tests.benchmark.bench_events [EVENTS]``.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sparkassets.spark.engine
from sparkassets import Project
from tests.benchmark.bench_cli import LoggingOutlets, cpu_seconds
from tests.benchmark.figures import record
from tests.runtime.fakes import FakeEngine

EVENTS = int(sys.argv[1]) if sys.argv[1:] else 100_000
BATCH, REPEATS = 5_000, 5
RUN, LIST, ADD = "run, nothing due", "events list --last 20", "events add --id"
GOALS = {RUN: 1500, LIST: 500}
"""Milliseconds."""
FILES = {
    "project.yml": "project: events\nstate: ./state\nwarehouse: ./warehouse\nassets: [assets/]\n",
    "assets/feed.yml": "asset: feed\nsource: true\nuri: s3://lake/feed\npartition: {by: day, column: day}\n",
    "assets/report.yml": "asset: report\nschedule: feed\nsql: SELECT 1 AS one\n",
}


def write_project(folder: Path) -> Project:
    """A source that announces, and a report that runs on every announcement."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Project.load(folder)


def announce(project: Project, count: int) -> float:
    """Announces so many events, a tenth of the last commit's with an id; returns events a second."""
    begin = time.perf_counter()
    for first in range(0, count, BATCH):
        project.events.add_many(
            {
                "asset": "feed",
                "partition": f"2025-01-{number % 28 + 1:02}",
                "extra": {"rows": number},
                "id": f"event-{number}" if number % 10 == 0 and first == count - BATCH else None,
            }
            for number in range(first, first + BATCH)
        )
    return count / (time.perf_counter() - begin)


def cold(folder: Path, *args: str) -> tuple[list[float], float]:
    """(Milliseconds of each process after one that only fills caches, median milliseconds of CPU)."""
    program = str(Path(sys.executable).parent / "sparkassets")
    env = {**os.environ, "SPARKASSETS_CACHE": str(folder.parent / "cache")}
    times, busy = [], []
    for _ in range(REPEATS + 1):
        before, begin = cpu_seconds(), time.perf_counter()
        done = subprocess.run(
            [program, *args, "--project", str(folder)], env=env, capture_output=True, text=True, check=False
        )
        times.append((time.perf_counter() - begin) * 1000)
        busy.append((cpu_seconds() - before) * 1000)
        if done.returncode:
            raise SystemExit(f"{' '.join(args)}: {done.stderr}")
    return times[1:], statistics.median(busy[1:])


def measure(folder: Path, title: str) -> None:
    """Prints a line for each command."""
    print(f"{title}; medians of {REPEATS}")
    print(f"{'':24} {'ms':>6} {'spread':>12} {'CPU ms':>7}")
    commands = {
        RUN: ["run"],
        LIST: ["events", "list", "--last", "20"],
        ADD: ["events", "add", "feed", "--id", "event-99990"],
    }
    for name, command in commands.items():
        times, busy = cold(folder, *command)
        middle, spread = statistics.median(times), f"{min(times):.0f}-{max(times):.0f}"
        print(f"{name:24} {middle:>6.0f} {spread:>12} {busy:>7.0f}")
        if goal := GOALS.get(name):
            limit = "the start of a process, and the journal's newest snapshot"
            record(f"{title}: {name}", middle, "ms", spread=times, goal=goal, limit=limit)


def main() -> None:
    """Prints the tables."""
    engine = FakeEngine()
    sparkassets.spark.engine.SparkEngine = lambda *_: engine  # type: ignore[assignment, misc]
    sparkassets.spark.engine.SparkTargetFactory = LoggingOutlets  # type: ignore[assignment, misc]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "conf"
        project = write_project(folder)
        project.assets.pause("report")
        rate = announce(project, EVENTS)
        print(f"{EVENTS:,} events announced in commits of {BATCH:,}: {rate:,.0f} a second")
        measure(folder, f"{EVENTS:,} events that wait for a paused asset")
        project.assets.resume("report")
        project.run()
        measure(folder, f"{EVENTS:,} events, all used")


if __name__ == "__main__":
    main()
