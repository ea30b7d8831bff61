"""Lists the files, and the folders of tables, that a path pattern matches.

Links are followed within the pattern's root, to files and to folders; whoever may write there cannot make a project
read files elsewhere. Below ``**`` a folder is entered once, whatever links lead to it: by its own name where it has one
there, else by the first link in the order of their paths. So there is no circle, and no row is read twice because a
link such as ``latest`` stands beside its target.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cache
from heapq import heappop, heappush
from itertools import filterfalse
from stat import S_ISDIR, S_ISREG

from sparkassets.core.patterns import PathPattern, is_skipped_name
from sparkassets.core.phrases import escape_unwritable
from sparkassets.errors import SourceError
from sparkassets.files.object_stores import local_path, open_store
from sparkassets.frozen import frozen

File = tuple[str, int, int]
"""Path relative to the pattern's root (its name, if the root is a file), size in bytes, last change in nanoseconds."""

_Folder = tuple[str, int, tuple[int, int]]
"""Path relative to the root, with its slash; depth of what is in it, from 1 on; its device and inode."""


@frozen
class SkippedFiles:
    """Files that a listing leaves out, by their paths relative to the pattern's root.

    Attributes:
        outside: Links that lead out of the root.
        undecodable: Names that are not UTF-8, as which Spark reads every path.
    """

    outside: list[str] = field(default_factory=list)
    undecodable: list[str] = field(default_factory=list)


def list_files(pattern: PathPattern, *, skipped: SkippedFiles | None = None) -> list[File] | None:
    """The files of `iterate_files`; None when there is no root.

    Raises:
        SourceError: A folder cannot be listed; it is named.
    """
    try:
        return list(iterate_files(pattern, skipped=skipped or SkippedFiles()))
    except FileNotFoundError:
        return None


def iterate_files(pattern: PathPattern, *, skipped: SkippedFiles) -> Iterator[File]:
    """Yields every file below the pattern's root in a folder that may hold matches.

    Hidden and temporary files are left out, and what is no regular file. The names are not matched yet. What Spark must
    not or cannot read is left out, too, and added to ``skipped``. On a disk, memory grows with folders alone.

    Raises:
        FileNotFoundError: There is no root.
        SourceError: A folder cannot be listed; it is named.
    """
    root = local_path(pattern.root)
    try:
        for file in _list_store(pattern) if root is None else _list_disk(pattern, root, skipped):
            if file[0].isascii() or escape_unwritable(file[0]) == file[0]:
                yield file
            else:
                skipped.undecodable.append(file[0])
    except FileNotFoundError:
        raise
    except NotADirectoryError as error:
        raise SourceError(f"'{pattern.root}' is a file; the path '{pattern.text}' needs a folder there") from error
    except OSError as error:
        place = error.filename if isinstance(error.filename, str) else pattern.root
        raise SourceError(f"cannot list '{place}': {error.strerror or error}") from error


@frozen
class _ListedFolder:
    """The folder that is listed.

    Attributes:
        real: The root's path without links.
        skipped: Gets what is left out.
    """

    pattern: PathPattern
    root: str
    real: str
    skipped: SkippedFiles

    def read_status(self, entry: os.DirEntry[str], folder: str) -> os.stat_result | None:
        """What the entry of a folder is, or what it leads to; None if it is left out."""
        status = None if is_skipped_name(entry.name) else _read_status(entry)
        if status is not None and entry.is_symlink() and not self._holds(entry):
            self.skipped.outside.append(folder + entry.name)
            return None
        return status

    def _holds(self, link: os.DirEntry[str]) -> bool:
        """Whether what a link leads to is in the root, or the root itself."""
        target = os.path.realpath(link.path)
        return target == self.real or target.startswith(f"{self.real.rstrip('/')}/")


def _list_disk(pattern: PathPattern, root: str, skipped: SkippedFiles) -> Iterator[File]:
    status = os.stat(root)  # noqa: PTH116  as the entries of a folder below
    if not pattern.is_pattern and S_ISREG(status.st_mode):
        yield os.path.basename(root), status.st_size, status.st_mtime_ns  # noqa: PTH119
        return
    listed = _ListedFolder(pattern, root, os.path.realpath(root), skipped)
    folders: list[_Folder] = [("", 1, _identity(status))]
    while folders:
        folder = folders.pop()
        if folder[1] > pattern.fixed_folders:
            yield from _list_tree(listed, folder)
        else:
            yield from _list_folder(listed, folder, folders, None)


def _list_tree(listed: _ListedFolder, top: _Folder) -> Iterator[File]:
    """The files below ``**``: what has a name of its own there first, then what only links lead to."""
    seen: set[tuple[int, int]] = set()
    folders, links = [top], list[_Folder]()
    while folders or links:
        folder = folders.pop() if folders else heappop(links)
        if folder[2] not in seen:
            seen.add(folder[2])
            yield from _list_folder(listed, folder, folders, links)


