"""Settings of a session that is started here: Delta, UTC, small tables, and the JVM's class archive.

The JVM writes its class archive when it exits, some seconds after Python did. So it goes to a file of its own, and a
later start adopts it by an atomic rename. An archive that does not fit is ignored by the JVM without a word.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import sys
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from sparkassets.cache import cache_folder, note_use
from sparkassets.cache.cleaning import clean_when_due
from sparkassets.frozen import frozen
from sparkassets.spark import gateway
from sparkassets.spark.installation import (
    JavaRuntime,
    check_distribution,
    delta_coordinates,
    fetch_delta_jars,
    find_java,
    hadoop_version,
    s3_jars,
)

_ABANDONED_SECONDS: Final = 3600
_ROOM_BYTES: Final = 2**30
"""Free space for which an archive of some 200 MB is written: a JVM that fails to write it reports that on its own."""
_ARCHIVE_WORDS: Final = (
    "-Xshare",
    "SharedArchiveFile",
    "ArchiveClassesAtExit",
    "AutoCreateSharedArchive",
    "RecordDynamicDumpInfo",
)
_ANNOUNCEMENT: Final = "archiving Spark's classes for faster starts, this once; Ctrl-C skips it\n"
_OPTION_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")


@frozen
class ClassArchive:
    """How one JVM uses or writes the archive.

    Attributes:
        options: For the command line of the JVM; empty where the archive cannot help.
        wanted: The archive that this JVM is to write; None when it uses one, or when there is none.
    """

    options: tuple[str, ...] = ()
    wanted: Path | None = None

    def write_at_exit(self) -> None:
        """Has the running JVM write the wanted archive when this process ends, which a kill does not."""
        if self.wanted is not None:
            atexit.register(write_archive, self.wanted)


def prepare(java: JavaRuntime, *, class_path: Sequence[Path], given_options: str) -> ClassArchive:
    """The archive for this JVM and class path, or the one that this JVM is to write.

    Args:
        java: The Java that will run it.
        class_path: All that the driver's class path names. An archive holds for exactly these files, and a JVM makes
            none where one is a folder.
        given_options: The user's own JVM options; where they, or those of the environment, are about archives, they
            win: a JVM does not start with some pairs of such options.
    """
    all_options = " ".join([given_options, *(os.environ.get(name, "") for name in _OPTION_VARIABLES)])
    if any(word in all_options for word in _ARCHIVE_WORDS) or not all(each.is_file() for each in class_path):
        return ClassArchive()
    folder = cache_folder() / "archive"
    ready = folder / f"{_make_archive_name(java, class_path)}.jsa"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(ready)
    except OSError:
        return ClassArchive()
    is_ready = note_use(ready)
    clean_when_due(cache_folder())
    if is_ready:
        silent_options = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")
        return ClassArchive((*silent_options, "-Xshare:auto", _quote_option(f"-XX:SharedArchiveFile={ready}")))
    if not os.access(folder, os.W_OK) or shutil.disk_usage(folder).free < _ROOM_BYTES:
        return ClassArchive()
    return ClassArchive(("-Xlog:disable", "-XX:+RecordDynamicDumpInfo"), ready)


def write_archive(ready: Path) -> None:
    """Has the JVM that pyspark started write its archive beside ``ready`` and renames it; never raises.

    Nothing is written where the JVM has ended, or cannot do it.
    """
    if ready.exists() or not gateway.is_running():
        return
    dump = ready.with_suffix(f".{uuid.uuid4().hex}.dump")
    # Ctrl-C gives it up: the JVM ends with this process
    with suppress(Exception, KeyboardInterrupt):
        if sys.stderr.isatty():
            sys.stderr.write(_ANNOUNCEMENT)
            sys.stderr.flush()
        gateway.silence_output()  # the JVM reports each archive on the standard output, which is the driver's
        gateway.run_diagnostic("vmCds", "dynamic_dump", str(dump))
        dump.replace(ready)


def _quote_option(text: str) -> str:
    """One option of Spark's list of JVM options, which is split at spaces."""
    return f'"{text}"' if " " in text else text


def _make_archive_name(java: JavaRuntime, class_path: Iterable[Path]) -> str:
    """The name of the archive, by what the JVM compares: layers of an image keep whole seconds of a file's time."""
    digest = hashlib.sha256(f"{java.command}\n{java.build}\n".encode())
    for jar in class_path:
        status = jar.stat()
        digest.update(f"{jar}\t{status.st_size}\t{int(status.st_mtime)}\n".encode())
    return digest.hexdigest()[:20]


def _remove_abandoned(ready: Path) -> None:
    """Removes parts of archives that JVMs whose drivers were killed have left behind."""
    for part in ready.parent.glob(f"{ready.stem}.*.dump*"):
        with suppress(FileNotFoundError):  # another process was quicker
            if time.time() - part.stat().st_mtime > _ABANDONED_SECONDS:
                part.unlink()


def jars_in(folder: Path) -> list[Path]:
    """The jars that a class path entry ``folder/*`` stands for, sorted."""
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.name.endswith(".jar"))


EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
TIME_ZONE = "spark.sql.session.timeZone"
MOST_LISTED = "spark.sql.sources.parallelPartitionDiscovery.threshold"
"""Up to so many files Spark lists in the driver; for more it starts a job, as slow as Delta's own read."""
_OWN_PREFIX = "sparkassets."
_SMALL_DATA = {
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",  # compiling a query takes longer than running it over few rows
}
OF_RUNS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # as Delta writes them; Spark's own has no statistics
    # Spark 4.2.0 hangs for ever in a Python UDF over Parquet (SPARK-58241)
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
}
"""Settings that runs rely on in any session, besides its time zone."""
_DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalog.spark_catalog": CATALOG,
    **OF_RUNS,
}
_SUBMITTED_SETTINGS = {"spark.log.level": "ERROR"}
"""``spark-submit`` started the JVM without our logging configuration, so that it logs everything."""
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}
_SHUFFLE_PER_CORE = 4
_MOST_LISTED_FILES = 1000
"""Files on a disk, listed in a tenth of a second; a Spark job for 168 of them took two."""
_JAR_SETTINGS = ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath")
_S3_CLASS = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_S3_PREFIX = "spark.hadoop.fs.s3a."
_JVM_OPTIONS = "spark.driver.defaultJavaOptions"
"""Comes before ``spark.driver.extraJavaOptions``, which therefore stays as the user set it."""


def start_settings(settings: Mapping[str, str], *, name: str) -> tuple[dict[str, str], ClassArchive]:
    """The settings of a new session, and the class data archive that its JVM uses or is to write.

    Args:
        settings: The user's; those under ``sparkassets.`` are not passed on.
        name: The application's name.

    Raises:
        SparkUnavailableError: No Java, or no Delta.
    """
    remote = settings.get("spark.remote") or os.environ.get("SPARK_REMOTE", "")
    if remote and not remote.startswith("local"):  # somebody else's server is as it was made
        return {TIME_ZONE: "UTC", **OF_RUNS, **user_settings(settings)}, ClassArchive()
    installed = _read_installed()
    conf = _make_configuration(settings, installed, name=name)
    if remote:
        return conf, ClassArchive()
    if gateway.is_submitted():
        jars = _find_missing_jars({**installed, **conf})
        gateway.add_jars(jars)
        _give_to_executors(conf, installed, jars)
        return conf, ClassArchive()
    return conf, _configure_jvm(conf, installed, settings)


def delta_jars() -> list[Path]:
    """The jars that a session gets besides Spark's own; fetched if they are not cached."""
    return fetch_delta_jars(_find_spark_home(), find_java())


def _find_missing_jars(conf: Mapping[str, str]) -> list[Path]:
    """The jars of Delta and, where buckets are configured, S3 that the running JVM lacks."""
    jars = [] if gateway.has_class(EXTENSION) else delta_jars()
    home = _find_spark_home()
    if _lacks_s3(conf, home) and not gateway.has_class(_S3_CLASS):
        jars += s3_jars(home, find_java())
    return jars


def _make_configuration(settings: Mapping[str, str], installed: Mapping[str, str], *, name: str) -> dict[str, str]:
    """Settings without Delta's jars: the user's over the installation's over ours."""
    conf_defaults = {"spark.app.name": name, TIME_ZONE: "UTC", **_DEFAULTS}
    small_data_settings = _SMALL_DATA if _is_true(settings.get("sparkassets.small_data")) else {}
    conf_defaults |= small_data_settings
    if gateway.is_submitted():
        conf_defaults |= _SUBMITTED_SETTINGS
    own_settings = user_settings(settings)
    if is_local({**installed, **own_settings}):
        conf_defaults |= {
            **_LOCAL_SETTINGS,
            **small_table_settings({**installed, **own_settings}),
            **small_data_settings,
        }
    if _find_master({**installed, **own_settings}).startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = {key: value for key, value in conf_defaults.items() if key not in installed} | own_settings
    extensions = [
        extension for extension in {**installed, **conf}.get("spark.sql.extensions", "").split(",") if extension
    ]
    conf["spark.sql.extensions"] = ",".join([*extensions, *([] if EXTENSION in extensions else [EXTENSION])])
    return conf


def user_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The user's settings without those of sparkassets."""
    return {key: value for key, value in settings.items() if not key.startswith(_OWN_PREFIX)}


