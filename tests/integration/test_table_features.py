"""Tables as platforms make them, in a catalog and at a path: read, replaced by partitions, appended to and merged."""

from __future__ import annotations

import shutil

import pytest

from sparkassets import Project
from tests.depth import deep
from tests.integration import catalogs

pytestmark = pytest.mark.spark

COLUMNS = "id INT, day DATE, amount INT"
ALL = (
    "delta.enableDeletionVectors = true, delta.columnMapping.mode = name, delta.enableRowTracking = true, "
    "delta.checkpointPolicy = v2, delta.checkpointInterval = 2, delta.enableInCommitTimestamps = true"
)
FEATURES = {
    "what a platform has by default": [f"CREATE TABLE {{0}} ({COLUMNS}) USING delta CLUSTER BY (day) {{1}}", ALL],
    "deletion vectors": ["", "delta.enableDeletionVectors = true"],
    "column mapping by name": ["", "delta.columnMapping.mode = name"],
    "column mapping by id": ["", "delta.columnMapping.mode = id"],
    "row tracking": ["", "delta.enableRowTracking = true"],
    "v2 checkpoints": ["", "delta.checkpointPolicy = v2, delta.checkpointInterval = 2"],
    "in-commit timestamps": ["", "delta.enableInCommitTimestamps = true"],
    "type widening": ["", "delta.enableTypeWidening = true"],
    "a change feed": ["", "delta.enableChangeDataFeed = true"],
    "Iceberg beside it": ["", "delta.columnMapping.mode = name, delta.enableIcebergCompatV2 = true"],
    "liquid clustering": [f"CREATE TABLE {{0}} ({COLUMNS}) USING delta CLUSTER BY (day) {{1}}", ""],
    "CHECK constraints": ["", "", "ALTER TABLE {0} ADD CONSTRAINT sane CHECK (amount > 0)"],
    "column defaults": [
        "",
        "delta.feature.allowColumnDefaults = supported",
        "ALTER TABLE {0} ALTER COLUMN amount SET DEFAULT 1",
    ],
    "generated columns": [
        f"CREATE TABLE {{0}} ({COLUMNS}, y INT GENERATED ALWAYS AS (year(day))) USING delta {{1}}",
        "",
    ],
    "identity columns": [
        f"CREATE TABLE {{0}} ({COLUMNS}, n BIGINT GENERATED ALWAYS AS IDENTITY) USING delta {{1}}",
        "",
    ],
}
"""By what tables have: how they are made, their properties, and what is altered then."""
PLAIN = f"CREATE TABLE {{0}} ({COLUMNS}) USING delta {{1}}"


