"""Tables as Spark leaves them: what a look finds after runs, fences, and what others do with SQL."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from sparkassets.ports import RecordedTable
from sparkassets.sources import DeltaTargetObserver
from tests.integration.orders import execute, order, sql, stamp_of, table, target

pytestmark = pytest.mark.spark

DAYS = """
SELECT day, 1 AS n FROM (SELECT explode(sequence(DATE'2013-01-01', DATE'2013-01-03')) AS day)
JOIN {{ partitions }} USING (day)
"""


def recorded(asset, run, coverage):
    opened = DeltaTable(asset.storage.path)
    version = opened.version()
    return RecordedTable(str(opened.metadata().id), version, version, f"epoch:{run.token}", run.app_id, coverage)


def keys(asset, ranges):
    return asset.partitioning.labels(ranges)


def test_what_a_look_finds_after_runs_and_after_others(engine, spark, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql(DAYS))
    first, second = order(daily, keys="2013-01-01,2013-01-02"), order(daily, keys="2013-01-02,2013-01-03")
    coverage = daily.partitioning.parse("2013-01-01..2013-01-03")
    execute(engine, first, partitions=("2013-01-01..2013-01-02",))
    execute(engine, second, partitions=("2013-01-02..2013-01-03",))
    known, at = recorded(daily, second, coverage), f"delta.`{daily.storage.path}`"

    def look():
        return DeltaTargetObserver().detect_changes(daily, known)

    assert look() is None
    later = order(daily, keys="2013-01-03")
    target(engine, later).fence(None, stamp=stamp_of(later, kind="fence", version=2 * later.token))
    spark.sql(f"OPTIMIZE {at}")
    spark.sql(f"ALTER TABLE {at} SET TBLPROPERTIES ('a' = 'b')")
    assert (look().kind, look().commits) == ("moved", ())
    spark.sql(f"DELETE FROM {at} WHERE day = DATE'2013-01-01'")  # noqa: S608  a table of this test
    (commit,) = look().commits
    assert (look().kind, commit.operation, keys(daily, commit.partitions)) == ("changed", "DELETE", ["2013-01-01"])
    spark.sql(f"RESTORE TABLE {at} TO VERSION AS OF 0")
    found = look()
    assert (found.kind, keys(daily, found.lost)) == ("restored", ["2013-01-02..2013-01-03"])
    assert "was restored to version 0" in found.reason
