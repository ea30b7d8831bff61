"""What `sparkassets.spark.versions` does is the same in every version of Spark: `make matrix` runs this on each."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from sparkassets.errors import SparkUnavailableError
from sparkassets.spark.own_session import open_own_session
from sparkassets.spark.session import check_session
from sparkassets.spark.versions import ANSI, from_arrow, list_settings, rebalance, to_arrow

pytestmark = pytest.mark.spark

ROWS = pa.table(
    {
        "at": pa.array([datetime(2025, 1, 1, 12, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "day": pa.array([date(2025, 1, 1), None]),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
        "tags": pa.array([["a", None], None], pa.list_(pa.string())),
        "who": pa.array([{"name": "x"}, None], pa.struct([("name", pa.string())])),
    }
)


def test_rows_come_from_arrow_and_go_there_with_their_types(spark):
    frame = from_arrow(spark, ROWS)
    types = "struct<at:timestamp,day:date,price:decimal(10,2),tags:array<string>,who:struct<name:string>>"
    assert frame.schema.simpleString() == types
    assert to_arrow(frame).to_pylist() == ROWS.to_pylist()
    assert to_arrow(frame.filter("false")).schema.names == ROWS.schema.names
    assert to_arrow(from_arrow(spark, ROWS, frame.schema)).num_rows == 2


def test_a_cast_that_does_not_fit_is_an_error_unless_somebody_said_otherwise(spark):
    own = open_own_session(spark)
    assert own.conf.get(ANSI) == "true"
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        own.sql("SELECT CAST('NA' AS INT)").collect()
    theirs = spark.newSession()
    theirs.conf.set(ANSI, "false")
    assert open_own_session(theirs).sql("SELECT CAST('NA' AS INT)").collect()[0][0] is None


def test_rows_of_one_value_are_in_few_tasks_by_any_name(spark):
    frame = spark.range(3).withColumnRenamed("id", "a `b.c")
    plan = rebalance(frame, ["a `b.c"])._jdf.queryExecution().toString()
    assert "REBALANCE_PARTITIONS_BY_COL" in plan


def test_a_client_of_spark_connect_3_5_is_refused():
    class Remote:
        version = "3.5.0"

        def sql(self, query, args=None): ...

        def createDataFrame(self, data: "pa.Table"): ...  # noqa: N802  as on runtime 15.4

    with pytest.raises(SparkUnavailableError, match=r"needs a client of Spark Connect 4\.0 or newer"):
        check_session(Remote())


def test_all_settings_of_a_session_are_listed(spark):
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "7")
    assert list_settings(session)["spark.sql.shuffle.partitions"] == "7"
    assert json.dumps(dict(list_settings(session)))
