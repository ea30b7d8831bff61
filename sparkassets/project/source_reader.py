"""Reads the text files of a project's folder, and lists them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tokenize import detect_encoding

from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.errors import FileLocation, SpecError, SpecProblem
from sparkassets.project.compile_trace import CompileTrace

_YAML = (".yml", ".yaml")


class SourceReader:
    """Reads text files; a file that is not UTF-8 becomes a problem.

    Attributes:
        unreadable: Files that are there and became a problem.
    """

    def __init__(self, root: Path, trace: CompileTrace) -> None:
        self.root = root
        self.trace = trace
        self.problems: list[SpecProblem] = []
        self.unreadable: set[Path] = set()

    def list_names(self, folder: Path) -> list[str] | None:
        """The names in a folder; None if it does not exist, an empty list and a problem if it cannot be read."""
        try:
            return self.trace.list_names(folder)
        except OSError as error:
            problem = SpecProblem(FileLocation(shown_path(folder)), f"cannot be read: {error.strerror}")
            if error.errno == errno.E2BIG:  # or each further folder would add the same problem
                raise SpecError([problem]) from None
            self.problems.append(problem)
            return []

    def exists(self, path: Path) -> bool:
        """Whether the file exists, readable or not."""
        return self.read_file(path) is not None or path in self.unreadable

    def read_file(self, path: Path, *, is_python: bool = False) -> SourceFile | None:
        """The file; None if it does not exist or became a problem. Python files may declare another encoding."""
        try:
            content = self.trace.read_file(path)
        except OSError as error:
            self._refuse(path, SpecProblem(FileLocation(shown_path(path)), f"cannot be read: {error.strerror}"))
            return None
        if content is None:
            return None
        try:
            text = content.decode(_encoding(content) if is_python else "utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            column = error.start - content.rfind(b"\n", 0, error.start)
            message = f"the byte 0x{content[error.start]:02x} is not UTF-8; files of a project are UTF-8 text"
            self._refuse(path, SpecProblem(FileLocation(shown_path(path), line, column), message))
            return None
        return SourceFile(shown_path(path), _relative(str(path), str(self.root)).replace(os.sep, "/"), text)

    def read_declaring(self, path: Path) -> SourceFile | None:
        """A module that may declare assets; None for a file that its encoding cannot decode, which is not reported."""
        if self.read_python(path) is not None:
            return self.read_file(path, is_python=True)
        return None

    def read_python(self, path: Path) -> str | None:
        """The text of a module that is only searched, not compiled; None, without a problem, if it is unreadable."""
        try:
            content = self.trace.read_file(path)
            return content.decode(_encoding(content)) if content is not None else None
        except (OSError, UnicodeDecodeError):
            return None

    def _refuse(self, path: Path, problem: SpecProblem) -> None:
        self.problems.append(problem)
        self.unreadable.add(path)


def _encoding(module: bytes) -> str:
    """The encoding that a module declares; UTF-8 if it declares none, or one that Python does not know."""
    try:
        return detect_encoding(BytesIO(module).readline)[0]
    except SyntaxError:
        return "utf-8-sig"


def shown_path(path: Path) -> str:
    """The path for messages: relative to the working folder if that is shorter."""
    return min(_relative(str(path), os.getcwd()), str(path), key=len)  # noqa: PTH109  at a fifth of pathlib's time


def _relative(path: str, folder: str) -> str:
    """What `os.path.relpath` returns, at a tenth of its time for a path below the folder."""
    below = os.path.join(folder, "")  # noqa: PTH118  as above
    return path[len(below) :] if path.startswith(below) and ".." not in path else os.path.relpath(path, folder)


def yaml_files(
    folder: Path, names: list[str], reader: SourceReader, *, deep: bool, ends: tuple[str, ...] = _YAML
) -> Iterator[Path]:
    """Files that end with one of ``ends``, with ``deep`` also in subfolders; skips hidden names and links outwards.

    ``names`` are those of ``folder``, with ``/`` after names of folders. A link to an outer folder would have no end.
    """
    for name in names:
        if name.startswith("."):
            continue
        if name.endswith("/"):
            below = folder / name
            if deep and not (below.is_symlink() and folder.resolve().is_relative_to(below.resolve())):
                yield from yaml_files(below, reader.list_names(below) or [], reader, deep=deep, ends=ends)
        elif name.endswith(ends):
            yield folder / name


def module_paths(folder: Path, reader: SourceReader) -> Iterator[Path]:
    """The modules of a package and its subpackages, by name within a folder.

    Only names that Python can import count. A link to an outer folder is skipped, or the search would not end.
    """
    for name in reader.list_names(folder) or []:
        if name.endswith("/"):
            below = folder / name
            leads_back = below.is_symlink() and folder.resolve().is_relative_to(below.resolve())
            if name[:-1].isidentifier() and name != "__pycache__/" and not leads_back:
                yield from module_paths(below, reader)
        elif name.endswith(".py") and name[:-3].isidentifier():
            yield folder / name
