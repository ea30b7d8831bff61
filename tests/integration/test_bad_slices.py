"""A bad slice of a fused run holds back nothing else: by Spark's own errors, those of functions, and strange rows."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from tests.depth import deep
from tests.e2e.projects import write

pytestmark = pytest.mark.spark

ASSET = """
asset: rates
inlets: [sales]
partition:
  - {by: day, column: day}
  - {segments: [de, nl], column: region}
retry_delay: 0s
"""
PROJECT = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets]\npython: [work]\n",
    "assets/sales.yml": """
asset: sales
source: delta
path: lake/sales
partition:
  - {by: day, column: day}
  - {segments: [de, nl], column: region}
""",
}
RATE = "SELECT day, region, amount / orders AS rate FROM {{ inlets.sales }}"
CASES = {
    "an_expression": {"assets/rates.yml": ASSET, "assets/rates.sql": RATE},
    "a_row_outside": {
        "assets/rates.yml": ASSET,
        "assets/rates.sql": "SELECT IF(orders = 0, '1999-01-01', day)::date AS day, region, amount AS rate"
        " FROM {{ inlets.sales }}",
    },
    "a_function": {
        "assets/rates.yml": ASSET + "python: work.rates:rates\n",
        "work/__init__.py": "",
        "work/rates.py": """
def rates(sales):
    for row in sales.where("orders = 0").collect():
        raise ValueError(f"no orders on {row.day}")
    return sales.selectExpr("day", "region", "amount / orders AS rate")
""",
    },
    "a_worker": {
        "assets/rates.yml": ASSET + "python: work.slow:rates\n",
        "work/__init__.py": "",
        "work/slow.py": """
def rate(rows):
    rates = [amount / orders for amount, orders in zip(rows.amount.tolist(), rows.orders.tolist())]
    return rows.assign(rate=rates)[["day", "region", "rate"]]


def rates(sales):
    return sales.groupBy("region").applyInPandas(rate, "day date, region string, rate double")
""",
    },
}


def sell(folder: Path, rows: list[tuple[int, str, int]]) -> None:
    days = pa.array([f"2025-03-{day:02}" for day, _, _ in rows]).cast(pa.date32())
    table = {"day": days, "region": [region for _, region, _ in rows], "orders": [orders for _, _, orders in rows]}
    write_deltalake(
        folder / "lake/sales",
        pa.table({**table, "amount": [2.0] * len(rows)}),
        mode="append",
        partition_by=["day", "region"],
    )


@pytest.mark.parametrize("case", [*(case for case in CASES if case != "a_worker"), deep("a_worker")])
def test_the_plan_names_it_and_all_else_is_published(spark, tmp_path, case):
    folder = write(tmp_path, {**PROJECT, **CASES[case]})
    sell(folder, [(day, region, 1) for day in (1, 2, 3, 4) for region in ("de", "nl") if (day, region) != (3, "nl")])
    sell(folder, [(3, "nl", 0)])
    project = Project.load(folder, env={})
    summary = project.run(spark, check=False)
    assert [run.partition_keys for run in summary.runs if run.status == "failed"] == [("2025-03-03,nl",)]
    table = pa.table(DeltaTable(folder / "warehouse/rates").scan()).to_pylist()
    assert len(table) == 7
    assert len(summary.runs) <= 1 + 2 * 3
    (wait,) = [wait for wait in project.plan().runs if wait.asset == "rates"]
    assert wait.partition_keys == ("2025-03-03,nl",)
    assert "failed before" in wait.reason


def test_a_file_whose_header_is_wrong_fails_its_own_day_alone(spark, tmp_path):
    asset = "asset: daily\npartition: {by: day, column: day}\nretry_delay: 0s\n"
    orders = """
asset: orders
source: csv
path: landing/{day}.csv
columns: {shop: string, amount: int}
partition: {by: day, column: day}
start: 2025-01-01
"""
    files = {"project.yml": PROJECT["project.yml"], "assets/orders.yml": orders, "assets/daily.yml": asset}
    files |= {f"landing/2025-01-0{day}.csv": "shop,amount\nberlin,3\n" for day in (2, 3)}
    files["landing/2025-01-01.csv"] = "shop;amount\nberlin;3\n"
    files["assets/daily.sql"] = "SELECT day, shop, amount FROM {{ inlets.orders }}"
    root = write(tmp_path, files)
    summary = Project.load(root).run(spark, check=False)
    assert not summary.ok
    assert any("the separator is probably ';'" in (run.hint or "") for run in summary.runs)
    rows = pa.table(DeltaTable(root / "warehouse/daily").scan()).to_pylist()
    assert sorted(str(row["day"]) for row in rows) == ["2025-01-02", "2025-01-03"]


def test_a_file_that_spark_names_is_not_looked_for(spark, tmp_path):
    orders = """
asset: orders
source: csv
path: landing/{day}.csv
columns: {shop: string, amount: int}
options: {mode: FAILFAST}
partition: {by: day, column: day}
start: 2025-01-01
"""
    files = {
        "project.yml": PROJECT["project.yml"],
        "assets/orders.yml": orders,
        "assets/daily.yml": "asset: daily\npartition: {by: day, column: day}\nretry_delay: 0s\n",
        "assets/daily.sql": "SELECT day, shop, amount FROM {{ inlets.orders }}",
    }
    files |= {f"landing/2025-01-{day:02}.csv": "shop,amount\nberlin,3\n" for day in range(1, 17)}
    files["landing/2025-01-11.csv"] = "shop,amount\nberlin,many\n"
    summary = Project.load(write(tmp_path, files)).run(spark, check=False)
    assert [(run.partition_keys, run.status) for run in summary.runs][1:] == [
        (("2025-01-01..2025-01-10", "2025-01-12..2025-01-16"), "success")
    ]
