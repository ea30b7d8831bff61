"""What a compiled project was made from, so that it can be told whether it would come out the same."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final

PROJECT_FILE: Final = "project.yml"

_ABSENT: Final = ""


@dataclass(slots=True)
class Trace:
    """Reads files, folders and variables, and remembers what it saw.

    Attributes:
        files: Path to a digest of the content; empty for a file that is not there.
        folders: Path to a digest of the names; empty for a folder that is not there.
        variables: Names of the variables that were asked for.
        registered: Whether a timetable of another package was asked for.
    """

    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    registered: bool = False

    def read(self, path: Path) -> bytes | None:
        """The content of a file; None where there is none.

        Raises:
            OSError: It is there and cannot be read.
        """
        try:
            content = path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            content = None
        self.files[str(path)] = _ABSENT if content is None else _digest(content)
        return content

    def names(self, folder: Path) -> list[str] | None:
        """The sorted names in a folder, those of folders with ``/`` at their end; None where there is no folder."""
        try:
            with os.scandir(folder) as entries:
                names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
        except (FileNotFoundError, NotADirectoryError):
            names = None
        self.folders[str(folder)] = _ABSENT if names is None else _digest("\n".join(names).encode())
        return names

    def still_holds(self) -> bool:
        """Whether the files and folders would be seen again as they were."""
        now = Trace()
        try:
            for folder in self.folders:
                now.names(Path(folder))
            for file in self.files:
                now.read(Path(file))
        except OSError:
            return False
        return now.files == self.files and now.folders == self.folders


class Variables(Mapping[str, str]):
    """Variables of an environment; a trace remembers which were asked for."""

    def __init__(self, env: Mapping[str, str], trace: Trace) -> None:
        self._env = env
        self._trace = trace

    def __getitem__(self, name: str) -> str:
        self._trace.variables.add(name)
        return self._env[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._env)

    def __len__(self) -> int:
        return len(self._env)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()