def _configure_jvm(conf: dict[str, str], installed: Mapping[str, str], settings: Mapping[str, str]) -> ClassArchive:
    """Adds Delta's jars and settings for a fast JVM start; returns the archive in use."""
    import pyspark

    java, home, archive = find_java(), _find_spark_home(), ClassArchive()
    check_distribution(home, pyspark=pyspark.__version__)
    options = []
    if not (_find_configuration_folder(home) / "log4j2.properties").exists():
        options.append(f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}")
    if _is_true(settings.get("sparkassets.small_data")):
        # one compiler, and room for what it compiles: with 48 MB it fills up after some forty runs and stops
        options += ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m"]
    all_settings = {**installed, **conf}
    if not _brings_delta(all_settings, home):
        if settings.get("sparkassets.fast_start", "true").lower() == "false":
            aws = [f"org.apache.hadoop:hadoop-aws:{hadoop_version(home)}"] if _lacks_s3(all_settings, home) else []
            _append_to_setting(conf, installed, "spark.jars.packages", [str(delta_coordinates()), *aws])
        else:
            jars = [*fetch_delta_jars(home, java), *(s3_jars(home, java) if _lacks_s3(all_settings, home) else ())]
            _append_to_setting(conf, installed, "spark.driver.extraClassPath", map(str, jars), separator=os.pathsep)
            _give_to_executors(conf, installed, jars)
            if not _has_configuration_folder(home):
                user_options = all_settings.get("spark.driver.extraJavaOptions", "") + all_settings.get(
                    _JVM_OPTIONS, ""
                )
                given = map(Path, conf["spark.driver.extraClassPath"].split(os.pathsep))
                archive = prepare(java, class_path=[*given, *jars_in(home / "jars")], given_options=user_options)
    conf[_JVM_OPTIONS] = " ".join([*archive.options, *options, all_settings.get(_JVM_OPTIONS, "")]).strip()
    return archive


def _give_to_executors(conf: dict[str, str], installed: Mapping[str, str], jars: Sequence[Path]) -> None:
    """Gives jars to a cluster's executors, which do not share the driver's class path."""
    if jars and not is_local({**installed, **conf}):
        _append_to_setting(conf, installed, "spark.jars", [jar.as_uri() for jar in jars])


def _append_to_setting(
    conf: dict[str, str], installed: Mapping[str, str], key: str, values: Iterable[str], *, separator: str = ","
) -> None:
    """Appends to a list setting."""
    present = {**installed, **conf}.get(key, "")
    conf[key] = separator.join([*([present] if present else []), *values])


def _brings_delta(conf: Mapping[str, str], home: Path) -> bool:
    jars_text = " ".join(conf.get(key, "") for key in _JAR_SETTINGS) + os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    return bool(re.search(r"delta-(spark|core)_", jars_text)) or any((home / "jars").glob("delta-spark_*.jar"))


def _lacks_s3(conf: Mapping[str, str], home: Path) -> bool:
    """Whether S3 buckets are configured, as by `storage` of a project, and no jar brings their file system."""
    is_configured = any(key.startswith(_S3_PREFIX) for key in conf)
    jars_text = " ".join(conf.get(key, "") for key in _JAR_SETTINGS) + os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    return is_configured and "hadoop-aws" not in jars_text and not any((home / "jars").glob("hadoop-aws-*.jar"))


def _read_installed() -> dict[str, str]:
    """The installation's settings: those of ``spark-submit``, else of ``spark-defaults.conf``."""
    if gateway.is_submitted():
        return gateway.submitted_settings()
    folder = _find_configuration_folder(_find_spark_home())
    try:
        lines = (folder / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = (re.split(r"[\s=]+", line.strip(), maxsplit=1) for line in lines if line.strip()[:1] not in ("", "#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == len(("key", "value"))}


def _has_configuration_folder(home: Path) -> bool:
    """Whether Spark's class path begins with a folder of files; the JVM then writes no archive."""
    folder = _find_configuration_folder(home)
    return folder.is_dir() and any(folder.iterdir())


def _find_configuration_folder(home: Path) -> Path:
    return Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")


def _find_spark_home() -> Path:
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def small_table_settings(conf: Mapping[str, str]) -> dict[str, str]:
    """Settings for Spark on one machine, for tables that fit one machine.

    Delta reads a table's log in 50 tasks around every commit, and Spark shuffles into 200 partitions. These defaults
    for clusters cost seconds per commit here, however small the table. Spark leaves less than a megabyte to
    one task, even if it writes a file for each day of a year.
    """
    cores = _count_cores(conf)
    return {
        "spark.databricks.delta.snapshotPartitions": str(cores),
        "spark.sql.shuffle.partitions": str(_SHUFFLE_PER_CORE * cores),
        "spark.sql.adaptive.coalescePartitions.minPartitionSize": "64k",
        MOST_LISTED: str(_MOST_LISTED_FILES),
    }


def is_local(conf: Mapping[str, str]) -> bool:
    """Whether driver and executor are one process; not so for ``local-cluster[…]``."""
    return bool(re.match(r"local(\[|$)", _find_master(conf)))


def _count_cores(conf: Mapping[str, str]) -> int:
    numbered = re.match(r"local\[(\d+)", _find_master(conf))
    is_single = _find_master(conf) == "local"
    return int(numbered[1]) if numbered else 1 if is_single else os.cpu_count() or 1


def _find_master(conf: Mapping[str, str]) -> str:
    return conf.get("spark.master", os.environ.get("MASTER", "local[*]"))


def _is_true(value: str | None) -> bool:
    return (value or "").lower() == "true"
