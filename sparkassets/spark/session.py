"""The Spark session of a run: the active one if it fits, else one that starts fast."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkassets.errors import SparkUnavailableError
from sparkassets.spark import archive
from sparkassets.spark.archive import Archive, jars_in
from sparkassets.spark.jars import coordinates, delta_jars
from sparkassets.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_TIME_ZONE = "spark.sql.session.timeZone"
_BLOCK_CHECK = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"
_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00"})
_OWN = "sparkassets."
_SMALL_DATA = {
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.enabled": "false",
}
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalog.spark_catalog": _CATALOG,
    # Spark 4.2.0 hangs for ever in a Python UDF over Parquet (SPARK-58241)
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
}
_SUBMITTED = {"spark.log.level": "ERROR"}
"""``spark-submit`` has started the JVM without our logging, and says everything."""
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_BRINGS_JARS = ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath")
_JVM_OPTIONS = "spark.driver.defaultJavaOptions"
"""Spark puts these before ``spark.driver.extraJavaOptions``, which therefore stays whatever the user made it."""


def open_session(settings: Mapping[str, str], *, name: str) -> tuple[SparkSession, bool]:
    """The active session, or a new one with ``settings``; and whether it is new.

    ``sparkassets.fast_start: "false"`` among the settings leaves the jars to ``spark.jars.packages`` and makes no class
    data archive; ``sparkassets.small_data: "true"`` trades throughput for a quick start.

    Raises:
        SparkUnavailableError: No pyspark, Java or Delta, or a session whose time zone is not UTC.
    """
    _quiet_python_side()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)  # pyspark on the version of pandas, at its import
        active = active_session()
        if active is not None:
            check_session(active)
            return active, False
        session = _create(settings, name=name)
    check_session(session)
    return session, True


def active_session() -> SparkSession | None:
    """The session that is there already, of this thread or of the process; never a new one."""
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


def check_session(session: SparkSession) -> None:
    """Refuses a session in which dates would shift or which does not know Delta.

    Raises:
        SparkUnavailableError: With what to do about it.
    """
    require_utc(session)
    if (session.conf.get(_BLOCK_CHECK, "true") or "").lower() == "false":
        raise SparkUnavailableError(
            f"the Spark session has {_BLOCK_CHECK}=false, so rows outside a run's partitions would be written",
            hint="remove that setting",
        )
    extensions = session.conf.get("spark.sql.extensions", "") or ""
    if _EXTENSION in extensions or "DATABRICKS_RUNTIME_VERSION" in os.environ:
        return
    raise SparkUnavailableError(
        "the active Spark session does not know Delta",
        hint=f"start it with spark.sql.extensions={_EXTENSION} and spark.sql.catalog.spark_catalog={_CATALOG}, "
        "or stop it and let sparkassets start one",
    )


def require_utc(session: SparkSession) -> None:
    """Refuses a session whose time zone is not UTC: it would shift every date that Spark derives from an instant.

    Raises:
        SparkUnavailableError: With what to do about it.
    """
    zone = session.conf.get(_TIME_ZONE)
    if zone not in _UTC:
        raise SparkUnavailableError(
            f"the Spark session's time zone is {zone}, but it must be UTC",
            hint=f'spark.conf.set("{_TIME_ZONE}", "UTC")',
        )


def _create(settings: Mapping[str, str], *, name: str) -> SparkSession:
    from pyspark.sql import SparkSession

    conf = _configuration(settings, name=name)
    own = {key.removeprefix(_OWN): value for key, value in settings.items() if key.startswith(_OWN)}
    made = Archive()
    if not _is_remote(conf):
        made = _bring_delta(conf, own)
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise SparkUnavailableError(f"Spark did not start: {_first_line(error)}") from error
    if made.dump is not None:
        made.belongs_to(_gateway().proc.pid)
    return session


def _configuration(settings: Mapping[str, str], *, name: str) -> dict[str, str]:
    """What the session is built with, before Delta's jars: the user's settings over our defaults."""
    conf = {"spark.app.name": name, **_DEFAULTS}
    if _is_true(settings.get("sparkassets.small_data")):
        conf |= _SMALL_DATA
    given = {key: value for key, value in settings.items() if not key.startswith(_OWN)}
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        conf |= _SUBMITTED
    if _is_local({**_spark_defaults(), **given}):
        conf |= _LOCAL
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf |= given
    extensions = [one for one in conf.get("spark.sql.extensions", "").split(",") if one]
    conf["spark.sql.extensions"] = ",".join([*extensions, *([] if _EXTENSION in extensions else [_EXTENSION])])
    conf.setdefault(_TIME_ZONE, "UTC")
    return conf


def _bring_delta(conf: dict[str, str], own: Mapping[str, str]) -> Archive:
    """Adds to ``conf`` what puts Delta on the class path and makes the JVM start fast; says what archive is in use."""
    options = [f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"]
    if _is_true(own.get("small_data")):
        # one compiler, and room for what it compiles: with 48 MB it fills up after some forty runs and stops
        options += ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m"]
    java = find_java()
    home = _spark_home()
    made = Archive()
    if not _has_delta(conf, home):
        if own.get("fast_start", "true").lower() == "false":
            packages = [one for one in conf.get("spark.jars.packages", "").split(",") if one]
            conf["spark.jars.packages"] = ",".join([*packages, str(coordinates())])
        else:
            jars = delta_jars(home, java)
            _add_to_class_path(conf, jars)
            if "PYSPARK_GATEWAY_PORT" not in os.environ and not _has_configuration_folder(home):
                given = conf.get("spark.driver.extraJavaOptions", "") + conf.get(_JVM_OPTIONS, "")
                made = archive.prepare(java, class_path=[*jars, *jars_in(home / "jars")], given_options=given)
    conf[_JVM_OPTIONS] = " ".join([*made.options, *options, conf.get(_JVM_OPTIONS, "")]).strip()
    return made


def _add_to_class_path(conf: dict[str, str], jars: list[Path]) -> None:
    """Delta's jars for the driver, and for the executors of a cluster."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        _add_to_running_jvm(jars)
    else:
        given = conf.get("spark.driver.extraClassPath", "")
        conf["spark.driver.extraClassPath"] = os.pathsep.join([*([given] if given else []), *map(str, jars)])
    if not _is_local({**_spark_defaults(), **conf}):
        given = conf.get("spark.jars", "")
        conf["spark.jars"] = ",".join([*([given] if given else []), *(jar.as_uri() for jar in jars)])


