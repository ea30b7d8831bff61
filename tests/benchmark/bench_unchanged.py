"""What ``unchanged: skip`` costs, against ``publish``, the default.

All take turns in one session; medians, with the spread, and the ratio to ``publish``, which compares nothing. Each is
measured where nothing changed, so that all of it is compared, and where every row did.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from sparkassets import Project
from sparkassets.app.backfills import BackfillRequest
from sparkassets.core.partitions import TimePartition
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec, Schedule, UnchangedPolicy
from sparkassets.spark.engine import SparkEngine
from tests.benchmark.bench_runs import HERE, asset, project_of
from tests.benchmark.figures import record

MODES: tuple[UnchangedPolicy, ...] = ("publish", "skip")
REPEATS = 2
DAYS = "SELECT p.day, n.id AS n, hash(n.id) AS h, CAST(n.id AS STRING) AS t FROM {{ partitions }} p, range(200) n"
ROWS = "SELECT id, id % 1000 AS k, CAST(id AS STRING) AS t, id / 7 AS x FROM range(1000000)"


def main() -> None:
    """Prints the tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        engine = SparkEngine(project_of(root, {}))
        engine.start()
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        day = TimePartition("day", "UTC", column="day")
        for title, name, sql, partition, keys, commits in (
            ("a year of days, 200 rows each", "days", DAYS, day, "2024-01-01..2024-12-30", ("auto", "spark")),
            ("1 million rows", "rows", ROWS, None, None, ("auto",)),
        ):
            for commit in commits:
                made = replace(
                    asset(name, root / commit, sql, partition), inlets={}, schedule=Schedule(), commit=commit
                )
                measure(spark, root / commit / name, made, keys, title=f"{title}, commit: {commit}")
        engine.close()


def measure(spark: Any, root: Path, made: AssetSpec, keys: str | None, *, title: str) -> None:
    """One asset in each mode, by turns."""
    for what, changes in (("nothing changed", False), ("all changed", True)):
        seconds: dict[UnchangedPolicy, list[float]] = {mode: [] for mode in MODES}
        turns = count()
        for turn in range(REPEATS + 2):
            for mode in MODES:
                number = next(turns) if changes else 0
                body = SqlBody(f"SELECT *, {number} AS turn FROM ({sql_of(made)})", HERE)
                place = root / what.partition(" ")[0] / mode
                storage = replace(made.storage, path=str(place / "table")) if made.storage else None
                ours = Project(project_of(place, {}, replace(made, storage=storage, body=body, unchanged=mode)))
                begin = time.perf_counter()
                (result,) = ours.backfills.run(BackfillRequest(made.name, keys, force=True), spark).runs
                if turn > 1:
                    seconds[mode].append(time.perf_counter() - begin)
                assert result.status == "success", result.error
                if turn and mode == "skip":
                    assert bool(result.unchanged) is not changes, (what, result.unchanged)
        ratios = [skip / publish for publish, skip in zip(*seconds.values(), strict=True)]
        record(f"{title}, {what}", statistics.median(ratios), "x", against="`unchanged: publish`", spread=ratios)


def sql_of(made: AssetSpec) -> str:
    """The asset's SELECT."""
    if not isinstance(made.body, SqlBody):
        raise TypeError("no SQL")
    return made.body.template


if __name__ == "__main__":
    main()
