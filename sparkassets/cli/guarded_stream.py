"""A text stream that ignores a closed reader, so that a driver's work goes on or ends in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EIO
from typing import Any, TextIO


class GuardedStream:
    """A text stream whose writes are dropped once its reader has gone.

    A closed terminal raises EIO. After a signal every OSError is ignored: it may have ended the reader, too.

    Args:
        stream: The stream to write to.
        ends: Returns whether a signal has come.
    """

    def __init__(self, stream: TextIO, ends: Callable[[], bool]) -> None:
        self._stream = stream
        self._ends = ends

    def write(self, text: str) -> int:
        """Writes the text, unless the reader has gone."""
        with self._ignore_closed():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes the stream, unless the reader has gone."""
        with self._ignore_closed():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever else the stream has
        return getattr(self._stream, name)

    @contextmanager
    def _ignore_closed(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno != EIO and not self._ends():
                raise
