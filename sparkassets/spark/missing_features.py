"""Whether a session says that it has no such thing, as a serverless one does: by asking it, not by its name."""

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
"""How the conditions begin by which Spark and platforms say so."""
_UNKNOWN: Final = "UNIMPLEMENTED"
"""How gRPC says it of a call that the server does not know."""
_GONE: Final = "UNAVAILABLE"
"""How gRPC says that it reaches no server."""


def is_lacking(error: BaseException) -> bool:
    """Whether the session lacks what was asked of it, and would whenever it is asked; not that it failed at it."""
    if isinstance(error, AttributeError | NotImplementedError):
        return True
    return error_condition(error).startswith(_CONDITIONS) or _status(error) == _UNKNOWN


def is_out_of_reach(error: BaseException | None) -> bool:
    """Whether it is, or came of, a server of Spark Connect that did not answer for as long as its client is patient."""
    while error is not None:
        if _status(error) == _GONE:
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def ignore_lacking() -> Iterator[None]:
    """Goes on without what the session lacks; any other error is raised."""
    try:
        yield
    except Exception as error:
        if not is_lacking(error):
            raise


def _status(error: BaseException) -> str | None:
    """The status of a call to the server of Spark Connect, of pyspark's error or gRPC's own."""
    for told in ("getGrpcStatusCode", "code"):
        status = getattr(error, told, None)
        if callable(status):
            return getattr(status(), "name", None)
    return None
