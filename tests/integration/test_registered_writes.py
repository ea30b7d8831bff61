"""A write mode of a package combines the rows of a run with those of the table, once."""

import sys

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import BackfillRequest, Project
from tests.example_package import install_example

pytestmark = pytest.mark.spark

PROJECT = "project: p\nstate: state\nwarehouse: warehouse\nassets: [assets/]\n"
GIVEN = "asset: given\nsource: delta\npath: lake/given\npartition: {by: day, column: day}\n"
PAID = """\
asset: paid
retry_delay: 0s
partition: {by: day, column: day}
write: {mode: supplement, keys: [id]}
columns: {day: string, id: bigint, name: string, amount: bigint}
validations: [{not_null: name, severity: drop}]
sql: SELECT day, id, name, amount FROM {{ inlets.given }}
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    install_example(tmp_path, monkeypatch)
    for name, text in (("project.yml", PROJECT), ("assets/given.yml", GIVEN), ("assets/paid.yml", PAID)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def land(root, *rows):
    columns = {"day": pa.string(), "id": pa.int64(), "name": pa.string(), "amount": pa.int64()}
    table = pa.table([pa.array([row[n] for row in rows], kind) for n, kind in enumerate(columns.values())], [*columns])
    days = ", ".join(f"'{row[0]}'" for row in rows)
    there = (root / "lake/given").exists()
    how = {"predicate": f"day IN ({days})"} if there else {}
    write_deltalake(root / "lake/given", table, mode="overwrite", **how)


def rows(root):
    found = pa.table(DeltaTable(root / "warehouse/paid").scan()).to_pylist()
    return sorted((row["day"], row["id"], row["name"], row["amount"]) for row in found)


def test_what_a_run_does_not_know_stays(root, spark):
    land(root, ("2025-01-01", 1, "ann", 10), ("2025-01-01", 2, None, 20), ("2025-01-02", 3, "bob", 30))
    assert Project.load(root).run(spark).ok
    assert rows(root) == [("2025-01-01", 1, "ann", 10), ("2025-01-02", 3, "bob", 30)]  # a rule drops what has no name
    land(root, ("2025-01-01", 1, None, 11), ("2025-01-01", 4, "eve", 40))
    summary = Project.load(root).run(spark)
    assert [len(summary.runs), summary.ok] == [1, True]
    told = [("2025-01-01", 1, "ann", 11), ("2025-01-01", 4, "eve", 40), ("2025-01-02", 3, "bob", 30)]
    assert rows(root) == told
    assert Project.load(root).run(spark).runs == ()
    assert rows(root) == told


@pytest.mark.alike
def test_rows_that_another_writer_adds_meanwhile_are_not_lost(root, spark, monkeypatch):
    land(root, ("2025-01-01", 1, "ann", 10))
    assert Project.load(root).run(spark).ok
    import payroll

    combine, calls = payroll.Supplement.combine, []

    def slowly(self, rows, there):
        calls.append(there.count())
        if len(calls) == 1:
            other = pa.table({"day": ["2025-01-01"], "id": [9], "name": ["zoe"], "amount": [90]})
            write_deltalake(root / "warehouse/paid", other, mode="append")
        return combine(self, rows, there)

    monkeypatch.setattr(payroll.Supplement, "combine", slowly)
    land(root, ("2025-01-01", 1, None, 11))
    project = Project.load(root)
    for _ in range(3):
        project.run(spark, check=False)
    assert calls[:2] == [1, 2]
    assert rows(root) == [("2025-01-01", 1, "ann", 11), ("2025-01-01", 9, "zoe", 90)]


@pytest.mark.alike
def test_a_rebuild_combines_with_nothing(root, spark):
    land(root, ("2025-01-01", 1, "ann", 10), ("2025-01-01", 2, "bob", 20))
    assert Project.load(root).run(spark).ok
    land(root, ("2025-01-01", 1, "ann", 11))
    project = Project.load(root)
    assert project.backfills.run(BackfillRequest("paid", rebuild=True, force=True), spark).ok
    assert rows(root) == [("2025-01-01", 1, "ann", 11)]


@pytest.mark.spark_alone  # adds columns to a table
def test_a_column_that_the_table_lacks_is_null_in_its_rows(root, spark):
    (root / "assets/paid.yml").write_text(
        PAID.replace("columns: {day: string, id", "schema: evolve\ncolumns: {day: string, id")
    )
    land(root, ("2025-01-01", 1, "ann", 10))
    assert Project.load(root).run(spark).ok
    land(root, ("2025-01-01", 2, "bob", 20))
    text = (root / "assets/paid.yml").read_text()
    more = text.replace("amount: bigint}", "amount: bigint, twice: bigint}").replace(
        "amount FROM", "amount, 2 * amount AS twice FROM"
    )
    (root / "assets/paid.yml").write_text(more)
    assert Project.load(root).run(spark).ok
    found = pa.table(DeltaTable(root / "warehouse/paid").scan()).to_pylist()
    assert sorted((row["id"], row["twice"]) for row in found) == [(1, None), (2, 40)]


@pytest.mark.alike
def test_a_mode_that_calls_exit_fails_its_run(root, spark, monkeypatch):
    import payroll

    monkeypatch.setattr(payroll.Supplement, "combine", lambda *_: sys.exit(5))
    land(root, ("2025-01-01", 1, "ann", 10))
    (result,) = Project.load(root).run(spark, check=False).runs
    assert result.error == "paid: the write mode 'supplement' failed: SystemExit: 5"
