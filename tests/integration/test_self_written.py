"""Assets whose own code writes their target: what they changed is recorded, and no commit is counted twice."""

from __future__ import annotations

import os
from datetime import date
from textwrap import dedent

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project, RunFailedError
from sparkassets.core.cases.reading import read_cases
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.testing.case_runner import run_cases
from tests.integration import catalogs
from tests.integration.orders import held

pytestmark = pytest.mark.spark

HEAD = "project: adopted\nstate: ./state\nwarehouse: ./warehouse\nassets: [assets/]\npython: [work]\n"


@pytest.fixture
def make_project(tmp_path, monkeypatch):
    """Makes the project of these files."""
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))

    def make(assets, code="", **sql):
        files = {"project.yml": HEAD, "assets/all.yml": dedent(assets), "work/__init__.py": ""}
        files |= {"work/jobs.py": dedent(code)} if code else {}
        files |= {f"assets/{name}.sql": dedent(text) for name, text in sql.items()}
        for name, text in files.items():
            (tmp_path / "conf" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "conf" / name).write_text(text, encoding="utf-8")
        return Project.load(tmp_path / "conf")

    return make


def rows(spark, project, asset):
    return sorted(tuple(row) for row in held(spark, project.spec.assets[asset].storage.path).collect())


def land(path, columns, *, by=None):
    """Somebody else's rows in an inlet."""
    write_deltalake(path, pa.table(columns), mode="append", partition_by=by)


def outcomes(summary):
    return [(run.asset, run.status, run.error) for run in summary.runs]


APPENDS = """
    asset: log
    uri: x-lake://log
    path: lake/log
    write: self
    python: work.jobs:append
    schedule: x-go://now
    ---
    asset: reader
    sql: SELECT count(*) AS n FROM {{ inlets.log }}
"""
APPEND = """
    def append(context, spark):
        path = context.outlets.log.path
        spark.range(3).write.format("delta").mode("append").save(path)
        spark.range(2).write.format("delta").mode("append").save(path)
        context.extra["note"] = "ok"
        return 5
"""


@pytest.mark.alike
def test_a_function_that_appends_twice_is_one_event_of_the_newest_version(spark, make_project):
    project = make_project(APPENDS, APPEND)
    for turn in (1, 2):
        project.events.add("x-go://now")
        summary = project.run(spark)
        assert outcomes(summary) == [("log", "success", ""), ("reader", "success", "")]
        assert rows(spark, project, "reader") == [(5 * turn,)]
        assert project.run(spark).runs == ()
    events = [each for each in project.history.events() if each["asset"] == "log"]
    assert [each["extra"] for each in events] == [{"note": "ok"}] * 2
    assert [run.version for run in summary.runs] == [3, 1]


@pytest.mark.alike
def test_what_others_commit_between_two_runs_is_an_event_of_its_own(spark, make_project):
    project = make_project(APPENDS, APPEND)
    project.events.add("x-go://now")
    project.run(spark)
    spark.range(1).write.format("delta").mode("append").save(project.spec.assets["log"].storage.path)
    assert outcomes(project.run(spark)) == [("reader", "success", "")]
    project.events.add("x-go://now")
    assert outcomes(project.run(spark)) == [("log", "success", ""), ("reader", "success", "")]
    assert project.run(spark).runs == ()
    assert rows(spark, project, "reader") == [(11,)]


@pytest.mark.spark_alone  # its SQL writes by delta.`path`
def test_statements_write_a_table_and_read_pinned_inlets(spark, make_project, tmp_path):
    project = make_project(
        """
        asset: raw
        source: true
        path: lake/raw
        ---
        asset: totals
        path: lake/totals
        write: self
        """,
        totals="""
        CREATE TABLE IF NOT EXISTS {{ outlets.totals }} (k STRING, n BIGINT) USING delta; -- with ; in it
        MERGE INTO {{ outlets.totals }} t USING (SELECT k, count(*) AS n FROM {{ inlets.raw }} GROUP BY k) s
        ON t.k = s.k
        WHEN MATCHED THEN UPDATE SET n = s.n
        WHEN NOT MATCHED THEN INSERT *;
        """,
    )
    raw = project.spec.assets["raw"].storage.path
    land(raw, {"k": ["a", "b", "a"]})
    assert outcomes(project.run(spark)) == [("totals", "success", "")]
    assert rows(spark, project, "totals") == [("a", 2), ("b", 1)]
    assert project.run(spark).runs == ()
    land(raw, {"k": ["{c;}"]})
    assert outcomes(project.run(spark)) == [("totals", "success", "")]
    assert rows(spark, project, "totals") == [("a", 2), ("b", 1), ("{c;}", 1)]


