"""What driving costs: waves of trivial runs that are due at once, by several drivers together, and ticks without any.

The engine computes nothing, so all CPU is the driver's: planning, claiming, executing, recording. Each line is a
process of its own. ``python -m tests.benchmark.bench_waves 86400`` has the ticks of a day of ``--loop 1s``.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import psutil

from sparkassets.cli import OBJECTS_BETWEEN_LOOKS
from sparkassets.ports import HistoryQuery
from sparkassets.processes import this_process
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.delta_store import DeltaStore
from sparkassets.state.memory_store import MemoryStore
from sparkassets.wiring.host import SystemClock, host_identity
from tests.benchmark.figures import record, record_growth
from tests.builders import asset, project, source
from tests.runtime.fakes import World

WAVES = (500, 1000, 10_000)
GOALS = {1000: 6.0, 10_000: 60.0}
"""CPU seconds of the driver, by the number of runs."""
TOGETHER, DRIVERS, GOAL_RATE = 2000, 4, 150
TICKS, GOAL_MEGABYTES = int(sys.argv[1]) if sys.argv[1:] else 1000, 400
SIZED = (500, 10_000)

gc.set_threshold(OBJECTS_BETWEEN_LOOKS)  # as the command does


class Cost(NamedTuple):
    """CPU of the driver in seconds, and the greatest size of its process in bytes."""

    cpu: float
    size: int


def main() -> None:
    """Prints the tables."""
    for title, work in (("journal in memory", wave), ("journal on a disk", wave_on_disk)):
        print(f"runs due at once, {title}")
        costs = {count: alone(work, count) for count in WAVES}
        for count, cost in costs.items():
            print(f"  {count:>7,} runs  CPU {cost.cpu:7.2f} s  {cost.size / 1e6:6.0f} MB")
            what = f"{count:,} runs due at once, {title}"
            if count in GOALS:
                limit = "every run is planned, claimed, computed and recorded"
                record(f"{what}: CPU of the driver", cost.cpu, "s", goal=GOALS[count], limit=limit)
            if count in SIZED:
                limit = "the results of all runs of the invocation"
                record(f"{what}: memory", cost.size / 1e6, "MB", goal=GOAL_MEGABYTES, limit=limit, section="Memory")
        record_growth(f"CPU of the driver for n runs due at once, {title}", {n: each.cpu for n, each in costs.items()})
    rates()
    for name, news in (("with nothing due", False), ("with one run", True)):
        with pool(1) as workers:
            early, late = workers.submit(loop, TICKS, news=news).result()
        record(
            f"memory after {TICKS:,} ticks {name}",
            late.size / early.size,
            "x",
            against=f"after {TICKS // 5:,} ticks, {early.size / 1e6:.0f} MB",
            goal=1.05,
            limit="1: objects do not grow, Python's blocks by 3 a run, malloc by 1 MB in all; the rest is outside both",
            section="Memory",
        )
        record(f"a tick {name}: CPU", late.cpu / TICKS * 1000, "ms")


def rates() -> None:
    """Several drivers on one journal, which take from all what nobody has claimed."""
    for drivers in (1, DRIVERS):
        with tempfile.TemporaryDirectory() as folder:
            prepared = world(TOGETHER, folder)
            prepared.tell("s")
            prepared.driver().run_works([DueWork(select=["s"])])
            with pool(drivers) as workers:
                cpu = sum(workers.map(drive, [folder] * drivers, [TOGETHER] * drivers))
            rows = DeltaStore(folder).read_history(HistoryQuery(kinds=["claim", "success"]))
        kinds, done = Counter(row.kind for row in rows), {row.asset for row in rows if row.kind == "success"}
        assert kinds["success"] == kinds["claim"] == len(done) == TOGETHER
        seconds = (rows[-1].at - rows[0].at).total_seconds()
        print(f"{drivers} drivers, {TOGETHER:,} runs, none twice: CPU {cpu:.2f} s, {cpu / seconds:.1f} cores")
        goal, limit = (GOAL_RATE, "one commit to the journal at a time") if drivers == DRIVERS else (None, "")
        record(f"trivial runs, drivers: {drivers}", TOGETHER / seconds, "runs/s", goal=goal, limit=limit)


def alone(work: Callable[[int], Cost], count: int) -> Cost:
    """The cost of some work in a process of its own."""
    with pool(1) as workers:
        return workers.submit(work, count).result()


def pool(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def wave(count: int, folder: str | None = None) -> Cost:
    """As many assets as that read a source with news."""
    found = world(count, folder)
    found.tell("s")
    cpu = time.process_time()
    summary = found.driver().run_works([DueWork()])
    assert len(summary.runs) == count
    return Cost(time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def wave_on_disk(count: int) -> Cost:
    """The same with the journal in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        return wave(count, folder)


def loop(count: int, *, news: bool) -> tuple[Cost, Cost]:
    """Ticks of one process, as ``--loop`` has them: the cost of a fifth of them, and of all.

    Args:
        count: The ticks.
        news: Whether each has one run to compute.
    """
    process, costs = psutil.Process(), []
    with tempfile.TemporaryDirectory() as folder:
        found = world(1, folder)
        found.tell("s")
        found.driver().run_works([DueWork()])
        cpu = time.process_time()
        for tick in range(1, count + 1):
            if news:
                found.tell("s")
            assert len(found.driver().run_works([DueWork()]).runs) == news
            found.engine.tables = {name: commits[-1:] for name, commits in found.engine.tables.items()}
            if tick in (count // 5, count):
                gc.collect()  # else it tells how long ago the last collection was
                costs.append(Cost(time.process_time() - cpu, process.memory_info().rss))
    return costs[0], costs[1]


def drive(folder: str, count: int) -> float:
    """The CPU seconds of a driver among several, until nobody has anything to do."""
    found = world(count, folder)
    found.alive, found.invocations = True, os.getpid()
    cpu = time.process_time()
    found.driver(host=host_identity()).run_works([DueWork()])
    return time.process_time() - cpu


def world(count: int, folder: str | None) -> World:
    """A project of so many assets that one source makes due."""
    assets = [asset(f"a{number}", "s", by=None) for number in range(count)]
    store = MemoryStore() if folder is None else DeltaStore(folder)
    found = World(project(source("s", by=None), *assets, max_parallel_runs=4), store)
    found.clock, found.process = SystemClock(), this_process()  # type: ignore[assignment]
    return found


if __name__ == "__main__":
    main()
