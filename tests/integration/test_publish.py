"""``write: publish``: tables and files, read by their consumers and without sparkassets, and what is kept of them."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import InputError, Project
from sparkassets.cli import main
from tests.e2e.projects import write

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets]\npython: [jobs]\n",
    "assets/numbers.yml": "asset: numbers\nsource: delta\npath: lake/numbers\n",
    "jobs/__init__.py": "",
}
TABLE = {
    **FILES,
    "assets/total.yml": "asset: total\ninlets: [numbers]\nwrite: {publish: {keep: 2}}\n",
    "assets/total.sql": "SELECT sum(n) AS n FROM {{ inlets.numbers }}",
    "assets/twice.yml": "asset: twice\ninlets: [total]\n",
    "assets/twice.sql": "SELECT 2 * n AS n FROM {{ inlets.total }}",
}
MODEL = {
    **FILES,
    "assets/model.yml": "asset: model\ninlets: [numbers]\nwrite: {publish: {keep: 2}}\npython: jobs.work:train\n",
    "assets/scores.yml": "asset: scores\ninlets: [model, numbers]\nschedule: model\npython: jobs.work:score\n",
    "jobs/work.py": """
import json
from pathlib import Path

from pyspark.sql import functions as sql


def train(context, numbers):
    total = numbers.agg(sql.sum("n")).collect()[0][0]
    folder = Path(context.outlets.model.path)
    assert not list(folder.iterdir())
    (folder / "model.json").write_text(json.dumps({"factor": total}))
    context.extra["auc"] = total / 10


def score(numbers, model):
    factor = json.loads(Path(model.path, "model.json").read_text())["factor"]
    assert model.extra == {"auc": factor / 10} and model.key == model.run
    return numbers.withColumn("score", sql.col("n") * factor)
""",
}


def add(root: Path, *numbers: int) -> None:
    write_deltalake(root / "lake/numbers", pa.table({"n": list(numbers)}), mode="append")


def held(root: Path, asset: str) -> list[dict]:
    return pa.table(DeltaTable(root / "warehouse" / asset).scan()).to_pylist()


def folders(root: Path, asset: str) -> list[str]:
    """The iterations that are kept, oldest first; of two runs in one second the names do not tell which that is."""
    there = (root / "warehouse" / asset / "_iterations").iterdir()
    return [each.name for each in sorted(there, key=lambda folder: folder.stat().st_mtime_ns)]


def test_a_table_is_the_newest_of_its_iterations(spark, tmp_path):
    root = write(tmp_path, TABLE)
    runs = []
    for number in (1, 2, 3):
        add(root, number)
        with Project.load(root) as project:
            summary = project.run(spark)
        runs += [run.run for run in summary.runs if run.asset == "total"]
        assert [run.status for run in summary.runs] == ["success", "success"]
    assert held(root, "total") == [{"n": 6}]
    assert held(root, "twice") == [{"n": 12}]
    kept = {name.rsplit(".", 2)[0]: name for name in folders(root, "total")}
    assert kept.keys() == {*runs[1:]}
    path = root / "warehouse/total/_iterations" / kept[runs[1]] / "rows"
    assert spark.read.format("delta").load(str(path)).collect() == [(3,)]
    assert spark.read.parquet(str(path)).collect() == [(3,)]
    event = project.history.events(asset="total")[-1]
    assert event["extra"]["path"] == str(root / "warehouse/total/_iterations" / kept[runs[2]] / "rows")
    assert event["extra"]["key"] == event["extra"]["run"] == runs[2]


@pytest.mark.alike
def test_a_model_is_found_by_its_reader(spark, tmp_path):
    root = write(tmp_path, MODEL)
    for number in (1, 2, 3):
        add(root, number)
        project = Project.load(root)
        assert [run.status for run in project.run(spark).runs] == ["success", "success"]
    assert sorted(row["score"] for row in held(root, "scores")) == [6, 12, 18]
    (row,) = held(root, "model")
    assert json.loads(Path(row["path"], "model.json").read_text()) == {"factor": 6}
    assert json.loads(row["extra"]) == {"auc": 0.6}
    assert len(folders(root, "model")) == 2
    extra = project.history.events(asset="model")[-1]["extra"]
    assert (extra["path"], extra["auc"]) == (row["path"], 0.6)


@pytest.mark.alike
def test_an_older_iteration_is_made_the_newest_again_without_spark(spark, tmp_path, capsys):
    root = write(tmp_path, MODEL)
    for number in (1, 2):
        add(root, number)
        Project.load(root).run(spark)
    project = Project.load(root)
    newer, older = project.history.iterations("model")
    assert (newer.newest, older.newest, older.extra["auc"]) == (True, False, 0.1)
    assert main(["iterations", "model", "--project", str(root), "--rollback", older.iteration.run]) == 0
    assert "is the newest again" in capsys.readouterr().out
    (row,) = held(root, "model")
    assert (row["path"], row["run"]) == (older.path, older.iteration.run)
    newer, older = project.history.iterations("model")
    assert (newer.newest, older.newest) == (False, True)
    event = project.history.events(asset="model")[-1]
    assert event["extra"] | {"rows": 1} == {
        "rows": 1,
        "auc": 0.1,
        "path": older.path,
        "key": older.iteration.run,
        "run": older.iteration.run,
        "rollback": True,
    }
    (result,) = Project.load(root).run(spark).runs
    assert result.asset == "scores"
    assert sorted(row["score"] for row in held(root, "scores")) == [1, 2]
    with pytest.raises(InputError, match="is already the newest iteration"):
        project.assets.roll_back("model", older.iteration.run)
    with pytest.raises(InputError, match=rf"no iteration of run 'x'; its iterations are {newer.iteration.run} and "):
        project.assets.roll_back("model", "x")
