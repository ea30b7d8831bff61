"""A week of real flights by day and origin, and one origin's correction: what is computed again, against DuckDB."""

import shutil
import zipfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.landing import source_folder
from sparkassets import Project
from tests.e2e.projects import write

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: flights\nstate: state\nwarehouse: warehouse\nassets: [assets]\n",
    "assets/flights.yml": """
asset: flights
source: delta
path: lake/flights
partition: [{by: day, column: day}, {segments: [EWR, JFK, LGA], column: origin}]
start: 2013-01-01
""",
    "assets/delays.yml": """
asset: delays
partition: [{by: day, column: day}, {segments: [EWR, JFK, LGA], column: origin}]
""",
    "assets/delays.sql": """
SELECT day, origin, count(*) AS flights, count(dep_delay) AS departed, sum(dep_delay) AS minutes
FROM {{ inlets.flights }} GROUP BY ALL
""",
    "assets/three_days.yml": """
asset: three_days
inlets: {delays: {window: 3d}}
partition: [{by: day, column: day}, {segments: [EWR, JFK, LGA], column: origin}]
start: 2013-01-03
""",
    "assets/three_days.sql": """
SELECT p.day, p.origin, sum(d.departed) AS departed, sum(d.minutes) AS minutes
FROM {{ partitions }} p
JOIN {{ inlets.delays }} d ON d.origin = p.origin AND d.day BETWEEN p.day - INTERVAL 2 DAYS AND p.day
GROUP BY ALL
""",
    "assets/airports.yml": """
asset: airports
partition: {segments: [EWR, JFK, LGA], column: origin}
""",
    "assets/airports.sql": """
SELECT origin, count(*) AS days, sum(minutes) AS minutes, max(flights) AS most FROM {{ inlets.delays }} GROUP BY ALL
""",
    "assets/days.yml": "asset: days\npartition: {by: day, column: day}\n",
    "assets/days.sql": """
SELECT day, sum(flights) AS flights, sum(minutes) AS minutes FROM {{ inlets.delays }} GROUP BY ALL
""",
}
EXPECTED = {
    "delays": "SELECT day, origin, count(*), count(dep_delay), sum(dep_delay) FROM raw GROUP BY ALL",
    "three_days": """
        SELECT a.day, a.origin, count(b.dep_delay), sum(b.dep_delay) FROM (SELECT DISTINCT day, origin FROM raw) a
        JOIN raw b ON b.origin = a.origin AND b.day BETWEEN a.day - INTERVAL 2 DAYS AND a.day
        WHERE a.day >= '2013-01-03' GROUP BY ALL""",
    "airports": """
        SELECT origin, count(*), sum(minutes), max(flights)
        FROM (SELECT day, origin, count(*) AS flights, sum(dep_delay) AS minutes FROM raw GROUP BY ALL) GROUP BY ALL""",
    "days": "SELECT day, count(*), sum(dep_delay) FROM raw GROUP BY ALL",
}


@pytest.fixture(scope="module")
def raw(tmp_path_factory) -> pa.Table:
    """The flights of the first week of 2013."""
    folder = tmp_path_factory.mktemp("raw")
    with zipfile.ZipFile(source_folder() / "flights.csv.zip") as archive:
        archive.extract("flights.csv", folder)
    with duckdb.connect() as connection:
        rows = connection.sql(f"""
            SELECT make_date(year, month, day) AS day, origin, carrier, dep_delay::DOUBLE AS dep_delay
            FROM read_csv('{folder}/flights.csv', nullstr = 'NA')
            WHERE make_date(year, month, day) <= '2013-01-07'
        """).to_arrow_table()  # noqa: S608
    shutil.rmtree(folder)
    return rows


def query_raw(raw: pa.Table, query: str) -> list[tuple]:
    with duckdb.connect() as connection:
        connection.register("raw", raw)
        return sorted(connection.execute(query).fetchall())


def table_rows(folder: Path, name: str) -> list[tuple]:
    table = pa.table(DeltaTable(folder / "warehouse" / name).scan())
    return sorted(tuple(row.values()) for row in table.to_pylist())


def ran(summary) -> dict[str, tuple[str, ...]]:
    assert summary.ok
    return {run.asset: run.partition_keys for run in summary.runs}


@pytest.mark.alike
def test_it_equals_duckdb_before_and_after_a_correction(spark, tmp_path, raw):
    folder = write(tmp_path, FILES)
    write_deltalake(folder / "lake/flights", raw, partition_by=["day", "origin"])
    project = Project.load(folder, env={})
    first = ran(project.run(spark))
    assert first["delays"] == tuple(f"2013-01-01..2013-01-07,{origin}" for origin in ("EWR", "JFK", "LGA"))
    assert {name: table_rows(folder, name) for name in EXPECTED} == {
        name: query_raw(raw, EXPECTED[name]) for name in EXPECTED
    }

    with duckdb.connect() as connection:
        connection.register("raw", raw)
        corrected = connection.sql("""
            SELECT * REPLACE (dep_delay + if(day = '2013-01-04' AND origin = 'JFK', 10, 0) AS dep_delay) FROM raw
        """).to_arrow_table()
        predicate = "day = '2013-01-04' AND origin = 'JFK'"
        partition = connection.from_arrow(corrected).filter(predicate).to_arrow_table()
    write_deltalake(folder / "lake/flights", partition, mode="overwrite", predicate=predicate)
    assert ran(project.run(spark)) == {
        "delays": ("2013-01-04,JFK",),
        "three_days": ("2013-01-04..2013-01-06,JFK",),
        "airports": ("JFK",),
        "days": ("2013-01-04",),
    }
    assert {name: table_rows(folder, name) for name in EXPECTED} == {
        name: query_raw(corrected, EXPECTED[name]) for name in EXPECTED
    }
    assert project.run(spark).runs == ()
