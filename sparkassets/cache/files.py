"""A file of the cache that one user's processes share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from sparkassets.digests import blake2b

_DIGEST_SIZE: Final = 32
_WRITABLE_BY_OTHERS: Final = 0o022
_MOST_KEPT: Final = 50
"""The most cache files of one kind, one a project, working folder and version of the code; the longest unused go."""


class CacheFile:
    """A file that one user's processes share: it is read whole or not at all, and never raises.

    Args:
        folder: Folder of the cache.
        kind: The name of the folder in it, one of `sparkassets.cache.cleaning`.
        of: What the content is made of besides this version of sparkassets and of Python.
    """

    def __init__(self, folder: Path, kind: str, *, of: tuple[str, ...]) -> None:
        # "\0" occurs in no path, so two lists of inputs never have the same key
        key = "\0".join((*of, sys.version, _code_fingerprint()))
        self._folder = folder
        self.path = folder / kind / blake2b(key.encode(errors="surrogateescape"), digest_size=16).hexdigest()

    def read_content(self) -> bytes | None:
        """The content; None if there is none, if it is damaged, or if another user can have written it."""
        try:
            if not _is_own(self.path):
                return None
            content = self.path.read_bytes()
        except OSError:
            return None
        digest, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        return payload if blake2b(payload, digest_size=_DIGEST_SIZE).digest() == digest else None

    def write_content(self, payload: bytes) -> None:
        """Writes the content, completely or not at all; does nothing if the folder cannot be written."""
        from sparkassets.cache.cleaning import clean_when_due

        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = self.path.with_name(f".new-{os.urandom(8).hex()}")
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(blake2b(payload, digest_size=_DIGEST_SIZE).digest() + payload)
            new.replace(self.path)
            newest_first = sorted(self.path.parent.iterdir(), key=lambda each: each.stat().st_mtime_ns, reverse=True)
            for old in newest_first[_MOST_KEPT:]:
                old.unlink(missing_ok=True)
        clean_when_due(self._folder)


def _is_own(path: Path) -> bool:
    """Whether only this user can have written the file."""
    if os.name == "nt":
        return True
    status = path.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS


@cache
def _code_fingerprint() -> str:
    """A text that changes with the code whose values are kept, also if that is edited in place."""
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  this and the next at a fifth of pathlib's time
    folders = (f"{package}/{name}" for name in ("authoring", "core", "project"))
    return ",".join(
        sorted([*_file_stamps(package, deep=False), *(each for folder in folders for each in _file_stamps(folder))])
    )


def _file_stamps(folder: str, *, deep: bool = True) -> Iterator[str]:
    """Path, time and size of every Python file in a folder; with ``deep`` also below it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path}:{status.st_mtime_ns}:{status.st_size}"
            elif deep and entry.name != "__pycache__" and entry.is_dir():
                yield from _file_stamps(entry.path)
