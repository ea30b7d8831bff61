"""A start with nothing due whose state and tables are on S3: seconds, and the requests that it makes.

The S3 API is moto's, on loopback. Seconds are those of `sparkassets run` as a process, of a driver in a process that
is there, and of that driver's next tick; requests are counted by a proxy, in other starts than those that are timed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from sparkassets import Project
from tests.benchmark.figures import record
from tests.crash.driver import PlainProject
from tests.crash.plain import SALES
from tests.integration.lossy import Lossy, before
from tests.integration.on_s3 import serving

SIZES = (1, 10)
REPEATS = 3
BUDGET_SECONDS = 1.0


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder, serving() as address, before(address) as counting:
        print(f"nothing due on S3, medians of {REPEATS}")
        for size in SIZES:
            home = Path(folder, str(size))
            write(home, size)
            fill(home, size)
            for name, work in starts(home).items():
                seconds = [timed(work) for _ in range(REPEATS + 1)][1:]
                middle, spread = statistics.median(seconds), f"{min(seconds):.2f}-{max(seconds):.2f}"
                asked = counted(counting, address, work)
                told = ", ".join(f"{count} {kind}" for kind, count in sorted(asked.items()))
                print(f"{size:>3} + {size:<3} {name:<12} {middle:5.2f} s  {spread:<10} {told or 'none'}")
                if size == SIZES[1]:
                    what = f"nothing due, state and {size} + {size} tables on S3 (moto): {name}"
                    limit = f"round trips for {sum(asked.values())} requests"
                    record(what, middle, "s", spread=seconds, goal=BUDGET_SECONDS, limit=limit)


def write(home: Path, size: int) -> None:
    """So many sources, and as many assets that read them."""
    (home / "assets").mkdir(parents=True)
    lake = f"s3://lake/{home.name}"
    (home / "project.yml").write_text(f"project: s3\nstate: {lake}/state\nwarehouse: {lake}/lake\nassets: [assets/]\n")
    for n in range(size):
        (home / f"assets/s{n}.yml").write_text(f"asset: s{n}\nsource: delta\npath: {lake}/s{n}\n")
        (home / f"assets/a{n}.yml").write_text(f"asset: a{n}\nsql: SELECT * FROM {{{{ inlets.s{n} }}}}\n")


def fill(home: Path, size: int) -> None:
    """Everything is computed once, without a JVM."""
    for n in range(size):
        rows = pa.Table.from_pylist([{"id": 1, "shop": "de", "amount": 1}], SALES)
        write_deltalake(f"s3://lake/{home.name}/s{n}", rows)
    assert len(PlainProject(Project.load(home).spec).run().runs) == size


def starts(home: Path) -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    program = str(Path(sys.executable).parent / "sparkassets")
    spec = Project.load(home).spec
    there = PlainProject(spec)
    return {
        "a process": partial(subprocess.run, [program, "run", "--project", str(home)], check=True, capture_output=True),
        "a driver": lambda: PlainProject(spec).run(),
        "its next tick": there.run,
    }


def timed(work: Callable[[], object]) -> float:
    """Seconds of it."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def counted(counting: Lossy, address: str, work: Callable[[], object]) -> Counter[str]:
    """How many requests of each method it makes; lists are told from reads."""
    os.environ["AWS_ENDPOINT_URL"] = counting.address
    work()
    counting.begin()
    work()
    found = counting.requests()
    os.environ["AWS_ENDPOINT_URL"] = address
    return Counter("LIST" if "list-type" in each else each.partition(" ")[0] for each in found)


if __name__ == "__main__":
    main()
