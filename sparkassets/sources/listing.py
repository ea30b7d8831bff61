"""Lists the files that a path pattern may mean, on a local disk or in an object store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

from sparkassets.core.patterns import PathPattern, hidden
from sparkassets.errors import SourceError

File = tuple[str, int, int]
"""Path relative to the pattern's root (its name, if the root is a file), size in bytes, last change in nanoseconds."""


def list_files(pattern: PathPattern) -> list[File] | None:
    """Every file below the pattern's root in a folder that may hold matches; None when there is no root.

    Hidden and temporary files are left out. The names themselves are not matched yet.

    Raises:
        SourceError: A folder cannot be listed.
    """
    try:
        return list(_remote(pattern) if "://" in pattern.root else _local(pattern))
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise SourceError(f"'{pattern.root}' is a file; the path '{pattern.text}' needs a folder there") from error
    except OSError as error:
        raise SourceError(f"cannot list '{pattern.root}': {error.strerror or error}") from error


def _local(pattern: PathPattern) -> Iterator[File]:
    if not pattern.is_pattern and (single := Path(pattern.root)).is_file():
        yield single.name, single.stat().st_size, single.stat().st_mtime_ns
        return
    folders, deep = [("", 1)], "**/" in pattern.tokens
    while folders:
        relative, depth = folders.pop()
        try:
            with os.scandir(f"{pattern.root}/{relative}") as entries:
                for entry in entries:
                    if hidden(entry.name):
                        continue
                    if not entry.is_dir():
                        try:
                            stat = entry.stat()
                        except FileNotFoundError:  # deleted just now, or a link to nowhere
                            continue
                        yield relative + entry.name, stat.st_size, stat.st_mtime_ns
                    elif pattern.enters(depth, entry.name) and not (deep and entry.is_symlink()):  # it may lead back
                        folders.append((f"{relative}{entry.name}/", depth + 1))
        except FileNotFoundError:
            if depth == 1:
                raise


def _remote(pattern: PathPattern) -> Iterator[File]:
    from pyarrow import ArrowInvalid, fs

    scheme, _, rest = pattern.root.partition("://")
    try:
        store, root = fs.FileSystem.from_uri(f"{scheme}://{quote(rest, safe='/@:~')}")
    except ArrowInvalid as error:
        raise SourceError(f"cannot list '{pattern.root}': {error}") from error
    found = store.get_file_info(root)
    if found.type == fs.FileType.NotFound:
        raise FileNotFoundError(root)
    if found.type == fs.FileType.File:
        if pattern.is_pattern:
            raise NotADirectoryError(root)
        yield found.base_name, found.size, found.mtime_ns
        return

    @cache
    def entered(folder: str) -> bool:
        parent, _, name = folder.rpartition("/")
        return not folder or (entered(parent) and not hidden(name) and pattern.enters(folder.count("/") + 1, name))

    for info in store.get_file_info(fs.FileSelector(root, recursive=True)):
        relative = info.path[len(root) :].lstrip("/")
        if info.type == fs.FileType.File and entered(relative.rpartition("/")[0]) and not hidden(info.base_name):
            yield relative, info.size, info.mtime_ns
