"""What telling OpenLineage costs a run: by a driver whose runs compute nothing, so that nothing hides it.

A wave of runs of SQL assets over a day of an inlet, with the sink to a file and without, in turns; and the same over
the next day, when each query was looked into. Medians of the processor time of whole invocations, the sink's thread
included, by run, for queries of few and of many columns; the budget is 5 ms a run.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.features.openlineage.facet_builder import FacetBuilder
from sparkassets.features.openlineage.openlineage_sink import OpenLineageSink
from sparkassets.state.memory_store import MemoryStore
from sparkassets.wiring.host import SystemClock
from tests.builders import HERE, asset, project, source
from tests.runtime.fakes import World

ASSETS = 40
REPEATS = 5
COLUMNS = {"day": "date", **{f"c{n}": "double" for n in range(30)}}
SQL = (
    "WITH w AS (SELECT day, c0, {}, sum(c29) OVER (PARTITION BY day ORDER BY c0) AS total FROM {{{{ inlets.s }}}})\n"
    "SELECT day, c0, {}, max(total) AS total FROM w WHERE c1 > 0 GROUP BY day, c0"
)


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        log = {"type": "file", "log_file_path": str(Path(folder, "events.jsonl")), "append": True}
        os.environ["OPENLINEAGE__TRANSPORT"] = json.dumps(log)
        print("columns                          alone    told   more: ms of processor time a run")
        for columns in (5, 20):
            measure(columns)


def measure(columns: int) -> None:
    """Prints two lines of the table."""
    names = range(1, columns)
    body = SQL.format(", ".join(f"c{n}" for n in names), ", ".join(f"avg(c{n}) AS a{n}" for n in names))
    assets = [asset(f"a{n}", "s", body=SqlBody(body, HERE), columns={}) for n in range(ASSETS)]
    measured: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for turn in range(REPEATS + 1):
        for tell in measured:
            took = waves(assets, tell=tell)
            measured[tell] += [took] if turn else []  # what is imported once does not count
    for at, name in enumerate(("the first run of each", "each run after it")):
        alone, told = (statistics.median(each[at] for each in measured[tell]) for tell in (False, True))
        print(f"{columns:7} {name:22} {alone:7.2f} {told:7.2f} {told - alone:6.2f}")


def waves(assets: list[AssetSpec], *, tell: bool) -> tuple[float, float]:
    """The milliseconds that a run takes of two invocations, until its sinks have heard all of it."""
    made = project(source("s", columns=COLUMNS), *assets)
    sinks = (OpenLineageSink(FacetBuilder(made, "bench"), now=SystemClock().now),) if tell else ()
    world = World(made, MemoryStore(), sinks=sinks)
    first, second = (wave(world, day) for day in ("2025-01-05", "2025-01-06"))
    return first, second


def wave(world: World, day: str) -> float:
    """The milliseconds that each run takes of one."""
    world.tell("s", day)
    begun = time.process_time()
    summary = world.opened().run()
    took = time.process_time() - begun
    if len(summary.runs) != ASSETS or not summary.ok:
        raise SystemExit("not every asset ran")
    return took / ASSETS * 1000


if __name__ == "__main__":
    main()
