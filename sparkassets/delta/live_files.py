"""The live files of a table as its log tells them, and how each is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from itertools import repeat
from typing import TYPE_CHECKING, BinaryIO, TypeAlias
from urllib.parse import unquote

from sparkassets.errors import SourceError
from sparkassets.files.object_stores import deltalake_options

if TYPE_CHECKING:
    from decimal import Decimal

    from arro3.core import Table
    from deltalake import DeltaTable

PartitionValue: TypeAlias = "str | int | float | bool | date | Decimal | bytes | None"
"""A typed value of a partition column; a timestamp is in UTC."""

_PARTITION = "partition."


@dataclass(slots=True)
class LiveFile:
    """One data file, from its add action; immutable.

    Attributes:
        path: As in the log: percent-encoded, relative to the table, or a URI.
        size: Bytes.
        rows: If its statistics say; an upper limit with a deletion vector.
        partition: By column name; None also for empty text, as in Delta's protocol.
    """

    path: str
    size: int
    rows: int | None
    partition: Mapping[str, PartitionValue]

    @property
    def place(self) -> str:
        """`path` as the storage has it: relative to the table, or a URI."""
        return unquote(self.path)


def live_files(adds: Table) -> list[LiveFile]:
    """The files of flattened add actions, in their order."""
    names = [name for name in adds.schema.names if name.startswith(_PARTITION)]
    columns = [name.removeprefix(_PARTITION) for name in names]
    paths, sizes, counts = (adds.column(name).to_pylist() for name in ("path", "size_bytes", "num_records"))
    values = zip(*(adds.column(name).to_pylist() for name in names), strict=True) if names else repeat((), len(paths))
    partitions = (dict(zip(columns, each, strict=True)) for each in values)
    return list(map(LiveFile, paths, sizes, counts, partitions))


def flat_adds(table: DeltaTable) -> Table:
    """The live files, a column for each part of an add action.

    Raises:
        SourceError: deltalake cannot tell them.
    """
    from deltalake.exceptions import DeltaError

    try:
        return table.get_add_actions(flatten=True)
    except DeltaError as error:
        raise SourceError(f"cannot read the log of the Delta table at '{table.table_uri}': {error}") from error


def live_paths(table: DeltaTable) -> set[str]:
    """The paths of all live files, as in the log."""
    return set(flat_adds(table).column("path").to_pylist())


def log_text(value: PartitionValue) -> str | None:
    """A partition's value as Delta writes it into the log.

    >>> log_text(date(2013, 1, 5)), log_text(True), log_text(None)
    ('2013-01-05', 'true', None)
    """
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ")
        case bytes():
            return value.decode()
        case _:
            return str(value)


def open_file(root: str, path: str) -> BinaryIO:
    """Opens the file that the log of the table at ``root`` calls ``path``; the caller closes it.

    Args:
        root: An absolute local path or an object-store URI.
        path: Percent-encoded; relative to the table, or anywhere as a URI.
    """
    location = unquote(path)
    if path.startswith("file:"):
        return open("/" + location.removeprefix("file:").lstrip("/"), "rb")  # noqa: PTH123  faster
    if "://" not in path and "://" not in root:
        return open(location if location.startswith("/") else f"{root}/{location}", "rb")  # noqa: PTH123  likewise
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import PyFileSystem

    if "://" in path:
        root, _, location = location.rpartition("/")
    return PyFileSystem(DeltaStorageHandler(root, deltalake_options(root))).open_input_file(location)  # type: ignore[no-any-return]
