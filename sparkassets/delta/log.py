"""The commits at the end of a Delta table's log, read as files: opening the table costs by its size, this by what came.

The files' form is the Delta protocol's: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from sparkassets.errors import SourceError
from sparkassets.files.reach import for_deltalake
from sparkassets.frozen import frozen


@frozen
class FileAction:
    """A data file that came into the table or left it, by an action that changed data; told apart by identity.

    Attributes:
        key: Path and deletion vector: the same for the add and the remove of one logical file.
        vector: Whether rows of it are deleted by a deletion vector.
        partition: Value as text (or None) by the column's physical name; None where the action does not tell.
        stats: The statistics, an empty mapping without any.
        size: Bytes; 0 where the action does not tell.
    """

    added: bool
    path: str
    key: str
    vector: bool
    partition: Mapping[str, str | None] | None
    stats: Mapping[str, Any]
    size: int = 0

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@frozen
class Commit:
    """One version of the table.

    Attributes:
        operation: As its writer called it, such as ``WRITE`` or ``OPTIMIZE``; empty when it did not say.
        files: Those that changed data, in the log's order.
        moved: Whether it moved rows to other files too, as ``OPTIMIZE`` does, which changes no data.
        protocol: Whether it changed what a reader must know.
        metadata: The table's new metadata, where the commit sets it.
        apps: Application id to the version of the transaction that the commit carries.
        told: The ``userMetadata`` of its writer; empty without any.
        parameters: Of the operation.
        timestamp: By its writer's clock, milliseconds since 1970.
        changes: The files that tell its change feed which rows it changed; without any, ``files`` do.
    """

    version: int
    operation: str
    files: tuple[FileAction, ...]
    moved: bool
    protocol: bool
    metadata: Mapping[str, Any] | None
    apps: Mapping[str, int] = field(default_factory=dict)
    told: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timestamp: int | None = None
    changes: tuple[FileAction, ...] = ()


class Files(Protocol):
    """The files of a table's log."""

    def token(self, name: str) -> str | None:
        """Changes when the file is another one; None when there is none."""

    def read(self, name: str) -> bytes | None:
        """The whole file; None when there is none."""

    def holds(self, place: str) -> bool:
        """Whether there is a file there, from the table's folder on."""

    def open(self, name: str) -> Any:  # noqa: ANN401  as pyarrow takes it, which has no types
        """The file, of which only what is asked for is read."""


