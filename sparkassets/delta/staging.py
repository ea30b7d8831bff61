"""Files that attempts stage in a table's folder, and the iterations that stay there.

A folder is named by run, fence token and attempt: ``<table>/<run>.<token>.<attempt>/day=2013-01-01/part-….parquet``.
Committed files stay in that folder. The folder of a dead attempt is recognised by its name, and removed once that
attempt certainly commits no more.

An iteration is a Delta table of its own in such a folder. Its one commit names the files that the commit at the asset's
path names, so it costs a file of a few kilobytes; it suffices to read an older iteration, or to restore it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sparkassets.core.iterations import ITERATIONS, ROWS, iteration_folder, iteration_name
from sparkassets.delta.commit import CommitRequest, create
from sparkassets.delta.file_statistics import FileStatistics, read_footers
from sparkassets.delta.log import DeltaLog
from sparkassets.errors import SourceError
from sparkassets.files.object_stores import local_path, open_store
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from deltalake import Schema
    from deltalake.transaction import AddAction
    from pyarrow.fs import FileInfo, FileSystem
    from pyarrow.parquet import FileMetaData

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""Stands for NULL in the name of a folder."""

_DATA_SUFFIX = ".parquet"
_PARALLEL_MOVES = 8
"""How many files are moved in parallel: an object store copies them."""
_HIDDEN_PREFIXES = ("_", ".")


@frozen
class StagingAttempt:
    """One attempt of a run, by which its folder in the table is named.

    Attributes:
        run: The run's id.
        token: The fence token of its claim.
        number: The number of the attempt.
        publishes: Whether it stages an iteration, which stays beside others.
    """

    run: str
    token: int
    number: int
    publishes: bool = False

    @property
    def name(self) -> str:
        """A unique name of the attempt."""
        return iteration_name(self.run, self.token, self.number)

    @property
    def root(self) -> str:
        """Its folder, relative to the table's."""
        return iteration_folder(self.name) if self.publishes else self.name

    @property
    def folder(self) -> str:
        """The folder of its data files, relative to the table's."""
        return iteration_folder(self.name, ROWS) if self.publishes else self.name


@frozen
class StagedFile:
    """A data file that is not committed yet.

    Attributes:
        path: Relative to the table, as the storage has it.
        size: Bytes.
        modified: Unix milliseconds.
        rows: The number of rows.
        partition: Values as text by column, from the names of its folders.
        stats: Statistics as in an add action, JSON.
    """

    path: str
    size: int
    modified: int
    rows: int
    partition: Mapping[str, str | None]
    stats: str

    def add(self, layout: Sequence[str], *, changes_rows: bool = True) -> AddAction:
        """The action that adds it to a table with this layout; ``changes_rows`` is False for rows that only move."""
        from deltalake.transaction import AddAction

        values = {column: self.partition[column] for column in layout}
        return AddAction(self.path, self.size, values, self.modified, changes_rows, self.stats)


def list_staged_files(
    table: str,
    attempt: StagingAttempt,
    *,
    schema: Mapping[str, Any],
    layout: Sequence[str],
    properties: Mapping[str, str],
) -> list[StagedFile]:
    """The attempt's staged files, ascending by path; files without rows are left out.

    Args:
        table: The table's path or URI.
        attempt: The attempt that staged them.
        schema: The table's schema after the commit, as Delta's JSON.
        layout: The columns that folders are named by; instants in UTC.
        properties: The table's properties, which choose the columns with statistics.

    Raises:
        OSError: A file cannot be read.
    """
    store = open_folder(table)
    listed = _list_files(store, attempt.folder)
    paths = sorted((each.path, each) for each in listed if _is_data(each.path.removeprefix(f"{attempt.folder}/")))
    footers = read_footers(store, [path for path, _ in paths])
    instants = frozenset(field["name"] for field in schema["fields"] if field["type"] == "timestamp")
    statistics = FileStatistics(schema, layout=layout, properties=properties)
    return [
        StagedFile(
            path,
            info.size,
            (info.mtime_ns or 0) // 1_000_000,
            footer.num_rows,
            _parse_folder_values(path, instants),
            statistics.build_json(footer),
        )
        for (path, info), footer in zip(paths, footers, strict=True)
        if footer.num_rows
    ]


