"""Multi-assets on Spark: all outlets of a run, or none, each row in one of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from textwrap import dedent

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from tests.depth import deep

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.spark


def lake(folder: Path, count: int = 200, days: int = 1) -> None:
    """So many more examples."""
    table = {"id": list(range(count)), "day": [f"2025-01-{6 + number % days:02}" for number in range(count)]}
    write_deltalake(folder / "lake/examples", pa.table(table), mode="append")


def make_project(folder: Path, split: str, code: str = "", **files: str) -> Project:
    (folder / "jobs").mkdir(parents=True, exist_ok=True)
    (folder / "assets").mkdir(exist_ok=True)
    (folder / "project.yml").write_text("project: p\nassets: [assets]\npython: [jobs]\ndefaults: {retries: 0}\n")
    (folder / "assets/examples.yml").write_text("asset: examples\nsource: delta\npath: lake/examples\n")
    (folder / "assets/split.yml").write_text(f"asset: split\n{dedent(split)}")
    (folder / "jobs/ml.py").write_text(dedent(code))
    for name, text in files.items():
        (folder / "assets" / name.replace("_", ".")).write_text(dedent(text))
    return Project.load(folder, env={})


def rows(folder: Path, name: str) -> list[tuple]:
    table = pa.table(DeltaTable(folder / name).scan())
    return sorted(tuple(row.values()) for row in table.to_pylist())


def runs(folder: Path, name: str) -> list[str]:
    """The runs that are in a table, by its history."""
    told = (re.findall(r'"run": ?"([^"]+)"', str(each)) for each in DeltaTable(folder / name).history())
    return [run for some in told for run in some]


def files(folder: Path, name: str) -> list[str]:
    """What is in the folder of a table besides its log."""
    return [str(path) for path in (folder / name).rglob("*.parquet")] if (folder / name).exists() else []


def test_train_and_test_are_of_one_run(spark, tmp_path):
    folder = shutil.copytree(EXAMPLES / "14_multi_asset", tmp_path / "p")
    for file in folder.glob("*.yml"):
        text = re.sub(r"\btable: main\.ml\.(\w+)", r"path: lake/\1", file.read_text())
        file.write_text(re.sub(r", validations: .*}}]", "", text))
    lake(folder)
    project = Project.load(folder, env={})
    (run,) = project.run(spark).runs
    assert (run.asset, run.status, run.rows) == ("split", "success", 200)
    train, test = rows(folder, "lake/train"), rows(folder, "lake/test")
    assert sorted(train + test) == rows(folder, "lake/examples")
    assert 20 <= len(test) <= 60
    events = {event["asset"]: event for event in project.history.events() if event["run"]}
    assert {name: event["extra"]["rows"] for name, event in events.items()} == {"train": len(train), "test": len(test)}
    assert {event["run"] for event in events.values()} == {run.run}
    assert project.run(spark).runs == ()
    lake(folder, 100)
    (again,) = project.run(spark).runs
    assert len(rows(folder, "lake/train")) + len(rows(folder, "lake/test")) == 300
    assert runs(folder, "lake/train")[0] == runs(folder, "lake/test")[0] == again.run


@pytest.mark.spark_alone  # computes outlets of one run together
@pytest.mark.parametrize("commit", ["auto", deep("spark")])
def test_rows_that_are_drawn_at_random_are_in_one_outlet(spark, tmp_path, commit):
    code = """
        import random

        from pyspark.sql import functions as sql

        draw = sql.udf(lambda _: random.random(), "double").asNondeterministic()

        def split(context, examples):
            drawn = examples.withColumn("u", draw("id"))
            context.extra["share"] = 0.5
            context.outlets.test.extra["path"] = context.outlets.test.path
            return {"test": drawn.where("u >= 0.5"), "train": drawn.where("u < 0.5")}
        """
    lake(tmp_path)
    project = make_project(tmp_path, f"commit: {commit}\noutlets: {{train: , test: }}\npython: jobs.ml:split", code)
    for count in (200, 201):
        (run,) = project.run(spark).runs
        assert run.status == "success", run.error
        found = [{row[0] for row in rows(tmp_path, f"warehouse/{name}")} for name in ("train", "test")]
        assert found[0] | found[1] == set(range(count))
        assert not found[0] & found[1]
        write_deltalake(tmp_path / "lake/examples", pa.table({"id": [count], "day": ["2025-01-06"]}), mode="append")
    newest = {event["asset"]: event for event in project.history.events()}
    train, test = newest["train"], newest["test"]
    assert (train["extra"]["share"], test["extra"]["share"]) == (0.5, 0.5)
    assert test["extra"]["path"] == str(tmp_path / "warehouse/test")
    assert "path" not in train["extra"]
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.mark.alike
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("{'train': s}", "returned a dict that lacks 'test'; expected a dict with the rows of 'train' and 'test'"),
        (
            "{'train': s, 'tset': s}",
            "returned a dict that lacks 'test' and has 'tset', which is not an outlet; expected a dict with the rows",
        ),
        ("s", "returned a DataFrame of pyspark; expected a dict with the rows of 'train' and 'test'"),
        ("None", "returned nothing; expected a dict with the rows of 'train' and 'test'"),
        ("{'train': s, 'test': 5}", "returned an int for outlet 'test'; expected a DataFrame of Spark"),
        ("{'train': s, 'test': s.selectExpr('id AS other')}", "test: the result does not match the declared columns"),
        ("{'train': s, 'test': s.selectExpr('if(id = 7, raise_error(\"seven\"), id) AS id')}", "seven"),
    ],
)
def test_what_is_wrong_with_one_outlet_is_written_to_none(spark, tmp_path, returned, message):
    lake(tmp_path)
    code = f"def split(examples):\n    s = examples.select('id')\n    return {returned}\n"
    split = "outlets: {train: {columns: {id: bigint}}, test: {columns: {id: bigint}}}\npython: jobs.ml:split"
    project = make_project(tmp_path, split, code)
    (run,) = project.run(spark, check=False).runs
    assert run.status == "failed"
    assert message in run.error
    for name in ("train", "test"):
        assert files(tmp_path, f"warehouse/{name}") == []
        assert not (tmp_path / "warehouse" / name / "_delta_log").exists()
    assert [event["asset"] for event in project.history.events()] == ["examples"]


@pytest.mark.spark_alone  # takes |>
@pytest.mark.parametrize("commit", ["auto", deep("spark")])
def test_outlets_of_sql_by_day_and_a_table_that_vanishes(spark, tmp_path, commit):
    lake(tmp_path, days=3)
    source = "asset: examples\nsource: delta\npath: lake/examples\npartition: {by: day, column: day}\n"
    pipe = "SELECT *" if spark.version.startswith("3.") else "|>"  # new in Spark 4
    split = f"""
        commit: {commit}
        partition: {{by: day, column: day}}
        outlets:
          even: {{path: lake/even}}
          odd: {{sql: "FROM {{{{ inlets.examples }}}} {pipe} WHERE id % 2 = 1"}}
        """
    project = make_project(
        tmp_path,
        split,
        examples_yml=source,
        even_sql="SELECT * FROM {{ inlets.examples }} WHERE id % 2 = 0",
        both_yml="asset: both\npartition: {by: day, column: day}\n",
        both_sql="SELECT day, count(*) AS n FROM (SELECT * FROM {{ inlets.even }} UNION ALL SELECT * FROM "
        "{{ inlets.odd }}) GROUP BY day",
    )
    at = "2025-01-10"
    assert [(run.asset, run.status) for run in project.run(spark, at=at).runs] == [
        ("split", "success"),
        ("both", "success"),
    ]
    before = rows(tmp_path, "lake/even"), rows(tmp_path, "warehouse/odd")
    assert sorted(before[0] + before[1]) == rows(tmp_path, "lake/examples")
    assert sum(n for _, n in rows(tmp_path, "warehouse/both")) == 200
    shutil.rmtree(tmp_path / "warehouse/odd")
    (planned,) = project.plan(at=at).runs
    assert planned.asset == "split"
    assert f"its table at {tmp_path}/warehouse/odd was deleted" in planned.reason
    assert all(run.status == "success" for run in project.run(spark, at=at).runs)
    assert (rows(tmp_path, "lake/even"), rows(tmp_path, "warehouse/odd")) == before
    assert project.run(spark, at=at).runs == ()


@pytest.mark.alike
def test_what_the_first_run_deleted_of_each_outlet_stays_deleted(spark, tmp_path):
    def feed(*lines, mode="append"):
        write_deltalake(
            tmp_path / "lake/examples",
            pa.table(dict(zip(("id", "k", "at", "op"), zip(*lines, strict=True), strict=True))),
            mode=mode,
        )

    feed((1, 1, 5, "u"), (2, 2, 5, "u"), (3, 3, 5, "d"), (4, 4, 5, "d"))
    split = """
        inlets: {examples: {read: {after: id}}}
        write: {upsert: {keys: [k], newest_by: at, delete_when: "op = 'd'"}}
        outlets:
          even: {sql: "SELECT k, at, op FROM {{ inlets.examples }} WHERE k % 2 = 0"}
          odd: {sql: "SELECT k, at, op FROM {{ inlets.examples }} WHERE k % 2 = 1"}
        """
    project = make_project(tmp_path, split)
    assert [run.status for run in project.run(spark).runs] == ["success"]
    feed((5, 3, 4, "u"), (6, 4, 4, "u"), (7, 1, 6, "u"))
    assert [run.status for run in project.run(spark).runs] == ["success"]
    assert [row[0] for row in rows(tmp_path, "warehouse/even")] == [2]
    assert [row[0] for row in rows(tmp_path, "warehouse/odd")] == [1]


def test_rows_go_by_their_keys_into_each_outlet(spark, tmp_path):
    lake(tmp_path, 10)
    split = """
        inlets: {examples: {read: {after: id}}}
        write: {upsert: {keys: [k], newest_by: id}}
        outlets:
          even: {sql: "SELECT id % 4 AS k, id FROM {{ inlets.examples }} WHERE id % 2 = 0"}
          odd: {sql: "SELECT id % 4 AS k, id FROM {{ inlets.examples }} WHERE id % 2 = 1"}
        """
    project = make_project(tmp_path, split)
    assert [run.status for run in project.run(spark).runs] == ["success"]
    assert (rows(tmp_path, "warehouse/even"), rows(tmp_path, "warehouse/odd")) == ([(0, 8), (2, 6)], [(1, 9), (3, 7)])
    write_deltalake(tmp_path / "lake/examples", pa.table({"id": [11, 12], "day": ["2025-01-06"] * 2}), mode="append")
    (run,) = project.run(spark).runs
    assert run.status == "success", run.error
    assert (rows(tmp_path, "warehouse/even"), rows(tmp_path, "warehouse/odd")) == ([(0, 12), (2, 6)], [(1, 9), (3, 11)])
    assert runs(tmp_path, "warehouse/even")[0] == runs(tmp_path, "warehouse/odd")[0] == run.run
