"""The partitions of a Delta table's rows: all of them, and those changed or removed between two versions.

Exact to the partition: by the log where a file is in one physical partition or its statistics lie in one; the
other files are read (`sparkassets.delta.rows`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.phrases import escape_unwritable
from sparkassets.delta.file_parts import Cell, FilePart, FileParts
from sparkassets.delta.live_files import flat_adds
from sparkassets.delta.log import FileAction, LogCommit
from sparkassets.delta.rows import DataFiles, Rows
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyarrow import Array

_DELETING_OPERATIONS = frozenset({"DELETE"})
"""Operations after which a partition with an unchanged number of rows has the same rows."""
_VECTOR_OPERATIONS = frozenset({"DELETE", "UPDATE", "MERGE"})
"""Operations after which a file has the same rows in a partition if its deletion vector removed none there."""
_MOST_FILES_PER_READ = 64
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:/+")


@frozen
class PartitionChanges:
    """The effect on rows between two versions.

    Attributes:
        changed: Partitions with changed rows that still hold some.
        removed: Partitions that held rows and hold none now.
        unknown_files: Removed files about which too little is known: all that they may have held counts as changed.
        rewritten_files: Files of several partitions with unknown changed rows: all of their partitions count.
    """

    changed: PartitionSet = NOTHING
    removed: PartitionSet = NOTHING
    unknown_files: int = 0
    rewritten_files: int = 0

    @property
    def is_imprecise(self) -> bool:
        """Whether all partitions of rewritten files count, for want of a record of which rows changed."""
        return bool(self.rewritten_files) and not self.unknown_files


@dataclass(slots=True)
class TableParts:
    """Determines the partitions of one table's rows: by its log where that says, else by reading files.

    Attributes:
        source: The asset's name, for messages.
        path: Absolute local path or object-store URI.
        open_version: Opens the table at a version, None for the newest.
        files_read: How many data files were read so far.
        uncertainty_reason: Why rows deleted by deletion vectors are unknown; a partition whose rows are all deleted
            may then still count as held.
    """

    source: str
    path: str
    file_parts: FileParts
    open_version: Callable[[int | None], DeltaTable]
    files_read: int = 0
    uncertainty_reason: str = ""
    _versions: dict[int, DeltaTable] = field(default_factory=dict)

    def find_partitions(self, table: DeltaTable) -> PartitionSet:
        """Every partition with a row in the table.

        Raises:
            SourceError: A file does not tell, and cannot be read.
        """
        rows = self._rows(self.file_parts.read_live(flat_adds(table)), self._read_kept_rows(table))
        return PartitionSet.from_slots(cell for path in rows for cell in self._check_readable(path, rows[path]))

    def ignored_values(self, version: int) -> Mapping[str, set[str]]:
        """Values in that version that name no partition, by column.

        Raises:
            SourceError: A file does not tell, and cannot be read.
        """
        file_parts = FileParts.from_columns(self.file_parts.columns, self.file_parts.partitioning)
        fresh_parts = TableParts(self.source, self.path, file_parts, self.open_version)
        live = file_parts.read_live(flat_adds(self._table_at(version)))
        unread = {path: part for path, part in live.items() if not file_parts.notes_all(part)}
        rows = fresh_parts._rows(unread, self._read_kept_rows(self._table_at(version)) if unread else {})
        for path, each in rows.items():
            fresh_parts._check_readable(path, each)
        return file_parts.ignored_values

    def find_lost(self, parts: PartitionSet, version: int) -> PartitionSet:
        """The subset of ``parts`` without any row in that version.

        Files whose partitions the log does not tell are read a few at a time, and only until every partition has a row.

        Raises:
            SourceError: A file does not tell, and cannot be read.
        """
        table = self._table_at(version)
        kept = self._read_kept_rows(table)
        unread: dict[str, FilePart] = {}
        cells: list[Cell] = []
        for path, part in self.file_parts.read_live(flat_adds(table)).items():
            known_rows = _known_rows(part, kept.get(path))
            if known_rows is None:
                unread[path] = part
            else:
                cells += known_rows
        missing = parts - PartitionSet.from_slots(cells)
        while missing:
            candidates = [path for path, part in unread.items() if self.file_parts.within(part, missing)]
            if not candidates:
                break
            rows = self._rows({path: unread.pop(path) for path in candidates[:_MOST_FILES_PER_READ]}, kept)
            missing = missing - PartitionSet.from_slots(
                cell for path in rows for cell in self._check_readable(path, rows[path])
            )
        return missing

    def find_changes(
        self, commits: Sequence[LogCommit], *, seen_version: int, version: int, coverage: PartitionSet
    ) -> PartitionChanges:
        """The net effect of the commits after version ``seen_version``, up to ``version``.

        Rows that came and went meanwhile do not count. ``coverage`` is what was held at ``seen_version``, for removed
        files about which nothing is known any more; it may be empty if unknown.

        Raises:
            SourceError: A file does not tell, and cannot be read.
        """
        removed_files, added_files, has_passing_files = _net_files(commits)
        has_moved_rows = any(commit.moves_rows for commit in commits)
        after = self._rows_of_added(added_files, version)
        removed_rows, unknown_keys = _separate_unreadable(self._rows_of_removed(removed_files, commits, seen_version))
        added_rows, unread_keys = _separate_unreadable(after)
        if unread_keys and not has_moved_rows:
            self._check_readable(added_files[unread_keys[0]].path, after[unread_keys[0]])
        before_partitions, after_partitions = _cells(removed_rows.values()), _cells(added_rows.values())
        if unread_keys:  # these were compacted and vacuumed since they came
            after_partitions = after_partitions | self.find_partitions(self._table_at(version))
        if unknown_keys:
            unknown_files = [removed_files[key] for key in unknown_keys]
            before_partitions = before_partitions | self._find_possible(unknown_files, seen_version, version, coverage)
        changed = before_partitions | after_partitions
        if not (has_moved_rows or has_passing_files or unknown_keys or unread_keys):
            changed = _find_touched(commits, (removed_files, removed_rows), (added_files, added_rows))
        changed, unknown = changed & self._read_feed_partitions(commits), len(unknown_keys) + len(unread_keys)
        if not removed_files:
            return PartitionChanges(changed, unknown_files=unknown)
        rewritten = _count_rewritten(commits, removed_rows)
        if not has_moved_rows:
            empty = self.find_lost(before_partitions - after_partitions, version)
            return PartitionChanges(changed - empty, empty, unknown, rewritten)
        empty = self.find_lost(before_partitions | after_partitions, version)
        return PartitionChanges(changed - empty, self._held_before(empty, seen_version, coverage), unknown, rewritten)

    def _find_possible(
        self, files: Sequence[FileAction], seen_version: int, version: int, coverage: PartitionSet
    ) -> PartitionSet:
        """The partitions that removed files may have held, where nothing is known about their rows."""
        parts_before = self._file_parts_at(seen_version)
        held = coverage or self.find_partitions(self._table_at(version))
        parts = (parts_before.get(file.path, self.file_parts.unknown_part) for file in files)
        return PartitionSet.union([self.file_parts.within(part, held) for part in parts])

    def _read_feed_partitions(self, commits: Sequence[LogCommit]) -> PartitionSet:
        """The partitions of rows in the change feed; everything where commits have no feed, or files of it are gone."""
        if not any(commit.changes for commit in commits):
            return EVERYTHING
        files = [file for commit in commits for file in commit.changes or commit.files]
        rows = self._rows_by_key({file.key: file for file in files}, {file.key: self._part(file) for file in files}, {})
        if any(isinstance(each, OSError) for each in rows.values()):  # one was vacuumed
            return EVERYTHING
        return _cells(_separate_unreadable(rows)[0].values())

    def _held_before(self, parts: PartitionSet, seen_version: int, coverage: PartitionSet) -> PartitionSet:
        """The subset of ``parts`` that had rows at version ``seen_version``.

        Where files were moved (`OPTIMIZE`), a removed file may hold newer rows, so it does not prove that.
        """
        if not parts or coverage:
            return parts & coverage
        try:
            return parts - self.find_lost(parts, seen_version)
        except SourceError:  # the log, or a file, is not there any more
            return NOTHING

    def _rows_of_removed(
        self, removed: Mapping[str, FileAction], commits: Sequence[LogCommit], seen_version: int
    ) -> dict[str, Rows | OSError]:
        """The rows of removed files by their keys, or the error of a file that cannot be read any more.

        Remove actions often lack statistics; they are completed from the add action, or from the log at that version.
        """
        added_parts = {file.path: self._part(file) for commit in commits for file in commit.files if file.added}
        parts = _complete_parts(removed, {key: self._part(file) for key, file in removed.items()}, added_parts)
        if any(not parts[key].is_known and file.partition is None for key, file in removed.items()):
            parts = _complete_parts(removed, parts, self._file_parts_at(seen_version))
        rows = self._rows_by_key(removed, parts, self._kept_rows_at(seen_version, removed))
        _, unreadable_keys = _separate_unreadable(rows)
        if unreadable_keys:
            completed = _complete_parts(removed, parts, self._file_parts_at(seen_version))
            rows |= {key: _known_rows(completed[key], None) or rows[key] for key in unreadable_keys}
        return rows

    def _rows_of_added(self, added: Mapping[str, FileAction], version: int) -> dict[str, Rows | OSError]:
        """The rows of added files by their keys, or the error of a file that was vacuumed meanwhile."""
        parts = {key: self._part(file) for key, file in added.items()}
        return self._rows_by_key(added, parts, self._kept_rows_at(version, added))

    def _kept_rows_at(self, version: int, files: Mapping[str, FileAction]) -> Mapping[str, Array]:
        """The rows that deletion vectors of these files leave at a version; empty where the log lacks that version.

        More rows then count as removed than were.
        """
        if not any(file.has_deletion_vector for file in files.values()):
            return {}
        with suppress(SourceError):
            return self._read_kept_rows(self._table_at(version))
        return {}

    def _rows_by_key(
        self, files: Mapping[str, FileAction], parts: Mapping[str, FilePart], kept: Mapping[str, Array]
    ) -> dict[str, Rows | OSError]:
        """The rows of each file by its key, or the error of reading it.

        Where deleted rows of a file are unknown, its partitions are known and their numbers of rows are not (None).
        """
        without_vector = {files[key].path: part for key, part in parts.items() if not files[key].has_deletion_vector}
        with_vector = {files[key].path: part for key, part in parts.items() if files[key].has_deletion_vector}
        rows = self._rows(without_vector, {})
        remaining_rows = {
            path: each if path in kept or isinstance(each, OSError) else dict.fromkeys(each)  # some of them
            for path, each in self._rows(with_vector, kept).items()
        }
        return {key: (remaining_rows if file.has_deletion_vector else rows)[file.path] for key, file in files.items()}

    def _rows(self, files: Mapping[str, FilePart], kept: Mapping[str, Array]) -> dict[str, Rows | OSError]:
        """The rows of files by path, by the log or by reading the file; the error where that fails."""
        rows_by_path: dict[str, Rows | OSError] = {}
        unknown: dict[str, FilePart] = {}
        for path, part in files.items():
            known_rows = _known_rows(part, kept.get(path))
            if known_rows is None:
                unknown[path] = part
            else:
                rows_by_path[path] = known_rows
        if unknown:
            self.files_read += len(unknown)
            rows_by_path |= zip(
                unknown, DataFiles(self.path, self.file_parts).read_rows(unknown, kept=kept), strict=True
            )
        return rows_by_path

    def _check_readable(self, path: str, rows: Rows | OSError) -> Rows:
        """The rows of a file.

        Raises:
            SourceError: The file could not be read, and the log says too little of it.
        """
        if not isinstance(rows, OSError):
            return rows
        reason = str(rows.strerror or rows).partition("\n")[0]
        dimensions, columns = self.file_parts.dimension_names, self.file_parts.columns.quoted_names
        pronoun = "it" if len([*self.file_parts.columns]) == 1 else "them"
        raise SourceError(
            f"the {dimensions} in '{escape_unwritable(path)}' of the source '{self.source}' are in neither its log "
            f"nor a readable file: {reason}",
            hint=f"collect statistics of {columns} (delta.dataSkippingStatsColumns), or partition the table by "
            f"{pronoun}",
        )

    def _part(self, file: FileAction) -> FilePart:
        return self.file_parts.read_action(file.partition or {}, file.stats)

    def _read_kept_rows(self, table: DeltaTable) -> Mapping[str, Array]:
        """Which rows are left in files with a deletion vector, by path.

        Empty, with the reason kept in `uncertainty_reason`, where deltalake cannot tell.
        """
        try:
            return kept_rows(table)
        except SourceError as error:
            self.uncertainty_reason = error.args[0]
            return {}

    def _file_parts_at(self, seen_version: int) -> dict[str, FilePart]:
        """Path and partitions of every file of the seen version; empty when the log lacks it."""
        try:
            return self.file_parts.read_live(flat_adds(self._table_at(seen_version)))
        except SourceError:
            return {}

    def _table_at(self, version: int) -> DeltaTable:
        if version not in self._versions:
            self._versions[version] = self.open_version(version)
        return self._versions[version]


def kept_rows(table: DeltaTable) -> dict[str, Array]:
    """Which rows are left in each live file with a deletion vector, by its path in the log.

    Raises:
        SourceError: deltalake cannot tell them.
    """
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return {}
    paths = {_path_without_scheme(table, path): path for path in flat_adds(table).column("path").to_pylist()}
    masks: dict[str, Array] = {}
    try:
        for vectors in table.deletion_vectors():
            batch = pa.record_batch(vectors)
            for uri, rows in zip(batch.column("filepath").to_pylist(), batch.column("selection_vector"), strict=True):
                masks[paths[_SCHEME.sub("", uri)]] = rows.values
    except (DeltaError, KeyError) as error:
        raise SourceError(f"deltalake cannot read deletion vectors: {error}") from error
    return masks


def _path_without_scheme(table: DeltaTable, path: str) -> str:
    """The place of a live file without scheme: a clone has the files of its source as URIs, in short ``file:/``."""
    return _SCHEME.sub("", path if _SCHEME.match(path) else table.table_uri + path)


def _net_files(commits: Sequence[LogCommit]) -> tuple[dict[str, FileAction], dict[str, FileAction], bool]:
    """Files removed and files added between two versions, by key; and whether other files came and went in between."""
    first: dict[str, FileAction] = {}
    last: dict[str, FileAction] = {}
    for file in chain.from_iterable(commit.files for commit in commits):
        first.setdefault(file.key, file)
        last[file.key] = file
    before = {key for key, file in first.items() if not file.added}
    after = {key for key, file in last.items() if file.added}
    removed, added = ({key: last[key] for key in last if key in some} for some in (before - after, after - before))
    return removed, added, len(before | after) < len(last)


def _separate_unreadable(files: Mapping[str, Rows | OSError]) -> tuple[dict[str, Rows], list[str]]:
    """The rows of files, and the keys of unreadable ones."""
    rows = {key: each for key, each in files.items() if not isinstance(each, OSError)}
    return rows, [key for key in files if key not in rows]


def _complete_parts(
    files: Mapping[str, FileAction], parts: Mapping[str, FilePart], others: Mapping[str, FilePart]
) -> dict[str, FilePart]:
    """The part of each file by key; of one that is not fully known the part in ``others`` with its path, if any."""
    return {
        key: parts[key] if parts[key].is_known else others.get(file.path, parts[key]) for key, file in files.items()
    }


def _known_rows(part: FilePart, kept_mask: Array | None) -> Rows | None:
    """The number of a file's rows by partition; None where the log does not say, so that the file must be read.

    ``kept_mask`` says which rows a deletion vector leaves; None for a file without one.
    """
    if part.is_empty:
        return {}
    cell, rows = part.cell, part.rows
    if cell is None:
        return None
    if rows == 0:
        return {}
    if kept_mask is None:
        return {cell: rows}
    if part.nulls or rows is None:
        return None
    remaining = rows - (len(kept_mask) - kept_mask.true_count)
    return {cell: remaining} if remaining else {}


def _count_rewritten(commits: Sequence[LogCommit], removed: Mapping[str, Rows]) -> int:
    """How many files of several partitions were rewritten without a record of which rows changed.

    All partitions of such a file count as changed, which the observation explains.
    """
    rewriting = (commit for commit in commits if not commit.changes and commit.operation not in _DELETING_OPERATIONS)
    replacing = (commit for commit in rewriting if len({file.added for file in commit.files}) > 1)
    return sum(len(removed.get(file.key, ())) > 1 for commit in replacing for file in commit.files if not file.added)


_Side = tuple[Mapping[str, FileAction], Mapping[str, Rows]]
"""The files of one of two versions that the other has not, and their rows, by key."""


def _find_touched(commits: Sequence[LogCommit], removed: _Side, added: _Side) -> PartitionSet:
    """The partitions with rows that were added, removed or changed, from the rows of files before and after.

    Commits that only delete rows are judged by the number of rows in each partition, which then must differ.
    """
    rewriting = [commit for commit in commits if any(not file.added for file in commit.files)]
    operations = {commit.operation for commit in rewriting}
    if operations <= _DELETING_OPERATIONS:
        return _find_fewer(removed[1], added[1], chain.from_iterable(commit.files for commit in rewriting))
    before, after = ({files[key].path: each for key, each in rows.items()} for files, rows in (removed, added))
    kept_paths = before.keys() & after.keys() if operations <= _VECTOR_OPERATIONS else set()
    changed = [_find_differing_counts([before[path]], [after[path]]) for path in kept_paths]
    replaced = [side[path] for side in (before, after) for path in side.keys() - kept_paths]
    return PartitionSet.union([_cells(replaced), *changed])


def _find_fewer(
    removed: Mapping[str, Rows], added: Mapping[str, Rows], rewritten_files: Iterable[FileAction]
) -> PartitionSet:
    """The partitions with fewer rows in rewritten files, and those of other files that were added."""
    rewritten = {file.key for file in rewritten_files}
    fewer = _find_differing_counts(removed.values(), (rows for key, rows in added.items() if key in rewritten))
    return fewer | _cells(rows for key, rows in added.items() if key not in rewritten)


def _cells(files: Iterable[Rows]) -> PartitionSet:
    """The partitions of all rows of these files."""
    return PartitionSet.from_slots(cell for rows in files for cell in rows)


def _find_differing_counts(before: Iterable[Rows], after: Iterable[Rows]) -> PartitionSet:
    """The partitions whose number of rows differs, or is unknown."""
    differences: Counter[Cell] = Counter()
    unknown = set()
    for sign, side in ((1, before), (-1, after)):
        for rows in side:
            for cell, count in rows.items():
                differences[cell] += sign * (count or 0)
                if count is None:
                    unknown.add(cell)
    return PartitionSet.from_slots([*unknown, *(cell for cell, count in differences.items() if count)])
