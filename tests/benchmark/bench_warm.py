"""From a file that lands to the record of the rows made of it, by the ticks of a process that is there, as in a loop.

Two assets, each with a source of daily files of its own: one in Python that writes its table itself and needs no
Spark, and one in SQL in a session that is open. Time begins when the file is there; waiting for a tick does not count.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import Final

from sparkassets import Project
from tests.benchmark.figures import record

REPEATS, WARM = 15, 5
GOALS: Final = {"without Spark": 0.5, "with Spark": 1.0}
PROJECT = """project: warm
state: ./state
warehouse: ./warehouse
assets: [assets.yml]
python: [warm_jobs]
spark: {sparkassets.small_data: "true"}
"""
SOURCE = "asset: landed\nsource: csv\npath: landing/{day}.csv\npartition: {by: day, column: day}\n"
SOURCE += "columns: {id: bigint}\n---\nasset: counts\npartition: {by: day, column: day}\n"
BODIES = {
    "without Spark": "inlets: [landed]\nwrite: self\npython: warm_jobs:count\npath: counts\n",
    "with Spark": "sql: SELECT day, count(*) AS n FROM {{ inlets.landed }} GROUP BY day\n",
}
JOBS = '''
"""Counts the rows of new days."""

import pyarrow as pa
from deltalake import write_deltalake


def count(context):
    """A row for each day."""
    for day in context.partitions:
        rows = pa.table({"day": [day.key], "n": [1]})
        write_deltalake(context.outlets.counts.path, rows, mode="append")
'''


def main() -> None:
    """Records a figure for each."""
    for name, body in BODIES.items():
        with tempfile.TemporaryDirectory() as folder:
            seconds = ticks(Path(folder), body)
        record(
            f"a landed file to its recorded rows, warm, {name}",
            median(seconds),
            "s",
            spread=seconds,
            goal=GOALS[name],
            limit="two commits to the journal, one to the table" + (", one Spark job" if "sql" in body else ""),
        )


def ticks(folder: Path, body: str) -> list[float]:
    """The seconds of each tick that computes one new day."""
    (folder / "landing").mkdir()
    (folder / "warm_jobs.py").write_text(JOBS, "utf-8")
    (folder / "project.yml").write_text(PROJECT, "utf-8")
    (folder / "assets.yml").write_text(SOURCE + body, "utf-8")
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    project, seconds = Project.load(folder), []
    for number in range(WARM + REPEATS):
        day = date(2025, 1, 1) + timedelta(days=number)
        (folder / "landing" / f"{day}.csv").write_text("id\n1\n2\n", "utf-8")
        begin = time.perf_counter()
        summary = project.run()
        seconds.append(time.perf_counter() - begin)
        assert [run.status for run in summary.runs] == ["success"], summary
    return seconds[WARM:]


if __name__ == "__main__":
    main()