class Place:
    """Where the tables of one test are."""

    def __init__(self, spark, folder, schema: str) -> None:
        self.spark, self.folder, self.schema = spark, folder, schema

    def name(self, table: str) -> str:
        """It in SQL."""
        return f"{self.schema}.{table}" if self.schema else f"delta.`{self.folder}/lake/{table}`"

    def yaml(self, table: str) -> str:
        """It in YAML."""
        return f"table: {self.schema}.{table}" if self.schema else f"path: ../lake/{table}"

    def make(self, feature: str, *tables: str) -> None:
        """Empty tables that have the feature."""
        create, properties, *more = FEATURES[feature]
        given = ", ".join("'{}' = '{}'".format(*each.split(" = ")) for each in properties.split(", ") if each)
        told = f"TBLPROPERTIES ({given})" if given else ""
        for table in tables:
            for statement in (create or PLAIN, *more):
                self.spark.sql(statement.format(self.name(table), told))

    def sql(self, table: str, statement: str):
        return self.spark.sql(statement.format(self.name(table)))

    def drop(self, table: str) -> None:
        """It and its files."""
        if self.schema:
            self.spark.sql(f"DROP TABLE {self.name(table)}")
        else:
            shutil.rmtree(self.folder / "lake" / table)

    def add(self, table: str, *rows: tuple[int, str, int]) -> None:
        values = ", ".join(f"({number}, DATE'{day}', {amount})" for number, day, amount in rows)
        self.sql(table, "INSERT INTO {0} (id, day, amount) VALUES " + values)  # noqa: S608  of the test itself

    def rows(self, table: str) -> list[tuple]:
        found = self.sql(table, "SELECT id, day, amount FROM {0}").collect()
        return sorted((row.id, str(row.day), row.amount) for row in found)

    def project(self) -> Project:
        """A source by day, what replaces days with its rows, what merges them by id, and what gets its new ones."""
        (self.folder / "conf" / "assets").mkdir(parents=True)
        days = "partition: {by: day, column: day}"
        files = {
            "project.yml": "project: p\nstate: ../state\nwarehouse: ../lake\ndefaults: {retries: 0}\n",
            "assets/raw.yml": f"asset: raw\nsource: true\n{self.yaml('raw')}\n{days}\n",
            "assets/daily.yml": f"asset: daily\n{self.yaml('daily')}\n{days}\n",
            "assets/daily.sql": "SELECT id, day, amount FROM {{ inlets.raw }}",
            "assets/keyed.yml": f"asset: keyed\n{self.yaml('keyed')}\n{days}\nwrite: {{upsert: {{keys: [id]}}}}\n",
            "assets/keyed.sql": "SELECT id, day, amount FROM {{ inlets.raw }}",
            "assets/lines.yml": (
                f"asset: lines\n{self.yaml('lines')}\ninlets: {{raw: {{read: changes}}}}\nwrite: append\n"
            ),
            "assets/lines.sql": "SELECT id, day, amount FROM {{ inlets.raw }} WHERE _change_type = 'insert'",
        }
        for name, text in files.items():
            (self.folder / "conf" / name).write_text(text)
        return Project.load(self.folder / "conf", env={})


FIRST = [(1, "2025-01-01", 10), (2, "2025-01-02", 20), (3, "2025-01-02", 30)]
LAST = (4, "2025-01-03", 40)
IN_NO_CATALOG = ("generated columns", "identity columns")
USUAL = [("catalog", "what a platform has by default"), ("catalog", "identity columns")]
EACH = [(place, feature) for feature in FEATURES for place in ("catalog", "path")]


@pytest.fixture
def place(request, spark, tmp_path):
    if request.param == "path":
        yield Place(spark, tmp_path, "")
        return
    with catalogs.schema(spark, tmp_path) as name:
        yield Place(spark, tmp_path, name)


@pytest.mark.parametrize(
    ("place", "feature"),
    [pair if pair in USUAL else deep(*pair) for pair in EACH],
    indirect=["place"],
)
def test_tables_with(place, feature):
    place.make(feature, "raw", "daily", "keyed", "lines")
    place.add("raw", *FIRST)
    project = place.project()
    if feature in IN_NO_CATALOG and place.schema:
        refused(project, place, feature)
        return
    assert project.run(place.spark).ok
    assert place.rows("lines") == FIRST
    place.add("raw", LAST)
    assert {run.asset for run in project.run(place.spark).runs} == {"daily", "keyed", "lines"}
    assert place.rows("lines") == [*FIRST, LAST]
    place.sql("raw", "DELETE FROM {0} WHERE id = 3")
    assert {run.asset for run in project.run(place.spark, select=["daily", "keyed"]).runs} == {"daily", "keyed"}
    assert place.rows("daily") == [*FIRST[:2], LAST]
    assert place.rows("keyed") == [*FIRST, LAST]
    assert project.run(place.spark, select=["daily", "keyed"]).runs == ()


def refused(project: Project, place: Place, feature: str) -> None:
    """What is against the tables is named, and nothing is claimed."""
    summary = project.run(place.spark, check=False)
    assert dict(summary.faults) == {
        name: f"{place.schema}.{name} has {feature}, but the session does not say which columns these are; write "
        "to a table without such columns, or to this one by its 'path'"
        for name in ("daily", "keyed", "lines")
    }
    assert summary.runs == ()
    assert project.history.runs() == []


@pytest.mark.parametrize("place", ["catalog", deep("path")], indirect=True)
def test_defaults_of_a_source_are_not_its_readers(place):
    place.make("column defaults", "raw")
    place.add("raw", *FIRST)
    assert place.project().run(place.spark).ok
    assert place.rows("keyed") == FIRST
