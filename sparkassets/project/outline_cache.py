"""Keeps the outlines of a project's SQL between processes: an edit of one file then costs no reading of the others."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sparkassets.cache.files import CacheFile
from sparkassets.core.outline_memo import OutlineMemo
from sparkassets.core.query_outline import QueryOutline


class OutlineCache:
    """The outlines of the texts that a project had when it was compiled last, as JSON in a file of the cache.

    An outline follows from its text and from the code that reads it, so a file that another process writes meanwhile
    can lack outlines, but has no wrong one.

    Args:
        folder: Folder of the cache.
        root: Absolute folder of the project.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self._file = CacheFile(folder, "outlines", of=(str(root),))
        self._known = self._load()
        self.memo = OutlineMemo(self._known)

    def _load(self) -> dict[str, QueryOutline]:
        """The kept outlines by their key in `OutlineMemo`; empty if there is no file, or an unreadable one."""
        content = self._file.read_content()
        try:
            return msgspec.json.decode(content, type=dict[str, QueryOutline]) if content is not None else {}
        except msgspec.MsgspecError:
            return {}

    def keep(self) -> None:
        """Writes the outlines that were used, and no others, where they are not those of the file."""
        if self.memo.used.keys() != self._known.keys():
            self._file.write_content(msgspec.json.encode(self.memo.used))
