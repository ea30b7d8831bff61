"""The class data archive: parsed and verified classes that one JVM saves for later starts.

The JVM writes the archive when it exits, some seconds after Python did, so it goes to a file of its own, and a later
start adopts it by an atomic rename. An archive that does not fit is ignored by the JVM without a word.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

import psutil

from sparkassets.cache import cache_folder, note_use
from sparkassets.cache.cleaning import clean_when_due
from sparkassets.frozen import frozen
from sparkassets.spark.java import JavaRuntime

_ABANDONED_SECONDS = 3600
_OF_THE_ARCHIVE = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit", "AutoCreateSharedArchive")


@frozen
class ClassArchive:
    """How one JVM uses or writes the archive.

    Attributes:
        options: JVM options; empty where the archive cannot help.
        dump: The file that this JVM will write; None if it uses one, or writes none.
    """

    options: tuple[str, ...] = ()
    dump: Path | None = None

    def belongs_to(self, pid: int) -> None:
        """Records which JVM writes the dump, so that a later start knows when it is complete."""
        if self.dump is not None:
            with contextlib.suppress(OSError, psutil.Error):
                owner = {"pid": pid, "created": psutil.Process(pid).create_time()}
                _owner_file(self.dump).write_text(json.dumps(owner), encoding="utf-8")


def prepare(java: JavaRuntime, *, class_path: Sequence[Path], given_options: str) -> ClassArchive:
    """The archive for this JVM and class path, or options to write one at its exit.

    Args:
        java: The Java that will run it.
        class_path: Every jar of the driver; an archive holds for exactly these files.
        given_options: The user's own JVM options; where they are about archives, they win.
    """
    if any(word in given_options for word in _OF_THE_ARCHIVE):
        return ClassArchive()
    folder = cache_folder() / "archive"
    ready = folder / f"{_key(java, class_path)}.jsa"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _adopt_dumps(ready)
    except OSError:
        return ClassArchive()
    is_ready = note_use(ready)
    clean_when_due(cache_folder())
    if is_ready:
        quiet = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")
        return ClassArchive((*quiet, "-Xshare:auto", _option(f"-XX:SharedArchiveFile={ready}")))
    dump = folder / f"{ready.stem}.{uuid.uuid4().hex}.dump"
    return ClassArchive(("-Xlog:disable", _option(f"-XX:ArchiveClassesAtExit={dump}")), dump)


def _option(text: str) -> str:
    """One JVM option, quoted for Spark's list, which is split at spaces."""
    return f'"{text}"' if " " in text else text


def _key(java: JavaRuntime, class_path: Iterable[Path]) -> str:
    digest = hashlib.sha256(f"{java.command}\n{java.build}\n".encode())
    for jar in class_path:
        found = jar.stat()
        digest.update(f"{jar}\t{found.st_size}\t{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:20]


def _adopt_dumps(ready: Path) -> None:
    """Makes a complete dump the archive, and removes what killed processes left behind."""
    for dump in ready.parent.glob(f"{ready.stem}.*.dump"):
        if _is_being_written(dump):
            continue
        with contextlib.suppress(FileNotFoundError):  # another process was quicker
            if not ready.exists() and _is_whole(dump):
                dump.replace(ready)
            else:
                dump.unlink()
        _owner_file(dump).unlink(missing_ok=True)
    for owner in ready.parent.glob(f"{ready.stem}.*.json"):
        if time.time() - owner.stat().st_mtime > _ABANDONED_SECONDS and not owner.with_suffix(".dump").exists():
            owner.unlink(missing_ok=True)


def _is_being_written(dump: Path) -> bool:
    try:
        owner = json.loads(_owner_file(dump).read_text(encoding="utf-8"))
        process = psutil.Process(owner["pid"])
        # a container whose first process reaps nothing keeps the dead as zombies
        same = abs(process.create_time() - float(owner["created"])) < 1.0
        return same and process.status() != psutil.STATUS_ZOMBIE
    except (FileNotFoundError, ValueError, KeyError):
        return time.time() - dump.stat().st_mtime < _ABANDONED_SECONDS
    except psutil.Error:
        return False


def _is_whole(dump: Path) -> bool:
    """Whether the JVM finished the file: it writes the header, with its magic number, last."""
    with dump.open("rb") as file:
        return any(file.read(4))


def _owner_file(dump: Path) -> Path:
    return dump.with_suffix(".json")


def jars_in(folder: Path) -> list[Path]:
    """The jars that a class path entry ``folder/*`` stands for, sorted."""
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.name.endswith(".jar"))
