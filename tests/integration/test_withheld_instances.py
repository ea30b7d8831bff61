"""Intervals of a table without partitions that are withheld beside one another, and accepted as they were looked at."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.errors import InputError
from tests.e2e.projects import write

pytestmark = [pytest.mark.spark, pytest.mark.alike]

FILES = {
    "project.yml": "project: hours\nassets: [assets]\n",
    "assets/clicks.yml": "asset: clicks\nsource: delta\npath: lake/clicks\n",
    "assets/log.yml": """
asset: log
schedule: {cron: "0 * * * *", start: 2025-01-01}
strategy: every_instance
partition: none
write: append
validations: [{not_null: who}]
sql: |
  SELECT at, who FROM {{ inlets.clicks }}
  WHERE at >= TIMESTAMP'{{ data_interval_start }}' AND at < TIMESTAMP'{{ data_interval_end }}'
""",
}
HOURS = "VALUES (0, 'a'), (1, NULL), (2, 'c'), (3, NULL) AS t(hour, who)"


def held(root: Path) -> list[str]:
    """Who is in the log."""
    return sorted(map(str, pa.table(DeltaTable(root / "warehouse/log").scan()).column("who").to_pylist()))


def test_an_hour_is_appended_from_the_version_that_was_looked_at(spark, tmp_path: Path):
    root = write(tmp_path, FILES)
    clicks = spark.sql(HOURS).selectExpr("timestampadd(HOUR, hour, TIMESTAMP'2025-01-01 00:30') AS at", "who")
    clicks.write.format("delta").save(str(root / "lake/clicks"))
    project = Project.load(root)
    project.run(spark, at="2025-01-01T04:00Z", check=False)
    assert held(root) == ["a", "c"]
    with pytest.raises(InputError, match="2 runs of log are withheld: name one of them"):
        project.assets.accept("log", reason="x")
    spark.sql("SELECT TIMESTAMP'2025-01-01 01:45' AS at, 'late' AS who").write.format("delta").mode("append").save(
        str(root / "lake/clicks")
    )
    project.assets.accept("log", interval="2025-01-01T01:00Z..2025-01-01T02:00Z", reason="nobody was there")
    project.run(spark, at="2025-01-01T04:00Z", check=False)
    assert held(root) == ["None", "a", "c"]
    (log,) = (each for each in project.status() if each.asset == "log")
    assert [each.text for each in log.withheld_runs] == ["not_null(who): 1 of 1 rows"]
