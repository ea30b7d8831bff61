"""`properties`: what Delta is told of a table that a run makes."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from sparkassets import BackfillRequest, Project
from sparkassets.runtime.progress import RunFailedError
from tests.depth import deep
from tests.e2e.projects import rows as stored
from tests.e2e.projects import write
from tests.integration import catalogs

pytestmark = pytest.mark.spark

KEPT = "delta.deletedFileRetentionDuration"
FILES = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [.]\ndefaults: {retries: 0}\n",
    "daily.sql": "SELECT DATE'2025-01-01' AS day, 1 AS n",
}


def project(folder, properties, more=""):
    text = f"asset: daily\nschedule: '@daily'\nstart: 2025-01-01\n{more}properties: {{{properties}}}\n"
    return Project.load(write(folder, {**FILES, "daily.yml": text}), env={})


@pytest.mark.parametrize("where", ["warehouse", deep("catalog")])
def test_a_new_table_has_them_and_one_that_is_there_keeps_its_own(spark, tmp_path, where):
    with catalogs.schema(spark, tmp_path) as schema:
        named = f"table: {schema}.daily\n" if where == "catalog" else ""
        name = f"{schema}.daily" if where == "catalog" else f"delta.`{tmp_path / 'p' / 'warehouse/daily'}`"
        made = project(tmp_path / "p", f"{KEPT}: interval 30 days", named)
        told = "runs are committed by Spark: the asset gives properties to its new table"
        assert named or told in str(made.explain("daily"))
        assert made.run(spark).ok
        again = project(tmp_path / "p", f"{KEPT}: interval 60 days", named)
        assert named or "committed by the driver" in str(again.explain("daily"))
        assert again.backfills.run(BackfillRequest("daily", force=True), spark).ok
        (row,) = spark.sql(f"SHOW TBLPROPERTIES {name} ('{KEPT}')").collect()
        assert row["value"] == "interval 30 days"


def test_what_spark_has_to_look_after_is_left_to_it(spark, tmp_path):
    made = project(tmp_path, "delta.enableDeletionVectors: true, delta.columnMapping.mode: name")
    assert made.run(spark).ok
    table = DeltaTable(tmp_path / "warehouse/daily")
    assert {"deletionVectors", "columnMapping"} <= {*table.protocol().writer_features}
    (run,) = made.history.runs()
    assert (run.status, run.rows) == ("success", 1)


def test_one_that_delta_does_not_take_fails_the_run_and_makes_no_table(spark, tmp_path):
    with pytest.raises(RunFailedError, match=r"daily: \[DELTA_INVALID_INTERVAL\] thirty is not a valid INTERVAL"):
        project(tmp_path, f"{KEPT}: thirty").run(spark)
    assert not (tmp_path / "warehouse/daily/_delta_log").exists()
    assert project(tmp_path, f"{KEPT}: interval 30 days").run(spark).ok
    assert stored(tmp_path / "warehouse/daily", "n") == [(1,)]
