"""The report's site in an object store: an S3 API on loopback, without Spark."""

import os

import pytest

from sparkassets.report import write_site
from tests.report.test_site import small


@pytest.fixture
def store(monkeypatch):
    boto3 = pytest.importorskip("boto3")
    from tests.integration.on_s3 import serving

    before = dict(os.environ)
    with serving():
        yield boto3.client("s3")
    for name in {*os.environ} - {*before}:
        del os.environ[name]
    os.environ.update(before)


def test_a_site_is_written_and_written_anew(store):
    for number in range(4):
        written = write_site(small(number), "s3a://lake/ops/site")
    assert written.index == "s3a://lake/ops/site/index.html"
    names = [each["Key"].removeprefix("ops/site/") for each in store.list_objects_v2(Bucket="lake")["Contents"]]
    files = [name for name in names if not name.endswith("/")]
    assert len([name for name in files if name.startswith("data/")]) == 2 * 3  # the newest, and the one before
    page = store.get_object(Bucket="lake", Key="ops/site/index.html")
    assert page["ContentType"] == "text/html; charset=utf-8"
    assert b"sparkassets report" in page["Body"].read()
