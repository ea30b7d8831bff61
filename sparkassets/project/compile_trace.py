"""The inputs of a compiled project, to detect whether compiling again would give the same result."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from sparkassets.digests import blake2b

PROJECT_FILE: Final = "project.yml"

MOST_BYTES: Final = 2 * 1024 * 1024
"""The greatest size of a project's file: people write them, so a larger one is something else."""
MOST_NAMES: Final = 50_000
"""The most files and folders below `assets`."""

_ABSENT: Final = ""
_METADATA_SUFFIXES: Final = (".dist-info", ".egg-info", ".egg-link")


class CompileTrace:
    """Reads files, folders and variables, and remembers what they held, to find out later whether anything changed.

    Attributes:
        files: Path to a digest of the content; empty if the file does not exist.
        folders: Path to a digest of the names in it; empty if the folder does not exist.
        variables: Names of the variables that were read.
        packages: A digest of the installed packages; empty if none was used.
        modules: Path to time and size, of modules that define a timetable or that the project's modules import.
        name_count: Number of names in all folders that were read.
    """

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.folders: dict[str, str] = {}
        self.variables: set[str] = set()
        self.packages = ""
        self.modules: dict[str, str] = {}
        self.name_count = 0

    def read_file(self, path: Path | str) -> bytes | None:
        """The content of a file; None if it does not exist.

        Raises:
            OSError: It exists and cannot be read, is no regular file (a pipe, a device), or is larger than
                `MOST_BYTES`.
        """
        try:
            content = _read_regular_file(path)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            content = None
        self.files[str(path)] = _ABSENT if content is None else _digest(content)
        return content

    def list_names(self, folder: Path | str) -> list[str] | None:
        """The sorted names in a folder, with ``/`` after names of folders; None if the folder does not exist.

        Raises:
            OSError: It cannot be read, or the folders of the project hold more than `MOST_NAMES` names.
        """
        try:
            with os.scandir(folder) as entries:
                names = sorted(f"{entry.name}/" if _is_folder(entry) else entry.name for entry in entries)
        except (FileNotFoundError, NotADirectoryError):
            names = None
        self.folders[str(folder)] = (
            _ABSENT if names is None else _digest("\n".join(names).encode(errors="surrogateescape"))
        )
        self.name_count += len(names or ())
        if names and self.name_count > MOST_NAMES:
            raise OSError(errno.E2BIG, f"the project's folders contain more than {MOST_NAMES:,} files")
        return names

    def record_packages(self) -> None:
        """Remembers which packages are installed, and when each was."""
        self.packages = _digest("\n".join(_package_stamps()).encode(errors="surrogateescape"))

    def record_module(self, path: str) -> None:
        """Remembers time and size of a module's file; empty if it is gone. Such a file is imported, not read here."""
        try:
            status = os.stat(path)  # noqa: PTH116
        except OSError:
            self.modules[path] = _ABSENT
        else:
            self.modules[path] = f"{status.st_mtime_ns}:{status.st_size}"

    def include(self, other: CompileTrace) -> None:
        """Adds the records of another trace."""
        self.files |= other.files
        self.folders |= other.folders
        self.variables |= other.variables
        self.packages = other.packages or self.packages
        self.modules |= other.modules

    def digest(self) -> str:
        """A digest of everything but the variables."""
        parts = (self.files, self.folders, self.packages, self.modules)
        return _digest(repr(parts).encode(errors="surrogateescape"))

    def still_holds(self) -> bool:
        """Whether everything but the variables is as it was recorded; `VariableFingerprint` answers for those."""
        now = CompileTrace()
        if self.packages:
            now.record_packages()
        for module in self.modules:
            now.record_module(module)
        if now.packages != self.packages or now.modules != self.modules:
            return False
        try:
            for folder, names in self.folders.items():
                now.list_names(folder)
                if now.folders[folder] != names:
                    return False
            for file, content in self.files.items():
                now.read_file(file)
                if now.files[file] != content:
                    return False
        except OSError:
            return False
        return True


class TracedVariables(Mapping[str, str]):
    """Variables of an environment; a trace records which are read."""

    def __init__(self, env: Mapping[str, str], trace: CompileTrace) -> None:
        self._env = env
        self._trace = trace

    def __getitem__(self, name: str) -> str:
        self._trace.variables.add(name)
        return self._env[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._env)

    def __len__(self) -> int:
        return len(self._env)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder or leads to one; a link to itself leads nowhere."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _package_stamps() -> Iterator[str]:
    """A line for each folder of package metadata and each archive on Python's path, with its time of change.

    Installing, upgrading or removing a package changes one of them.
    """
    for place in dict.fromkeys(sys.path):
        try:
            with os.scandir(place or ".") as entries:
                metadata = [entry for entry in entries if entry.name.endswith(_METADATA_SUFFIXES)]
                yield from sorted(f"{entry.path}:{entry.stat().st_mtime_ns}" for entry in metadata)
        except NotADirectoryError:
            with suppress(OSError):
                yield f"{place}:{os.stat(place).st_mtime_ns}"  # noqa: PTH116
        except OSError:
            continue


def _read_regular_file(path: Path | str) -> bytes:
    """The bytes of a regular file; nothing else is opened, as reading a pipe would block."""
    try:
        status = os.stat(path)  # noqa: PTH116  at a fifth of pathlib's time
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise FileNotFoundError from None  # no file can have that name
        raise
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file, but a pipe, a socket or a device")
    if status.st_size > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it has {status.st_size:,} bytes; expected at most {MOST_BYTES:,}")
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  as above
        return file.readall()


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()
