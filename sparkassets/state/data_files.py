"""Data files of a Delta table: written and deleted through deltalake's own access to the object store.

One path serves local folders and every object store, without a dependency of its own for each of them. pyarrow is
imported here and only where something is written.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalake._internal import DeltaFileSystemHandler
from deltalake.transaction import AddAction, RemoveAction

from sparkassets.delta.durability import sync_files
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

_ROWS_IN_A_GROUP = 10_000
"""Row groups are pruned by ``seq``, too, so a large compacted file is read in parts."""


@frozen
class DataFile:
    """A live data file of one of the state's tables.

    Attributes:
        path: Relative to the table.
        first_seq, last_seq, count: From its statistics; None if its writer kept none.
        size: Bytes.
        modified: Epoch milliseconds of its writer's clock.
    """

    path: str
    size: int
    modified: int
    count: int | None = None
    first_seq: int | None = None
    last_seq: int | None = None

    @classmethod
    def list_live(cls, table: DeltaTable) -> list[DataFile]:
        """The live files of an open table, ascending by ``seq``; those without statistics first."""
        actions = table.get_add_actions(flatten=True)
        names = actions.column_names  # a statistic that no file has is no column

        def column(name: str) -> Iterable[Any]:
            return actions.column(name).to_pylist() if name in names else [None] * actions.num_rows

        columns = map(column, ("path", "size_bytes", "modification_time", "num_records", "min.seq", "max.seq"))
        files = [cls(*values) for values in zip(*columns, strict=True)]
        return sorted(files, key=lambda file: (file.first_seq or 0, file.path))

    def remove(self, *, at: int, data_change: bool) -> RemoveAction:
        """The action that removes the file from the table; ``at`` in Unix milliseconds."""
        return RemoveAction(self.path, data_change, at, self.size, {})


class FileAccess:
    """Files below one table, local or in an object store; paths are relative to the table."""

    def __init__(self, uri: str, options: Mapping[str, str]) -> None:
        self._folder = None if "://" in uri else Path(uri)
        self._handler = DeltaFileSystemHandler(uri, dict(options))

    def write(self, data: pa.Table, *, name: str, data_change: bool = True) -> AddAction:
        """Writes a `pyarrow.Table` with a column ``seq`` as a new file, which no reader sees before a commit adds it.

        Returns the Delta action that adds it, with the statistics of ``seq`` by which readers skip files.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(
            data,
            sink,
            compression="zstd",
            row_group_size=_ROWS_IN_A_GROUP,
            write_statistics=["seq"],
            store_schema=False,
        )
        content = sink.getvalue().to_pybytes()
        path = f"{name}-{uuid.uuid4()}.parquet"
        stream = self._handler.open_output_stream(path)
        stream.write(content)
        stream.close()  # type: ignore[attr-defined]  # it is there, but not in the library's stubs
        if self._folder is not None:
            sync_files(self._folder, [path])
        return AddAction(
            path=path,
            size=len(content),
            partition_values={},
            modification_time=milliseconds(),
            data_change=data_change,
            stats=_statistics(data.column("seq").to_pylist()),
        )

    def read_table(self, path: str) -> pa.Table:
        """A data file as a `pyarrow.Table`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        return pq.ParquetFile(pa.BufferReader(self.read_bytes(path))).read()  # `read_table` imports pandas

    def read_bytes(self, path: str) -> bytes:
        """A file's content; raises `FileNotFoundError`."""
        stream = self._handler.open_input_file(path)
        return bytes(stream.read(stream.size()))

    def delete(self, paths: Sequence[str]) -> None:
        """Deletes files; missing ones are ignored."""
        for path in paths:
            try:
                self._handler.delete_file(path)
            except FileNotFoundError:
                continue

    def list_names(self, folder: str) -> list[str]:
        """Names of the files in a folder, in no order."""
        return [info.base_name for info in self._handler.get_file_info_selector(folder, True, False)]  # noqa: FBT003  deltalake takes them by position

    def modification_times(self, paths: Sequence[str]) -> dict[str, int]:
        """When each existing file was written, in Unix milliseconds of the storage's clock."""
        infos = self._handler.get_file_info(list(paths))
        return {
            path: info.mtime_ns // 1_000_000 for path, info in zip(paths, infos, strict=True) if info.mtime is not None
        }


def milliseconds() -> int:
    """This driver's clock in Unix milliseconds, as in Delta's log."""
    return time.time_ns() // 1_000_000


def _statistics(seqs: Sequence[int]) -> str:
    """The Delta statistics of a file with these ``seq`` values, as JSON."""
    if not seqs:
        return json.dumps({"numRecords": 0})
    return json.dumps(
        {
            "numRecords": len(seqs),
            "minValues": {"seq": min(seqs)},
            "maxValues": {"seq": max(seqs)},
            "nullCount": {"seq": 0},
        }
    )
