"""Dev beside prod on Spark: changed code is computed in a branch, the rest is read of the base, and promoted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sparkassets import BackfillRequest, Project, RunFailedError
from sparkassets.cli import main
from sparkassets.core.documents.table_difference import RowCounts, RowDifference
from sparkassets.errors import InputError
from tests.integration import orders

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: shop\nstate: ../state\nwarehouse: ../warehouse\nassets: [assets/]\n",
    "assets/orders.yml": "asset: orders\nsource: csv\npath: ../landing/{day:%Y-%m-%d}.csv\n"
    "columns: {shop: string, amount: int}\npartition: {by: day, column: day}\n",
    "assets/clean.yml": "asset: clean\npartition: {by: day, column: day}\n",
    "assets/clean.sql": "SELECT * FROM {{ inlets.orders }} WHERE amount > 0\n",
    "assets/daily.yml": "asset: daily\npartition: {by: day, column: day}\nvalidations: [{not_null: [revenue]}]\n",
    "assets/daily.sql": "SELECT day, sum(amount) AS revenue FROM {{ inlets.clean }} GROUP BY ALL\n",
    "assets/total.yml": "asset: total\n",
    "assets/total.sql": "SELECT sum(revenue) AS total FROM {{ inlets.daily }}\n",
}
LANDED = {"2025-01-01": "de,1\nnl,2\n", "2025-01-02": "de,10\n"}


@pytest.fixture
def prod(tmp_path):
    """The base's checkout, which has run."""
    for name, text in FILES.items():
        path = tmp_path / "prod" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for day, text in LANDED.items():
        land(tmp_path, day, text)
    return tmp_path / "prod"


def land(root: Path, day: str, text: str) -> None:
    path = root / "landing" / f"{day}.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"shop,amount\n{text}")


@pytest.fixture
def dev(prod, tmp_path):
    """Another checkout, in which `daily` counts a hundred times as much."""
    shutil.copytree(prod, tmp_path / "dev")
    (tmp_path / "dev/assets/daily.sql").write_text(
        "SELECT day, sum(amount) * 100 AS revenue FROM {{ inlets.clean }} GROUP BY ALL\n"
    )
    return tmp_path / "dev"


def held(spark, root: Path, name: str) -> list[tuple[str, ...]]:
    frame = orders.held(spark, root / "warehouse" / name)
    return sorted(tuple(map(str, row)) for row in frame.collect())


def versions(root: Path) -> dict[str, int]:
    return {name: len([*(root / "warehouse" / name / "_delta_log").glob("*.json")]) for name in ("clean", "daily")}


@pytest.mark.deep
def test_a_branch_is_run_promoted_and_dropped(spark, prod, dev, tmp_path):
    Project.load(prod, env={}).run(spark)
    before = versions(tmp_path)
    project = Project.load(dev, env={})
    planned = project.branches.open("x100").plan()
    assert [run.asset for run in planned.runs] == ["daily"]
    notes = {note.asset: note.text for note in planned.notes if "branch" in note.text or "reused" in note.text}
    assert notes == {
        "daily": "computed in branch x100: its code differs from the base",
        "total": "computed in branch x100: it reads daily",
        "clean": f"reused from the base at version {before['clean'] - 1}",
    }
    assert [run.asset for run in project.branches.open("x100").run(spark).runs] == ["daily", "total"]
    assert held(spark, tmp_path, "_branches/x100/daily") == [("2025-01-01", "300"), ("2025-01-02", "1000")]
    assert held(spark, tmp_path, "_branches/x100/total") == [("1300",)]
    assert versions(tmp_path) == before
    assert not project.branches.open("x100").run(spark).runs

    land(tmp_path, "2025-01-02", "de,20\n")
    Project.load(prod, env={}).run(spark)
    summary = project.branches.promote("x100", spark)
    assert [(run.asset, run.partition_keys) for run in summary.runs] == [("daily", ("2025-01-01",))]
    stale = {wait.asset: wait.reason for wait in summary.waiting if not wait.quiet}
    assert stale == {
        "daily": "stale in the branch; `sparkassets run --branch x100` computes it",
        "total": "computed from daily, which differs in the base",
    }
    assert held(spark, tmp_path, "daily") == [("2025-01-01", "300"), ("2025-01-02", "20")]

    again = Project.load(dev, env={})
    assert [run.partition_keys for run in again.branches.open("x100").run(spark).runs] == [("2025-01-02",), ()]
    assert [run.asset for run in again.branches.promote("x100", spark).runs] == ["daily", "total"]
    assert held(spark, tmp_path, "daily") == [("2025-01-01", "300"), ("2025-01-02", "2000")]
    assert held(spark, tmp_path, "total") == [("2300",)]
    assert not again.branches.promote("x100", spark).runs
    assert not [run.asset for run in again.run(spark).runs]

    assert again.branches.names() == ["x100"]
    assert again.branches.drop("x100") == ("daily", "total")
    assert not (tmp_path / "warehouse/_branches/x100").exists()
    assert not (tmp_path / "state/branches/x100").exists()
    assert held(spark, tmp_path, "total") == [("2300",)]
    with pytest.raises(InputError, match="unknown branch 'x100'"):
        again.branches.drop("x100")