IN_A_CATALOG = """
    asset: log
    uri: x-lake://log
    table: SCHEMA.log
    write: self
    python: work.jobs:append
    schedule: x-go://now
    ---
    asset: totals
    table: SCHEMA.totals
    write: self
    inlets: [log]
    ---
    asset: reader
    sql: SELECT max(n) AS n FROM {{ inlets.totals }}
"""
APPEND_BY_NAME = """
    def append(context, spark):
        spark.range(3).write.format("delta").mode("append").saveAsTable(context.outlets.log.path)
        spark.range(2).write.format("delta").mode("append").saveAsTable(context.outlets.log.path)
"""
COUNT_BY_NAME = """
    CREATE TABLE IF NOT EXISTS {{ outlets.totals }} (n BIGINT) USING delta;
    INSERT INTO {{ outlets.totals }} SELECT count(*) FROM {{ inlets.log }}
"""


@pytest.mark.spark_alone  # has a catalog
def test_tables_of_a_catalog_are_written_by_name_and_their_rows_are_events(spark, make_project, tmp_path):
    with catalogs.schema(spark, tmp_path) as schema:
        project = make_project(IN_A_CATALOG.replace("SCHEMA", schema), APPEND_BY_NAME, totals=COUNT_BY_NAME)
        project.events.add("x-go://now")
        assert outcomes(project.run(spark)) == [(name, "success", "") for name in ("log", "totals", "reader")]
        assert rows(spark, project, "reader") == [(5,)]
        assert project.run(spark).runs == ()
        assert [run.version for run in project.history.runs(asset="log")] == [1]
        spark.range(1).write.format("delta").mode("append").saveAsTable(f"{schema}.log")
        assert outcomes(project.run(spark)) == [("totals", "success", ""), ("reader", "success", "")]
        assert rows(spark, project, "reader") == [(6,)]
        with project.run_of("log", spark=spark):
            spark.range(4).write.format("delta").mode("append").saveAsTable(f"{schema}.log")
        assert outcomes(project.run(spark)) == [("totals", "success", ""), ("reader", "success", "")]
        assert rows(spark, project, "reader") == [(10,)]


FOREIGN = """
    asset: shops
    source: true
    path: lake/shops
    ---
    asset: sales
    path: lake/sales
    write: self
    inlets: [shops]
    validations: [{foreign_key: {shop: shops.id}}]
"""


@pytest.mark.alike
def test_a_foreign_key_of_a_run_that_a_job_makes_is_asked_of_the_pinned_inlet(spark, make_project):
    project = make_project(FOREIGN)
    shops, sales = (project.spec.assets[name].storage.path for name in ("shops", "sales"))
    land(shops, {"id": pa.array([1], pa.int32())})
    with project.run_of("sales", spark=spark):
        spark.createDataFrame([(1,)], "shop int").write.format("delta").save(sales)
    assert [run.status for run in project.history.runs(asset="sales")] == ["success"]
    with pytest.raises(RunFailedError, match="foreign"), project.run_of("sales", spark=spark):
        spark.createDataFrame([(2,)], "shop int").write.format("delta").mode("append").save(sales)


TESTED = """
    asset: raw
    source: true
    path: lake/raw
    columns: {day: date, id: int}
    partition: {by: day, column: day}
    ---
    asset: ids
    path: lake/ids
    write: self
    python: work.jobs:ids
    partition: {by: day, column: day}
    validations: [{range: {id: {min: 0}}}]
    ---
    asset: counted
    table: nowhere.counted
    write: self
    ---
    asset: nothing
    path: lake/nothing
    write: self
    python: work.jobs:nothing
"""
WRITES = """
    def ids(context, raw):
        raw.write.format("delta").mode("append").save(context.outlets.ids.path)

    def nothing(context):
        pass
"""
COUNTS = """
    CREATE TABLE {{ outlets.counted }} (n BIGINT) USING delta;
    INSERT INTO {{ outlets.counted }} SELECT count(*) FROM {{ inlets.raw }}
"""
CASES = """
test: a function
asset: ids
partition: 2026-09-01
given: {raw: [{day: 2026-09-01, id: 1}, {day: 2026-09-02, id: 2}]}
expect: [{id: 1}]
---
test: added to what was there
asset: ids
partition: 2026-09-01
given: {raw: [{day: 2026-09-01, id: 1}], ids: {columns: {day: date, id: int}, rows: [{day: 2026-08-31, id: 9}]}}
expect: [{day: 2026-08-31, id: 9}, {day: 2026-09-01, id: 1}]
---
test: what the rules refuse is there
asset: ids
partition: 2026-09-01..2026-09-02
given: {raw: [{day: 2026-09-01, id: -1}, {day: 2026-09-02, id: 2}]}
expect: {withheld: 2026-09-01, rows: [{id: -1}, {id: 2}]}
---
test: statements, whose table is in a catalog
asset: counted
given: {raw: [{day: 2026-09-01, id: 1}, {day: 2026-09-02, id: 2}]}
expect: [{n: 2}]
---
test: nothing
asset: nothing
given: {}
expect: []
"""


