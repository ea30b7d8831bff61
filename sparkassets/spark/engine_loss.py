"""The loss of a driver's JVM or Spark server, reported as one sentence instead of pyspark's output."""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Iterator
from subprocess import TimeoutExpired

from sparkassets.ports import EngineLostError
from sparkassets.spark.gateway import jvm_process
from sparkassets.spark.missing_features import is_out_of_reach

_PATIENCE_SECONDS = 3.0
"""How long a killed JVM may take to disappear after its connections did."""


@contextlib.contextmanager
def raise_engine_loss(asset: str) -> Iterator[None]:
    """Raises an `EngineLostError` instead of errors that come from a dead JVM or a silent server."""
    try:
        yield
    except Exception as error:
        what = _what_ended(error)
        if what is None:
            raise
        hint = "was there memory enough? see the log of the cluster or of the system; the next start goes on by itself"
        raise EngineLostError(f"{asset}: {what}", hint=hint) from error


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


def _is_of_the_connection(error: BaseException | None) -> bool:
    """Whether py4j could not reach the JVM, or got no answer."""
    while error is not None:
        kind = type(error)
        if kind.__module__ == "py4j.protocol" and kind.__name__ != "Py4JJavaError":
            return True
        if issubclass(kind, ConnectionError | EOFError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _what_ended(error: Exception) -> str | None:
    """Which process ended, and how; None where none did."""
    if isinstance(error, EngineLostError):
        return None
    if is_out_of_reach(error):
        return "the server of Spark Connect does not answer"
    how = _how_it_ended() if _is_of_the_connection(error) else None
    return None if how is None else f"Spark's JVM {how}"


def _how_it_ended() -> str | None:
    """How the JVM that pyspark started ended; None while it runs, or if another process started it."""
    process = jvm_process()
    if process is None:
        return None
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
