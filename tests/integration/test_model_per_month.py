"""A model of real flights is trained and published a month, and the next asset scores with the newest of them."""

from functools import cache
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.landing import source_folder
from sparkassets import Project
from tests.e2e.projects import write

pytestmark = [pytest.mark.spark, pytest.mark.alike]

ROWS = 400
"""Of each month."""
FILES = {
    "project.yml": "project: delays\nstate: state\nwarehouse: warehouse\nassets: [assets]\npython: [jobs]\n",
    "assets/flights.yml": """
asset: flights
source: delta
path: lake/flights
partition: {by: month, column: month}
""",
    "assets/model.yml": """
asset: model
type: model
partition: {by: month, column: month}
strategy: every_instance
write: {publish: {keep: 12}}
python: jobs.delays:train
""",
    "assets/scores.yml": """
asset: scores
inlets:
  flights: {}
  model: {partitions: latest, on_update: rerun}
partition: {by: month, column: month}
columns: {month: date, flight: bigint, predicted: double, model: string}
python: jobs.delays:score
""",
    "jobs/__init__.py": "",
    "jobs/delays.py": """
from pathlib import Path

import joblib
import pandas as pd
from sklearn.linear_model import LinearRegression

FEATURES = ["dep_delay", "distance"]


def train(context, flights: pd.DataFrame):
    fitted = LinearRegression().fit(flights[FEATURES], flights["arr_delay"])
    joblib.dump(fitted, Path(context.outlets.model.path) / "model.joblib")
    context.extra["r2"] = round(fitted.score(flights[FEATURES], flights["arr_delay"]), 3)
    context.extra["rows"] = len(flights)


def score(flights: pd.DataFrame, model) -> pd.DataFrame:
    fitted = joblib.load(Path(model.path) / "model.joblib")
    scored = flights[["month", "flight"]].copy()
    scored["predicted"] = fitted.predict(flights[FEATURES])
    scored["model"] = model.key
    return scored
""",
}


@cache
def flights() -> pd.DataFrame:
    """Those of the months that land."""
    columns = ["month", "flight", "dep_delay", "distance", "arr_delay"]
    read = pd.read_csv(source_folder() / "flights.csv.zip", usecols=columns)
    return read[read["month"] <= 3]


def land(root: Path, month: int) -> None:
    """The first flights of a month of 2013 that arrived."""
    kept = flights()[flights()["month"] == month].dropna(subset=["dep_delay", "arr_delay"]).head(ROWS)
    table = pa.Table.from_pandas(kept[["flight", "dep_delay", "distance", "arr_delay"]], preserve_index=False)
    first = pa.scalar(f"2013-{month:02}-01").cast(pa.date32())
    table = table.append_column("month", pc.cast(pa.array([first.as_py()] * len(table)), pa.date32()))
    write_deltalake(root / "lake/flights", table, mode="append", partition_by=["month"])


def scored(root: Path) -> dict[str, set[str]]:
    """Which models the flights of each month were scored with."""
    rows = pa.table(DeltaTable(root / "warehouse/scores").scan()).to_pylist()
    assert all(isinstance(row["predicted"], float) for row in rows)
    months = {str(row["month"])[:7] for row in rows}
    assert len(rows) == ROWS * len(months)
    return {month: {row["model"] for row in rows if str(row["month"])[:7] == month} for month in months}


def test_each_month_has_a_model_and_is_scored_with_the_newest(spark, tmp_path):
    root = write(tmp_path, FILES)
    for month in (1, 2):
        land(root, month)
    project = Project.load(root)
    summary = project.run(spark)
    assert sorted((run.asset, run.status) for run in summary.runs) == [
        ("model", "success"),
        ("model", "success"),
        ("scores", "success"),
    ]
    assert scored(root) == {"2013-01": {"2013-02"}, "2013-02": {"2013-02"}}

    land(root, 3)
    Project.load(root).run(spark)
    assert scored(root) == {"2013-01": {"2013-03"}, "2013-02": {"2013-03"}, "2013-03": {"2013-03"}}
    published = Project.load(root).history.iterations("model")
    told = [event["extra"] for event in Project.load(root).history.events(asset="model")]
    assert sorted(extra["key"] for extra in told) == ["2013-01", "2013-02", "2013-03"]
    assert {extra["path"] for extra in told} == {each.path for each in published}
    assert all(each.extra["r2"] > 0.5 and each.extra["rows"] == ROWS for each in published)
    for each in published:
        assert [file.name for file in Path(each.path).iterdir()] == ["model.joblib"]
