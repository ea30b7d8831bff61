"""Opening Delta tables without a JVM, on a disk or in an object store as the project reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.files.bucket_access import deltalake_options

if TYPE_CHECKING:
    from deltalake import DeltaTable


def load_table(path: str, *, version: int | None = None) -> DeltaTable:
    """The table at a path or URI, as it is now or at a version.

    Raises:
        TableNotFoundError: deltalake's; there is none, or none at that version.
        DeltaError: deltalake's; it cannot be read.
    """
    from deltalake import DeltaTable

    return DeltaTable(path, version=version, storage_options=deltalake_options(path) or None)


def is_table(path: str) -> bool:
    """Whether there is one."""
    from deltalake import DeltaTable

    return DeltaTable.is_deltatable(path, storage_options=deltalake_options(path) or None)