def read_staged_footers(table: str, folder: str) -> list[FileMetaData]:
    """The footers of the data files in a folder that an attempt staged, in no order.

    Raises:
        OSError: A file cannot be read.
        SourceError: The storage is out of reach.
    """
    store = open_folder(table)
    paths = (each.path for each in _list_files(store, folder))
    return read_footers(store, [path for path in paths if _is_data(path.removeprefix(f"{folder}/"))])


def discard(table: str, attempt: StagingAttempt) -> None:
    """Removes the files of an attempt that has begun no commit, as far as the storage allows it."""
    with contextlib.suppress(SourceError):
        _delete_folder(open_folder(table), attempt.root)


def discard_files(table: str, paths: Iterable[str]) -> None:
    """Removes staged files that no commit will hold, where the storage allows it."""
    with contextlib.suppress(SourceError, OSError):
        store = open_folder(table)
        for path in paths:
            store.delete_file(path)


def move_files(table: str, moves: Mapping[str, str]) -> None:
    """Moves staged files to other paths; a file that was moved before stays, so that a second try succeeds.

    Raises:
        OSError: A file can be found in neither place, or cannot be moved.
    """
    store = open_folder(table)
    if local_path(table) is not None or table.startswith("hdfs:"):  # an object store has no folders to make
        for folder in {path.rpartition("/")[0] for path in moves.values()}:
            store.create_dir(folder)
    with ThreadPoolExecutor(_PARALLEL_MOVES) as pool:
        for _ in pool.map(partial(_move_file, store), *zip(*moves.items(), strict=True)):
            pass


def discard_folders(table: str, paths: Iterable[str]) -> None:
    """Removes folders of an attempt, where the storage allows it."""
    store = open_folder(table)
    for path in paths:
        _delete_folder(store, path)


def discard_all(table: str, runs: Sequence[str], *, upto: int, keep: StagingAttempt | None = None) -> None:
    """Removes the files that attempts of these runs staged in the table, except the committed attempt's.

    The attempts must be certain not to commit any more: fenced first, and looked for afterwards. A newer claim may be
    completing one of the runs, so only attempts with fence tokens up to ``upto`` are removed. ``keep`` is the attempt
    whose files a commit holds; None if no commit does.
    """
    store = open_folder(table)
    for each in (*_list_files(store, "", deep=False), *_list_files(store, ITERATIONS, deep=False)):
        attempt = _parse_attempt(each.base_name)
        if attempt is not None and attempt != keep and attempt.run in runs and attempt.token <= upto:
            _delete_folder(store, each.path)


def discard_iterations(table: str, *, keep: Container[str], unsettled: Container[int], tokens: range) -> None:
    """Removes iterations of claims with these ``tokens``, except those to ``keep`` and of ``unsettled`` claims."""
    store = open_folder(table)
    for each in _list_files(store, ITERATIONS, deep=False):
        attempt = _parse_attempt(each.base_name)
        if attempt is None or attempt.name in keep:
            continue
        if attempt.token in tokens and attempt.token not in unsettled:
            _delete_folder(store, each.path)


def _parse_attempt(folder: str) -> StagingAttempt | None:
    """The attempt that a folder is named by, as ``<run>.<token>.<number>``; None for another folder."""
    run, *numbers = folder.rsplit(".", 2)
    if len(numbers) < len(("token", "attempt")) or not all(map(str.isdecimal, numbers)):
        return None
    token, number = map(int, numbers)
    return StagingAttempt(run, token, number)


def _move_file(store: FileSystem, source: str, target: str) -> None:
    from pyarrow.fs import FileType

    try:
        store.move(source, target)
    except OSError:
        if store.get_file_info(target).type is not FileType.File:
            raise


def _delete_folder(store: FileSystem, folder: str) -> None:
    """Removes a folder; what cannot be removed is left to Delta's ``VACUUM``."""
    with contextlib.suppress(OSError):
        store.delete_dir(folder)


def open_folder(table: str) -> FileSystem:
    """The table's folder as a file system, in which paths are relative to the table."""
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    local = local_path(table)
    store, root = open_store(table) if local is None else (LocalFileSystem(), local)
    return SubTreeFileSystem(root, store)


def _list_files(store: FileSystem, folder: str, *, deep: bool = True) -> list[FileInfo]:
    from pyarrow.fs import FileSelector

    return list(store.get_file_info(FileSelector(folder, allow_not_found=True, recursive=deep)))


