from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sparkassets.files.object_stores import set_bucket_access
from sparkassets.spark.engine import SparkEngine
from tests.integration.lossy import Lossy, before
from tests.integration.orders import project, table


@pytest.fixture
def engine(spark):
    return SparkEngine(project(), spark)


@pytest.fixture
def flights(tmp_path):
    """Three days, two rows each."""
    source = table("flights", tmp_path, by="day")
    days = [date(2013, 1, day) for day in (1, 1, 2, 2, 3, 3)]
    delays = pa.array([day.day * 10 for day in days], pa.int32())
    write_deltalake(source.storage.path, pa.table({"day": days, "origin": ["EWR", "JFK"] * 3, "delay": delays}))
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
