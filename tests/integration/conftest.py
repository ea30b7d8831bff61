from __future__ import annotations

from datetime import date

import pytest

from sparkassets.spark import SparkEngine
from tests.integration.orders import project, save, table


@pytest.fixture
def engine(spark):
    return SparkEngine(project(), spark)


@pytest.fixture
def flights(spark, tmp_path):
    """Three days, two rows each."""
    source = table("flights", tmp_path, by="day")
    rows = [(date(2013, 1, day), origin, day * 10) for day in (1, 2, 3) for origin in ("EWR", "JFK")]
    save(spark.createDataFrame(rows, "day date, origin string, delay int"), source)
    return source
