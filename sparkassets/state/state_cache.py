"""Keeps the state of a journal on a local disk between processes: an unchanged one is read without deltalake.

A log only grows, and its commits never change: while the newest commit is still the newest, a table is as it was read.
"""

from __future__ import annotations

import pickle
from functools import cached_property
from pathlib import Path

from sparkassets.cache import note_use
from sparkassets.cache.files import CacheFile
from sparkassets.delta.log import DeltaLog
from sparkassets.frozen import frozen
from sparkassets.ports import FoldedImage


@frozen
class LogEnd:
    """The newest commit of a table on a local disk.

    Attributes:
        table: Absolute folder of the table.
        version: Of the commit.
        content: The commit's file.
        files: The table's data files, relative to it.
    """

    table: str
    version: int
    content: bytes
    files: tuple[str, ...]

    def is_newest(self) -> bool:
        """Whether the log has the commit and none after it, and no data file is lost."""
        log = DeltaLog(self.table)
        try:
            is_newest = log.ends_at(self.version) and log.read_content(self.version) == self.content
            return is_newest and all(map(log.holds, self.files))
        except OSError:
            return False  # whoever opens the table says what is wrong


@frozen
class CachedState:
    """The state of a project, and the ends of the logs of which it was read."""

    project: str
    folded: FoldedImage
    ends: tuple[LogEnd, ...]


class StateCache:
    """The newest state of one journal that was read on this machine.

    The file is unpickled: see `CacheFile.read_content` for who can have written it.

    Args:
        folder: Folder of the cache.
        state: Absolute folder of the state.
    """

    def __init__(self, folder: Path, state: Path) -> None:
        self._file = CacheFile(folder, "states", of=(str(state),))

    def find(self) -> CachedState | None:
        """The cached state; None if there is none, or if the journal has changed since."""
        if self._newest is not None and not all(end.is_newest() for end in self._newest.ends):
            self._newest = None
        return self._newest

    @cached_property
    def _newest(self) -> CachedState | None:
        """The state as the file has it, read once; whether it is still the newest is not checked."""
        content = self._file.read_content()
        if content is None:
            return None
        note_use(self._file.path)
        cached = pickle.loads(content)  # noqa: S301  whole, the user's own, written by this very code
        return cached if isinstance(cached, CachedState) else None

    def keep(self, cached: CachedState) -> None:
        """Writes a state; does nothing if the folder cannot be written."""
        self._file.write_content(pickle.dumps(cached, protocol=pickle.HIGHEST_PROTOCOL))
