"""What driving costs: waves of trivial runs that are due at once, by their number, and by several drivers together.

The engine computes nothing, so all CPU is the driver's: planning, claiming, executing, recording. Each line is a
process of its own. The exponent is that of the CPU's growth since the line before.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import ClaimEntry, SuccessEntry
from sparkassets.processes import this_process
from sparkassets.runtime.driver_work import TickWork
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.state.delta_store import DeltaStore
from sparkassets.state.memory_store import MemoryStore
from sparkassets.wiring.host import SystemClock, any_alive, host_identity
from tests.builders import asset, project, source
from tests.runtime.fakes import World

WAVES = (250, 500, 1000, 2000, 10_000)
GOALS = {1000: 6.0, 10_000: 60.0}
"""CPU seconds of the driver, by the number of runs."""
TOGETHER, DRIVERS, GOAL_RATE = 2000, 4, 150
LOOPS, GOAL_MEGABYTES = 86_400, 400
"""A day of a tick a second."""


class Cost(NamedTuple):
    """What one process took: CPU and clock in seconds, its greatest size in bytes."""

    cpu: float
    seconds: float
    size: int


def main() -> None:
    """Prints the tables."""
    for title, on_disk in (("journal in memory", False), ("journal on a disk", True)):
        print(f"runs due at once, {title}")
        before: tuple[int, float] | None = None
        for count in WAVES:
            cost = alone(wave, count, on_disk)
            grows = "" if before is None else f"{math.log(cost.cpu / before[1]) / math.log(count / before[0]):8.2f}"
            goal = f"   goal {GOALS[count]:.0f} s" if count in GOALS else ""
            print(f"  {count:>7,} runs  CPU {cost.cpu:7.2f} s  {cost.size / 1e6:6.0f} MB  exponent {grows:>8}{goal}")
            before = count, cost.cpu
    rates()
    cost = alone(ticks, LOOPS, False)
    print(f"{LOOPS:,} ticks with nothing due: CPU {cost.cpu:.1f} s, {cost.size / 1e6:.0f} MB   goal {GOAL_MEGABYTES} MB")


def rates() -> None:
    """Several drivers on one journal, which take from all what nobody has claimed."""
    for drivers in (1, DRIVERS):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            with pool(drivers) as workers:
                list(workers.map(drive, [folder] * drivers, [TOGETHER] * drivers))
            seconds = time.monotonic() - began
            rows = DeltaStore(folder).read_history()
        kinds = Counter(type(from_row(row).entry) for row in rows)
        assert kinds[SuccessEntry] == kinds[ClaimEntry] == TOGETHER
        goal = f"   goal {GOAL_RATE}" if drivers == DRIVERS else ""
        print(f"{drivers} drivers, {TOGETHER:,} runs, none twice: {TOGETHER / seconds:6.0f} runs/s with starts{goal}")


def alone(work: Callable[[int, bool], Cost], count: int, on_disk: bool) -> Cost:
    """The cost of some work in a process of its own."""
    with pool(1) as workers:
        return workers.submit(work, count, on_disk).result()


def pool(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def wave(count: int, on_disk: bool) -> Cost:
    """As many assets as that read a source with news."""
    with tempfile.TemporaryDirectory() as folder:
        found = world(count, folder if on_disk else None)
        found.tell("s")
        return cost_of(lambda: tick(found, count))


def ticks(count: int, on_disk: bool) -> Cost:
    """As many ticks of one process after another, as ``--loop`` has them."""
    found = world(10, None)
    found.tell("s")
    tick(found, 10)
    return cost_of(lambda: [tick(found, 0) for _ in range(count)])


def drive(folder: str, count: int) -> None:
    """A driver among several, until nobody has anything to do."""
    found = world(count, folder)
    found.tell("s")
    found.driver(host=host_identity()).run_works([TickWork()])


def world(count: int, folder: str | None) -> World:
    """A project of so many assets that one source makes due."""
    assets = [asset(f"a{number}", "s", by=None) for number in range(count)]
    store = MemoryStore() if folder is None else DeltaStore(folder)
    found = World(project(source("s", by=None), *assets, max_parallel_runs=4), store)
    found.clock, found.process = SystemClock(), this_process()  # type: ignore[assignment]
    return found


def tick(found: World, count: int) -> None:
    summary = found.driver().run_works([TickWork()])
    assert len(summary.runs) == count


def cost_of(work: Callable[[], object]) -> Cost:
    cpu, clock = time.process_time(), time.monotonic()
    work()
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Cost(time.process_time() - cpu, time.monotonic() - clock, size)


if __name__ == "__main__":
    main()
