"""The end of Spark's JVM under a driver: told as one sentence, without what py4j and pyspark print of it."""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Iterator
from subprocess import TimeoutExpired

from sparkassets.ports import EngineLostError
from sparkassets.spark.gateway import jvm_process

_PATIENCE_SECONDS = 3.0
"""How long after its connections a killed JVM may take to be gone."""


@contextlib.contextmanager
def told_of(asset: str) -> Iterator[None]:
    """Raises an `EngineLostError` in place of what is raised because the JVM ended."""
    try:
        yield
    except Exception as error:
        how = _how_it_ended() if _is_of_the_connection(error) else None
        if how is None:
            raise
        hint = "was there memory enough? see the log of the cluster or of the system; the next start goes on by itself"
        raise EngineLostError(f"{asset}: Spark's JVM {how}", hint=hint) from error


def keep_quiet() -> None:
    """Keeps py4j and pyspark from printing how each of their connections ended: whoever used it is told by an error."""
    with contextlib.suppress(ImportError):
        from pyspark.accumulators import AccumulatorTCPServer

        AccumulatorTCPServer.handle_error = _ignored
    root = logging.getLogger()
    if not any(isinstance(each, _OfPy4j) for each in root.filters):
        root.addFilter(_OfPy4j())  # py4j logs these by the root logger


class _OfPy4j(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname


def _ignored(*_: object) -> None:
    """A connection of the server for accumulators ended."""


def _is_of_the_connection(error: BaseException | None) -> bool:
    """Whether py4j could not reach the JVM, or was not answered."""
    while error is not None:
        kind = type(error)
        if kind.__module__ == "py4j.protocol" and kind.__name__ != "Py4JJavaError":
            return True
        if issubclass(kind, ConnectionError | EOFError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _how_it_ended() -> str | None:
    """How the JVM that pyspark started ended; None where it runs, or is another's."""
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
