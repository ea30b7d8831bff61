"""What a multi-asset of two costs against two writes of one cached frame by hand, in the same session.

Two million rows, of which a shuffle makes what is split, by `randomSplit` and by a column. Both take turns; medians,
with the spread, and the ratio.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparkassets import Project
from sparkassets.app.backfills import BackfillRequest
from tests.benchmark.figures import record

ROWS = 2_000_000
REPEATS = 3
CODE = """
from pyspark.sql import functions as sql


def rows(examples):
    told = [sql.count("*").alias("n"), sql.sum("x").alias("x"), sql.max("id").alias("id")]
    grouped = examples.groupBy("user").agg(*told)
    return grouped.withColumn("share", sql.col("x") / sql.col("n"))


def by_chance(examples):
    train, test = rows(examples).randomSplit([0.8, 0.2], seed=7)
    return {"train": train, "test": test}


def by_column(examples):
    made = rows(examples)
    return {"train": made.where("user % 5 > 0"), "test": made.where("user % 5 = 0")}
"""
FILES = {
    "project.yml": "project: bench\nassets: [assets]\npython: [benchjobs]\n",
    "assets/examples.yml": "asset: examples\nsource: delta\npath: lake/examples\n",
    "benchjobs/work.py": CODE,
}


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("by_chance", "by_column"):
            root = Path(folder, name)
            write(root, FILES | {"assets/split.yml": split(name)})
            project = Project.load(root, env={})
            spark = session()
            wide = spark.range(ROWS).selectExpr("id", "hash(id) % 1000000 AS user", "rand(1) AS x")
            wide.write.format("delta").save(str(root / "lake/examples"))
            measure(name, spark, project, root)


def measure(name: str, spark: Any, project: Project, root: Path) -> None:
    """Both ways, by turns."""
    ways: Mapping[str, Callable[[int], None]] = {
        "by hand, cached": lambda turn: by_hand(name, spark, root, root / f"hand-{turn}"),
        "multi-asset": lambda _: by_project(spark, project),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(REPEATS + 1):
        for way, work in ways.items():
            begin = time.perf_counter()
            work(turn)
            if turn:
                seconds[way].append(time.perf_counter() - begin)
    ratios = [ours / hand for hand, ours in zip(*seconds.values(), strict=True)]
    what = f"a multi-asset of two, split {name.replace('_', ' ')}"
    record(what, statistics.median(ratios), "x", against="a cached frame, written twice", spread=ratios)


def by_hand(name: str, spark: Any, root: Path, folder: Path) -> None:
    """What somebody would write: the rows are cached, and written twice."""
    sys.path.insert(0, str(root))
    sys.modules.pop("benchjobs.work", None)
    from benchjobs import work

    made = work.rows(spark.read.format("delta").load(str(root / "lake/examples"))).cache()
    if name == "by_chance":
        train, test = made.randomSplit([0.8, 0.2], seed=7)
    else:
        train, test = made.where("user % 5 > 0"), made.where("user % 5 = 0")
    train.write.format("delta").mode("overwrite").save(str(folder / "train"))
    test.write.format("delta").mode("overwrite").save(str(folder / "test"))
    made.unpersist()


def by_project(spark: Any, project: Project) -> None:
    (result,) = project.backfills.run(BackfillRequest("split", force=True), spark).runs
    assert result.status == "success", result.error


def split(name: str) -> str:
    return f"asset: split\noutlets: {{train: , test: }}\nschedule: manual\npython: benchjobs.work:{name}\n"


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def session() -> Any:
    """The session of both, as sparkassets starts one."""
    from sparkassets.spark.session import open_session

    return open_session({}, name="bench")[0]


if __name__ == "__main__":
    main()
