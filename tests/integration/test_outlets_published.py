"""Train and test that are published together: rows or files, an iteration in each outlet, and what is kept of them."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import InputError, Project
from tests.e2e.projects import write

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets]\npython: [jobs]\n",
    "assets/numbers.yml": "asset: numbers\nsource: delta\npath: lake/numbers\n",
    "assets/split.yml": """
asset: split
inlets: [numbers]
write: {publish: {keep: 1}}
outlets: {train: {}, test: {}}
python: jobs.work:split
""",
    "assets/models.yml": """
asset: models
inlets: [train]
write: {publish: {keep: 2}}
outlets: {small: {}, large: {}}
python: jobs.work:fit
""",
    "assets/used.yml": "asset: used\ninlets: [large]\nschedule: large\npython: jobs.work:use\n",
    "jobs/__init__.py": "",
    "jobs/work.py": """
from pathlib import Path


def split(numbers):
    return {"train": numbers.where("n % 5 > 0"), "test": numbers.where("n % 5 = 0")}


def fit(context, train):
    for size in ("small", "large"):
        Path(context.outlets[size].path, "model").write_text(f"{size} of {train.count()}")
    context.outlets.large.extra["layers"] = 9
    context.extra["fitted"] = train.count()


def use(large, spark):
    told = Path(large.path, "model").read_text()
    return spark.createDataFrame([(told, large.extra["layers"])], "told string, layers int")
""",
}


def held(root: Path, asset: str) -> list[dict]:
    return pa.table(DeltaTable(root / "warehouse" / asset).scan()).to_pylist()


def test_train_and_test_are_of_one_run(spark, tmp_path):
    write(tmp_path, FILES)
    project = Project.load(tmp_path)
    for first in (0, 10):
        write_deltalake(tmp_path / "lake/numbers", pa.table({"n": list(range(first, first + 10))}), mode="append")
        assert [run.asset for run in project.run(spark).runs] == ["split", "models", "used"]
    assert sorted(row["n"] for row in held(tmp_path, "test")) == [0, 5, 10, 15]
    assert len(held(tmp_path, "train")) == 16
    (train,), (test,) = (project.history.iterations(name) for name in ("train", "test"))
    assert train.iteration.run == test.iteration.run
    rows = pa.table(DeltaTable(test.path).scan())
    assert sorted(rows["n"].to_pylist()) == [0, 5, 10, 15]
    assert held(tmp_path, "used") == [{"told": "large of 16", "layers": 9}]
    newest, older = project.history.iterations("large")
    assert [(each.extra["fitted"], each.extra["layers"]) for each in (newest, older)] == [(16, 9), (8, 9)]
    assert [(each.extra["fitted"], "layers" in each.extra) for each in project.history.iterations("small")] == [
        (16, False),
        (8, False),
    ]
    with pytest.raises(
        InputError, match="cannot be rolled back alone: it is published together with the other outlets of 'models'"
    ):
        project.assets.roll_back("large", older.iteration.run)
    assert project.assets.roll_back("models", older.iteration.run, spark).ok
    assert [each.newest for each in project.history.iterations("large")] == [False, True]
    assert [run.asset for run in project.run(spark).runs] == ["used"]
    assert held(tmp_path, "used") == [{"told": "large of 8", "layers": 9}]
    with pytest.raises(
        InputError, match="'models' is a multi-asset without data of its own: ask for the iterations of an outlet"
    ):
        project.history.iterations("models")
    assert project.run(spark).runs == ()
