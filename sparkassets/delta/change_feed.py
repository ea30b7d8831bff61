"""Changes of a Delta table between two versions, from its log: its change feed, or added files.

Only the commits between and the metadata of one version are read, never the table's files: the cost is proportional
to the changes. The rules are those of Delta's own reader (`readChangeFeed`): the feed must be on in every version that
changed rows; the changes of a commit without change files are the files that it added and removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import unquote

from sparkassets.core.runs import ChangeAvailability, TablePosition
from sparkassets.delta.features import keeps_feed
from sparkassets.delta.log import DeltaLog, FileAction, LogCommit
from sparkassets.files.object_stores import local_path
from sparkassets.frozen import frozen


@frozen
class FeedRange:
    """Consecutive versions that are read through the change feed.

    Attributes:
        replaced: Whether each replaced files, so that Delta reports all their rows as deleted and inserted.
    """

    first: int
    last: int
    replaced: bool


@frozen
class TableChanges:
    """What changed between two versions of a table.

    Attributes:
        availability: Whether all changes can be read; if not, the other attributes have their defaults.
        feed_ranges: Versions to read through the change feed, ascending.
        appended_commits: Commits made while the feed was off that only added files, whose rows are the changes.
        only_inserts: Whether no row was updated or deleted.
        files: The files that hold the changes.
    """

    availability: ChangeAvailability = ChangeAvailability()
    feed_ranges: tuple[FeedRange, ...] = ()
    appended_commits: tuple[LogCommit, ...] = ()
    only_inserts: bool = True
    files: tuple[FileAction, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no row changed."""
        return not self.feed_ranges and not self.appended_commits


def table_changes(path: str, position: TablePosition, version: int) -> TableChanges:
    """Changes of the table at ``path`` after a position (exclusive), up to and including a version.

    Raises:
        SourceError: The log cannot be read.
    """
    log = DeltaLog(path)
    commits: list[LogCommit] = []
    for number in range(position.version + 1, version + 1):
        content = log.read_content(number)
        if content is None:
            return _lost_changes(f"its log no longer has version {number}")
        commits.append(log.parse_commit(number, content))
    walk = _CommitWalk(position, commits)
    if not any(commit.changes_rows or commit.metadata is not None for commit in commits):
        return TableChanges()
    metadata_version = walk.metadata_version(version)
    metadata = log.read_metadata(metadata_version)
    if metadata is None:
        return _lost_changes(f"its log no longer has the metadata of version {metadata_version}")
    walk.begin(metadata)
    changes = walk.find_changes()
    missing_version = _find_missing_version(log, commits) if changes.availability.kind == "available" else None
    return changes if missing_version is None else _lost_changes(f"files of version {missing_version} are gone")