def _list_folder(
    listed: _ListedFolder, folder: _Folder, folders: list[_Folder], links: list[_Folder] | None
) -> Iterator[File]:
    """The files of one folder; the folders in it that may hold more are added to ``folders``, or to ``links``."""
    relative, depth, _ = folder
    try:
        with os.scandir(f"{listed.root}/{relative}") as entries:
            for entry in entries:
                status = listed.read_status(entry, relative)
                if status is None:
                    continue
                if S_ISREG(status.st_mode):
                    yield relative + entry.name, status.st_size, status.st_mtime_ns
                elif S_ISDIR(status.st_mode) and listed.pattern.may_match_below(depth, entry.name):
                    subfolder = (f"{relative}{entry.name}/", depth + 1, _identity(status))
                    if links is not None and entry.is_symlink():
                        heappush(links, subfolder)
                    else:
                        folders.append(subfolder)
    except (FileNotFoundError, NotADirectoryError):  # deleted just now
        if not relative:
            raise


def _read_status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Of what a link leads to; None where that is nothing, or the link itself."""
    try:
        return entry.stat()
    except FileNotFoundError:  # deleted just now, or a link to nowhere
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _list_store(pattern: PathPattern) -> Iterator[File]:
    from pyarrow import fs

    store, root = open_store(pattern.root)
    root_info = store.get_file_info(root)
    if root_info.type == fs.FileType.NotFound:
        raise FileNotFoundError(root)
    if root_info.type == fs.FileType.File:
        if pattern.is_pattern:
            raise NotADirectoryError(root)
        yield root_info.base_name, root_info.size, root_info.mtime_ns
        return

    @cache
    def is_entered(folder: str) -> bool:
        parent, _, name = folder.rpartition("/")
        return not folder or (
            is_entered(parent) and not is_skipped_name(name) and pattern.may_match_below(folder.count("/") + 1, name)
        )

    for info in store.get_file_info(fs.FileSelector(root, recursive=True)):
        relative = info.path[len(root) :].lstrip("/")
        if (
            info.type == fs.FileType.File
            and is_entered(relative.rpartition("/")[0])
            and not is_skipped_name(info.base_name)
        ):
            yield relative, info.size, info.mtime_ns


def list_folders(pattern: PathPattern, *, skipped: SkippedFiles) -> list[str] | None:
    """The folders that match, by their paths relative to the pattern's root; None when there is no root.

    Hidden folders are left out. Links that lead out of the root, and names that are not UTF-8, are added to
    ``skipped``.

    Raises:
        SourceError: A folder cannot be listed; it is named.
    """
    root = local_path(pattern.root)
    names = _names_in_store(pattern.root) if root is None else _names_on_disk(root, skipped)
    try:
        matching = matches(pattern, lambda folder: filterfalse(is_skipped_name, names(folder)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"cannot list '{pattern.root}': {error.strerror or error}") from error
    readable = sorted(folder for folder in matching if escape_unwritable(folder) == folder)
    skipped.undecodable.extend(set(matching) - set(readable))
    return readable


def matches(pattern: PathPattern, names: Callable[[str], Iterable[str]]) -> list[str]:
    """What matches, relative to the pattern's root.

    Args:
        pattern: Of fields and no ``**``.
        names: What is directly in each; the root is the empty text.
    """
    paths = [""]
    for depth in range(1, pattern.fixed_folders + 1):
        children = (
            (folder, name) for folder in paths for name in names(folder) if pattern.may_match_below(depth, name)
        )
        paths = [f"{folder}/{name}" if folder else name for folder, name in children]
    return [each for each in paths if pattern.match(each) is not None]


def _names_on_disk(root: str, skipped: SkippedFiles) -> Callable[[str], Iterator[str]]:
    real = os.path.realpath(root)

    def list_names(folder: str) -> Iterator[str]:
        try:
            with os.scandir(f"{root}/{folder}") as entries:
                for entry in entries:
                    if not entry.is_dir():
                        continue
                    if entry.is_symlink() and not f"{os.path.realpath(entry.path)}/".startswith(f"{real.rstrip('/')}/"):
                        skipped.outside.append(f"{folder}/{entry.name}".lstrip("/"))
                    else:
                        yield entry.name
        except FileNotFoundError:  # deleted just now
            if not folder:
                raise

    return list_names


def _names_in_store(uri: str) -> Callable[[str], Iterator[str]]:
    from pyarrow.fs import FileSelector, FileType

    store, root = open_store(uri)

    def list_names(folder: str) -> Iterator[str]:
        place = f"{root}/{folder}".rstrip("/")
        for each in store.get_file_info(FileSelector(place, allow_not_found=bool(folder))):
            if each.type == FileType.Directory:
                yield each.base_name

    return list_names
