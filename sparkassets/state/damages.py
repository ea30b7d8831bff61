"""What is wrong with the files of a state, each named with what to do; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkassets.delta.errors import reason
from sparkassets.errors import StateError
from sparkassets.ports import StateDamage
from sparkassets.state import refusals
from sparkassets.state.data_files import DataFile
from sparkassets.state.numbered_table import NumberedTable
from sparkassets.state.snapshot_table import SnapshotTable

_RESTORE = "restore the file, or the whole state, from a backup"


def find_table_damages(journal: NumberedTable, watermarks: SnapshotTable, base: SnapshotTable) -> Sequence[StateDamage]:
    """Files that are not there or cannot be read, entries that no file holds or two do, and tables that cannot be used.

    Every file is read.

    Raises:
        StateError: The files cannot be reached.
    """
    found = [*_file_damages(journal, repair=_RESTORE)]
    if not found:
        found += _gap_damages(journal)
    for table in (base, watermarks):
        found += _snapshot_damages(table)
    return found


def _file_damages(table: NumberedTable, *, repair: str) -> Iterator[StateDamage]:
    files = table.live_files()
    try:
        there = table.files.modification_times([file.path for file in files])
    except OSError as error:
        raise refusals.unreadable_error(table.uri, error) from error
    for file in files:
        if file.path not in there:
            yield StateDamage(f"the file {table.uri}/{file.path} is missing ({_describe_content(file)})", repair)
        elif why := _broken_reason(table, file):
            yield StateDamage(f"the file {table.uri}/{file.path} is broken ({_describe_content(file)}): {why}", repair)


def _describe_content(file: DataFile) -> str:
    return "it held rows" if file.first_seq is None else f"entries {file.first_seq} to {file.last_seq}"


def _broken_reason(table: NumberedTable, file: DataFile) -> str:
    """Why a file cannot be read as it is told of; empty where it can."""
    try:
        rows = table.files.read_table(file.path)
    except (OSError, ValueError) as error:
        return reason(error)
    if file.count is not None and rows.num_rows != file.count:
        return f"it has {rows.num_rows} rows and not {file.count}"
    return ""


def _gap_damages(journal: NumberedTable) -> Iterator[StateDamage]:
    """Entries that are missing, or there twice."""
    expected = journal.oldest_seq
    for seq in sorted(journal.scan().column("seq").to_pylist()):
        if seq > expected:
            yield StateDamage(f"the entries {expected} to {seq - 1} are missing in {journal.uri}", _RESTORE)
        elif seq < expected:
            yield StateDamage(f"the entry {seq} is there twice in {journal.uri}", _RESTORE)
        expected = max(expected, seq + 1)


def _snapshot_damages(snapshots: SnapshotTable) -> Iterator[StateDamage]:
    try:
        if snapshots.open():
            snapshots.table.refresh()
            yield from _file_damages(snapshots.table, repair=snapshots.repair)
    except StateError as error:
        yield StateDamage(str(error.args[0]), error.hint or snapshots.repair)
