"""Opens the Spark session that runs share, or takes the user's, and warms it up."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import threading
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.project_spec import EngineName
from sparkassets.errors import SparkUnavailableError
from sparkassets.spark.gateway import delta_version, silence_connections
from sparkassets.spark.installation import check_delta, check_installed, check_spark
from sparkassets.spark.own_session import is_remote, turn_ansi_on
from sparkassets.spark.sail import open_sail_session
from sparkassets.spark.session_settings import CATALOG, EXTENSION, start_settings
from sparkassets.spark.versions import takes_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODULES: Final = ("pandas", "pyarrow.fs", "pyarrow.parquet", "deltalake.transaction")
"""None of pyspark's: two threads that load modules which import each other may deadlock.

pyspark itself loads pandas, where it is installed, before its first configuration.
"""


def warm_up() -> None:
    """Starts loading once pyspark is loaded; returns at once. Errors are left to whoever needs the module."""
    threading.Thread(target=_load_modules, name="warm-up", daemon=True).start()


def _load_modules() -> None:
    for module in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


_S3_KEY = "fs.s3.impl"


def open_session(
    settings: Mapping[str, str], *, name: str, engine: EngineName | None = None
) -> tuple[SparkSession, bool]:
    """The active session, that of a Databricks task, or a new one with ``settings``; and whether it is new.

    ``sparkassets.fast_start: "false"`` among the settings leaves the jars to ``spark.jars.packages`` and makes no class
    data archive; ``sparkassets.small_data: "true"`` trades throughput for a quick start.

    Args:
        settings: Of a new session.
        name: Of its application.
        engine: What computes in it; by default Spark.

    Raises:
        SparkUnavailableError: No pyspark, Java or Delta; or no Sail.
    """
    _silence_pyspark()
    active = active_session() or _platform_session()
    if active is not None:
        check_session(active)
        return active, False
    session = open_sail_session(settings) if engine == "sail" else _create_session(settings, name=name)
    check_session(session)
    return session, True


def active_session() -> SparkSession | None:
    """The active session of this thread or the process; never a new one."""
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkUnavailableError(
            f"the Python package {error.name} is not installed", hint="pip install 'sparkassets[spark]'"
        ) from error
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _platform_session() -> SparkSession | None:
    """The session that a task on Databricks is given, also where no thread has made it its own; None elsewhere."""
    if "DATABRICKS_RUNTIME_VERSION" not in os.environ:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()


def check_session(session: SparkSession) -> None:
    """Refuses a session that is too old, or lacks Delta.

    Raises:
        SparkUnavailableError: With what to do about it.
    """
    check_spark(session.version)
    if is_remote(session):  # what the server was started with is not this client's to judge
        if not takes_connect(session):
            raise SparkUnavailableError(
                "sparkassets needs a client of Spark Connect 4.0 or newer: that of 3.5 takes no frames in SQL",
                hint="pip install 'pyspark-client>=4', or give it a session that is not remote",
            )
        return
    if "DATABRICKS_RUNTIME_VERSION" in os.environ:
        return  # its Delta has versions of its own
    if EXTENSION in (session.conf.get("spark.sql.extensions", "") or ""):
        check_delta(delta_version(session), spark=session.version)
        return
    raise SparkUnavailableError(
        "the active Spark session does not support Delta",
        hint=f"start it with spark.sql.extensions={EXTENSION} and spark.sql.catalog.spark_catalog={CATALOG}, "
        "or stop it and let sparkassets start one",
    )


def _create_session(settings: Mapping[str, str], *, name: str) -> SparkSession:
    """Starts Spark with the settings, and arranges that its JVM writes the class data archive if one is wanted.

    Raises:
        SparkUnavailableError: Packages or Java do not fit, or Spark does not start.
    """
    from pyspark.sql import SparkSession

    check_installed()
    conf, archive = start_settings(settings, name=name)
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    warm_up()
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise SparkUnavailableError(f"Spark did not start: {_first_line(error)}") from error
    archive.write_at_exit()
    turn_ansi_on(session, given=session)
    if not is_remote(session):
        _map_s3_scheme(session)
    return session


def _map_s3_scheme(session: SparkSession) -> None:
    """Makes ``s3://`` mean ``s3a://``, unless the platform has its own file system for it."""
    hadoop = session._jsc.hadoopConfiguration()  # noqa: SLF001  no other way
    if hadoop.get(_S3_KEY) is None:
        hadoop.set(_S3_KEY, "org.apache.hadoop.fs.s3a.S3AFileSystem")


def _silence_pyspark() -> None:
    """Keeps pyspark from printing messages that an asset's author cannot influence.

    These are: every error as JSON with its Java stack trace, although it is raised, too; and at each conversion that
    this version of pandas is not tested enough.
    """
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)
    silence_connections()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
