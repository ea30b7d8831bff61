"""Publishing beside the plain write: the same rows by ``publish`` and by ``replace``, in turns; medians and the ratio.

Run with ``python -m tests.benchmark.bench_publish``.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from sparkassets import Project
from sparkassets.app.backfills import BackfillRequest
from sparkassets.core.spec.model import Schedule
from sparkassets.core.writes import PublishWrite, ReplaceWrite, WriteMode
from sparkassets.spark.engine import SparkEngine
from tests.benchmark.bench_runs import asset, project_of
from tests.benchmark.figures import record

MODES: tuple[WriteMode, ...] = (ReplaceWrite(), PublishWrite(3))
REPEATS = 5
GOAL = 1.1
SIZES = {"1,000 rows": 1_000, "2 million rows": 2_000_000}


def main() -> None:
    """Records a ratio for each size."""
    with tempfile.TemporaryDirectory() as folder:
        engine = SparkEngine(project_of(Path(folder), {}))
        engine.start()
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        for title, rows in SIZES.items():
            seconds: dict[str, list[float]] = {write.name: [] for write in MODES}
            for turn in range(REPEATS + 2):
                for write in MODES:
                    place = Path(folder) / str(rows) / write.name
                    sql = f"SELECT id, id % 1000 AS k, CAST(id AS STRING) AS t, {turn} AS turn FROM range({rows})"
                    made = replace(asset("made", place, sql, None), inlets={}, schedule=Schedule(), unchanged="publish")
                    ours = Project(project_of(place, {}, replace(made, write=write)))
                    begin = time.perf_counter()
                    (result,) = ours.backfills.run(BackfillRequest("made", force=True), spark).runs
                    if turn > 1:
                        seconds[write.name].append(time.perf_counter() - begin)
                    assert result.status == "success", result.error
            ratios = [ours / plain for plain, ours in zip(seconds["replace"], seconds["publish"], strict=True)]
            what, ratio = f"publish {title}", statistics.median(ratios)
            limit = "1, and the log of the iteration's own table"
            record(what, ratio, "x", against="`replace`", spread=ratios, goal=GOAL, limit=limit)
        engine.close()


if __name__ == "__main__":
    main()