@dataclass(slots=True, eq=False, repr=False)
class _CommitWalk:
    """Sorts commits into feed ranges and appends, tracking the table's metadata before each of them."""

    position: TablePosition
    commits: Sequence[LogCommit]
    properties: Mapping[str, Any] = field(default_factory=dict)
    fields: Sequence[Mapping[str, Any]] = ()
    feed_ranges: list[FeedRange] = field(default_factory=list)
    appended_commits: list[LogCommit] = field(default_factory=list)

    def metadata_version(self, version: int) -> int:
        """The version at which to read the metadata that held before the first commit.

        Without a metadata change in between that is the newest version: its metadata are still in the log, when older
        entries are gone.
        """
        return version if all(commit.metadata is None for commit in self.commits) else self.position.version

    def begin(self, metadata: Mapping[str, Any]) -> None:
        """Starts from the table's metadata at a version."""
        self.fields, self.properties = _parse_fields(metadata), metadata.get("configuration") or {}

    def find_changes(self) -> TableChanges:
        """The changes of all commits; without any, and with the reason, if one of them cannot be read.

        A commit that changed rows while the feed was off leaves them unrecorded, and lost if the feed is on again.
        """
        unrecorded: LogCommit | None = None
        for commit in self.commits:
            if commit.metadata is not None and (failure := self._apply_metadata(commit, commit.metadata)) is not None:
                return failure
            if commit.changes_rows and not self._add_rows(commit):
                unrecorded = unrecorded or commit
        if unrecorded is None:
            return TableChanges(
                ChangeAvailability(),
                tuple(self.feed_ranges),
                tuple(self.appended_commits),
                only_inserts=all(map(_only_adds, self.commits)),
                files=tuple(chain.from_iterable(map(_change_files, self.commits))),
            )
        described = f"version {unrecorded.version}" + (f" ({unrecorded.operation})" if unrecorded.operation else "")
        if keeps_feed(self.properties):
            return _lost_changes(f"{described} changed rows before its change feed was on")
        return TableChanges(ChangeAvailability("unrecorded", f"{described} changed or removed rows"))

    def _add_rows(self, commit: LogCommit) -> bool:
        """Adds a commit that changed rows and returns True; False if nothing says which rows it changed."""
        if keeps_feed(self.properties):
            self._add_to_feed(commit)
        elif _only_adds(commit):
            self.appended_commits.append(commit)
        else:
            return False
        return True

    def _apply_metadata(self, commit: LogCommit, metadata: Mapping[str, Any]) -> TableChanges | None:
        """Applies new metadata; returns the finding if changes across it cannot be read, else None."""
        if metadata["id"] != self.position.table_id:
            return _lost_changes(f"the table was replaced by another in version {commit.version}")
        if not _keeps_columns(self.fields, _parse_fields(metadata)):
            return _lost_changes(f"its columns changed in version {commit.version}")
        self.begin(metadata)
        return None

    def _add_to_feed(self, commit: LogCommit) -> None:
        """Adds a commit to the last feed range, or begins a new one.

        A range ends where the feed was off, and where commits that replace files meet others: their rows need different
        care.
        """
        replaced = not commit.changes and len({file.added for file in commit.files}) > 1
        last = self.feed_ranges[-1] if self.feed_ranges else None
        if last is not None and last.replaced == replaced and not self._was_off_between(last.last, commit.version):
            self.feed_ranges[-1] = FeedRange(last.first, commit.version, replaced)
        else:
            self.feed_ranges.append(FeedRange(commit.version, commit.version, replaced))

    def _was_off_between(self, first: int, last: int) -> bool:
        """Whether the feed may have been off between two versions: some commit between them changed the metadata."""
        return any(first < commit.version < last and commit.metadata is not None for commit in self.commits)


def _lost_changes(why: str) -> TableChanges:
    return TableChanges(ChangeAvailability("lost", why))


def _only_adds(commit: LogCommit) -> bool:
    return not commit.changes and all(file.added for file in commit.files)


def _keeps_columns(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> bool:
    """Whether rows from before fit the new columns: all old columns are unchanged, and new ones are NULL in them."""
    new_columns = {each["name"].lower(): (each["type"], _physical_name(each)) for each in after}
    return all(new_columns.get(each["name"].lower()) == (each["type"], _physical_name(each)) for each in before)


def _physical_name(column: Mapping[str, Any]) -> object:
    """The column's name in the files."""
    return (column.get("metadata") or {}).get("delta.columnMapping.physicalName")


def _parse_fields(metadata: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    fields: Sequence[Mapping[str, Any]] = json.loads(metadata["schemaString"])["fields"]
    return fields


def _find_missing_version(log: DeltaLog, commits: Sequence[LogCommit]) -> int | None:
    """The first version whose changes need a file that is gone.

    On a disk every file is checked. An object store would take a request for each, so only files of the first version
    that are not live are checked there: VACUUM removes them before those of later versions.
    """
    if local_path(log.path) is not None:
        return next((commit.version for commit in commits if not _all_exist(log, _change_files(commit))), None)
    first = next((commit for commit in commits if commit.changes or not _only_adds(commit)), None)
    if first is None:
        return None
    needed = first.changes or [file for file in first.files if not file.added]
    return None if _all_exist(log, needed) else first.version


def _all_exist(log: DeltaLog, files: Iterable[FileAction]) -> bool:
    """Whether all files within the table's folder exist."""
    own_paths = (file.path for file in files if not file.path.startswith(("/", "file:")) and "://" not in file.path)
    return all(log.holds(unquote(path)) for path in own_paths)


def _change_files(commit: LogCommit) -> Sequence[FileAction]:
    """The files with a commit's changes."""
    return commit.changes or commit.files
