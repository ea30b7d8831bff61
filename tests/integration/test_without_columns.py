"""Partitions without a column: what is appended or published by interval, and what rows are not asked for."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import BackfillRequest, Project
from tests.e2e.projects import write

pytestmark = [pytest.mark.spark, pytest.mark.alike]

FILES = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets]\npython: [jobs]\n",
    "assets/loads.yml": "asset: loads\nsource: delta\npath: lake/loads\npartition: {by: hour, column: hour}\n",
    "assets/log.yml": """
asset: log
schedule: "@daily"
strategy: every_instance
write: append
start: 2025-03-01
""",
    "assets/log.sql": "SELECT count(*) AS n, '{{ ds }}' AS of, '{{ partition.day }}' AS day FROM {{ inlets.loads }}",
    "assets/model.yml": """
asset: model
inlets: [loads]
schedule: "@daily"
strategy: every_instance
write: {publish: {keep: 2}}
start: 2025-03-01
python: jobs.work:train
""",
    "assets/scores.yml": """
asset: scores
schedule: "@daily"
strategy: every_instance
write: append
start: 2025-03-02
params: [{model: a, factor: 2}, {model: b, factor: 3}]
""",
    "assets/scores.sql": """
SELECT '{{ params.model }}' AS of, {{ params.factor }} * count(*) AS n FROM {{ inlets.loads }}
""",
    "assets/trained.yml": """
asset: trained
inlets: [loads]
strategy: every_instance
write: {publish: {keep: 1}}
schedule: manual
params: [{model: a}, {model: b}]
python: jobs.work:name
""",
    "assets/newest.yml": "asset: newest\n",
    "assets/newest.sql": "SELECT key FROM {{ inlets.model }}",
    "jobs/__init__.py": "",
    "jobs/work.py": """
from pathlib import Path


def train(context, loads):
    Path(context.outlets.model.path, "n").write_text(str(loads.count()))


def name(context):
    Path(context.outlets.trained.path, "name").write_text(context.params["model"])
""",
}


def load(root: Path, day: int, *hours: int) -> None:
    at = [datetime(2025, 3, day, hour, tzinfo=UTC) for hour in hours]
    write_deltalake(root / "lake/loads", pa.table({"hour": pa.array(at, pa.timestamp("us", "UTC"))}), mode="append")


def held(root: Path, asset: str) -> list[dict]:
    return pa.table(DeltaTable(root / "warehouse" / asset).scan()).to_pylist()


def test_each_interval_is_appended_once_and_published_beside_the_others(spark, tmp_path):
    write(tmp_path, FILES)
    for day in (1, 2, 3):
        load(tmp_path, day, *range(24))
    load(tmp_path, 2, 5, 6)
    project = Project.load(tmp_path)
    summary = project.run(spark, at="2025-03-04T00:30Z")
    assert sorted(run.asset for run in summary.runs) == ["log"] * 3 + ["model"] * 3 + ["newest"] + ["scores"] * 4
    assert sorted(tuple(row.values()) for row in held(tmp_path, "scores")) == [
        ("a", 48),
        ("a", 52),
        ("b", 72),
        ("b", 78),
    ]
    assert sorted(tuple(row.values()) for row in held(tmp_path, "log")) == [
        (24, "2025-03-01", "2025-03-01"),
        (24, "2025-03-03", "2025-03-03"),
        (26, "2025-03-02", "2025-03-02"),
    ]
    (row,) = held(tmp_path, "model")
    assert (row["key"], list(row)) == ("2025-03-03", ["run", "key", "path", "folder", "extra", "published_at"])
    assert held(tmp_path, "newest") == [{"key": "2025-03-03"}]
    kept = [(each.iteration.partitions, each.newest) for each in project.history.iterations("model")]
    days = project.spec.asset("model").partitioning
    assert kept == [(days.parse("2025-03-03"), True), (days.parse("2025-03-02"), False)]
    assert project.run(spark, at="2025-03-04T00:30Z").runs == ()
    assert project.backfills.run(BackfillRequest("trained", segments=("b",)), spark).runs[0].status == "success"
    project.backfills.run(BackfillRequest("trained", segments=("a",)), spark)
    found = {
        row["model"]: (tmp_path / "warehouse/trained" / row["folder"] / "name") for row in held(tmp_path, "trained")
    }
    assert {model: file.read_text() for model, file in found.items()} == {"a": "a", "b": "b"}
