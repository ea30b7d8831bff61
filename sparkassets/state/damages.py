"""Finds damage in the state's tables, and checks that the state is readable without its torn files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from sparkassets.delta.tables import reason
from sparkassets.errors import StateError
from sparkassets.ports import StateDamage
from sparkassets.state import refusals
from sparkassets.state.data_files import DataFile
from sparkassets.state.numbered_table import NumberedTable
from sparkassets.state.snapshot_table import SnapshotTable

_RESTORE = "restore the file, or the whole state, from a backup"


def find_table_damages(journal: NumberedTable, watermarks: SnapshotTable, base: SnapshotTable) -> Sequence[StateDamage]:
    """Missing or unreadable files, entries in no file or in two, and unusable tables.

    Every file is read. Gaps between entries are looked for only if no file is damaged: one that is makes a gap itself.

    Raises:
        StateError: The files cannot be reached.
    """
    damages = [*_file_damages(journal, repair=_RESTORE)]
    if not damages:
        damages += _gap_damages(journal)
    for table in (base, watermarks):
        damages += _snapshot_damages(table)
    return damages


def _file_damages(table: NumberedTable, *, repair: str) -> Iterator[StateDamage]:
    """Live files of the table that are missing or not as the log describes them; ``repair`` is the advice for each."""
    files = table.live_files()
    try:
        existing = table.files.modification_times([file.path for file in files])
    except OSError as error:
        raise refusals.unreadable_error(table.uri, error) from error
    for file in files:
        if file.path not in existing:
            yield StateDamage(f"the file {table.uri}/{file.path} is missing ({_describe_content(file)})", repair)
        elif why := _broken_reason(table, file):
            yield StateDamage(f"the file {table.uri}/{file.path} is broken ({_describe_content(file)}): {why}", repair)


def _describe_content(file: DataFile) -> str:
    return "it held rows" if file.first_seq is None else f"entries {file.first_seq} to {file.last_seq}"


def _broken_reason(table: NumberedTable, file: DataFile) -> str:
    """Why a file cannot be read or has another number of rows than the log says; empty if it is sound."""
    try:
        rows = table.files.read_table(file.path)
    except (OSError, ValueError) as error:
        return reason(error)
    if file.count is not None and rows.num_rows != file.count:
        return f"it has {rows.num_rows} rows instead of {file.count}"
    return ""


def _gap_damages(journal: NumberedTable) -> Iterator[StateDamage]:
    """Entries that are missing in the journal, or that it holds twice: their numbers must ascend one by one."""
    expected = journal.oldest_seq
    for seq in sorted(journal.scan().column("seq").to_pylist()):
        if seq > expected:
            yield StateDamage(f"the entries {expected} to {seq - 1} are missing in {journal.uri}", _RESTORE)
        elif seq < expected:
            yield StateDamage(f"the entry {seq} exists twice in {journal.uri}", _RESTORE)
        expected = max(expected, seq + 1)


def _snapshot_damages(snapshots: SnapshotTable) -> Iterator[StateDamage]:
    """Damage of a snapshot table; none if the table does not exist."""
    try:
        if snapshots.open():
            snapshots.table.refresh()
            yield from _file_damages(snapshots.table, repair=snapshots.repair)
    except StateError as error:
        yield StateDamage(str(error.args[0]), error.hint or snapshots.repair)


def check_without_torn_files(
    state: str, journal: NumberedTable, snapshot: NumberedTable, base: NumberedTable, *, project: str
) -> None:
    """Checks that the state would be readable without the torn files at the end of its logs; nothing is changed.

    Works on copies without those files. Does nothing if no log is torn.

    Raises:
        StateError: It is another project's, or what is left of one table does not fit the others: the snapshot stands
            for an entry that the journal has lost, or entries between them are missing.
    """
    with ExitStack() as copies:
        # a table that is not torn has no copy, and stands for itself
        intact_copies = [copies.enter_context(table.copy_without_torn_files()) for table in (journal, snapshot, base)]
        if not any(intact_copies):
            return
        tables = [copy or table for copy, table in zip(intact_copies, (journal, snapshot, base), strict=True)]
        if not _is_there(tables[0], journal):
            return
        refusals.check_project(state, tables[0].properties, project=project)
        last, oldest = tables[0].last_seq, tables[0].oldest_seq
        seq = tables[1].number if _is_there(tables[1], snapshot) else 0
        if last < seq:
            raise refusals.behind_error(journal.uri, last, seq)
        if seq + 1 < oldest:  # entries after the snapshot have expired: the base must reach up to the oldest entry
            seq = tables[2].number if _is_there(tables[2], base) else 0
        if seq + 1 < oldest:
            raise refusals.damaged_error(journal.uri, f"entry {seq + 1} is missing")


def _is_there(copy: NumberedTable, table: NumberedTable) -> bool:
    """Whether ``copy`` exists: the table without its torn files, or ``table`` itself if nothing is torn. Opens it.

    Raises:
        StateError: It exists and cannot be read.
    """
    try:
        return copy.open()
    except StateError as error:
        if copy is table:
            raise
        why = f"its log is truncated, and the rest cannot be read: {str(error).splitlines()[0]}"
        raise refusals.damaged_error(table.uri, why) from error