def test_a_branch_is_compared_by_partition_and_row(spark, prod, dev, tmp_path):
    Project.load(prod, env={}).run(spark)
    columns = "columns: {day: date, shop: {type: string, pii: true}, amount: int, kind: string}\n"
    (dev / "assets/clean.yml").write_text(
        FILES["assets/clean.yml"] + columns + "validations: [{unique: [shop]}]\n",
    )
    (dev / "assets/clean.sql").write_text(
        "SELECT day, shop, amount + IF(shop = 'nl', 5, 0) AS amount, 'x' AS kind FROM {{ inlets.orders }}\n"
        "UNION ALL SELECT day, 'fr', 7, 'x' FROM {{ inlets.orders }} WHERE amount = 10\n"
    )
    project = Project.load(dev, env={})
    project.branches.open("rows").run(spark)
    clean, daily, total = project.branches.diff("rows", spark)
    assert clean.columns.added == {"kind": "string"}
    told = [partition.extent for partition, _ in clean.rows.partitions]
    assert told == sorted(told)
    labels = {
        project.spec.asset("clean").partitioning.labels(partition)[0]: counts
        for partition, counts in clean.rows.partitions
    }
    assert labels == {"2025-01-01": RowCounts(changed=1, same=1), "2025-01-02": RowCounts(added=1, same=1)}
    assert clean.rows.keys == ("shop",)
    assert clean.rows.samples[0] == RowDifference(
        "changed",
        {"shop": "***", "day": "2025-01-01", "amount": "2"},
        {"shop": "***", "day": "2025-01-01", "amount": "7"},
    )
    assert daily.rows.keys == ()
    assert daily.total_row_counts == RowCounts(added=2, removed=2)
    assert [(sample.change, sample.before, sample.after) for sample in total.rows.samples] == [
        ("removed", {"total": "13"}, None),
        ("added", None, {"total": "2500"}),
    ]
    with pytest.raises(RunFailedError, match="clean waits for a person: the code adds column 'kind'"):
        project.branches.promote("rows", spark)
    promoted = project.branches.promote("rows", spark, rebuild=True)
    assert [run.asset for run in promoted.runs] == ["clean", "daily", "total"]
    columns = spark.read.format("delta").load(str(tmp_path / "warehouse/clean")).columns
    assert set(columns) == {"day", "shop", "amount", "kind"}
    assert held(spark, tmp_path, "total") == [("2500",)]
    assert not any(found.total_row_counts.has_differences for found in project.branches.diff("rows", spark))


def test_a_column_that_strict_refuses_waits_before_spark_and_a_rebuild_brings_it(spark, prod, tmp_path):
    Project.load(prod, env={}).run(spark)
    (prod / "assets/clean.sql").write_text("SELECT *, upper(shop) AS code FROM {{ inlets.orders }} WHERE amount > 0\n")
    land(tmp_path, "2025-01-03", "be,3\n")
    before = versions(tmp_path)
    project = Project.load(prod, env={})
    (wait,) = [each for each in project.plan().waiting if each.stuck]
    assert (wait.asset, wait.partition_keys) == ("clean", ("2025-01-03",))
    assert wait.reason.startswith(
        "the code adds column 'code', which the table does not have: set `schema: add_columns`"
    )
    with pytest.raises(RunFailedError, match="clean waits for a person"):
        project.run()
    assert versions(tmp_path) == before
    assert project.backfills.run(BackfillRequest("clean", rebuild=True), spark).ok
    assert project.run(spark).ok
    assert ("2025-01-03", "3") in held(spark, tmp_path, "daily")
    assert "code" in spark.read.format("delta").load(str(tmp_path / "warehouse/clean")).columns


@pytest.mark.alike
def test_a_pull_request_is_checked_on_a_sample(spark, prod, dev, monkeypatch, capsys):
    Project.load(prod, env={}).run(spark)
    monkeypatch.chdir(dev.parent)
    assert main(["ci", "--project", "dev", "--branch", "pr-1", "--sample", "1", "--fail-on", "rows", "--drop"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "- ❌ `daily`: rows differ: 1 added, 1 removed, 0 changed" in lines
    assert "| daily | 2025-01-02 | success | 1 |" in lines
    assert "    + day=2025-01-02, revenue=1000" in lines
    assert "- `total` was not computed: it reads all of daily, and the branch computes only a sample of that" in lines
    assert Project.load(prod, env={}).branches.names() == []
