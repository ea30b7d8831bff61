"""Unity Catalog's own server on loopback, and its connector: both from a checkout of its source, as `make` builds them.

The server wants tokens. Its database is H2's, in a folder of its own; so are the tables that it manages.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from sparkassets.spark.installation import find_java

TOKEN = "UNITY_TOKEN"  # noqa: S105  the name of a variable
PATIENCE_SECONDS = 300
_API = "/api/2.1/unity-catalog"
_NOT_IN_SPARK = "jackson-databind-nullable"


@dataclass
class Unity:
    """A server that was started, with the catalog ``main``.

    Attributes:
        address: Its URL.
        token: The administrator's.
        lake: The folder of its managed tables, and of others that it lets in.
        process: The server's.
        connector: The class path of its connector for Spark.
    """

    address: str
    token: str
    lake: Path
    process: subprocess.Popen[bytes]
    connector: str

    def make(self, what: str, **fields: Any) -> None:
        """Makes a catalog, a schema and the like."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = Request(f"{self.address}{_API}/{what}", json.dumps(fields).encode(), headers)  # noqa: S310  loopback
        urlopen(request).close()  # noqa: S310  likewise

    def settings(self, catalog: str = "main") -> dict[str, str]:
        """What a session needs, with the token from the environment."""
        return {
            "spark.driver.extraClassPath": self.connector,
            f"spark.sql.catalog.{catalog}": "io.unitycatalog.spark.UCSingleCatalog",
            f"spark.sql.catalog.{catalog}.uri": self.address,
            f"spark.sql.catalog.{catalog}.token": f"${{{TOKEN}}}",
        }


@contextlib.contextmanager
def unity(checkout: Path, folder: Path) -> Iterator[Unity]:
    """A new server, that keeps what it has in ``folder``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf, lake, address = folder / "etc" / "conf", folder / "lake", f"http://127.0.0.1:{port}"
    for each in (conf, folder / "etc" / "db", lake):
        each.mkdir(parents=True)
    for name in ("hibernate.properties", "server.log4j2.properties"):
        (conf / name).write_text((checkout / "etc" / "conf" / name).read_text())
    wanted = {"authorization": "enable", "allowed-issuers": "internal", "audiences": "*"}
    (conf / "server.properties").write_text("".join(f"server.{key}={value}\n" for key, value in wanted.items()))
    classes = (checkout / "server/target/classpath").read_text()
    command = [find_java().command, "-cp", classes, "io.unitycatalog.server.UnityCatalogServer", "--port", str(port)]
    with (folder / "server.out").open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)
    try:
        _wait_for(address, process, folder / "server.out")
        connector = (checkout / "connectors/spark/target/scala-2.13/classpath").read_text().split(os.pathsep)
        needed = [each for each in connector if each.startswith(str(checkout)) or _NOT_IN_SPARK in each]
        found = Unity(address, (conf / "token.txt").read_text(), lake, process, os.pathsep.join(needed))
        found.make("credentials", name="none", purpose="STORAGE", aws_iam_role={"role_arn": "arn:aws:iam::1:role/none"})
        found.make("external-locations", name="lake", url=lake.as_uri(), credential_name="none")
        found.make("catalogs", name="main", storage_root=f"{lake.as_uri()}/managed")
        yield found
    finally:
        process.kill()
        process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes], out: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with contextlib.suppress(URLError, ConnectionError), urlopen(address):  # noqa: S310  loopback
            return
        assert process.poll() is None, out.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.2)