def _add_to_running_jvm(jars: list[Path]) -> None:
    """Under ``spark-submit`` the JVM runs already, without a session; its class loader still takes jars."""
    from pyspark import SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001 - the only way to the JVM before there is a session
    jvm = _gateway().jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for jar in jars:
        loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())


def _gateway() -> Any:  # noqa: ANN401 - py4j has no types
    from pyspark import SparkContext

    return SparkContext._gateway  # noqa: SLF001 - pyspark offers no other way to its JVM's process


def _has_delta(conf: Mapping[str, str], home: Path) -> bool:
    given = {**_spark_defaults(), **conf}
    named = " ".join(given.get(key, "") for key in _BRINGS_JARS) + os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    return bool(re.search(r"delta-(spark|core)_", named)) or any((home / "jars").glob("delta-spark_*.jar"))


def _spark_defaults() -> dict[str, str]:
    """The settings of the installation's ``spark-defaults.conf``, which Spark itself adds to ours."""
    folder = _configuration_folder(_spark_home())
    try:
        lines = (folder / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = (re.split(r"[\s=]+", line.strip(), maxsplit=1) for line in lines if line.strip()[:1] not in ("", "#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == len(("key", "value"))}


def _has_configuration_folder(home: Path) -> bool:
    """Whether Spark's class path begins with a folder that holds files: the JVM makes no archive then."""
    folder = _configuration_folder(home)
    return folder.is_dir() and any(folder.iterdir())


def _configuration_folder(home: Path) -> Path:
    return Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")


def _spark_home() -> Path:
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _is_local(conf: Mapping[str, str]) -> bool:
    return conf.get("spark.master", os.environ.get("MASTER", "local[*]")).startswith("local")


def _is_remote(conf: Mapping[str, str]) -> bool:
    return "spark.remote" in conf or "SPARK_REMOTE" in os.environ


def _is_true(value: str | None) -> bool:
    return (value or "").lower() == "true"


def _quiet_python_side() -> None:
    """Keeps pyspark from printing every error as JSON with its Java stack trace: whoever catches it shows it."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
