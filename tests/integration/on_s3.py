"""A program: runs against an S3 API on loopback, in a session that brings Hadoop's committer for S3; prints what is so.

Usage: ``python -m tests.integration.on_s3 FOLDER``
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.delta.log import DeltaLog
from sparkassets.ports import FenceConflictError
from sparkassets.spark.engine import SparkEngine
from sparkassets.spark.session import open_session
from tests.integration.orders import execute, function, order, project, rows, sql, stamp_of, table, target

BUCKET = "s3a://lake"
KEY, SECRET = "testing", "testing-secret"
DAILY = "SELECT DATE'2013-01-01' + INT(id % 2) AS day, 'a b/' || id % 2 AS place, id FROM range(6)"
COLUMNS = "day DATE, place STRING, id BIGINT"
UNSTEADY = """
def unsteady(spark):
    from pyspark import TaskContext
    from pyspark.sql.functions import udf

    @udf("long")
    def once(n):
        # the first attempt of a task fails when much of its file is written
        if n % 1000 == 999 and TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("lost")
        return n

    return spark.range(0, 4000, 1, 4).select(once("id").alias("n"))
"""


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The address of an S3 API with one bucket, in a process of its own: MinIO by `make servers`, else moto."""
    import boto3

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    os.environ |= {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
    }
    with (
        tempfile.TemporaryDirectory(prefix="minio-") as folder,
        subprocess.Popen(
            _server(port, folder),
            env=os.environ | {"MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as server,
    ):
        try:
            while True:
                assert server.poll() is None, f"{server.args} ended"
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.1)
            boto3.client("s3").create_bucket(Bucket="lake")
            yield address
        finally:
            server.terminate()


def _server(port: int, folder: str) -> list[str]:
    """The command of a server that listens there."""
    if minio := os.environ.get("SPARKASSETS_MINIO"):
        return [minio, "server", "--quiet", "--address", f"127.0.0.1:{port}", folder]
    return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]


def settings(address: str) -> dict[str, str]:
    return {
        "sparkassets.small_data": "true",
        "spark.master": "local[2,2]",  # a task may be tried twice
        "spark.hadoop.fs.s3a.endpoint": address,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": KEY,
        "spark.hadoop.fs.s3a.secret.key": SECRET,
    }


def on_s3(name: str, **more: Any) -> AssetSpec:
    path = f"{BUCKET}/{name}"
    return replace(table(name, Path("/"), **more), uri=path, storage=StorageLocation(path, name))


def data_objects(asset: AssetSpec) -> dict[str, str]:
    """The objects of a table's folder beside its log: key below the folder to ETag."""
    import boto3

    listed = boto3.client("s3").list_objects_v2(Bucket="lake", Prefix=f"{asset.name}/")["Contents"]
    found = {each["Key"].removeprefix(f"{asset.name}/"): each["ETag"].strip('"') for each in listed}
    return {key: tag for key, tag in found.items() if not key.startswith("_delta_log/") and not key.endswith("/")}


def told_by_log(asset: AssetSpec) -> set[str]:
    """The files that were ever added."""
    return {
        unquote(file.path) for commit in DeltaLog(place(asset)).read_after(-1) for file in commit.files if file.added
    }


def writer(asset: AssetSpec) -> str:
    """Who made the newest commit."""
    return str(DeltaTable(place(asset)).history(1)[0]["engineInfo"]).partition(":")[0]


def place(asset: AssetSpec) -> str:
    assert asset.storage is not None
    return asset.storage.path


def fences(engine: SparkEngine, asset: AssetSpec) -> list[str]:
    """What becomes of eight fences at once, each by a version of its own."""
    runs = [order(asset) for _ in range(8)]
    told = []

    def one(number: int) -> None:
        run = runs[number]
        try:
            target(engine, run).fence(None, stamp=stamp_of(run, kind="fence", version=2 * run.token))
            told.append("done")
        except FenceConflictError:
            told.append("conflict")

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(runs))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return told


def main(address: str, folder: str) -> dict[str, Any]:
    import boto3

    session, _ = open_session(settings(address), name="on-s3")
    engine = SparkEngine(project(python=("tasks",)), session)
    engine.start()
    work = Path(folder) / "tasks" / "work.py"
    work.parent.mkdir()
    work.write_text(UNSTEADY)
    unsteady = on_s3("unsteady", **function(Path(folder), "unsteady", "spark"))
    daily = on_s3("daily", **sql(DAILY))
    session.sql(f"CREATE TABLE delta.`{place(daily)}` ({COLUMNS}) USING delta PARTITIONED BY (day, place)")
    local = table("local", Path(folder), **sql(DAILY))
    for each in (unsteady, daily, daily, local):
        execute(engine, order(each))
    return {
        "writers": [writer(each) for each in (unsteady, daily, local)],
        "unsteady": rows(session, unsteady, "count(*)", "count(DISTINCT n)", "sum(n)"),
        "daily": rows(session, daily, "CAST(day AS STRING)", "place", "id"),
        "local": rows(session, local, "CAST(day AS STRING)", "place", "id"),
        "strays": [key for each in (unsteady, daily) for key in data_objects(each).keys() - told_by_log(each)],
        "copied": [key for each in (unsteady, daily) for key, tag in data_objects(each).items() if "-" not in tag],
        "pending": len(boto3.client("s3").list_multipart_uploads(Bucket="lake").get("Uploads", [])),
        "fences": fences(engine, daily),
        "fenced": DeltaTable(place(daily)).version(),
    }


if __name__ == "__main__":
    with serving() as found:
        print(json.dumps(main(found, *sys.argv[1:])))  # noqa: T201  its result
