"""What files on S3 hold is read by the options of their bucket, where the environment tells nothing of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

from sparkassets.core.spec.project_spec import StoreOptions
from sparkassets.delta.live_files import open_file
from sparkassets.files.object_stores import BucketAccess, StoreCredentials, deltalake_options, set_bucket_access
from tests.integration.on_s3 import serving
from tests.sources.test_file_views import COLUMNS, Source, row


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    """Of an API with two buckets, whose address and credentials stand in the options of each alone."""
    boto3 = pytest.importorskip("boto3")
    known = dict(os.environ)
    with serving() as address:
        made = boto3.client("s3", endpoint_url=address)
        made.create_bucket(Bucket="other")
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        signs = StoreCredentials("testing", "testing")
        set_bucket_access(
            [
                BucketAccess(StoreOptions(name, endpoint=address, region="us-east-1"), lambda: signs)
                for name in ("lake", "other")
            ]
        )
        yield made
    os.environ.clear()
    os.environ.update(known)
    set_bucket_access(())


def put(client, bucket: str, key: str, kind: str, *days: int) -> None:
    """A file with a row of each day."""
    rows = [row(day) for day in days]
    if kind == "csv":
        lines = [",".join(COLUMNS), *(",".join(str(each[name]) for name in COLUMNS) for each in rows)]
        client.put_object(Bucket=bucket, Key=key, Body="\n".join(lines).encode())
        return
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(rows), sink)
    client.put_object(Bucket=bucket, Key=key, Body=sink.getvalue().to_pybytes())


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_views_of_files_in_two_buckets(client, kind, scheme):
    folder = f"{scheme}-{kind}"
    for bucket in ("lake", "other"):
        source = Source(
            f"{scheme}://{bucket}/{folder}", kind=kind, options={"header": "true"} if kind == "csv" else None
        )
        put(client, bucket, f"{folder}/one.{kind}", kind, 1, 2)
        assert source.news() == (["2025-01-01..2025-01-02"], [])
        put(client, bucket, f"{folder}/late file.{kind}", kind, 3, 1)
        assert source.news() == (["2025-01-01", "2025-01-03"], [])
        client.delete_object(Bucket=bucket, Key=f"{folder}/one.{kind}")
        assert source.news() == (["2025-01-01"], ["2025-01-02"])


def test_a_data_file_of_a_table(client):
    path = "s3://other/table"
    write_deltalake(path, pa.table({"n": [1]}), storage_options=deltalake_options(path))
    (name,) = [each["Key"] for each in client.list_objects_v2(Bucket="other")["Contents"] if "part-" in each["Key"]]
    relative = name.removeprefix("table/")
    for root, where in ((path, relative), ("s3://lake/elsewhere", f"{path}/{relative}")):
        with open_file(root, where) as stream:
            assert parquet.read_table(stream).to_pylist() == [{"n": 1}]
