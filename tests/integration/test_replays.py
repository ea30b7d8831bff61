"""A run computed again by `replay` at the versions and by the code of then, beside what it published."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import InputError, Project, RunError
from sparkassets.app.backfills import BackfillRequest
from sparkassets.cli import main
from sparkassets.core.documents.table_difference import RowCounts

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: shop\nassets: [assets]\npython: [replayed_jobs]\n",
    "assets/orders.yml": "asset: orders\nsource: delta\npath: lake/orders\n",
    "assets/landed.yml": "asset: landed\nsource: csv\npath: landing/{day}/*.csv\ncolumns: {id: bigint}\n"
    "partition: {by: day, column: day}\n",
    "assets/totals.yml": "asset: totals\npath: lake/totals\n",
    "assets/totals.sql": "SELECT shop, sum(amount) AS total FROM {{ inlets.orders }} GROUP BY shop\n",
    "assets/daily.yml": "asset: daily\npath: lake/daily\npartition: {by: day, column: day}\nstart: 2025-01-01\n"
    "end: 2025-01-03\n",
    "assets/daily.sql": "SELECT day, id, {{ run_id }} AS made_by FROM {{ inlets.landed }}\n",
    "assets/drawn.yml": "asset: drawn\npath: lake/drawn\nschedule: manual\n",
    "assets/drawn.sql": "SELECT shop, rand() AS lot FROM {{ inlets.orders }}\n",
    "assets/shown.yml": "asset: shown\npath: lake/shown\nwrite: {publish: {keep: 3}}\n",
    "assets/shown.sql": "SELECT shop FROM {{ inlets.orders }}\n",
    "assets/ranked.yml": "asset: ranked\npath: lake/ranked\nschedule: manual\n",
    "assets/ranked.sql": "SELECT * FROM {{ inlets.shown }}\n",
    "assets/both.yml": "asset: both\npython: replayed_jobs:split\nschedule: manual\noutlets:\n"
    "  shops: {path: lake/shops}\n  amounts: {path: lake/amounts}\n",
    "replayed_jobs.py": "def split(orders):\n"
    "    return {'shops': orders.select('shop'), 'amounts': orders.select('amount')}\n",
}
ORDERS = {"shop": ["berlin", "berlin", "paris"], "amount": [1, 2, 3]}


@pytest.fixture
def conf(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    for name, text in FILES.items():
        file = tmp_path / "conf" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    write_orders(tmp_path / "conf", ORDERS)
    for day in (1, 2):
        landed = tmp_path / "conf" / "landing" / str(dt.date(2025, 1, day)) / "a.csv"
        landed.parent.mkdir(parents=True)
        landed.write_text(f"id\n{day}\n")
    return tmp_path / "conf"


def write_orders(conf: Path, rows: dict[str, list[object]], mode: str = "overwrite") -> None:
    write_deltalake(conf / "lake" / "orders", pa.table(rows), mode=mode)


def run(conf: Path, spark, name: str) -> str:
    """Runs the asset by hand; returns the run's id."""
    request = BackfillRequest(name, None if name != "daily" else "2025-01-01..2025-01-02")
    (result,) = Project.load(conf).backfills.run(request, spark).runs
    return result.run


def everything(conf: Path) -> dict[str, float]:
    """The files of the state and of the tables, with when they were changed."""
    return {str(file): file.stat().st_mtime for file in conf.rglob("*") if file.is_file()}


@pytest.mark.alike
def test_a_run_of_old_versions_and_old_code_gives_what_it_published(conf, spark):
    first = run(conf, spark, "totals")
    write_orders(conf, {"shop": ["paris"], "amount": [10]}, mode="append")
    sql = conf / "assets/totals.sql"
    sql.write_text("SELECT shop, max(amount) AS largest FROM {{ inlets.orders }} GROUP BY shop\n")
    second = run(conf, spark, "totals")
    before = everything(conf)
    project = Project.load(conf)
    for name, is_present in ((first, False), (second, True)):
        result = project.history.replay(name, spark)
        assert (result.is_equal, result.is_present_code, result.notes) == (True, is_present, ())
        assert [each.total_row_counts for each in result.differences] == [RowCounts(same=2)]
    assert everything(conf) == before


