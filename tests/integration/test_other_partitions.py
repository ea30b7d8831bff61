"""The time zone of days changes on Spark after they were computed: the rebuilt table counts every hour once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkassets import Project
from sparkassets.app.backfills import BackfillRequest
from sparkassets.runtime.progress import RunFailedError
from tests.integration import orders
from tests.integration.test_code_changes import rewrite

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: meters\nstate: ./state\nwarehouse: ./warehouse\nassets: [assets/]\ntimezone: UTC\n",
    "assets/readings.yml": "asset: readings\nsource: csv\npath: landing/{hour:%Y-%m-%dT%H}.csv\ncolumns: {kwh: int}\n"
    "partition: {by: hour, column: hour, timezone: UTC}\n",
    "assets/daily.yml": "asset: daily\npartition: {by: day, column: day}\n",
    "assets/daily.sql": "SELECT CAST(from_utc_timestamp(hour, 'UTC') AS DATE) AS day, count(*) AS hours\n"
    "FROM {{ inlets.readings }} GROUP BY ALL\n",
    "assets/total.yml": "asset: total\n",
    "assets/total.sql": "SELECT sum(hours) AS hours FROM {{ inlets.daily }}\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hours = [f"2025-01-{day:02}T{hour:02}" for day in range(1, 6) for hour in range(24)]
    landing = {f"landing/{hour}.csv": "kwh\n1\n" for hour in hours}
    for name, text in {**FILES, **landing}.items():
        path = tmp_path / "conf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "conf"


@pytest.mark.alike
def test_a_changed_time_zone_waits_for_a_rebuild_that_counts_every_hour_once(spark, folder):
    Project.load(folder, env={}).run(spark, at="2025-01-10")
    rewrite(folder / "project.yml", "timezone: UTC", "timezone: Asia/Tokyo")
    rewrite(folder / "assets/daily.sql", "'UTC'", "'Asia/Tokyo'")
    project = Project.load(folder, env={})
    with pytest.raises(RunFailedError, match="its table was computed by day in UTC"):
        project.run(spark, at="2025-01-10")
    project.backfills.run(BackfillRequest("daily", rebuild=True), spark, at="2025-01-10")
    assert project.run(spark, at="2025-01-10").ok
    rows = {str(row.day): row.hours for row in orders.held(spark, folder / "warehouse" / "daily").collect()}
    assert rows == {"2025-01-02": 24, "2025-01-03": 24, "2025-01-04": 24, "2025-01-05": 24}
    [row] = orders.held(spark, folder / "warehouse" / "total").collect()
    assert row.hours == 96
