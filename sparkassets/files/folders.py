"""A folder that files are written to, on a disk or in an object store: each appears whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sparkassets.errors import InputError, SourceError
from sparkassets.files.object_stores import local_path, open_store

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


class FileFolder(Protocol):
    """Files by their names below a folder, with ``/`` between folders."""

    def read_file(self, name: str) -> bytes | None:
        """What a file holds; None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Puts a file in its place, at once for whoever reads it."""

    def list_folders(self, name: str) -> list[str]:
        """The names of the folders in that folder, in no order."""

    def list_names(self) -> set[str]:
        """The names of the files and folders in it."""

    def remove(self, name: str) -> None:
        """Takes a folder away with all that is in it; one that is not there is none."""


def open_folder(place: str) -> FileFolder:
    """The folder at a path or URI; it need not exist.

    Raises:
        InputError: Nothing can be written there.
    """
    local = local_path(place)
    if local is not None:
        return _DiskFolder(Path(local))
    try:
        store, path = open_store(place)
    except SourceError as error:
        raise InputError(
            str(error).replace("cannot read", "cannot write to", 1), hint=error.hint, topic="output-not-writable"
        ) from error
    if not path.strip("/"):
        raise InputError(
            f"cannot write to '{place}': it does not name a folder",
            hint="add a bucket and a folder to it",
            topic="output-not-writable",
        )
    return _StoreFolder(store, path)


class _DiskFolder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def read_file(self, name: str) -> bytes | None:
        try:
            return (self._root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise

    def list_folders(self, name: str) -> list[str]:
        try:
            return [entry.name for entry in os.scandir(self._root / name) if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []

    def list_names(self) -> set[str]:
        try:
            return {entry.name for entry in os.scandir(self._root)}
        except FileNotFoundError:
            return set()

    def remove(self, name: str) -> None:
        from shutil import rmtree

        with suppress(FileNotFoundError):
            rmtree(self._root / name)


class _StoreFolder:
    def __init__(self, store: FileSystem, root: str) -> None:
        self._store = store
        self._root = root.rstrip("/")

    def read_file(self, name: str) -> bytes | None:
        try:
            with self._store.open_input_stream(f"{self._root}/{name}") as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        with self._store.open_output_stream(f"{self._root}/{name}", metadata=_content_type(name)) as stream:
            stream.write(content)  # an object is there when its stream is closed, and was not before

    def list_folders(self, name: str) -> list[str]:
        from pyarrow.fs import FileSelector, FileType

        infos = self._store.get_file_info(FileSelector(f"{self._root}/{name}", allow_not_found=True))
        return [each.base_name for each in infos if each.type == FileType.Directory]

    def list_names(self) -> set[str]:
        from pyarrow.fs import FileSelector

        return {each.base_name for each in self._store.get_file_info(FileSelector(self._root, allow_not_found=True))}

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._store.delete_dir(f"{self._root}/{name}")


_CONTENT_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css"}


def _content_type(name: str) -> dict[str, str]:
    """What a browser is told that it is."""
    return {"Content-Type": _CONTENT_TYPES.get(os.path.splitext(name)[1], "text/plain; charset=utf-8")}  # noqa: PTH122  of a URI