@pytest.mark.alike
def test_each_partition_is_compared_and_values_of_the_run_are_those_of_then(conf, spark):
    made = run(conf, spark, "daily")
    result = Project.load(conf).history.replay(made, spark)
    (difference,) = result.differences
    assert result.is_equal
    assert [counts for _, counts in difference.rows.partitions] == [RowCounts(same=1), RowCounts(same=1)]


@pytest.mark.alike
def test_a_changed_file_of_then_is_refused(conf, spark):
    made = run(conf, spark, "daily")
    (conf / "landing/2025-01-02/a.csv").write_text("id\n2\n3\n")
    with pytest.raises(RunError, match=r"2025-01-02\n.* the files of landed as they were"):
        Project.load(conf).history.replay(made, spark)


@pytest.mark.alike
def test_rows_that_chance_decides_differ_and_the_note_says_why(conf, spark, capsys):
    made = run(conf, spark, "drawn")
    kept = conf / "replayed"
    assert main(["replay", made, "--project", str(conf), "--keep", str(kept), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    (table,) = document["tables"]
    assert (document["equal"], table["rows"]["added"], table["rows"]["removed"]) == (False, 3, 3)
    assert document["notes"] == ["its query has RAND, which may return other rows in each run"]
    assert len(DeltaTable(kept).to_pyarrow_table()) == 3
    with pytest.raises(InputError, match="there is a table in"):
        Project.load(conf).history.replay(made, spark, keep=str(kept))


@pytest.mark.alike
def test_each_table_of_a_multi_asset_is_compared(conf, spark, capsys):
    made = run(conf, spark, "both")
    assert main(["replay", made, "--project", str(conf)]) == 0
    assert capsys.readouterr().out.endswith(f"{made} was replayed: the same rows as published\n")


@pytest.mark.spark_alone  # words its errors so
def test_versions_that_are_gone_are_named(conf, spark):
    made = run(conf, spark, "totals")
    write_orders(conf, ORDERS)
    DeltaTable(conf / "lake/orders").vacuum(0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(RunError, match=r"needs version 0 of orders and version \d of totals; VACUUM"):
        Project.load(conf).history.replay(made, spark)
    assert not (conf / "lake/_replays" / made).exists()


@pytest.mark.alike
def test_an_iteration_that_is_no_longer_kept_is_named(conf, spark):
    shown = conf / "assets/shown.yml"
    shown.write_text(shown.read_text().replace("keep: 3", "keep: 1"))
    Project.load(conf).run(spark, select="shown")
    made = run(conf, spark, "ranked")
    write_orders(conf, ORDERS)
    Project.load(conf).run(spark, select="shown")
    with pytest.raises(RunError, match=r"needs iteration shown-\S+ of shown and version 0 of ranked; .* `keep` old"):
        Project.load(conf).history.replay(made, spark)


@pytest.mark.alike
def test_what_cannot_be_computed_again_in_the_same_way_is_refused(conf, spark):
    (shown,) = [each.run for each in Project.load(conf).run(spark, select="shown").runs]
    split = run(conf, spark, "both")
    with pytest.raises(InputError, match="its rows are an iteration"):
        Project.load(conf).history.replay(shown, spark)
    (conf / "replayed_jobs.py").write_text(FILES["replayed_jobs.py"].replace("'shop')", "'shop').distinct()"))
    with pytest.raises(InputError, match="only one query, of at most 20,000 characters, is recorded as text"):
        Project.load(conf).history.replay(split, spark)
    with pytest.raises(InputError, match="unknown run 'nothing'"):
        Project.load(conf).history.replay("nothing", spark)
