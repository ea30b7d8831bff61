"""What lies in the cache folder and nobody has used for long goes; what is not ours stays, whatever its age.

Others may use the folder at the same time: a file goes at once, a folder is first renamed, which takes all of it from
its place at once, and comes back where somebody has begun to use it meanwhile. Who finds nothing makes it again.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from sparkassets.frozen import frozen

EVERY_SECONDS: Final = 86_400
"""Between two cleanings; what was used since the last one is never removed."""
_STAMP: Final = ".cleaned"
_GONE: Final = ".gone-"
_MEGABYTE: Final = 2**20


@frozen
class CacheCategory:
    """What is of one kind.

    Attributes:
        folder: Its name in the cache.
        owned_names: The names of what we put there; those with a dot in front are left by processes that were killed.
        days: After which what nobody used goes.
        megabytes: Above which also what was used later goes, that which was not used for longest first.
        required_suffix: The end of all names in a folder of ours; what has others in it is left alone.
    """

    folder: str
    owned_names: re.Pattern[str]
    days: int
    megabytes: int
    required_suffix: str = ""

    def is_exceeded(self, unused_seconds: float, total_bytes: int) -> bool:
        """Whether something goes that nobody used for so long, and with which all newer ones have so many bytes."""
        return unused_seconds > self.days * 86_400 or total_bytes > self.megabytes * _MEGABYTE


SHELVES: Final = (
    CacheCategory("projects", re.compile(r"[0-9a-f]{32}|\.new-\w+"), days=30, megabytes=100),
    CacheCategory("outlines", re.compile(r"[0-9a-f]{32}|\.new-\w+"), days=30, megabytes=100),
    CacheCategory("states", re.compile(r"[0-9a-f]{32}|\.new-\w+"), days=30, megabytes=100),
    CacheCategory(
        "jars", re.compile(r"delta-[\w.-]+|\.(fetch|gone)-\w+"), days=180, megabytes=1_000, required_suffix=".jar"
    ),
    CacheCategory("archive", re.compile(r"[0-9a-f]{20}(\.jsa|\.\w+\.dump(\.temp)?)"), days=90, megabytes=1_000),
    CacheCategory("logs", re.compile(r".+-[0-9a-f]{8}|\.gone-\w+"), days=30, megabytes=1_000, required_suffix=".log"),
)


@frozen
class _CacheEntry:
    """A file or a folder of ours.

    Attributes:
        last_used: When it was used last, Unix seconds.
        bytes: Of all of it.
    """

    path: Path
    last_used: float
    bytes: int

    @property
    def is_left(self) -> bool:
        """Whether a process that was killed has left it."""
        return self.path.name.startswith(".")


def clean_when_due(cache: Path) -> None:
    """Cleans a cache folder that was not cleaned for a day; never raises."""
    stamp = cache / _STAMP
    with suppress(OSError):
        if cache.is_dir() and not (stamp.exists() and time.time() - stamp.stat().st_mtime < EVERY_SECONDS):
            stamp.touch()
            clean_cache(cache)


def clean_cache(cache: Path) -> None:
    """Removes what was not used for long, and what is too much; the newest of each kind stays. Never raises."""
    for shelf in SHELVES:
        with suppress(OSError):
            _clean(cache / shelf.folder, shelf)


def _clean(folder: Path, shelf: CacheCategory) -> None:
    if folder.is_symlink():
        return  # it is shared with another cache, which cares for it
    entries = sorted(_list_entries(folder, shelf), key=lambda entry: -entry.last_used)
    newest = next((entry for entry in entries if not entry.is_left), None)
    now, total = time.time(), 0
    for entry in entries:
        total += entry.bytes
        unused = now - entry.last_used
        if entry is newest or unused <= EVERY_SECONDS:
            continue
        if (entry.is_left or shelf.is_exceeded(unused, total)) and not _is_in_use(entry.path):
            _remove(entry)
            total -= entry.bytes


def _list_entries(folder: Path, shelf: CacheCategory) -> Iterator[_CacheEntry]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if shelf.owned_names.fullmatch(entry.name) and not entry.is_symlink():
                with suppress(OSError):  # another process may have removed it
                    if (found := _read_entry(entry, shelf.required_suffix)) is not None:
                        yield found


def _read_entry(entry: os.DirEntry[str], suffix: str) -> _CacheEntry | None:
    """None where it is somebody else's, or something else."""
    status = entry.stat(follow_symlinks=False)
    if (os.name != "nt" and status.st_uid != os.geteuid()) or entry.is_dir() is not bool(suffix):
        return None
    if not suffix:
        return _CacheEntry(Path(entry.path), status.st_mtime, status.st_size)
    if entry.name.startswith("."):
        return _CacheEntry(Path(entry.path), status.st_mtime, 0)  # half of something, in folders of its own
    return _read_folder(entry.path, status.st_mtime, suffix)


def _read_folder(path: str, changed: float, suffix: str) -> _CacheEntry | None:
    """None where it holds anything but files with that suffix; of logs the newest counts, too."""
    with os.scandir(path) as entries:
        inside = [*entries]
    if not all(each.is_file(follow_symlinks=False) and each.name.endswith(suffix) for each in inside):
        return None
    files = [each.stat(follow_symlinks=False) for each in inside]
    changes = [each.st_mtime for each in files] if suffix == ".log" else []
    return _CacheEntry(Path(path), max([changed, *changes]), sum(each.st_size for each in files))


def _is_in_use(path: Path) -> bool:
    """Whether a process of this host was started with it: a JVM opens jars when it first needs one of their classes."""
    import psutil

    name = str(path)
    return any(name in argument for each in psutil.process_iter(["cmdline"]) for argument in each.info["cmdline"] or ())


def _remove(entry: _CacheEntry) -> None:
    path = entry.path
    with suppress(OSError):
        if not path.is_dir():
            path.unlink(missing_ok=True)
            return
        gone = path
        if not entry.is_left:
            gone = path.rename(path.with_name(f"{_GONE}{uuid.uuid4().hex}"))
            if gone.stat().st_mtime > entry.last_used:  # somebody has begun to use it
                gone.rename(path)
                return
        shutil.rmtree(gone, ignore_errors=True)
