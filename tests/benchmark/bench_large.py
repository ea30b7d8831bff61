"""What a run over ten million rows costs against the plain Delta write that a person would have written by hand.

Both take turns in one session with the settings that sparkassets starts one with; medians, with the spread.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.core.writes import AppendWrite, ReplaceWrite
from sparkassets.spark.engine import SparkEngine
from tests.benchmark.bench_runs import alternate, asset, project_of, source

ROWS = 5_000_000


def main() -> None:
    """Prints the tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        engine = SparkEngine(project_of(root, {}, source(root, None)))
        engine.start()
        from pyspark.sql import SparkSession

        large(SparkSession.getActiveSession(), root)
        engine.close()


def large(spark: Any, root: Path) -> None:
    """Many rows, added or in place of all that is there."""
    query = f"SELECT id, id % 1000 AS k, CAST(id AS STRING) AS t FROM range({ROWS})"
    for write in (ReplaceWrite(), AppendWrite()):
        place = root / write.name
        written = asset("rows", place, query + " WHERE (SELECT count(*) FROM {{ inlets.source }}) > 0", None)
        written = replace(written, write=write)
        ours = Project(project_of(place, {}, source(place, None), written))
        mode = "overwrite" if write.name == "replace" else "append"

        def touch(place: Path = place) -> None:
            spark.range(1).write.format("delta").mode("append").save(str(place / "source"))

        def by_hand(place: Path = place, mode: str = mode) -> None:
            rows = spark.sql(query).where(f"(SELECT count(*) FROM delta.`{place / 'source'}`) > 0")
            rows.write.format("delta").mode(mode).save(str(place / "hand"))

        def run(ours: Project = ours) -> None:
            assert [result.status for result in ours.run(spark).runs] == ["success"]

        alternate(f"{write.name} of {ROWS:,} rows", touch, by_hand, run)
        files = [len(DeltaTable(str(place / name)).file_uris()) for name in ("hand", "rows")]
        print(f"  files {files[1]}, by hand {files[0]}")


if __name__ == "__main__":
    main()
