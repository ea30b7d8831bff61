"""Sail, an engine without a JVM: its server of Spark Connect in this process, and a session of it.

The server runs on threads of its own and ends with the process. A crash of it is one of the process, as a `kill -9` is:
the next start goes on from journal and tables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from sparkassets.errors import SparkUnavailableError
from sparkassets.spark.session_settings import TIME_ZONE, user_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_sail_session(settings: Mapping[str, str]) -> SparkSession:
    """A new session of this process's server, in UTC and with the user's settings.

    Raises:
        SparkUnavailableError: Packages are missing, or the server does not start.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(_start_server())
    for key, value in {TIME_ZONE: "UTC", **user_settings(settings)}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except ImportError as error:  # pyspark without what its client of Spark Connect needs
        raise SparkUnavailableError(str(error).partition("\n")[0], hint=install_hint()) from error


def install_hint() -> str:
    """The command that installs Sail here: the extra's ``pyspark-client`` has the same files as ``pyspark``."""
    try:
        version("pyspark")
    except PackageNotFoundError:
        return "pip install 'sparkassets[sail]'"
    return "pip install pysail 'pyspark[connect]'"


@cache
def _start_server() -> str:
    """Starts the server, once in a process, and returns its address."""
    os.environ.setdefault("RUST_LOG", "error")  # else it reports each session on standard error
    try:
        from pysail.spark import SparkConnectServer
    except ImportError as error:
        raise SparkUnavailableError("engine: sail needs the package pysail", hint=install_hint()) from error
    server = SparkConnectServer()
    server.start(background=True)
    _SERVERS.append(server)
    host, port = server.listening_address
    return f"sc://{host}:{port}"


_SERVERS: list[object] = []
"""Keeps the server from the garbage collector, which would stop it."""
