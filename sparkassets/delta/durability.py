"""Protects Delta tables on a disk from power failures: flushes files, and puts aside a torn end of a log.

Delta's libraries do not flush what they write. So after a power failure a log entry may exist and be empty or
incomplete. Nobody has acted upon such an entry, because it was never reported as committed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOG = "_delta_log"
LAST_CHECKPOINT = "_last_checkpoint"
_ENTRY = r"(\d{20})\.json"
_CHECKPOINT = r"(\d{20})\.checkpoint\.parquet"
_PARQUET = b"PAR1"
_MOST_TORN = 8
"""More torn entries than drivers commit at one moment mean another kind of damage."""


def entry_path(version: int) -> str:
    """The log file of a version, relative to the table's folder.

    >>> entry_path(3)
    '_delta_log/00000000000000000003.json'
    """
    return f"{LOG}/{version:020d}.json"


def sync_files(table: Path, names: Iterable[str]) -> None:
    """Flushes these files of a table, and their names, to the disk; missing files are ignored.

    Raises:
        OSError: The disk fails.
    """
    folders = set()
    for name in names:
        with suppress(FileNotFoundError):
            _sync_path(table / name)
            folders.add((table / name).parent)
    for folder in sorted(folders):
        try:
            _sync_path(folder)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EACCES}:  # a file system without it
                raise


def find_torn_files(table: Path) -> list[Path]:
    """The torn files at the end of a log: entries, the last checkpoint, a hint at a missing one."""
    entries = sorted(_find_log_files(table, _ENTRY), reverse=True)
    torn_entries = []
    for entry in entries[: _MOST_TORN + 1]:
        if _is_whole_entry(entry):
            break
        torn_entries.append(entry)
    if len(torn_entries) > _MOST_TORN:
        return []
    checkpoints = sorted(_find_log_files(table, _CHECKPOINT))
    torn_checkpoint = [entry for entry in checkpoints[-1:] if not _is_whole_parquet(entry)]
    return [*torn_entries, *torn_checkpoint, *([] if checkpoints else _find_dangling_hint(table))]


def put_aside_torn(table: Path) -> None:
    """Renames the torn files, so that the log ends with whole ones; safe for parallel processes.

    Raises:
        OSError: The folder cannot be written.
    """
    if not find_torn_files(table):
        return
    with _lock_folder(table / LOG):
        for each in find_torn_files(table):
            each.replace(each.with_name(f".{each.name}.torn"))
            if re.fullmatch(_CHECKPOINT, each.name):
                (table / LOG / LAST_CHECKPOINT).unlink(missing_ok=True)


def copy_whole(table: Path, target: Path) -> None:
    """Copies a table's log to another folder as `put_aside_torn` would leave it.

    Raises:
        OSError: It cannot be read, or be written there.
    """
    from shutil import copyfile  # which loads three decompressors, and no other start of a command needs them

    torn_names = {file.name for file in find_torn_files(table)}
    if any(re.fullmatch(_CHECKPOINT, name) for name in torn_names):
        torn_names.add(LAST_CHECKPOINT)
    (target / LOG).mkdir(parents=True)
    for file in (table / LOG).iterdir():
        if file.name not in torn_names and file.is_file():
            with suppress(FileNotFoundError):  # another driver tidies up
                copyfile(file, target / LOG / file.name)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Excludes other processes, one of which might put aside entries written after it looked."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _find_log_files(table: Path, pattern: str) -> Iterator[Path]:
    try:
        with os.scandir(table / LOG) as entries:
            yield from (Path(each.path) for each in entries if re.fullmatch(pattern, each.name))
    except (FileNotFoundError, NotADirectoryError):
        return


def _find_dangling_hint(table: Path) -> Iterator[Path]:
    """The hint at the last checkpoint, if there is no checkpoint and the log is readable without one."""
    hint = table / LOG / LAST_CHECKPOINT
    if hint.exists() and (table / entry_path(0)).exists() and not any((table / LOG).glob("*.checkpoint.*")):
        yield hint


def _is_whole_entry(path: Path) -> bool:
    try:
        lines = path.read_bytes().splitlines()
        return bool(lines) and all(isinstance(json.loads(line), dict) for line in lines if line.strip())
    except FileNotFoundError:
        return True
    except ValueError:
        return False


def _is_whole_parquet(path: Path) -> bool:
    """Whether the file begins and ends as Parquet does, so is not torn; True for a file that is not there."""
    try:
        with path.open("rb") as file:
            has_header = file.read(len(_PARQUET)) == _PARQUET
            file.seek(-len(_PARQUET), os.SEEK_END)
            return has_header and file.read() == _PARQUET
    except FileNotFoundError:
        return True
    except OSError:  # shorter than that
        return False


def _sync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
