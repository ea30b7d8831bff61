"""Opens the data files of a Delta table, on a disk or in an object store."""

from __future__ import annotations

from typing import BinaryIO
from urllib.parse import unquote

from sparkassets.files.bucket_access import deltalake_options


def open_file(root: str, path: str) -> BinaryIO:
    """The file that the log of the table at ``root`` calls ``path``: to be closed by who reads it.

    Args:
        root: An absolute local path or an object-store URI.
        path: Percent-encoded; relative to the table, or anywhere as a URI.
    """
    where = unquote(path)
    if path.startswith("file:"):
        return open("/" + where.removeprefix("file:").lstrip("/"), "rb")  # noqa: PTH123  faster
    if "://" not in path and "://" not in root:
        return open(where if where.startswith("/") else f"{root}/{where}", "rb")  # noqa: PTH123  likewise
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import PyFileSystem

    if "://" in path:
        root, _, where = where.rpartition("/")
    return PyFileSystem(DeltaStorageHandler(root, deltalake_options(root))).open_input_file(where)  # type: ignore[no-any-return]
