"""The driver's JVM behind py4j: its settings, jars and process, and the errors of losing it.

Spark Connect has no such JVM and needs none of this.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any

from sparkassets.ports import EngineLostError
from sparkassets.processes import Process, read_start_time
from sparkassets.spark.failures import is_out_of_reach

if TYPE_CHECKING:
    from pyspark.sql import Observation, SparkSession


_OBSERVATION_SECONDS = 5.0
_POLL_SECONDS = 0.002
"""How long figures of an ended action may take, and how often they are asked for."""


def is_submitted() -> bool:
    """Whether ``spark-submit`` started this process, with its JVM already running."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def submitted_settings() -> dict[str, str]:
    """The settings given to ``spark-submit``."""
    from pyspark import SparkConf

    return dict(SparkConf(_jvm=_gateway().jvm).getAll())


def has_class(name: str) -> bool:
    """Whether the running JVM can load a class.

    Its file is looked for, because py4j takes eighty calls to report that a class cannot be loaded.
    """
    return _class_loader().getResource(f"{name.replace('.', '/')}.class") is not None


def read_settings(session: SparkSession) -> dict[str, str]:
    """All settings of a classic session, in a few calls; a Python ``dict`` of them takes a call for each."""
    from py4j.java_gateway import get_method  # type: ignore[import-untyped]  # it has no types

    jvm, separator = _gateway().jvm, uuid.uuid4().hex  # which no setting contains
    copied = jvm.java.util.HashMap(session._jsparkSession.sessionState().conf().settings())  # noqa: SLF001  no other way
    # `copied.values` would be Python's, which asks for each value
    keys, values = (
        jvm.String.join(separator, get_method(copied, name)()).split(separator) for name in ("keySet", "values")
    )
    return dict(zip(keys, values, strict=True))


def delta_version(session: SparkSession) -> str:
    """The version of a classic session's Delta jars; empty where they do not say."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # likewise

    try:
        package = getattr(session.sparkContext._jvm.io.delta, "package")  # noqa: B009, SLF001  pyspark has no other way
        return str(package.VERSION())
    except (Py4JError, TypeError):
        return ""


def read_observation(observation: Observation) -> Mapping[str, Any] | None:
    """The figures of an observed action that has ended; None if Spark does not deliver them in time.

    pyspark's own way waits for ever, although Spark may drop events when it has too many of them.
    """
    from py4j.protocol import Py4JError

    try:
        future = observation._jo.future()  # noqa: SLF001  pyspark has no other way
        deadline = time.monotonic() + _OBSERVATION_SECONDS
        while not future.isCompleted():
            if time.monotonic() > deadline:
                return None
            time.sleep(_POLL_SECONDS)
    except Py4JError:  # Spark 3.5 has no such future
        return None
    figures: Mapping[str, Any] = observation.get
    return figures


def add_jars(jars: Sequence[Path]) -> None:
    """Adds jars to the running JVM's class path; only possible before there is a session."""
    jvm, loader = _gateway().jvm, _class_loader()
    for jar in jars:
        loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())


def jvm_process() -> Popen[bytes] | None:
    """The JVM that pyspark started, dead or alive; None if there is none, or another process started it."""
    return getattr(_known_gateway(), "proc", None)


def is_running() -> bool:
    """Whether pyspark has started a JVM that has not ended."""
    process = jvm_process()
    return process is not None and process.poll() is None


def silence_output() -> None:
    """Discards what the running JVM writes to its standard output from now on; its errors stay."""
    java = _gateway().jvm.java
    java.lang.System.setOut(java.io.PrintStream(java.io.OutputStream.nullOutputStream()))


def run_diagnostic(operation: str, *arguments: str) -> str:
    """Runs a diagnostic command in the JVM and returns its answer, as ``jcmd`` does, which a JRE lacks.

    Args:
        operation: As the JVM's own management bean names it: ``vmCds`` is ``VM.cds``.
        *arguments: Of the command.

    Raises:
        Py4JError: The JVM has no such command, or the command failed.
    """
    jvm = _gateway().jvm
    find_class = jvm.java.lang.Class.forName
    names = ("javax.management.ObjectName", "java.lang.String", "[Ljava.lang.Object;", "[Ljava.lang.String;")
    # py4j cannot call a server of beans itself: its class is not public
    invoke = find_class("javax.management.MBeanServer").getMethod(
        "invoke", _make_array(jvm.java.lang.Class, map(find_class, names))
    )
    call = (
        jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand"),
        operation,
        _make_array(jvm.java.lang.Object, [_make_array(jvm.java.lang.String, arguments)]),
        _make_array(jvm.java.lang.String, ["[Ljava.lang.String;"]),
    )
    server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    return str(invoke.invoke(server, _make_array(jvm.java.lang.Object, call)))


