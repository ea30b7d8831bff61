"""Settings of Spark for the runs of one asset."""

import pytest

from sparkassets.errors import RunError
from tests.integration.orders import computed, order, sql, table

pytestmark = pytest.mark.spark

NAME = "spark.sql.shuffle.partitions"


def test_a_run_has_its_own_settings_and_others_keep_theirs(engine, spark, flights, tmp_path):
    before = spark.conf.get(NAME)
    query = "SELECT count(*) AS rows FROM {{ inlets.flights }}"
    run = order(table("report", tmp_path, spark_conf={NAME: "7"}, **sql(query, "flights")), flights)
    frame = engine.compute(run, attempt=1).frame
    assert frame.sparkSession.conf.get(NAME) == "7"
    assert computed(engine, run) == [(6,)]
    assert spark.conf.get(NAME) == before


def test_a_setting_that_no_run_may_change_is_named(engine, flights, tmp_path):
    settings = {"spark.sql.warehouse.dir": "/x"}
    run = order(table("report", tmp_path, spark_conf=settings, **sql("SELECT 1 AS a")), flights)
    message = r"the setting 'spark\.sql\.warehouse\.dir' of 'spark_conf' cannot be changed for a run"
    with pytest.raises(RunError, match=message):
        engine.compute(run, attempt=1)
