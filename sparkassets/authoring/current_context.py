"""The run that calls a function, for code that it calls without passing `context` on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_CURRENT: ContextVar[Any] = ContextVar("sparkassets.context")


def get_current_context() -> Any:  # noqa: ANN401  the `Context` of Spark's layer, as `sparkassets` declares it
    """The `context` of the run that calls the function which this is called from, in the thread that it is called in.

    Raises:
        RuntimeError: No run calls it.
    """
    found = _CURRENT.get(None)
    if found is None:
        raise RuntimeError(
            "no current run: call get_current_context() only from an asset's function, on the thread that runs it"
        )
    return found


def is_in_function() -> bool:
    """Whether a run calls an asset's function in this thread."""
    return _CURRENT.get(None) is not None


@contextmanager
def set_current_context(context: object) -> Iterator[None]:
    """Makes ``context`` the current one, of this thread, while the block lasts."""
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
