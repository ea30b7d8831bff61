"""What `make demo` computes, against counts that DuckDB makes from the raw files with no sparkassets in between."""

import contextlib
import json
import shutil
import zipfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable

import jobs.demo
from jobs.demo import CORRECTED, LAST
from jobs.landing import source_folder
from sparkassets.cli import main

pytestmark = pytest.mark.spark
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def home(tmp_path_factory, spark):
    """A copy of the demo project after the whole demo ran in it, on the session that is there."""
    assert spark.version
    home = tmp_path_factory.mktemp("demo")
    for folder in ("conf", "jobs"):
        shutil.copytree(REPOSITORY / folder, home / folder, ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch, (home / "printed.txt").open("w", encoding="utf-8") as printed:
        patch.setattr(jobs.demo, "HOME", home)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = jobs.demo.main()
    assert code == 0, (home / "printed.txt").read_text("utf-8")
    return home


@pytest.fixture(scope="module")
def raw(home):
    """DuckDB over the raw files, as text: ``flights`` and ``weather`` of the demo's days, the correction applied."""
    with zipfile.ZipFile(source_folder() / "flights.csv.zip") as archive:
        archive.extract("flights.csv", home)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in ("weather", "planes", "airports", "airlines"):
        file = source_folder() / f"{name}.csv"
        connection.execute(f"CREATE VIEW raw_{name} AS SELECT * FROM read_csv('{file}', all_varchar = true)")  # noqa: S608
    connection.execute(f"""
        CREATE TABLE first_reported AS
        SELECT * EXCLUDE (day, dep_delay), try_cast(dep_delay AS INT) AS dep_delay,
               make_date(year::INT, month::INT, day::INT) AS day
        FROM read_csv('{home}/flights.csv', all_varchar = true)
        WHERE make_date(year::INT, month::INT, day::INT) <= '{LAST}'
    """)  # noqa: S608
    connection.execute(f"""
        CREATE TABLE flights AS
        SELECT * REPLACE (dep_delay + if(day = '{CORRECTED}' AND carrier = 'UA', 10, 0) AS dep_delay)
        FROM first_reported
    """)  # noqa: S608
    connection.execute(f"""
        CREATE TABLE weather AS
        SELECT * REPLACE ((time_hour::TIMESTAMPTZ AT TIME ZONE 'America/New_York')::DATE AS day)
        FROM raw_weather
        WHERE (time_hour::TIMESTAMPTZ AT TIME ZONE 'America/New_York')::DATE <= '{LAST}'
    """)  # noqa: S608
    return connection


@pytest.fixture(scope="module")
def demo_tables(home):
    """DuckDB over the tables that the demo wrote, each under its asset's name."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for folder in (home / ".demo" / "warehouse").iterdir():
        connection.register(folder.name, pa.table(DeltaTable(folder).scan().read_all()))
    return connection


FIGURES = {
    "flights": (
        """SELECT day, count(*), count(tailnum), count(dep_delay), sum(dep_delay), sum(distance)
           FROM flights GROUP BY day""",
        """SELECT day, count(*), count(*) FILTER (tailnum <> 'NA'), count(dep_delay), sum(dep_delay), sum(distance::INT)
           FROM flights GROUP BY day""",
    ),
    "scheduled times": (
        "SELECT carrier, flight, origin, epoch(scheduled_at) FROM flights",
        "SELECT carrier, flight::INT, origin, epoch(time_hour::TIMESTAMPTZ) + 60 * minute::INT FROM flights",
    ),
    "weather_daily": (
        "SELECT day, origin, hours, mean_temp_f::DECIMAL(9, 3), precip_inches FROM weather_daily",
        """SELECT day, origin, count(*), avg(try_cast(temp AS DECIMAL(6, 2)))::DECIMAL(9, 3),
             sum(try_cast(precip AS DECIMAL(6, 2)))
           FROM weather GROUP BY day, origin""",
    ),
    "delays": (
        "SELECT day, origin, flights, departed, late, delay_minutes FROM delays",
        """SELECT day, origin, count(*), count(dep_delay), count(*) FILTER (dep_delay > 15), sum(dep_delay)
           FROM flights GROUP BY day, origin""",
    ),
    "weather beside delays": (
        "SELECT day, origin, weather_hours, min_visibility_miles::DOUBLE FROM delays",
        "SELECT day, origin, count(*), min(visib::DOUBLE) FROM weather GROUP BY day, origin",
    ),
    "delays_7d": (
        "SELECT day, origin, flights, departed, late, mean_delay::DECIMAL(9, 1) FROM delays_7d",
        """SELECT d.day, origin, count(*), count(dep_delay), count(*) FILTER (dep_delay > 15),
             round(sum(dep_delay) / count(dep_delay), 2)::DECIMAL(9, 1)
           FROM (SELECT DISTINCT day FROM flights) d JOIN flights f ON f.day BETWEEN d.day - 6 AND d.day
           GROUP BY d.day, origin""",
    ),
    "airline_weeks": (
        "SELECT week, carrier, flights, departed, delay_minutes FROM airline_weeks",
        """SELECT date_trunc('week', day)::DATE AS week, carrier, count(*), count(dep_delay), sum(dep_delay)
           FROM flights WHERE day < '2013-01-14' GROUP BY ALL""",
    ),
    "airline_ranks": (
        "SELECT week, carrier, name, departed, place FROM airline_ranks",
        """SELECT week, carrier, name, departed, row_number() OVER (PARTITION BY week ORDER BY mean_delay, carrier)
           FROM (SELECT date_trunc('week', day)::DATE AS week, carrier, any_value(name) AS name,
                   count(dep_delay) AS departed, round(sum(dep_delay) / count(dep_delay), 2) AS mean_delay
                 FROM flights JOIN raw_airlines USING (carrier) WHERE day < '2013-01-14' GROUP BY ALL)""",
    ),
    "late_departures, which a correction does not touch": (
        "SELECT carrier, flight, origin, epoch(scheduled_at), dep_delay FROM late_departures",
        """SELECT carrier, flight::INT, origin, epoch(time_hour::TIMESTAMPTZ) + 60 * minute::INT, dep_delay
           FROM first_reported WHERE dep_delay >= 120""",
    ),
    "fleet_report": (
        "SELECT manufacturer, planes, flights, miles, seats FROM fleet_report",
        """SELECT manufacturer, count(DISTINCT tailnum), count(*), sum(distance::INT), sum(seats::INT)
           FROM flights JOIN raw_planes USING (tailnum) WHERE dep_delay IS NOT NULL GROUP BY manufacturer""",
    ),
    "route_report": (
        "SELECT origin, dest, destination, flights, departed, late, delay_minutes FROM route_report",
        """SELECT origin, dest, any_value(name), count(*), count(dep_delay), count(*) FILTER (dep_delay > 15),
             sum(dep_delay)
           FROM flights LEFT JOIN raw_airports ON faa = dest GROUP BY origin, dest""",
    ),
}
"""Of each table: what it holds, and what the raw files say."""


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_equal_those_of_duckdb_on_the_raw_files(demo_tables, raw, figure):
    of_spark, of_duckdb = FIGURES[figure]
    found, expected = rows(demo_tables, of_spark), rows(raw, of_duckdb)
    assert expected
    assert found == expected


def rows(connection, query):
    return sorted(connection.sql(query).fetchall(), key=str)


FIRST, SECOND = "2013-01-01..2013-01-07", "2013-01-08..2013-01-14"


@pytest.mark.parametrize(
    ("asset", "expected"),
    {
        "flights": [[FIRST], [SECOND], ["2013-01-05"]],
        "weather_daily": [[FIRST], [SECOND]],
        "delays": [[FIRST], [SECOND], ["2013-01-05"]],
        "delays_7d": [[FIRST], [SECOND], ["2013-01-05..2013-01-11"]],
        "airline_weeks": [["2013-W01"], ["2013-W02"], ["2013-W01"]],
        "airline_ranks": [["2013-W01"], ["2013-W02"], ["2013-W01"]],
        "late_departures": [[], [], []],
        "fleet_report": [[], [], []],
        "route_report": [[], [], []],
        "pay_report": [[]],
    }.items(),
)
def test_each_step_computes_exactly_what_it_touches_and_the_last_nothing(home, asset, expected):
    assert partitions_written(home / ".demo" / "warehouse" / asset) == expected


def partitions_written(table):
    stamps = [json.loads(commit["userMetadata"]) for commit in reversed(DeltaTable(table).history())]
    return [marker["partitions"] for marker in stamps if marker["kind"] == "data"]


def test_afterwards_nothing_is_due(home, run_cli):
    code, out, err = run_cli("plan", "--json", "--project", str(home / "conf"))
    assert code == 0, err
    plan = json.loads(out)
    assert plan["runs"] == []
    assert {waiting["asset"] for waiting in plan["waiting"]} >= {"flights", "delays_7d", "late_departures"}


def test_the_correction_leaves_the_fleet_as_it_was(home, capsys):
    assert main(["runs", "--asset", "fleet_report", "--project", str(home / "conf"), "--json"]) == 0
    assert [run["unchanged"] for run in json.loads(capsys.readouterr().out)] == [0, 0, 1]


def test_it_prints_its_total(home):
    assert "seconds" in (home / "printed.txt").read_text("utf-8").splitlines()[-1]
