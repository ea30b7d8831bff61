"""What is asked of inlets, of other assets and by checks of one's own, from YAML to what is published."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from tests.e2e.projects import write
from tests.integration.queries import queries

pytestmark = pytest.mark.spark

PROJECT = "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets]\npython: [jobs]\n"
ORDERS = """
asset: orders
source: delta
path: lake/orders
columns: {day: string, id: bigint, shop: string}
partition: {by: day, column: day}
"""
SHOPS = "asset: shops\nsource: csv\npath: shops.csv\ncolumns: {id: string}\n"
READ = "SELECT * FROM {{ inlets.orders }}"
REGISTERED = "".join(f"{each.lower()} = sparkassets_below:{each}\n" for each in ("Below", "Not", "Several"))
CHECK = '''
"""A check that a package registers."""

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Below:
    column: str
    most: int
    per: ClassVar[str] = "row"

    def __call__(self, rows: Any) -> Any:
        return rows[self.column] <= self.most


@dataclass(frozen=True)
class Not:
    column: str
    value: str
    per: ClassVar[str] = "row"

    def condition(self) -> str:
        return f"{self.column} != '{self.value}'"


@dataclass(frozen=True)
class Several:
    per: ClassVar[str] = "partition"

    def condition(self) -> str:
        return "count(*) > 1"
'''


def land(root: Path, *rows: tuple[str, int, str | None]) -> None:
    columns = zip(*rows, strict=True)
    table = pa.table(dict(zip(("day", "id", "shop"), map(list, columns), strict=True)))
    write_deltalake(root / "lake/orders", table, mode="append")


def ids(root: Path, asset: str) -> list[int]:
    return sorted(row["id"] for row in pa.table(DeltaTable(root / f"warehouse/{asset}").scan()).to_pylist())


def test_an_inlet_that_breaks_its_rules_stops_the_work_of_its_partitions(spark, tmp_path):
    asset = (
        "asset: copied\npartition: {by: day, column: day}\nretry_delay: 0s\n"
        "inlets: {orders: {validations: [{not_null: shop, samples: 1}, {row_count: {min: 1}},\n"
        "  {accepted: {shop: [a]}, severity: warn}]}}\n"
    )
    files = {"project.yml": PROJECT, "assets/orders.yml": ORDERS, "assets/copied.yml": asset, "assets/copied.sql": READ}
    root = write(tmp_path, files)
    land(root, ("2025-01-01", 1, "a"), ("2025-01-02", 2, None), ("2025-01-03", 3, "b"))
    summary = Project.load(root).run(spark, check=False)
    assert ids(root, "copied") == [1, 3]
    failed = [run.error for run in summary.runs if run.status != "success"]
    assert "copied: the inlet 'orders' fails its validations: not_null(shop): 1 of 1 rows" in failed[-1]
    assert "shop=NULL" in failed[-1]
    told = [each.text for run in summary.runs for each in run.verdicts if each.outcome == "warned"]
    assert told == ["orders: accepted(shop): 1 of 1 rows"]


@pytest.mark.spark_alone  # shows its plan
def test_what_is_asked_of_an_inlet_reads_the_columns_that_it_names_and_no_others(spark, tmp_path):
    """By what Spark says of its scans, in the order of the queries: the rules', then the run's."""
    asset = (
        "asset: copied\npartition: {by: day, column: day}\n"
        "inlets: {orders: {validations: [{not_null: shop}, {row_count: {min: 1}}, {accepted: {shop: [a]}}]}}\n"
    )
    files = {"project.yml": PROJECT, "assets/orders.yml": ORDERS, "assets/copied.yml": asset, "assets/copied.sql": READ}
    root = write(tmp_path, files)
    land(root, ("2025-01-01", 1, "a"), ("2025-01-02", 2, "a"))
    before = queries(spark)
    Project.load(root).run(spark)
    plans = [plan for number, plan in queries(spark).items() if number not in before]
    scans = [
        set(re.findall(r"(\w+):", read)) for plan in plans for read in re.findall(r"ReadSchema: struct<(.*)>", plan)
    ]
    of_orders = [columns for columns in scans if "shop" in columns and columns <= {"day", "id", "shop"}]
    assert of_orders == [{"day", "shop"}, {"day", "id", "shop"}]


@pytest.mark.alike
def test_declared_columns_of_a_table_of_others_are_a_contract(spark, tmp_path):
    files = {"project.yml": PROJECT, "assets/orders.yml": ORDERS.replace("shop: string", "shop: int, city: string")}
    root = write(tmp_path, {**files, "assets/copied.yml": "asset: copied\nretries: 0\n", "assets/copied.sql": READ})
    land(root, ("2025-01-01", 1, "a"))
    summary = Project.load(root).run(spark, check=False)
    (run,) = summary.runs
    assert "has_columns of orders: shop is STRING, not INT; has no column city" in run.error


@pytest.mark.spark_alone  # has quarantine
def test_foreign_keys_and_registered_checks_take_rows_away(spark, tmp_path, monkeypatch):
    asset = (
        "asset: checked\npartition: {by: day, column: day}\nvalidations:\n"
        "  - {foreign_key: {shop: shops.id}, severity: quarantine}\n"
        "  - {check: below, column: id, most: 5, severity: drop}\n"
        "  - {check: not, column: shop, value: b, severity: drop}\n"
        "  - {check: several, severity: warn}\n"
    )
    files = {"project.yml": PROJECT, "assets/orders.yml": ORDERS, "assets/shops.yml": SHOPS, "shops.csv": "id\na\nb\n"}
    root = write(tmp_path, {**files, "assets/checked.yml": asset, "assets/checked.sql": READ})
    info = tmp_path / "packages/sparkassets_below-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sparkassets-below\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sparkassets.checks]\n" + REGISTERED)
    (tmp_path / "packages/sparkassets_below.py").write_text(CHECK)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    of_days = [("2025-01-01", 1, "a"), ("2025-01-01", 2, "x"), ("2025-01-01", 4, "b")]
    land(root, *of_days, ("2025-01-02", 9, "a"), ("2025-01-02", 3, None))
    summary = Project.load(root).run(spark)
    assert summary.ok
    assert ids(root, "checked") == [1, 3]
    away = pa.table(DeltaTable(root / "warehouse/checked_quarantine").scan()).to_pylist()
    assert [(row["id"], row["_rule"]) for row in away] == [(2, "foreign_key(shop in shops)")]
    verdicts = [each for run in summary.runs for each in run.verdicts if each.rule == "check(several)"]
    assert [(each.outcome, each.failing) for each in verdicts] == [("warned", 2)]


@pytest.mark.spark_alone  # words its errors so
@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{not_null: shp}", "not_null(shp): the result of checked has no column 'shp'\n  hint: did you mean 'shop'?"),
        ("{unique: idd}", "unique(idd): the result of checked has no column 'idd'\n  hint: did you mean 'id'?"),
        (
            "{sql: sum(id) > 0}",
            "\n  hint: a condition over several rows needs `per: partition` or `per: run`",
        ),
    ],
)
def test_a_rule_that_cannot_be_asked_of_the_rows_is_named(spark, tmp_path, rule, message):
    asset = f"asset: checked\npartition: {{by: day, column: day}}\nretries: 0\nvalidations: [{rule}]\n"
    files = {"project.yml": PROJECT, "assets/orders.yml": ORDERS, "assets/checked.yml": asset}
    root = write(tmp_path, {**files, "assets/checked.sql": READ})
    land(root, ("2025-01-01", 1, "a"))
    (run,) = Project.load(root).run(spark, check=False).runs
    assert message in f"{run.error}\n  hint: {run.hint}"