def _is_data(path: str) -> bool:
    """Whether it is a data file that Spark's job has published.

    Hidden folders hold files of tasks that were retried or overtaken.

    >>> _is_data("_day=1/part-0.parquet"), _is_data("_temporary/0/day=1/part-0.parquet")
    (True, False)
    """
    *folders, name = path.split("/")
    hidden_folders = [each for each in folders if each.startswith(_HIDDEN_PREFIXES) and "=" not in each]
    return name.endswith(_DATA_SUFFIX) and not name.startswith(_HIDDEN_PREFIXES) and not hidden_folders


def _parse_folder_values(path: str, instants: Container[str]) -> dict[str, str | None]:
    """The values in the names of a file's folders, unescaped as Hive escapes them.

    >>> _parse_folder_values("run.1.1/day=2013-01-01/place=a%2Fb/part-0.parquet", ())
    {'day': '2013-01-01', 'place': 'a/b'}
    >>> _parse_folder_values("run.1.1/at=2013-01-01 06%3A00%3A00.5/part-0.parquet", {"at"})
    {'at': '2013-01-01T06:00:00.500000Z'}
    """
    pairs = [each.partition("=") for each in path.split("/")[1:-1]]
    values = {unquote(name): None if value == NULL_FOLDER else unquote(value) for name, _, value in pairs}
    return {name: _format_instant(text) if text and name in instants else text for name, text in values.items()}


def _format_instant(text: str) -> str:
    """An instant in a folder's name as Delta's log has it: with its zone, or readers would assume their own."""
    date, _, time = text.partition(" ")
    seconds, _, fraction = time.partition(".")
    return f"{date}T{seconds}.{fraction:0<6}Z"


@frozen
class IterationRows:
    """The files of an iteration, from its own log.

    Attributes:
        schema: The schema as Delta's JSON.
        layout: The columns that its folders are named by.
        rows: The number of rows, as far as statistics say.
        run_metadata: The stamp of the commit that published it.
    """

    schema: Mapping[str, Any]
    layout: tuple[str, ...]
    rows: int
    run_metadata: Mapping[str, Any]
    _folder: str
    _adds: tuple[Mapping[str, Any], ...]

    def adds(self) -> list[AddAction]:
        """The actions that add its files to the asset's table."""
        from deltalake.transaction import AddAction

        return [
            AddAction(
                f"{self._folder}/{unquote(each['path'])}",
                each["size"],
                each["partitionValues"],
                each["modificationTime"],
                data_change=True,
                stats=each["stats"],
            )
            for each in self._adds
        ]


def make_readable(
    table: str,
    attempt: StagingAttempt,
    files: Sequence[StagedFile],
    change: CommitRequest,
    *,
    schema: Schema,
    layout: Sequence[str],
) -> None:
    """Makes an attempt's staged files a table of their own, before its commit to the asset's.

    Raises:
        RunError: The folder cannot be written.
    """
    adds = [_relocate_file(file, attempt.folder).add(layout) for file in files]
    request = CommitRequest(
        change.owner, change.app, change.version, change.user_metadata, adds, schema=schema, metrics=change.metrics
    )
    create(f"{table.rstrip('/')}/{attempt.folder}", request, layout=layout)


def iteration_rows(table: str, name: str) -> IterationRows | None:
    """The iteration of that name; None where it is gone.

    Raises:
        SourceError: Its log cannot be read.
    """
    folder = iteration_folder(name, ROWS)
    path = f"{table.rstrip('/')}/{folder}"
    content = DeltaLog(path).read_content(0)
    if content is None:
        return None
    try:
        actions: list[dict[str, Any]] = [json.loads(line) for line in content.splitlines() if line.strip()]
        (metadata,) = (each["metaData"] for each in actions if "metaData" in each)
        stamp = next(json.loads(each["commitInfo"]["userMetadata"]) for each in actions if "commitInfo" in each)
        adds = tuple(each["add"] for each in actions if "add" in each)
        rows = sum(json.loads(each["stats"] or "{}").get("numRecords", 0) for each in adds)
        schema = json.loads(metadata["schemaString"])
        return IterationRows(schema, tuple(metadata["partitionColumns"]), rows, stamp, folder, adds)
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise SourceError(f"the log of the iteration at '{path}' is damaged: {error}") from error


def _relocate_file(file: StagedFile, folder: str) -> StagedFile:
    """The file with its path relative to that folder."""
    relative = file.path.removeprefix(f"{folder}/")
    return StagedFile(relative, file.size, file.modified, file.rows, file.partition, file.stats)
