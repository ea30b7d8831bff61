"""Lists the folders that a path with fields may mean, on a disk or in an object store: each may be a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from sparkassets.core.patterns import PathPattern, is_skipped_name
from sparkassets.core.phrases import escape_unwritable
from sparkassets.errors import SourceError
from sparkassets.files.file_listing import SkippedFiles
from sparkassets.files.object_stores import local_path, open_store


def list_folders(pattern: PathPattern, *, skipped: SkippedFiles) -> list[str] | None:
    """The folders that match, by their paths relative to the pattern's root; None when there is no root.

    Hidden folders are left out. Links that lead out of the root, and names that are not UTF-8, are added to
    ``skipped``.

    Raises:
        SourceError: A folder cannot be listed; it is named.
    """
    root = local_path(pattern.root)
    names = _in_store(pattern.root) if root is None else _on_disk(root, skipped)
    try:
        matching = matches(pattern, lambda folder: (name for name in names(folder) if not is_skipped_name(name)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"cannot list '{pattern.root}': {error.strerror or error}") from error
    skipped.undecodable.extend(folder for folder in matching if escape_unwritable(folder) != folder)
    return sorted(folder for folder in matching if escape_unwritable(folder) == folder)


def matches(pattern: PathPattern, names: Callable[[str], Iterable[str]]) -> list[str]:
    """What matches, relative to the pattern's root.

    Args:
        pattern: Of fields and no ``**``.
        names: What is directly in each; the root is the empty text.
    """
    found = [""]
    for depth in range(1, pattern.fixed_folders + 1):
        entered = ((folder, name) for folder in found for name in names(folder) if pattern.may_match_below(depth, name))
        found = [f"{folder}/{name}" if folder else name for folder, name in entered]
    return [each for each in found if pattern.match(each) is not None]


def _on_disk(root: str, skipped: SkippedFiles) -> Callable[[str], Iterator[str]]:
    real = os.path.realpath(root)

    def names(folder: str) -> Iterator[str]:
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

    return names


def _in_store(uri: str) -> Callable[[str], Iterator[str]]:
    from pyarrow.fs import FileSelector, FileType

    store, root = open_store(uri)

    def names(folder: str) -> Iterator[str]:
        place = f"{root}/{folder}".rstrip("/")
        for each in store.get_file_info(FileSelector(place, allow_not_found=bool(folder))):
            if each.type == FileType.Directory:
                yield each.base_name

    return names
