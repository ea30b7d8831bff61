"""How much more several drivers do than one, of work that waits: assets whose computation sleeps.

Drivers are processes on one journal on disk, without a JVM, and all at once; each runs one asset at a time. Disjoint
drivers have a share of the assets each (`--select`); the others take from all what nobody has claimed.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.ports import RunOrder
from tests.benchmark.figures import record
from tests.builders import asset, project, source
from tests.crash.driver import Orders, PlainProject
from tests.crash.plain import SALES, Computed, PlainEngine
from tests.crash.processes import Started, server

ASSETS = 8
SLEEP_SECONDS = 0.5
REPEATS = 1
DRIVERS = (1, 2, 4)


class SleepingEngine(PlainEngine):
    """Computes as a cluster elsewhere would: this machine waits."""

    def compute(self, order: RunOrder, *, attempt: int) -> Computed:
        time.sleep(SLEEP_SECONDS)
        return super().compute(order, attempt=attempt)


def main() -> None:
    """Prints the table."""
    server().ready()
    print(f"{ASSETS} assets of {SLEEP_SECONDS} s each, one run at a time in a driver")
    for name, disjoint in (("disjoint assets", True), ("whatever is free", False)):
        alone = 0.0
        for drivers in DRIVERS:
            seconds = median(driven(drivers, disjoint=disjoint) for _ in range(REPEATS))
            alone = alone or seconds
            print(f"  {name:<18}{drivers} drivers  {seconds:6.2f} s  {ASSETS / seconds:5.1f} runs/s")
            if drivers > 1:
                what = f"runs that wait, {name}, drivers: {drivers}"
                record(what, seconds / alone, "x", against="one driver", limit=f"1/{drivers}")


def driven(drivers: int, *, disjoint: bool) -> float:
    """Seconds that so many drivers take until all assets are computed, each once."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_deltalake(home / "s", pa.Table.from_pylist([{"id": 1, "shop": "de", "amount": 1}], SALES))
        make = partial(sleeping, home)
        make().run(select=["s"])
        began = time.monotonic()
        started = [Started(Orders(home, make, **_share(n, drivers, disjoint=disjoint))) for n in range(drivers)]
        if any(each.ends() != "exited 0" for each in started):
            raise SystemExit("a driver failed")
        seconds = time.monotonic() - began
        ran = [line for each in started for line in each.output.splitlines()]
        if len(ran) != ASSETS:
            raise SystemExit(f"{len(ran)} runs in place of {ASSETS}")
        return seconds


def _share(number: int, drivers: int, *, disjoint: bool) -> dict[str, Any]:
    """Which assets a driver may run."""
    own = tuple(f"a{each}" for each in range(number, ASSETS, drivers))
    return {"hurry": False, **({"select": own} if disjoint else {"waits": 60.0})}


def sleeping(home: Path) -> PlainProject:
    """The project as each driver has it."""
    return PlainProject(spec(home), engine=SleepingEngine)


def spec(home: Path) -> ProjectSpec:
    """One source, and assets that read it."""
    read = source("s", by=None)
    assets = [asset(f"a{n}", "s", by=None) for n in range(ASSETS)]
    placed = [_at(each, home) for each in (read, *assets)]
    return replace(project(*placed, max_parallel_runs=1), state=str(home / "state"))


def _at(made: AssetSpec, home: Path) -> AssetSpec:
    place = str(home / made.name)
    return replace(made, storage=StorageLocation(place, place))


if __name__ == "__main__":
    from tests.benchmark import bench_drivers  # by the name that drivers know it by

    bench_drivers.main()
