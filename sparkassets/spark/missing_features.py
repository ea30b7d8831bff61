"""Detects features that a session lacks, as a serverless one does, by asking it rather than by its name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from sparkassets.spark.failures import error_condition

_CONDITIONS: Final = (
    "CANNOT_MODIFY_CONFIG",
    "CANNOT_MODIFY_STATIC_CONFIG",
    "CONFIG_NOT_AVAILABLE",
    "JVM_ATTRIBUTE_NOT_SUPPORTED",
    "NOT_IMPLEMENTED",
    "NOT_SUPPORTED",
    "UNSUPPORTED",
)
"""Prefixes of error conditions by which Spark and platforms report a lacking feature."""
_UNKNOWN: Final = "UNIMPLEMENTED"
"""gRPC statuses of calls that a server does not know."""
_GONE: Final = "UNAVAILABLE"
"""gRPC statuses of an unreachable server."""


def is_lacking(error: BaseException) -> bool:
    """Whether the error says that the session lacks the feature for good, not that a call failed."""
    if isinstance(error, AttributeError | NotImplementedError):
        return True
    return error_condition(error).startswith(_CONDITIONS) or _status(error) == _UNKNOWN


def is_out_of_reach(error: BaseException | None) -> bool:
    """Whether the error is, or came from, a Spark Connect server that did not answer in time."""
    while error is not None:
        if _status(error) == _GONE:
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def ignore_lacking() -> Iterator[None]:
    """Suppresses errors about lacking features; any other error is raised."""
    try:
        yield
    except Exception as error:
        if not is_lacking(error):
            raise


def _status(error: BaseException) -> str | None:
    """The gRPC status of a Spark Connect call, from pyspark's error or gRPC's own."""
    for told in ("getGrpcStatusCode", "code"):
        status = getattr(error, told, None)
        if callable(status):
            return getattr(status(), "name", None)
    return None
