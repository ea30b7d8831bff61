"""Prints the rows of Delta tables as other software reads them; run in the environment of `readers`.

It is given folders, and prints ``{reader: {folder: [{column: text}]}}`` as JSON, with the message instead of the rows
where a reader refuses the table. Nothing of sparkassets is installed there.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, unquote

Rows = list[dict[str, object]]


def main(*folders: str) -> None:
    """Reads every table by each reader."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    readers = {"spark 3.5": _spark(), "duckdb": _duckdb(), "delta sharing": _delta_sharing()}
    found = {name: {folder: _attempt(read, folder) for folder in folders} for name, read in readers.items()}
    print(json.dumps(found))


def _attempt(read: Callable[[str], Rows], folder: str) -> list[dict[str, str]] | str:
    try:
        return [{name: str(value) for name, value in row.items()} for row in read(folder)]
    except Exception as error:  # noqa: BLE001 - whatever a reader says
        return str(error)


def _spark() -> Callable[[str], Rows]:
    from delta import configure_spark_with_delta_pip  # type: ignore[import-not-found, unused-ignore]
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = configure_spark_with_delta_pip(builder).getOrCreate()
    return lambda folder: [row.asDict() for row in session.read.format("delta").load(folder).collect()]


def _duckdb() -> Callable[[str], Rows]:
    import duckdb
    import duckdb_ext  # type: ignore[import-not-found, unused-ignore]

    (extension,) = Path(next(iter(duckdb_ext.__path__))).rglob("delta.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")

    def read(folder: str) -> Rows:
        table = connection.execute("SELECT * FROM delta_scan(?)", [folder])
        names = [column[0] for column in table.description]
        return [dict(zip(names, row, strict=True)) for row in table.fetchall()]

    return read


class SharedTables(BaseHTTPRequestHandler):
    """A server of Delta Sharing, with what a reader needs of its protocol; a table's name is its quoted folder."""

    def do_GET(self) -> None:
        """Sends the metadata of a table, or one of its files."""
        if self.path.endswith("/metadata"):
            self._send_table(with_files=False)
        else:
            self._send(Path(unquote(self.path.partition("?")[0])).read_bytes())

    def do_POST(self) -> None:
        """Sends the metadata of a table and where its files are."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send_table(with_files=True)

    def _send_table(self, *, with_files: bool) -> None:
        folder = Path(unquote(self.path.split("/")[-2]))
        latest, files = dict[str, object](), dict[str, dict[str, object]]()
        logs = sorted(folder.glob("_delta_log/*.json"))
        for line in "\n".join(log.read_text().strip() for log in logs).splitlines():
            ((kind, action),) = json.loads(line).items()
            if kind == "add":
                files[action["path"]] = action
            elif kind == "remove":
                files.pop(action["path"], None)
            else:
                latest[kind] = action
        root = f"http://{self.headers['Host']}{quote(str(folder))}"
        signed = [action | {"path": f"{root}/{path}?X-Amz-Signature=none"} for path, action in files.items()]
        lines: list[dict[str, object]] = [
            {"protocol": {"deltaProtocol": latest["protocol"]}},
            {"metaData": {"deltaMetadata": latest["metaData"]}},
            *({"file": {"id": each["path"], "deltaSingleAction": {"add": each}}} for each in signed if with_files),
        ]
        headers = {"delta-table-version": logs[-1].stem, "delta-sharing-capabilities": "responseformat=delta"}
        self._send("\n".join(map(json.dumps, lines)).encode(), **headers)

    def _send(self, data: bytes, **headers: str) -> None:
        self.send_response(200)
        for name, value in {"content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Prints nothing: what is printed is the answer of this script."""


def _delta_sharing() -> Callable[[str], Rows]:
    import delta_sharing

    server = ThreadingHTTPServer(("127.0.0.1", 0), SharedTables)
    Thread(target=server.serve_forever, daemon=True).start()
    profile = Path(tempfile.mkdtemp(), "profile.share")
    endpoint = f"http://127.0.0.1:{server.server_port}"
    profile.write_text(json.dumps({"shareCredentialsVersion": 1, "endpoint": endpoint, "bearerToken": "none"}))

    def read(folder: str) -> Rows:
        frame = delta_sharing.load_as_pandas(f"{profile}#share.schema.{quote(folder, safe='').replace('.', '%2E')}")
        rows: Rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        return rows

    return read


if __name__ == "__main__":
    main(*sys.argv[1:])
