from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date

import pytest

from sparkassets.files.object_stores import set_bucket_access
from sparkassets.spark.engine import SparkEngine
from tests.integration.lossy import Lossy, before
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


@pytest.fixture(scope="module")
def s3() -> Iterator[Lossy]:
    """What becomes of requests to an S3 API, and what it was asked for; its address is in the environment."""
    pytest.importorskip("boto3")
    from tests.integration.on_s3 import serving

    known = dict(os.environ)
    with serving() as address, before(address) as lossy:
        os.environ["AWS_ENDPOINT_URL"] = lossy.address
        yield lossy
    for name in {*os.environ} - {*known}:
        del os.environ[name]
    os.environ.update(known)
    set_bucket_access(())
