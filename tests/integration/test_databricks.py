"""Dedicated clusters of Databricks as fakes: a classic session whose own protocol commits files, so Spark commits.

Sessions of Spark Connect, as on standard clusters and serverless, are in test_connect.
"""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import UpsertWrite
from sparkassets.spark.session import open_session
from tests.contracts.target_contract import TargetContract
from tests.integration import catalogs, orders
from tests.integration.databricks_sessions import SESSIONS, limited
from tests.integration.orders import execute, order, sql
from tests.integration.test_catalog_contract import NamedTable
from tests.integration.test_target_contract import WHERE_SPARK_COMMITS, PathTable

pytestmark = pytest.mark.spark
DEDICATED = [name for name, limits in SESSIONS.items() if not limits.connect]


@pytest.fixture(params=DEDICATED[:1])
def dedicated(request, monkeypatch):
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", request.param.split("-")[1])
    with limited(SESSIONS[request.param]):
        yield


@pytest.mark.usefixtures("dedicated")
@pytest.mark.parametrize("promised", WHERE_SPARK_COMMITS, ids=lambda each: each.__name__)
def test_a_target_keeps_its_promises(engine, spark, tmp_path, promised):
    table = PathTable(engine, spark, tmp_path, commit="auto")
    promised(table)
    writers = {each["engineInfo"].partition(":")[0] for each in DeltaTable(table.asset.storage.path).history()}
    assert "Apache-Spark" in {each.partition("/")[0] for each in writers}


@pytest.mark.usefixtures("dedicated")
def test_keys_are_merged_and_days_replaced(engine, spark, tmp_path):
    people = orders.table(
        "people",
        tmp_path,
        write=UpsertWrite(("id",)),
        strategy=LatestOnly(),
        **sql("SELECT 1L AS id, '{{ run_id }}' AS run"),
    )
    daily = orders.table("daily", tmp_path, by="day", **sql("SELECT day FROM {{ partitions }}"))
    first, second = order(people), order(people)
    for run in (first, second, order(daily, keys="2013-01-01..2013-01-02"), order(daily, keys="2013-01-02")):
        execute(engine, run)
    assert orders.rows(spark, people) == [(1, second.run)]
    assert [str(day) for (day,) in orders.rows(spark, daily)] == ["2013-01-01", "2013-01-02"]


@pytest.mark.usefixtures("dedicated")
def test_a_task_has_a_session_where_no_thread_has_made_it_its_own(spark, monkeypatch):
    monkeypatch.setattr("sparkassets.spark.session.active_session", lambda: None)
    found, is_new = open_session({"spark.sql.shuffle.partitions": "77"}, name="job")
    assert (found is spark or found.sparkContext is spark.sparkContext, is_new) == (True, False)
    assert found.conf.get("spark.sql.shuffle.partitions") != "77"


def test_a_table_of_a_catalog_is_created_then_fenced_where_no_commit_takes_a_stamp(
    engine, spark, tmp_path, monkeypatch
):
    """As on serverless compute; its whole project is in test_connect."""
    monkeypatch.setattr("sparkassets.spark.commit_stamps._set_stamp", lambda *_: False)
    with catalogs.schema(spark, tmp_path) as schema:
        table = NamedTable(engine, spark, schema)
        TargetContract().test_a_fence_makes_the_table_and_lets_its_own_run_write(table)


def test_every_kind_says_where_it_stands():
    assert all(
        each.sources and all(source.startswith("https://") for source in each.sources) for each in SESSIONS.values()
    )