@pytest.mark.spark_alone  # has a catalog
def test_what_the_code_of_an_asset_writes_is_compared(spark, make_project, tmp_path):
    project = make_project(TESTED, WRITES, counted=COUNTS)
    cases = read_cases([SourceFile("t.yml", "t.yml", CASES)], project=project.spec, environment={})
    results = {each.name: (each.outcome, each.message) for each in run_cases(project.spec, cases, spark=spark)}
    nothing = "nothing wrote nothing to the test's table"
    outcome, message = results.pop("nothing")
    assert (outcome, message.splitlines()[0]) == ("error", nothing)
    assert {outcome for outcome, _ in results.values()} == {"passed"}, results
    assert len(results) == 4
    assert not (tmp_path / "conf" / "lake").exists()


DAILY = """
    asset: sales
    source: true
    path: lake/sales
    partition: {by: day, column: day}
    ---
    asset: daily
    path: lake/daily
    write: self
    python: work.jobs:daily
    partition: {by: day, column: day}
    validations: [{row_count: {min: 1}}]
    ---
    asset: shown
    partition: {by: day, column: day}
    sql: SELECT day, n FROM {{ inlets.daily }}
"""
REPLACE = """
    def daily(context, spark, sales):
        path = context.outlets.daily.path
        rows = sales.groupBy("day").count().withColumnRenamed("count", "n")
        days = ", ".join(f"'{partition.key}'" for partition in context.partitions)
        writer = rows.write.format("delta").mode("overwrite").partitionBy("day")
        writer.option("replaceWhere", f"day in ({days})").save(path)
"""


@pytest.mark.spark_alone  # takes replaceWhere
def test_the_partitions_of_a_run_are_its_partitions_and_what_else_it_changed(spark, make_project):
    project = make_project(DAILY, REPLACE)
    sales, daily = (project.spec.assets[name].storage.path for name in ("sales", "daily"))
    land(sales, {"day": [date(2026, 9, day) for day in (1, 2, 3)], "id": [1, 2, 3]}, by=["day"])
    summary = project.run(spark, at="2026-09-05")
    assert outcomes(summary) == [("daily", "success", ""), ("shown", "success", "")]
    assert project.run(spark, at="2026-09-05").runs == ()

    land(sales, {"day": [date(2026, 9, 2)], "id": [9]})
    summary = project.run(spark, at="2026-09-05")
    assert [
        (run.asset, project.spec.assets[run.asset].partitioning.labels(run.partitions)) for run in summary.runs
    ] == [
        ("daily", ["2026-09-02"]),
        ("shown", ["2026-09-02"]),
    ]
    assert rows(spark, project, "shown") == [
        (date(2026, 9, 1), 1),
        (date(2026, 9, 2), 2),
        (date(2026, 9, 3), 1),
    ]

    DeltaTable(daily).delete("day = '2026-09-01'")
    assert [run.asset for run in project.run(spark, at="2026-09-05").runs] == ["shown"]


@pytest.mark.spark_alone  # takes replaceWhere
def test_a_run_whose_rows_break_a_rule_is_no_event(spark, make_project):
    project = make_project(DAILY.replace("row_count: {min: 1}", "range: {n: {max: 1}}"), REPLACE)
    sales = project.spec.assets["sales"].storage.path
    land(sales, {"day": [date(2026, 9, day) for day in (1, 2, 2)], "id": [0, 0, 1]}, by=["day"])
    summary = project.run(spark, at="2026-09-05", check=False)
    labels = project.spec.assets["daily"].partitioning.labels
    assert [(run.asset, labels(run.withheld)) for run in summary.runs] == [("daily", ["2026-09-02"]), ("shown", [])]
    assert rows(spark, project, "shown") == [(date(2026, 9, 1), 1)]


