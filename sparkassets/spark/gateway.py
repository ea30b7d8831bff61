"""The JVM behind a classic session, for the few things to do before there is a session.

Spark Connect needs none of this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_submitted() -> bool:
    """Whether ``spark-submit`` started this process, with its JVM already running."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def submitted_settings() -> dict[str, str]:
    """The settings given to ``spark-submit``."""
    from pyspark import SparkConf

    return dict(SparkConf(_jvm=_gateway().jvm).getAll())


def has_class(name: str) -> bool:
    """Whether the running JVM can load a class."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

    try:
        _class_loader().loadClass(name)
    except Py4JJavaError:
        return False
    return True


def delta_version(session: SparkSession) -> str:
    """The version of a classic session's Delta jars; empty where they do not say."""
    from py4j.protocol import Py4JError

    try:
        package = getattr(session.sparkContext._jvm.io.delta, "package")  # noqa: B009, SLF001  pyspark has no other way
        return str(package.VERSION())
    except (Py4JError, TypeError):
        return ""


def add_jars(jars: Sequence[Path]) -> None:
    """Adds jars to the running JVM's class path; only possible before there is a session."""
    jvm, loader = _gateway().jvm, _class_loader()
    for jar in jars:
        loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())


def jvm_process() -> Popen[bytes] | None:
    """The JVM that pyspark started, dead or alive; None if there is none, or another process started it."""
    context = sys.modules.get("pyspark.core.context")
    gateway = None if context is None else context.SparkContext._gateway  # noqa: SLF001 - likewise
    return getattr(gateway, "proc", None)


def jvm_pid() -> int:
    """The process id of the JVM that pyspark started."""
    pid: int = _gateway().proc.pid
    return pid


def _class_loader() -> Any:  # noqa: ANN401 - py4j has no types
    return _gateway().jvm.java.lang.Thread.currentThread().getContextClassLoader()


def _gateway() -> Any:  # noqa: ANN401 - py4j has no types
    from pyspark import SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001 - pyspark offers no other way to its JVM
    return SparkContext._gateway  # noqa: SLF001 - likewise
