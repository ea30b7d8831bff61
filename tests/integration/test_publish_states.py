"""Publishing in the states of the world: partitions, older intervals, who commits, what fails, what is vacuumed."""

import json
import re
import shutil
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import BackfillRequest, Project, RunFailedError
from tests.e2e.projects import write

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets]\npython: [jobs]\n",
    "assets/numbers.yml": "asset: numbers\nsource: delta\npath: lake/numbers\n",
    "assets/total.sql": "SELECT sum(n) AS n FROM {{ inlets.numbers }}",
    "jobs/__init__.py": "",
}


def add(root: Path, *numbers: int) -> None:
    write_deltalake(root / "lake/numbers", pa.table({"n": list(numbers)}), mode="append")


def held(root: Path, asset: str) -> list[dict]:
    return pa.table(DeltaTable(root / "warehouse" / asset).scan()).to_pylist()


def folders(root: Path, asset: str) -> list[str]:
    there = root / "warehouse" / asset / "_iterations"
    return sorted(each.name for each in there.iterdir()) if there.exists() else []


@pytest.mark.spark_alone  # commits by it
def test_a_table_of_which_only_spark_may_commit_keeps_its_iterations_and_goes_back(spark, tmp_path):
    asset = "asset: total\ninlets: [numbers]\nwrite: {publish: {keep: 3}}\ncommit: spark\n"
    root = write(tmp_path, {**FILES, "assets/total.yml": asset})
    for number in (1, 2):
        add(root, number)
        assert [run.status for run in Project.load(root).run(spark).runs] == ["success"]
    assert held(root, "total") == [{"n": 3}]
    project = Project.load(root)
    _, older = project.history.iterations("total")
    assert spark.read.format("delta").load(older.path).collect() == [(1,)]
    assert project.assets.roll_back("total", older.iteration.run, spark).ok
    assert held(root, "total") == [{"n": 1}]
    assert [each.newest for each in project.history.iterations("total")] == [False, True]


@pytest.mark.alike
def test_an_earlier_interval_is_published_beside_the_newest(spark, tmp_path):
    yaml = "asset: total\nschedule: {cron: '0 0 * * *', start: 2025-03-01}\ninlets: [numbers]\n"
    files = {
        **FILES,
        "assets/total.yml": yaml + "partition: none\nstrategy: every_instance\nwrite: {publish: {keep: 9}}\n",
        "assets/total.sql": "SELECT '{{ ds }}' AS day FROM {{ inlets.numbers }}",
        "assets/seen.yml": "asset: seen\nschedule: {cron: '0 0 * * *', start: 2025-03-01}\nstrategy: every_instance\n"
        "partition: none\ninlets: {total: {partitions: aligned}}\nwrite: append\n",
        "assets/seen.sql": "SELECT day, '{{ ds }}' AS at FROM {{ inlets.total }}",
    }
    root = write(tmp_path, files)
    add(root, 1)
    project = Project.load(root)
    summary = project.run(spark, at="2025-03-04T01:00Z")
    assert {run.status for run in summary.runs} == {"success"}
    assert held(root, "total") == [{"day": "2025-03-03"}]
    assert sorted(each["day"] == each["at"] for each in held(root, "seen")) == [True] * 3
    request = BackfillRequest("total", interval="2025-03-01..2025-03-02", force=True)
    assert project.backfills.run(request, spark, at="2025-03-04T01:00Z").ok
    assert held(root, "total") == [{"day": "2025-03-03"}]
    beside, newest, *_ = project.history.iterations("total")
    assert (beside.newest, newest.newest) == (False, True)
    assert spark.read.format("delta").load(beside.path).collect() == [("2025-03-01",)]


