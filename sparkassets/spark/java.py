"""Which Java Spark will start, and whether it can."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from pathlib import Path

from sparkassets.errors import SparkUnavailableError
from sparkassets.frozen import frozen
from sparkassets.spark.versions import numbers

SUPPORTED = (17, 21, 25)
"""Supported major versions; 25 needs Spark 4.2."""
_FOR_25 = (4, 2)
_HINT = "install one, such as openjdk-17-jre-headless, or let JAVA_HOME point to it"


@frozen
class JavaRuntime:
    """A Java that Spark can run on.

    Attributes:
        command: The program, with links resolved.
        build: Text that differs between builds of the JVM; a class data archive fits one build.
    """

    command: Path
    build: str


def find_java() -> JavaRuntime:
    """The Java that Spark's own start script would take: ``$JAVA_HOME/bin/java``, else the first on the path.

    Raises:
        SparkUnavailableError: There is none, or its version is not in `SUPPORTED`.
    """
    home = os.environ.get("JAVA_HOME")
    wanted = str(Path(home, "bin", "java")) if home else "java"
    found = shutil.which(wanted)
    if found is None:
        where = f"at JAVA_HOME={home}" if home else "on the PATH"
        raise SparkUnavailableError(f"Spark needs Java 17, 21 or 25, but there is no Java {where}", hint=_HINT)
    command = Path(found).resolve()
    build = _build(command)
    version = _major(build)
    if version not in SUPPORTED:
        named = f"Java {version}" if version else "of an unknown version"
        raise SparkUnavailableError(f"Spark needs Java 17, 21 or 25, but {found} is {named}", hint=_HINT)
    if version == SUPPORTED[-1] and (spark := _spark()) and numbers(spark)[:2] < _FOR_25:
        message = f"{found} is Java {version}, which Spark takes from 4.2 on, and pyspark is {spark}"
        raise SparkUnavailableError(message, hint="install Java 17 or 21, or a newer Spark")
    return JavaRuntime(command, build)


def _spark() -> str:
    """The version of the Spark package; empty where it is none."""
    try:
        return package_version("pyspark")
    except PackageNotFoundError:
        return ""


def _build(command: Path) -> str:
    """What the Java says of itself: its ``release`` file, or (tens of milliseconds slower) its ``-version``."""
    try:
        return (command.parent.parent / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        pass
    try:
        answer = subprocess.run(  # noqa: S603 - the very program that Spark is about to start
            [str(command), "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr + answer.stdout


def _major(build: str) -> int | None:
    """The major version in ``JAVA_VERSION="17.0.15"`` or ``openjdk version "17.0.15"``.

    >>> _major('openjdk version "1.8.0_402"'), _major('JAVA_VERSION="21"'), _major("")
    (8, 21, None)
    """
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', build)
    return int(match.group(1)) if match else None