@pytest.mark.alike
def test_a_target_that_cannot_be_read_is_known_by_its_events(spark, make_project):
    project = make_project(
        """
        asset: exported
        uri: snowflake://account/db/schema/table
        write: self
        python: work.jobs:export
        schedule: x-go://now
        ---
        asset: mailed
        inlets: [exported]
        sql: SELECT 1 AS one
        """,
        "def export(context):\n    context.extra['batch'] = 7\n",
    )
    project.events.add("x-go://now")
    assert outcomes(project.run(spark)) == [("exported", "success", ""), ("mailed", "success", "")]
    (event,) = [each for each in project.history.events() if each["asset"] == "exported"]
    assert (event["uri"], event["extra"]) == ("snowflake://account/db/schema/table", {"batch": 7})
    assert project.run(spark).runs == ()


@pytest.mark.alike
def test_a_run_that_failed_after_it_wrote_is_repeated_and_what_it_wrote_is_told_once(spark, make_project, monkeypatch):
    project = make_project(
        APPENDS.replace("write: self", "write: self\n    retries: 0"),
        """
        import os

        def append(context, spark):
            path = context.outlets.log.path
            spark.range(1).write.format("delta").mode("append").save(path)
            if "FAILS" in os.environ:
                raise ValueError("too late")
        """,
    )
    project.events.add("x-go://now")
    project.run(spark)
    monkeypatch.setenv("FAILS", "1")
    project.events.add("x-go://now")
    summary = project.run(spark, check=False)
    assert (summary.runs[0].asset, summary.runs[0].status) == ("log", "failed")
    monkeypatch.delenv("FAILS")
    assert [run.asset for run in project.run(spark).runs] == ["log", "reader"]
    assert project.run(spark).runs == ()
    assert rows(spark, project, "reader") == [(3,)]


@pytest.mark.alike
def test_several_tables_of_one_function(spark, make_project):
    project = make_project(
        """
        asset: split
        write: self
        python: work.jobs:split
        schedule: x-go://now
        outlets:
          left: {path: lake/left}
          right: {path: lake/right}
          told: {uri: "x-api://told"}
        ---
        asset: reader
        sql: SELECT count(*) AS n FROM {{ inlets.left }}
        """,
        """
        def split(context, spark):
            for name in ("left", "right"):
                spark.range(2).write.format("delta").mode("append").save(context.outlets[name].path)
            context.outlets.told.extra["sent"] = 2
        """,
    )
    project.events.add("x-go://now")
    assert outcomes(project.run(spark)) == [("split", "success", ""), ("reader", "success", "")]
    assert {each["asset"]: each["extra"] for each in project.history.events() if each["asset"] in ("left", "told")} == {
        "left": {},
        "told": {"sent": 2},
    }
    assert project.run(spark).runs == ()


@pytest.mark.alike
def test_a_table_that_is_not_where_the_asset_says_fails_the_run(spark, make_project):
    project = make_project(APPENDS, "def append(context, spark):\n    pass\n")
    project.events.add("x-go://now")
    summary = project.run(spark, check=False)
    assert "its code has ended, but did not write a Delta table at" in summary.runs[0].error


@pytest.mark.alike
def test_a_job_that_chooses_its_partitions_tells_those_that_it_changed(spark, make_project):
    project = make_project(
        """
        asset: daily
        path: lake/daily
        write: self
        strategy: full_refresh
        unchanged: skip
        python: work.jobs:daily
        schedule: x-go://now
        partition: {by: day, column: day, start: 2026-09-01}
        ---
        asset: shown
        partition: {by: day, column: day}
        sql: SELECT day, n FROM {{ inlets.daily }}
        """,
        """
        import os

        def daily(context, spark):
            days = os.environ["DAYS"].split()
            rows = spark.createDataFrame([(day, 1) for day in days], "day string, n int")
            writer = rows.selectExpr("CAST(day AS DATE) AS day", "n").write.format("delta").partitionBy("day")
            writer.mode("append").save(context.outlets.daily.path)
        """,
    )
    labels = project.spec.assets["shown"].partitioning.labels
    told = []
    for days in ("2026-09-01 2026-09-02", "2026-09-02"):
        os.environ["DAYS"] = days
        project.events.add("x-go://now")
        summary = project.run(spark, at="2026-09-03")
        told.append([(run.asset, run.status, labels(run.partitions)) for run in summary.runs if run.asset == "shown"])
    assert told == [
        [("shown", "success", ["2026-09-01..2026-09-02"])],
        [("shown", "success", ["2026-09-02"])],
    ]