class DeltaLog:
    """The log of the table at ``path``, an absolute local path or an object-store URI."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._files: Files = _StoreFiles(path) if "://" in path else _LocalFiles(path)

    def token(self, version: int) -> str | None:
        """Size and time of that version's commit file: equal only while it is the same table, not one made anew."""
        return self._files.token(_name(version))

    def after(self, version: int) -> list[Commit]:
        """The versions after that one, up to the first that the log does not hold.

        Raises:
            SourceError: A commit cannot be read.
        """
        commits: list[Commit] = []
        while (data := self._files.read(_name(version + len(commits) + 1))) is not None:
            commits.append(self.parsed(version + len(commits) + 1, data))
        return commits

    def content(self, version: int) -> bytes | None:
        """That version's commit as it stands in the log; None where the log does not hold it."""
        return self._files.read(_name(version))

    def holds(self, place: str) -> bool:
        """Whether a file is there, relative to the table's folder."""
        return self._files.holds(place)

    def told_back(self, version: int) -> Iterator[Mapping[str, Any]]:
        """What the commits up to a version say of themselves, each with its ``version``, newest first while there.

        deltalake's own history looks for the newest version once more when it has the commits, so that beside another
        writer all of them get the number of a later one.

        Raises:
            SourceError: A commit cannot be read.
        """
        while version >= 0 and (content := self.content(version)) is not None:
            yield {**self._info(version, content), "version": version}
            version -= 1

    def _info(self, version: int, content: bytes) -> Mapping[str, Any]:
        try:
            lines = (json.loads(line) for line in content.splitlines() if b'"commitInfo"' in line)
            return next((dict(line["commitInfo"]) for line in lines if "commitInfo" in line), {})
        except (ValueError, TypeError) as error:
            raise SourceError(f"version {version} of the Delta table at '{self.path}' is damaged: {error}") from error

    def checkpoint(self) -> int:
        """The version of the last checkpoint, -1 without one."""
        data = self._files.read("_last_checkpoint")
        try:
            return int(json.loads(data)["version"]) if data else -1
        except (ValueError, KeyError, TypeError):  # only a hint by the protocol: without it the log itself counts
            return -1

    def metadata(self, version: int) -> Mapping[str, Any] | None:
        """The table's metadata at a version, as an action has them; None where the log does not tell.

        Commits are read back to the last that sets them, or to a checkpoint, of which one column is.

        Raises:
            SourceError: A commit or a checkpoint cannot be read.
        """
        while version >= 0:
            if (found := self._checkpointed(version)) is not None:
                return found
            if (content := self.content(version)) is None:
                return None
            if b'"metaData"' in content and (found := self.parsed(version, content).metadata) is not None:
                return found
            version -= 1
        return None

    def _checkpointed(self, version: int) -> Mapping[str, Any] | None:
        """The metadata that a checkpoint of one file has; None where there is none of that version."""
        name = f"{version:020d}.checkpoint.parquet"
        if self._files.token(name) is None:
            return None
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with self._files.open(name) as file:
                column = parquet.read_table(file, columns=["metaData"]).column("metaData")
            found = column.drop_null().to_pylist()[-1]
        except (pa.ArrowException, LookupError, OSError) as error:
            raise SourceError(f"the checkpoint {version} of the table at '{self.path}' is damaged: {error}") from error
        return {**found, "configuration": dict(found["configuration"] or ())}

    def parsed(self, version: int, data: bytes) -> Commit:
        """The commit of a version by its content.

        Raises:
            SourceError: It is no commit.
        """
        files: list[FileAction] = []
        others: dict[str, list[Mapping[str, Any]]] = {}
        moved = False
        try:
            for line in data.splitlines():
                if not line.strip():
                    continue
                ((kind, action),) = json.loads(line).items()
                if kind not in {"add", "remove"}:
                    others.setdefault(kind, []).append(action)
                elif action.get("dataChange", True):
                    files.append(_file(kind, action))
                else:
                    moved = True
            info, metadata = (others.get(kind, [None])[-1] for kind in ("commitInfo", "metaData"))
            info = info or {}
            return Commit(
                version=version,
                operation=str(info.get("operation") or ""),
                files=tuple(files),
                moved=moved,
                protocol="protocol" in others,
                metadata=metadata,
                apps={str(each["appId"]): int(each["version"]) for each in others.get("txn", ())},
                told=str(info.get("userMetadata") or ""),
                parameters=info.get("operationParameters") or {},
                timestamp=info.get("timestamp"),
                changes=tuple(_file("cdc", each) for each in others.get("cdc", ())),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SourceError(f"version {version} of the Delta table at '{self.path}' is damaged: {error}") from error


class _LocalFiles:
    def __init__(self, path: str) -> None:
        self._path = path

    def token(self, name: str) -> str | None:
        try:
            stat = Path(self._path, "_delta_log", name).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return f"{stat.st_size}:{stat.st_mtime_ns}"

    def read(self, name: str) -> bytes | None:
        try:  # of every table at every start
            with open(f"{self._path}/_delta_log/{name}", "rb", buffering=0) as file:  # noqa: PTH123  at half pathlib's time
                return file.readall()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def holds(self, place: str) -> bool:
        return Path(self._path, place).is_file()

    def open(self, name: str) -> Any:  # noqa: ANN401
        return Path(self._path, "_delta_log", name).open("rb")


class _StoreFiles:
    def __init__(self, path: str) -> None:
        from deltalake.fs import DeltaStorageHandler

        self._store = DeltaStorageHandler(path, for_deltalake(path))

    def token(self, name: str) -> str | None:
        (info,) = self._store.get_file_info([f"_delta_log/{name}"])
        return f"{info.size}:{info.mtime_ns}" if info.is_file else None

    def holds(self, place: str) -> bool:
        (info,) = self._store.get_file_info([place])
        return bool(info.is_file)

    def open(self, name: str) -> Any:  # noqa: ANN401
        return self._store.open_input_file(f"_delta_log/{name}")

    def read(self, name: str) -> bytes | None:
        try:
            with self._store.open_input_file(f"_delta_log/{name}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None


def transactions(content: bytes) -> dict[str, int]:
    """Application id to version of the transactions that a commit carries; its many files are not parsed."""
    try:
        lines = (json.loads(line) for line in content.splitlines() if b'"txn"' in line)
        return {str(line["txn"]["appId"]): int(line["txn"]["version"]) for line in lines if "txn" in line}
    except (ValueError, KeyError, TypeError):
        return {}


def _name(version: int) -> str:
    return f"{version:020d}.json"


def _file(kind: str, action: Mapping[str, Any]) -> FileAction:
    vector = action.get("deletionVector") or {}
    mark = [vector.get(part) for part in ("storageType", "pathOrInlineDv", "offset")] if vector else []
    return FileAction(
        added=kind == "add",
        path=action["path"],
        key=json.dumps([action["path"], *mark]),
        vector=bool(mark),
        partition=action.get("partitionValues"),
        stats=json.loads(action.get("stats") or "{}"),
        size=int(action.get("size") or 0),
    )
