"""PostgreSQL on loopback, in a folder of its own, as an unprivileged user where we are root."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

USER = "hive"


def find_programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl`: on the path, or where Debian installs the newest version."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    return max((each.parent for each in Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The JDBC URL of a new database, whose owner needs no password from this machine."""
    programs = find_programs()
    assert programs is not None, "PostgreSQL is not installed"
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        owner = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        if owner:
            os.chown(folder, 65534, 65534)

        def run(program: str, *arguments: str) -> None:
            command = [*owner, str(programs / program), "--pgdata", f"{folder}/data", *arguments]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)

        run("initdb", "--username", USER, "--auth", "trust", "--no-sync")
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "--wait", "--log", f"{folder}/log", "--options", options, "start")
        try:
            yield f"jdbc:postgresql://127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "--mode", "immediate", "stop")
