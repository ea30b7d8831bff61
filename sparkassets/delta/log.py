"""Reads the commits at the end of a Delta table's log: opening the table costs by its size, this by what is new.

The format is Delta's protocol: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from sparkassets.digests import blake2b
from sparkassets.errors import SourceError
from sparkassets.files.object_stores import deltalake_options
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from deltalake._internal import DeltaFileSystemHandler

_LOG: Final = "_delta_log"
_CHECKPOINT_HINT: Final = "_last_checkpoint"

_NEARBY: Final = 64
"""Versions around a requested one whose entries in an object store may be requested, too."""

_ONE_REQUEST_BYTES: Final = 2**26
"""How much of an entry in an object store is read in one request; a larger one takes two."""

_TOKEN_BYTES: Final = 4096
"""The beginning of an entry, which identifies it: when and by whom it was made, or its files' names."""

_NO_SUCH_PART: Final = ("Range Not Satisfiable", "range was invalid")
"""The error for a range of an empty file."""


@frozen
class FileAction:
    """A data file added or removed by an action that changed data; compared by identity.

    Attributes:
        key: Path and deletion vector: the same for the add and the remove of one logical file.
        has_deletion_vector: Whether rows of it are deleted by a deletion vector.
        partition: Value as text (or None) by the column's physical name; None where the action lacks it.
        stats: The statistics, an empty mapping without any.
        size: Bytes; 0 where the action lacks it.
    """

    added: bool
    path: str
    key: str
    has_deletion_vector: bool
    partition: Mapping[str, str | None] | None
    stats: Mapping[str, Any]
    size: int = 0

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@frozen
class LogCommit:
    """One version of the table.

    Attributes:
        operation: The writer's name for it, such as ``WRITE`` or ``OPTIMIZE``; may be empty.
        files: The files that changed data, in the log's order.
        moves_rows: Whether it also moved rows to other files, as ``OPTIMIZE`` does, which changes no data.
        changes_protocol: Whether it changed the protocol for readers.
        metadata: The table's new metadata, where the commit sets it.
        transactions: Transaction versions in the commit, by application id.
        user_metadata: The ``userMetadata`` of its writer; empty without any.
        parameters: The operation's.
        timestamp: By its writer's clock, milliseconds since 1970.
        changes: Its files for the change feed; without any, ``files`` serve.
    """

    version: int
    operation: str
    files: tuple[FileAction, ...]
    moves_rows: bool
    changes_protocol: bool
    metadata: Mapping[str, Any] | None
    transactions: Mapping[str, int] = field(default_factory=dict)
    user_metadata: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timestamp: int | None = None
    changes: tuple[FileAction, ...] = ()

    @property
    def changes_rows(self) -> bool:
        """Whether it added, removed or changed any rows."""
        return bool(self.files or self.changes)


class LogFiles(Protocol):
    """The files of a table's log."""

    def token(self, name: str) -> str | None:
        """Identifies the content of a file; None when there is none."""

    def read_bytes(self, name: str) -> bytes | None:
        """The whole file; None when there is none."""

    def holds(self, place: str) -> bool:
        """Whether a file exists, by its path relative to the table."""

    def open(self, name: str) -> Any:  # noqa: ANN401  as pyarrow takes it, which has no types
        """The file for random access."""