@pytest.mark.alike
def test_a_report_a_month_shows_the_newest_edition_of_each(spark, tmp_path):
    folder = shutil.copytree(EXAMPLES / "06_regulatory_report", tmp_path / "06")
    for file in folder.glob("*.yml"):
        file.write_text(re.sub(r"^table: \S+\.(\w+)$", r"path: lake/\1", file.read_text(), flags=re.MULTILINE))
    with (folder / "trades.yml").open("a") as file:
        file.write("timezone: Europe/Berlin\n")  # else a day of UTC is of two months there
    days = [date(2025, month, day) for month in (1, 2) for day in range(1, 32 if month == 1 else 29)]
    rows = {"trade_date": days, "instrument": ["x"] * len(days), "quantity": [1] * len(days)}
    write_deltalake(folder / "lake/trades", pa.table(rows), partition_by=["trade_date"])
    project = Project.load(folder, env={})
    assert [run.status for run in project.run(spark, at="2025-03-15T00:00Z").runs] == ["success"] * 2
    assert sorted((row["month"].month, row["quantity"]) for row in held(folder, "mifid_monthly")) == [(1, 31), (2, 28)]
    more = pa.table({"trade_date": [date(2025, 1, 5)], "instrument": ["x"], "quantity": [10]})
    write_deltalake(folder / "lake/trades", more, mode="append")
    request = BackfillRequest("mifid_monthly", partition="2025-01", force=True)
    assert project.backfills.run(request, spark, at="2025-03-15T00:00Z").ok
    assert sorted((row["month"].month, row["quantity"]) for row in held(folder, "mifid_monthly")) == [(1, 41), (2, 28)]
    found = project.history.iterations("mifid_monthly")
    asset = project.spec.asset("mifid_monthly")
    told = [(asset.partitioning.labels(each.iteration.partitions), each.newest) for each in found]
    assert told[0] == (["2025-01"], True)
    assert sorted(told[1:]) == [(["2025-01"], False), (["2025-02"], True)]
    older = next(each for each in found if not each.newest)
    assert project.assets.roll_back("mifid_monthly", older.iteration.run, spark).ok
    assert sorted((row["month"].month, row["quantity"]) for row in held(folder, "mifid_monthly")) == [(1, 31), (2, 28)]


FUNCTION = "asset: model\ninlets: [numbers]\nwrite: {publish: {keep: 2}}\npython: jobs.work:train\nretries: 0\n"


@pytest.mark.alike
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return None", r"its function returned nothing, and wrote no file into context.outlets.model.path"),
        (
            "Path(context.outlets.model.path, 'a').write_text('half'); raise ValueError('no luck')",
            "ValueError: no luck",
        ),
        ("return 3", "returned an int; expected a DataFrame of Spark"),
    ],
    ids=["nothing", "half", "else"],
)
def test_what_a_function_that_failed_left_behind_is_gone(spark, tmp_path, body, told):
    work = f"from pathlib import Path\ndef train(context, numbers):\n    {body}\n"
    root = write(tmp_path, {**FILES, "assets/model.yml": FUNCTION, "jobs/work.py": work})
    (root / "assets/total.sql").unlink()
    add(root, 1)
    with pytest.raises(RunFailedError) as failed:
        Project.load(root).run(spark)
    assert re.search(told, failed.value.summary.runs[0].error)
    assert folders(root, "model") == []


@pytest.mark.deep
def test_vacuum_takes_no_iteration(spark, tmp_path):
    wrote = "Path(context.outlets.model.path, 'n').write_text(str(numbers.count()))"
    work = f"from pathlib import Path\ndef train(context, numbers):\n    {wrote}\n"
    root = write(tmp_path, {**FILES, "assets/model.yml": FUNCTION, "jobs/work.py": work})
    (root / "assets/total.sql").unlink()
    for number in (1, 2):
        add(root, number)
        assert Project.load(root).run(spark).ok
    path = root / "warehouse/model"
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        spark.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    spark.sql(f"VACUUM delta.`{path}` LITE")
    assert DeltaTable(path).metadata().configuration["delta.deletedFileRetentionDuration"] == "interval 36500 days"
    project = Project.load(root)
    assert [Path(each.path, "n").read_text() for each in project.history.iterations("model")] == ["2", "1"]
    older = project.history.iterations("model")[1]
    assert project.assets.roll_back("model", older.iteration.run).ok
    (row,) = spark.read.format("delta").load(str(path)).collect()
    assert (row.path, json.loads(row.extra)) == (older.path, {})
