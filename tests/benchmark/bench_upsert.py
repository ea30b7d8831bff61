"""What an upsert of one row in a hundred costs against the `MERGE` that a person would have written by hand.

Both take turns in one session, on tables of the same rows. ``python -m tests.benchmark.bench_upsert 10 stored`` takes
ten million rows, which is minutes, and one of the two ways to tell what is newer; the default is both and one million.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from sparkassets import Project
from sparkassets.core.spec.model import InletSpec, ReadAfter
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import UpsertWrite
from sparkassets.spark.engine import SparkEngine
from tests.benchmark.bench_runs import Goals, alternate, asset, project_of, source

COLUMNS = "id, name, amount, at"
WRITES = {
    "stored": (UpsertWrite(("id",), ("at",), "_op = 'd'"), f"{COLUMNS}, op AS _op"),
    "hidden": (
        UpsertWrite(("id",), ("_at",), "_op = 'd'"),
        f"{COLUMNS}, at AS _at, op AS _op",
    ),
}


def main(millions: int, *names: str) -> None:
    """Prints the tables, of these ways or of all."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        engine = SparkEngine(project_of(root, {}, source(root, None)))
        engine.start()
        from pyspark.sql import SparkSession

        for name in names or WRITES:
            upserts(SparkSession.getActiveSession(), root / name, *WRITES[name], name=name, rows=millions * 1_000_000)
        engine.close()


def upserts(spark: Any, root: Path, write: UpsertWrite, columns: str, *, name: str, rows: int) -> None:
    """Changes of keys from all over the table, a fifth of them new and a few deleted."""
    batches, last = itertools.count(1), [0]

    def bring(ids: str, count: int, batch: int) -> None:
        query = (
            f"SELECT {ids} AS id, uuid() AS name, rand() AS amount, {batch}L AS at, {batch}L AS batch, "
            f"CASE WHEN id % 50 = 7 AND {batch} > 0 THEN 'd' ELSE 'u' END AS op FROM range({count})"
        )
        spark.sql(query).write.format("delta").mode("append").save(str(root / "source"))
        last[0] = batch

    def touch() -> None:
        batch = next(batches)
        share = rows // 100
        bring(f"(id * 97 + {batch} * 31) % {rows + rows // 5}", share, batch)

    written = asset("rows", root, f"SELECT {columns} FROM {{{{ inlets.source }}}}", None)
    inlets = {"source": InletSpec("source", "source", None, read=ReadAfter("batch"))}
    written = replace(written, write=write, strategy=LatestOnly(), inlets=inlets)
    ours = Project(project_of(root, {}, source(root, None), written))

    def run() -> None:
        assert [result.status for result in ours.run(spark).runs] == ["success"]

    def by_hand() -> None:
        spark.sql(
            f"MERGE INTO delta.`{root / 'hand'}` t USING "
            f"(SELECT * FROM delta.`{root / 'source'}` WHERE batch = {last[0]}) s ON t.id = s.id "
            "WHEN MATCHED AND s.op = 'd' AND s.at >= t.at THEN DELETE "
            "WHEN MATCHED AND s.at >= t.at THEN UPDATE SET name = s.name, amount = s.amount, at = s.at "
            "WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT (id, name, amount, at) VALUES (s.id, s.name, s.amount, s.at)"
        ).collect()

    bring("id", rows, 0)
    run()
    spark.read.format("delta").load(str(root / "rows")).write.format("delta").save(str(root / "hand"))
    what = f"upsert of 1 % of {rows:,} rows, by an order whose column is {name}"
    limit = "the rows of each file with a changed key are read and written once more"
    alternate(what, touch, by_hand, run, goals=Goals(0.9, limit=limit))
    counts = [spark.read.format("delta").load(str(root / each)).count() for each in ("hand", "rows")]
    assert counts[0] == counts[1], counts


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["1"])[0]), *sys.argv[2:])