class DeltaLog:
    """The log of a table.

    Args:
        path: Its absolute local path, or its URI in an object store.
        near: A version that will be requested; entries near it then take one request each in an object store.
    """

    def __init__(self, path: str, *, near: int = 0) -> None:
        self.path = path
        self._files: LogFiles = _StoreLogFiles(path, near) if "://" in path else _LocalLogFiles(path)

    def token(self, version: int) -> str | None:
        """Identifies a version's commit file: equal only while it is the same table, not a re-created one.

        On a disk its size and time, in an object store a digest of its beginning.
        """
        return self._files.token(_entry_name(version))

    def read_after(self, version: int) -> list[LogCommit]:
        """The versions after that one, up to the first missing one.

        Raises:
            SourceError: A commit cannot be read.
        """
        commits: list[LogCommit] = []
        while (data := self._files.read_bytes(_entry_name(version + len(commits) + 1))) is not None:
            commits.append(self.parse_commit(version + len(commits) + 1, data))
        return commits

    def read_content(self, version: int) -> bytes | None:
        """The raw commit of a version; None where the log lacks it."""
        return self._files.read_bytes(_entry_name(version))

    def ends_at(self, version: int) -> bool:
        """Whether the log has a version and none after it."""
        # the later one first: clean-up deletes the earlier one first, so no reader that slept takes this for the end
        later, own = (f"{_LOG}/{_entry_name(each)}" for each in (version + 1, version))
        return not self.holds(later) and self.holds(own)

    def holds(self, place: str) -> bool:
        """Whether a file is there, relative to the table's folder."""
        return self._files.holds(place)

    def iterate_commit_info(self, version: int) -> Iterator[Mapping[str, Any]]:
        """The ``commitInfo`` of the commits up to a version, each with its ``version``, newest first.

        deltalake's own history looks up the newest version again after reading the commits, so that beside another
        writer all of them get too high a number.

        Raises:
            SourceError: A commit cannot be read.
        """
        while version >= 0 and (content := self.read_content(version)) is not None:
            yield {**self._parse_commit_info(version, content), "version": version}
            version -= 1

    def _parse_commit_info(self, version: int, content: bytes) -> Mapping[str, Any]:
        try:
            lines = (json.loads(line) for line in content.splitlines() if b'"commitInfo"' in line)
            return next((dict(line["commitInfo"]) for line in lines if "commitInfo" in line), {})
        except (ValueError, TypeError) as error:
            raise SourceError(f"version {version} of the Delta table at '{self.path}' is damaged: {error}") from error

    def checkpoint(self) -> int:
        """The version of the last checkpoint, -1 without one."""
        data = self._files.read_bytes(_CHECKPOINT_HINT)
        try:
            return int(json.loads(data)["version"]) if data else -1
        except (ValueError, KeyError, TypeError):  # only a hint by the protocol: without it the log itself counts
            return -1

    def read_metadata(self, version: int) -> Mapping[str, Any] | None:
        """The table's metadata at a version, as in its action; None where the log lacks it.

        Reads commits back to the last that sets it, or to a checkpoint, of which it reads one column.

        Raises:
            SourceError: A commit or a checkpoint cannot be read.
        """
        while version >= 0:
            if (metadata := self._read_checkpoint_metadata(version)) is not None:
                return metadata
            if (content := self.read_content(version)) is None:
                return None
            if b'"metaData"' in content and (metadata := self.parse_commit(version, content).metadata) is not None:
                return metadata
            version -= 1
        return None

    def _read_checkpoint_metadata(self, version: int) -> Mapping[str, Any] | None:
        """The metadata in a single-file checkpoint; None where there is none of that version."""
        name = f"{version:020d}.checkpoint.parquet"
        if not self._files.holds(f"{_LOG}/{name}"):
            return None
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with self._files.open(name) as file:
                column = parquet.read_table(file, columns=["metaData"]).column("metaData")
            metadata = column.drop_null().to_pylist()[-1]
        except (pa.ArrowException, LookupError, OSError) as error:
            raise SourceError(f"the checkpoint {version} of the table at '{self.path}' is damaged: {error}") from error
        return {**metadata, "configuration": dict(metadata["configuration"] or ())}

    def parse_commit(self, version: int, data: bytes) -> LogCommit:
        """Parses the content of a version's commit.

        Raises:
            SourceError: It is no commit.
        """
        files: list[FileAction] = []
        other_actions: dict[str, list[Mapping[str, Any]]] = {}
        moves_rows = False
        try:
            for line in data.splitlines():
                if not line.strip():
                    continue
                ((kind, action),) = json.loads(line).items()
                if kind not in {"add", "remove"}:
                    other_actions.setdefault(kind, []).append(action)
                elif action.get("dataChange", True):
                    files.append(_parse_file(kind, action))
                else:
                    moves_rows = True
            info, metadata = (other_actions.get(kind, [None])[-1] for kind in ("commitInfo", "metaData"))
            info = info or {}
            return LogCommit(
                version=version,
                operation=str(info.get("operation") or ""),
                files=tuple(files),
                moves_rows=moves_rows,
                changes_protocol="protocol" in other_actions,
                metadata=metadata,
                transactions={str(each["appId"]): int(each["version"]) for each in other_actions.get("txn", ())},
                user_metadata=str(info.get("userMetadata") or ""),
                parameters=info.get("operationParameters") or {},
                timestamp=info.get("timestamp"),
                changes=tuple(_parse_file("cdc", each) for each in other_actions.get("cdc", ())),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SourceError(f"version {version} of the Delta table at '{self.path}' is damaged: {error}") from error


class _LocalLogFiles:
    def __init__(self, path: str) -> None:
        self._path = path

    def token(self, name: str) -> str | None:
        try:
            stat = Path(self._path, _LOG, name).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return f"{stat.st_size}:{stat.st_mtime_ns}"

    def read_bytes(self, name: str) -> bytes | None:
        try:  # of every table at every start
            with open(f"{self._path}/{_LOG}/{name}", "rb", buffering=0) as file:  # noqa: PTH123  at half pathlib's time
                return file.readall()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def holds(self, place: str) -> bool:
        return Path(self._path, place).is_file()

    def open(self, name: str) -> Any:  # noqa: ANN401
        return Path(self._path, _LOG, name).open("rb")


class _StoreLogFiles:
    """Log files in an object store, where requests are slow: entries are requested without checking first.

    deltalake requests a file's size unless it gets one; a store truncates a range beyond the end.
    """

    def __init__(self, path: str, near: int) -> None:
        from deltalake._internal import DeltaFileSystemHandler

        self._path = path
        names = [_CHECKPOINT_HINT, *map(_entry_name, range(max(0, near - _NEARBY), near + _NEARBY))]
        sizes = {f"{_LOG}/{name}": _ONE_REQUEST_BYTES for name in names}
        self._store = DeltaFileSystemHandler(path, deltalake_options(path), sizes)

    def token(self, name: str) -> str | None:
        start = self._read_start(name, _TOKEN_BYTES)
        return None if start is None else f"start:{blake2b(start, digest_size=16).hexdigest()}"

    def read_bytes(self, name: str) -> bytes | None:
        return self._read_start(name, _ONE_REQUEST_BYTES)

    def holds(self, place: str) -> bool:
        try:
            self._sized_store.open_input_file(place)
        except FileNotFoundError:
            return False
        return True

    def open(self, name: str) -> Any:  # noqa: ANN401
        from pyarrow import PythonFile

        return PythonFile(self._sized_store.open_input_file(f"{_LOG}/{name}"), mode="r")

    def _read_start(self, name: str, most: int) -> bytes | None:
        """The beginning of a file; all of a small one."""
        try:
            start = bytes(self._store.open_input_file(f"{_LOG}/{name}").read(most))
            return start if len(start) < _ONE_REQUEST_BYTES else self._read_whole(name)
        except FileNotFoundError:
            return None
        except OSError as error:
            if not any(phrase in str(error) for phrase in _NO_SUCH_PART):
                raise
            return self._read_whole(name)

    def _read_whole(self, name: str) -> bytes:
        file = self._sized_store.open_input_file(f"{_LOG}/{name}")
        return bytes(file.read(file.size()))

    @cached_property
    def _sized_store(self) -> DeltaFileSystemHandler:
        """The same store, which requests sizes of files."""
        from deltalake._internal import DeltaFileSystemHandler

        return DeltaFileSystemHandler(self._path, deltalake_options(self._path))


def parse_transactions(content: bytes) -> dict[str, int]:
    """Transaction versions in a commit, by application id; its many files are not parsed."""
    try:
        lines = (json.loads(line) for line in content.splitlines() if b'"txn"' in line)
        return {str(line["txn"]["appId"]): int(line["txn"]["version"]) for line in lines if "txn" in line}
    except (ValueError, KeyError, TypeError):
        return {}


def _entry_name(version: int) -> str:
    return f"{version:020d}.json"


def _parse_file(kind: str, action: Mapping[str, Any]) -> FileAction:
    """An add or remove action as a `FileAction`; its key joins the path with what identifies the deletion vector."""
    vector = action.get("deletionVector") or {}
    vector_key = [vector.get(part) for part in ("storageType", "pathOrInlineDv", "offset")] if vector else []
    return FileAction(
        added=kind == "add",
        path=action["path"],
        key=json.dumps([action["path"], *vector_key]),
        has_deletion_vector=bool(vector_key),
        partition=action.get("partitionValues"),
        stats=json.loads(action.get("stats") or "{}"),
        size=int(action.get("size") or 0),
    )
