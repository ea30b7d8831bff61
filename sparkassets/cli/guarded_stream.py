"""What a driver says to whoever listens: its work goes on, or ends in order, also when nobody does any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EIO
from typing import Any, TextIO


class GuardedStream:
    """A text stream that is written to while somebody listens.

    A terminal that was closed hears nothing more, and after a signal nobody need: what it ended may be the reader, too.

    Args:
        stream: Where to.
        ends: Whether a signal has come.
    """

    def __init__(self, stream: TextIO, ends: Callable[[], bool]) -> None:
        self._stream = stream
        self._ends = ends

    def write(self, text: str) -> int:
        """Writes it, where somebody listens."""
        with self._ignore_closed():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Passes on what was written, where somebody listens."""
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
