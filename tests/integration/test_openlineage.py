"""Real runs on Spark as OpenLineage is told of them: accepted by everybody, and true of what is in the tables."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from sparkassets.features.openlineage.subset_conditions import compare_condition
from tests.core.test_openlineage_subsets import VECTORS, shape
from tests.features.openlineage.checking import accepted

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets]\npython: [jobs]\n"
    "openlineage: {namespace: test}\n",
    "assets/events.yml": "asset: events\nsource: delta\npath: lake/events\nowner: team:sales\n"
    "partition: [{by: day, column: day}, {segments: [DE, PL], column: country}]\n",
    "assets/orders.yml": "asset: orders\nsource: csv\npath: landing/{day:%Y%m%d}/*.csv\n"
    "columns: {id: bigint, amount: double}\npartition: {by: day, column: day}\n",
    "assets/sales.yml": "asset: sales\ndescription: What was sold.\n"
    "partition: [{by: day, column: day}, {segments: [DE, PL], column: country}]\n",
    "assets/sales.sql": "SELECT day, country, sum(amount) AS total, count(*) AS n\n"
    "FROM {{ inlets.events }} GROUP BY ALL\n",
    "assets/daily.yml": "asset: daily\npartition: {by: day, column: day}\n",
    "assets/daily.sql": "SELECT day, id, upper(cast(amount AS string)) AS text FROM {{ inlets.orders }} WHERE id > 0\n",
    "assets/log.yml": "asset: log\ninlets: {events: {read: {after: at}}}\nwrite: append\n",
    "assets/log.sql": "SELECT * FROM {{ inlets.events }}\n",
    "assets/scores.yml": "asset: scores\npython: jobs.scores:score\ncolumns: {n: bigint}\n",
    "jobs/__init__.py": "",
    "jobs/scores.py": "def score(sales):\n    return sales.groupBy().sum('n').toDF('n')\n",
}


def write(folder, days, *, country="DE"):
    rows = [
        (date(2025, 3, day), country, datetime(2025, 3, day, hour, tzinfo=UTC), float(hour))
        for day in days
        for hour in (1, 2)
    ]
    columns = list(zip(*rows, strict=True))
    schema = pa.schema(
        [("day", pa.date32()), ("country", pa.string()), ("at", pa.timestamp("us", "UTC")), ("amount", pa.float64())]
    )
    write_deltalake(str(folder / "lake/events"), pa.table(columns, schema=schema), mode="append", partition_by=["day"])
    for day in days:
        (folder / f"landing/202503{day:02}").mkdir(parents=True, exist_ok=True)
        (folder / f"landing/202503{day:02}/a.csv").write_text(f"id,amount\n{day},1.5\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    transport = {"type": "file", "log_file_path": str(tmp_path / "events.jsonl"), "append": True}
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT", json.dumps(transport))
    return tmp_path


def read_new_events(folder):
    """The events since the last look, by job and kind; each accepted."""
    log = Path(folder, "events.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("")
    for each in events:
        each["run"]["facets"].pop("tags")  # the client's own
        accepted(each)
    return {(each["job"]["name"], each["eventType"]): each for each in events}


def subset(dataset):
    (facets,) = [each for key, each in dataset.items() if key in ("inputFacets", "outputFacets")]
    found = facets.get("subset", {})
    return found.get("inputCondition") or found.get("outputCondition")


def listed(dataset):
    """The partitions of a subset: day and country."""
    return [(each["dimensions"]["day"], each["dimensions"]["country"]) for each in subset(dataset)["partitions"]]


def fields(event):
    facet = event["outputs"][0]["facets"]["columnLineage"]
    return {
        name: {(each["field"], each["transformations"][0]["subtype"]) for each in found["inputFields"]}
        for name, found in facet["fields"].items()
    }


def test_what_is_told_is_what_was_read_and_written(spark, folder):
    write(folder, [1, 2])
    write(folder, [1], country="PL")
    project = Project.load(folder)
    assert project.run(spark).ok
    first = read_new_events(folder)
    ended = {name.partition(".")[2]: each for (name, kind), each in first.items() if kind == "COMPLETE"}
    assert {*ended} == {"", "sales", "daily", "log", "scores"}

    sales = ended["sales"]
    (read,), (written,) = sales["inputs"], sales["outputs"]
    three = [("2025-03-01", "DE"), ("2025-03-01", "PL"), ("2025-03-02", "DE")]
    for condition in (subset(read), subset(written)):
        assert shape(condition) == shape(VECTORS["partition"])
    assert {*three} <= {*listed(written)}
    table = DeltaTable(str(folder / "warehouse/sales"))
    assert written["facets"]["version"]["datasetVersion"] == str(table.version())
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == table.to_pyarrow_table().num_rows == 3
    assert {each["name"]: each["type"] for each in written["facets"]["schema"]["fields"]} == {
        "day": "date",
        "country": "string",
        "total": "double",
        "n": "bigint",
    }
    assert (read["namespace"], read["name"]) == ("file", str(folder / "lake/events"))
    assert read["facets"]["version"]["datasetVersion"] == "1"
    assert fields(sales) == {
        "day": {("day", "IDENTITY")},
        "country": {("country", "IDENTITY")},
        "total": {("amount", "AGGREGATION")},
    }
    assert sales["job"]["facets"]["sql"]["query"] == FILES["assets/sales.sql"]
    assert sales["job"]["namespace"] == "test"

    (files,) = ended["daily"]["inputs"]
    where, asked = subset(files)["left"], subset(files)["right"]
    assert shape(where) == shape(VECTORS["location"])
    assert asked == compare_condition("id", "GREATER_THAN", "0")
    assert where["locations"] == [(folder / f"landing/2025030{day}").as_uri() for day in (1, 2)]
    assert files["name"] == str(folder / "landing")
    assert fields(ended["daily"])["text"] == {("amount", "TRANSFORMATION")}

    assert fields(ended["log"])["at"] == {("at", "IDENTITY")}  # of `*`, as the table's columns are known
    assert "def score(sales):" in ended["scores"]["job"]["facets"]["sourceCode"]["sourceCode"]
    assert "columnLineage" not in ended["scores"]["outputs"][0]["facets"]

    write(folder, [3])
    assert project.run(spark).ok
    second = read_new_events(folder)
    newer = second["shop.log", "COMPLETE"]["inputs"][0]
    assert shape(subset(newer)) == shape(VECTORS["binary"])
    bounds = [(subset(newer)[side]["comparison"], subset(newer)[side]["right"]["value"]) for side in ("left", "right")]
    assert [(sign, value[:13]) for sign, value in bounds] == [
        ("GREATER_THAN", "2025-03-02T02"),
        ("LESS_EQUAL_THAN", "2025-03-03T02"),
    ]
    written = second["shop.sales", "COMPLETE"]["outputs"][0]
    assert {day for day, _ in listed(written)} == {"2025-03-03"}
    assert "lifecycleStateChange" not in written["facets"]
