"""The code of assets changes between runs: what is told, what stays, and how it is healed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkassets import Project
from sparkassets.app.backfills import BackfillRequest
from tests.integration import orders

pytestmark = [pytest.mark.spark, pytest.mark.alike]

FILES = {
    "project.yml": "project: shop\nstate: ./state\nwarehouse: ./warehouse\nassets: [assets/]\npython: [shopjobs]\n",
    "assets/orders.yml": "asset: orders\nsource: csv\npath: landing/{day:%Y-%m-%d}.csv\n"
    "columns: {shop: string, amount: int}\npartition: {by: day, column: day}\n",
    "assets/daily.yml": "asset: daily\npartition: {by: day, column: day}\n",
    "assets/daily.sql": "SELECT day, sum(amount) AS revenue FROM {{ inlets.orders }} GROUP BY ALL\n",
    "assets/weekly.yml": "asset: weekly\npython: shopjobs.work:weekly\non_code_change: backfill\n",
    "shopjobs/__init__.py": "",
    "shopjobs/rates.py": "def rate(rows):\n    return rows * 1\n",
    "shopjobs/work.py": "from pyspark.sql.functions import sum as total\nfrom shopjobs.rates import rate\n\n"
    "def weekly(daily):\n    return daily.agg(rate(total('revenue')).alias('total'))\n",
    "landing/2025-01-01.csv": "shop,amount\nde,1\nnl,2\n",
    "landing/2025-01-02.csv": "shop,amount\nde,10\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "conf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "conf"


def held(spark, folder: Path, name: str) -> list[tuple[object, ...]]:
    frame = orders.held(spark, folder / "warehouse" / name)
    return sorted(tuple(map(str, row)) for row in frame.collect())


def rewrite(path: Path, before: str, after: str) -> None:
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


def test_a_table_of_two_codes_is_told_and_becomes_one(spark, folder):
    first = Project.load(folder, env={}).run(spark)
    assert [run.asset for run in first.runs] == ["daily", "weekly"]
    rewrite(folder / "assets/daily.sql", "sum(amount)", "sum(amount) * 100")
    (folder / "landing/2025-01-03.csv").write_text("shop,amount\nde,5\n")
    project = Project.load(folder, env={})
    summary = project.run(spark)
    assert held(spark, folder, "daily") == [("2025-01-01", "3"), ("2025-01-02", "10"), ("2025-01-03", "500")]
    ((note, keys),) = [(note.text, note.partition_keys) for note in summary.notes]
    assert keys == ("2025-01-01..2025-01-02",)
    assert note.startswith(f"the code changed since {first.runs[0].run} at ")
    (change,) = project.plan().changes
    assert [line for line in change.difference if line[0] in "+-"] == [
        "- SUM(amount) AS revenue",
        "+ SUM(amount) * 100 AS revenue",
    ]
    healed = project.backfills.run(BackfillRequest("daily", whole=True, downstream=True), spark)
    assert [(run.asset, run.partition_keys) for run in healed.runs] == [
        ("daily", ("2025-01-01..2025-01-02",)),
        ("weekly", ()),
    ]
    assert held(spark, folder, "daily") == [("2025-01-01", "300"), ("2025-01-02", "1000"), ("2025-01-03", "500")]
    assert held(spark, folder, "weekly") == [("1800",)]
    assert project.plan().changes == ()


def test_what_a_function_calls_changes_and_is_computed_again(spark, folder):
    Project.load(folder, env={}).run(spark)
    assert held(spark, folder, "weekly") == [("13",)]
    rewrite(folder / "shopjobs/rates.py", "rows * 1", "rows * 2  # twice")
    summary = Project.load(folder, env={}).run(spark)
    assert [(run.asset, run.reason) for run in summary.runs] == [("weekly", "its code changed")]
    assert held(spark, folder, "weekly") == [("26",)]
    assert Project.load(folder, env={}).run(spark).runs == ()
