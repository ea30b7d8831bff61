"""Partitions by cron, from files to tables: quarters of an hour, and weeks from Sunday on, across clock changes."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from sparkassets import Project
from tests.e2e.projects import rows, write

pytestmark = [pytest.mark.spark, pytest.mark.alike]

BERLIN = ZoneInfo("Europe/Berlin")
PROJECT = {
    "conf/project.yml": "project: meters\nassets: [assets/]\ntimezone: Europe/Berlin\n",
    "conf/assets/readings.yml": (
        "asset: readings\nsource: csv\npath: landing/{at:%Y%m%dT%H%M}.csv\n"
        "columns: {meter: string, power: int}\npartition: {by: '*/15 * * * *', column: at}\n"
    ),
    "conf/assets/quarters.yml": "asset: quarters\npartition: {by: '*/15 * * * *', column: at}\n",
    "conf/assets/quarters.sql": "SELECT at, sum(power) AS power FROM {{ inlets.readings }} GROUP BY at",
    "conf/assets/weeks.yml": "asset: weeks\npartition: {by: '0 0 * * SUN', column: week}\n",
    "conf/assets/weeks.sql": (
        "SELECT p.week, count(*) AS quarters, sum(q.power) AS power\n"
        "FROM {{ partitions }} p JOIN {{ inlets.quarters }} q ON q.at >= p.start AND q.at < p.end GROUP BY p.week"
    ),
}
FIRST, LAST = datetime(2025, 3, 23, tzinfo=BERLIN), datetime(2025, 4, 6, tzinfo=BERLIN)


def quarters():
    """Two weeks that begin on Sunday, with the change to summer time in the second; local times that were."""
    utc = FIRST.astimezone(ZoneInfo("UTC"))
    while utc < LAST:
        yield utc.astimezone(BERLIN)
        utc += timedelta(minutes=15)


@pytest.fixture
def meters(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    home = write(tmp_path, PROJECT)
    for local in quarters():
        file = home / "conf" / "landing" / f"{local:%Y%m%dT%H%M}.csv"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"meter,power\na,{local.day}\nb,1\n")
    return home


def test_quarters_become_weeks_that_begin_on_sunday(spark, meters):
    project = Project.load(meters / "conf")
    ran = {run.asset: run for run in project.run(spark, at="2025-04-06T00:00").runs}
    assert list(ran) == ["quarters", "weeks"]
    found = rows(meters / "conf" / "warehouse" / "weeks", "week", "quarters", "power")
    assert found == [
        (date(2025, 3, 23), 7 * 96, sum(day + 1 for day in range(23, 30)) * 96),
        (date(2025, 3, 30), 7 * 96 - 4, 92 * 31 + (31 + 1) * 96 + sum(day + 1 for day in range(1, 6)) * 96),
    ]
    late = meters / "conf" / "landing" / "20250330T0315.csv"
    late.write_text("meter,power\na,130\nb,1\n")
    plan = Project.load(meters / "conf").plan(at="2025-04-06T00:00")
    assert [(run.asset, run.partition_keys) for run in plan.runs] == [("quarters", ("2025-03-30T03:15",))]
    again = Project.load(meters / "conf").run(spark, at="2025-04-06T00:00").runs
    assert [(run.asset, run.partition_keys) for run in again] == [
        ("quarters", ("2025-03-30T03:15",)),
        ("weeks", ("2025-03-30",)),
    ]
    assert [each[1] for each in rows(meters / "conf" / "warehouse" / "weeks", "week", "power")] == [
        found[0][2],
        found[1][2] + 100,
    ]


@pytest.mark.deep
def test_quarters_in_a_column_of_keys(spark, meters):
    assets = meters / "conf" / "assets"
    (assets / "quarters.sql").write_text(
        "SELECT date_format(from_utc_timestamp(at, 'Europe/Berlin'), \"yyyy-MM-dd'T'HH:mm\") AS at, count(*) AS n\n"
        "FROM {{ inlets.readings }} GROUP BY at"
    )
    (assets / "weeks.sql").write_text(
        "SELECT p.week, count(*) AS quarters, max(q.at) AS last FROM {{ partitions }} p JOIN {{ inlets.quarters }} q\n"
        "ON to_utc_timestamp(to_timestamp(q.at), 'Europe/Berlin') >= p.start\n"
        "AND to_utc_timestamp(to_timestamp(q.at), 'Europe/Berlin') < p.end GROUP BY p.week"
    )
    Project.load(meters / "conf").run(spark, at="2025-04-06T00:00")
    assert rows(meters / "conf" / "warehouse" / "weeks", "week", "quarters", "last") == [
        (date(2025, 3, 23), 7 * 96, "2025-03-29T23:45"),
        (date(2025, 3, 30), 7 * 96 - 4, "2025-04-05T23:45"),
    ]


def test_days_from_six_to_six_that_are_wanted_ahead(spark, meters):
    assets = meters / "conf" / "assets"
    (assets / "readings.yml").write_text(
        (assets / "readings.yml").read_text().replace("column: at}", "column: at, end: +2d}")
    )
    (assets / "days.yml").write_text("asset: days\npartition: {by: day, offset: 6h, column: day, end: +1d}\n")
    (assets / "days.sql").write_text(
        "SELECT p.day, count(*) AS n, min(r.at) AS first FROM {{ partitions }} p\n"
        "JOIN {{ inlets.readings }} r ON r.at >= p.start AND r.at < p.end GROUP BY p.day"
    )
    Project.load(meters / "conf").run(spark, at="2025-03-30T06:00", select=["days"])
    found = rows(meters / "conf" / "warehouse" / "days", "day", "n")
    days = [date(2025, 3, 23) + timedelta(days=number) for number in range(8)]
    assert found == [(day, 184 if day == date(2025, 3, 29) else 192) for day in days]
    again = Project.load(meters / "conf").plan(at="2025-03-31T05:59", select=["days"])
    assert [run.partition_keys for run in again.runs] == []
    again = Project.load(meters / "conf").plan(at="2025-03-31T06:00", select=["days"])
    assert [run.partition_keys for run in again.runs] == [("2025-03-31",)]