def _make_array(kind: Any, values: Iterable[Any]) -> Any:  # noqa: ANN401 - py4j has no types
    listed = list(values)
    array = _gateway().new_array(kind, len(listed))
    for index, value in enumerate(listed):
        array[index] = value
    return array


def _class_loader() -> Any:  # noqa: ANN401 - py4j has no types
    return _gateway().jvm.Thread.currentThread().getContextClassLoader()


def _gateway() -> Any:  # noqa: ANN401 - py4j has no types
    from pyspark import SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001 - pyspark offers no other way to its JVM
    return SparkContext._gateway  # noqa: SLF001 - likewise


def _known_gateway() -> Any | None:  # noqa: ANN401 - py4j has no types
    """The way to the JVM, if there is one yet."""
    context = sys.modules.get("pyspark.core.context") or sys.modules.get("pyspark.context")  # the second in Spark 3.5
    return None if context is None else context.SparkContext._gateway  # noqa: SLF001 - likewise


def find_jvms() -> Sequence[Process]:
    """The JVM processes below or above this process.

    Spark's is a child of Python, or under ``spark-submit`` its parent.
    """
    import psutil

    this_process = psutil.Process()
    jvms = []
    for process in [*this_process.children(recursive=True), *this_process.parents()]:
        with contextlib.suppress(psutil.Error):
            if process.name() in {"java", "java.exe"}:
                jvms.append((process.pid, read_start_time(process.pid)))
    return jvms


_PATIENCE_SECONDS = 3.0
"""How long a killed JVM may take to disappear after its connections did."""
_RETRY_SECONDS = 0.1


@contextlib.contextmanager
def raise_engine_loss(asset: str) -> Iterator[None]:
    """Raises an `EngineLostError` instead of errors that come from a dead JVM or a silent server."""
    try:
        yield
    except Exception as error:
        loss = _describe_lost_engine(error)
        if loss is None:
            raise
        hint = "it may have run out of memory: see the log of the cluster or system; the next start continues"
        raise EngineLostError(f"{asset}: {loss}", hint=hint) from error


def silence_connections() -> None:
    """Keeps py4j and pyspark from logging how their connections ended; their user gets an error anyway.

    In a thread that ends, Python 3.13.0 to 3.13.2 answer such a log record with an error printed at exit.
    """
    with contextlib.suppress(ImportError):
        from pyspark.accumulators import AccumulatorTCPServer

        AccumulatorTCPServer.handle_error = _ignore_end
    if (py4j := logging.getLogger("py4j")).level == logging.NOTSET:
        py4j.setLevel(logging.WARNING)
    root = logging.getLogger()
    if not any(isinstance(each, _Py4jFilter) for each in root.filters):
        root.addFilter(_Py4jFilter())  # py4j logs errors by the root logger


class _Py4jFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname


def _ignore_end(*_: object) -> None:
    """Ignores that a connection of the accumulators' server ended."""


def _is_connection_error(error: BaseException | None) -> bool:
    """Whether py4j could not reach the JVM, or got no answer."""
    while error is not None:
        kind = type(error)
        if kind.__module__ == "py4j.protocol" and kind.__name__ != "Py4JJavaError":
            return True
        if issubclass(kind, ConnectionError | EOFError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _describe_lost_engine(error: Exception) -> str | None:
    """Which process ended, and how; None where none did."""
    if isinstance(error, EngineLostError):
        return None
    if is_out_of_reach(error):
        return "the server of Spark Connect does not answer"
    exit_text = _describe_exit() if _is_connection_error(error) else None
    return None if exit_text is None else f"Spark's JVM {exit_text}"


def _describe_exit() -> str | None:
    """How Spark's JVM ended; None while it runs, or if there is none."""
    process = jvm_process()
    if process is None:
        return "ended" if _has_stopped_listening() else None
    try:
        code = process.wait(_PATIENCE_SECONDS)
    except TimeoutExpired:
        return None
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _has_stopped_listening() -> bool:
    """Whether a JVM that another process started, such as ``spark-submit``, accepts no connection any more."""
    gateway = _known_gateway()
    if gateway is None:
        return False
    place = (gateway.gateway_parameters.address, gateway.gateway_parameters.port)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(place, timeout=_PATIENCE_SECONDS).close()
        except OSError:
            return True
        time.sleep(_RETRY_SECONDS)
    return False
