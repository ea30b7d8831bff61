"""A backfill on Spark: its price, its order, a kill in the midst, and that every day is as often computed as asked."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import BackfillRequest, Project
from tests.e2e.projects import write

pytestmark = pytest.mark.spark

PROJECT = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets]\n",
    "assets/sales.yml": "asset: sales\nsource: delta\npath: lake/sales\npartition: {by: day, column: day}\n",
    "assets/totals.yml": """
asset: totals
partition: {by: day, column: day}
strategy: {date_range: {max_partitions_per_run: 2}}
budget: {bytes: 1MB}
""",
    "assets/totals.sql": "SELECT day, sum(amount) AS total FROM {{ inlets.sales }} GROUP BY day",
}
WEEK = "2025-03-01..2025-03-06"


def sell(folder: Path, *days: int) -> None:
    for day in days:
        rows = {"day": pa.array([f"2025-03-{day:02}"] * 100).cast(pa.date32()), "amount": [float(day)] * 100}
        write_deltalake(folder / "lake/sales", pa.table(rows), mode="append", partition_by=["day"])


@pytest.mark.alike
def test_what_is_left_of_it_is_gone_on_with_and_the_price_is_that_of_the_files(spark, tmp_path):
    folder = write(tmp_path, PROJECT)
    sell(folder, 1, 2, 3, 4, 5, 6)
    project = Project.load(folder, env={})
    sizes = {file.parent.name[-2:]: file.stat().st_size for file in (folder / "lake/sales").rglob("*.parquet")}
    plan = project.plan(estimate=True)
    assert [(run.estimate.bytes, run.estimate.files, run.estimate.seconds) for run in plan.runs] == [
        (sizes["01"] + sizes["02"], 2, None)
    ]
    project.run(spark)
    request = BackfillRequest("totals", WEEK, force=True, newest_first=True)
    limited = BackfillRequest("totals", WEEK, force=True, newest_first=True, max_runs=1)
    dry = project.backfills.plan(request, estimate=True)
    assert [run.partition_keys for run in dry.runs] == [
        ("2025-03-05..2025-03-06",),
        ("2025-03-03..2025-03-04",),
        ("2025-03-01..2025-03-02",),
    ]
    assert dry.totals.bytes == sum(sizes.values())
    assert dry.totals.unknown == {}
    assert all(run.estimate.rows == 2 and run.estimate.earlier == 3 for run in dry.runs)
    project.backfills.run(limited, spark)
    project.backfills.run(request, spark)
    ran = [(run.kind, run.status, run.partition_keys) for run in project.history.runs(asset="totals")]
    assert ran[3:] == [("backfill", "success", run.partition_keys) for run in dry.runs]
    assert project.plan().runs == ()
    rows = pa.table(DeltaTable(folder / "warehouse/totals").scan()).to_pylist()
    assert sorted((row["day"].day, row["total"]) for row in rows) == [(day, 100.0 * day) for day in range(1, 7)]
