"""How long it takes from nothing to the first Delta write: plain pyspark with Delta's own pip helper, or a whole run.

Each start is a process of its own; the three kinds alternate, so that all meet the same machine. Medians, with the
spread. Before anything is measured each kind starts once, as the jars and the class data archive are made on first use.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmark.figures import record

REPEATS = 2

PLAIN = """
import sys, time
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
builder = SparkSession.builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
session = configure_spark_with_delta_pip(builder).getOrCreate()
session.range(100).write.format("delta").save(sys.argv[1] + "/table")
print(time.time())
"""
OURS = """
import sys, time
from sparkassets import Project
(result,) = Project.load(sys.argv[1]).run().runs
assert result.status == "success"
print(time.time())
"""
KINDS = {"plain": PLAIN, "ours": OURS, "small": OURS}
ASSET = 'asset: numbers\nschedule: "@once"\nsql: SELECT id FROM range(100)\n'
NAMES = {"plain": "plain pyspark with Delta", "ours": "ours", "small": "ours, small-data profile"}
BUDGETS = {"ours": 0.5, "small": 0.5}


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            _start(kind, Path(folder) / f"warm-{kind}")
        taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for repeat in range(REPEATS):
            for kind in KINDS:
                taken[kind].append(_start(kind, Path(folder) / f"{kind}-{repeat}"))
    plain = statistics.median(taken["plain"])
    print(f"from nothing to the first Delta write, {REPEATS} starts each")
    for kind, seconds in taken.items():
        median = statistics.median(seconds)
        print(f"{NAMES[kind]:28} {median:6.1f} s ({min(seconds):.1f} to {max(seconds):.1f})")
        if kind in BUDGETS:
            what = f"from nothing to the first Delta write, {NAMES[kind]}"
            against, limit = f"{NAMES['plain']}, {plain:.1f} s", "the start of the JVM and of Spark's context"
            record(what, median / plain, "x", against=against, goal=BUDGETS[kind], limit=limit)


def _start(kind: str, folder: Path) -> float:
    """Seconds from the process's start to the end of its first write, ours recorded; its exit does not count."""
    folder.mkdir()
    small = '{sparkassets.small_data: "true"}' if kind == "small" else "{}"
    (folder / "project.yml").write_text(f"project: bench\nassets: [numbers.yml]\nspark: {small}\n", encoding="utf-8")
    (folder / "numbers.yml").write_text(ASSET, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-c", KINDS[kind], str(folder)]
    began = time.time()
    # what Spark says is of no interest; a failure shows in the return code
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return float(done.stdout.split()[-1]) - began


if __name__ == "__main__":
    main()
