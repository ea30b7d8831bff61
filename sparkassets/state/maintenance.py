"""Keeps the state small: checkpoints, clean-up, compaction, expiry, migration of files.

Levelled compaction makes one file of sixteen of the level below, so live files grow with the logarithm of the commits,
and each row is rewritten once a level. It is done by hand, because deltalake's `optimize.compact()` doubles rows when
two processes run it at once (docs/design/journal.md#growth). Every replacement of files takes the journal's next
number, so that maintenance and drivers exclude each other.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from deltalake.transaction import AddAction

from sparkassets.core.journal.rows import JournalRow
from sparkassets.errors import StateError
from sparkassets.ports import FormatUpgrade
from sparkassets.state import refusals
from sparkassets.state.data_files import DataFile, milliseconds
from sparkassets.state.numbered_table import LOG_KEPT, TRIES, NumberedTable
from sparkassets.state.table_columns import JOURNAL_COLUMNS, arrow_table, rows_from_table

if TYPE_CHECKING:
    import pyarrow as pa

CHECKPOINT_EVERY = 20
"""Versions between two checkpoints, which a cold reader has to replay."""

TIDY_EVERY = 100
"""Versions between two clean-ups."""

_RETENTION_MILLISECONDS = 3_600_000
"""How much older than the newest commit an unreferenced file must be to be deleted."""
_LOG_ENTRY = re.compile(r"(\d{20})\.(?:json|checkpoint.*\.parquet)")


def checkpoint(table: NumberedTable) -> None:
    """Writes a checkpoint when the last one is ``CHECKPOINT_EVERY`` versions old."""
    if table.version - _last_checkpoint(table) >= CHECKPOINT_EVERY:
        table.checkpoint()


def checkpoint_after_commit(table: NumberedTable) -> None:
    """Writes a checkpoint if it is this commit's turn; if that fails the commit stands, and a later one does it."""
    with suppress(StateError):
        if table.version % CHECKPOINT_EVERY == 0:
            checkpoint(table)


def tidy_when_due(table: NumberedTable, *, fully: bool = False) -> None:
    """Writes a checkpoint if due; cleans up if this process saw the version pass a multiple of ``TIDY_EVERY``.

    A process killed in between leaves that to the one that sees the next multiple. ``fully`` cleans up now.
    """
    checkpoint(table)
    if fully or table.version // TIDY_EVERY > (table.watched_from or 0) // TIDY_EVERY:
        clean_up(table)
        table.watched_from = table.version


def clean_up(table: NumberedTable) -> None:
    """Deletes log entries that no reader needs, and files that no version of the last hour refers to.

    Raises:
        StateError: The storage refuses.
    """
    with refusals.translate_write_errors(table.uri):
        _delete_old_entries(table)
        _delete_unreferenced(table)


def _last_checkpoint(table: NumberedTable) -> int:
    """The version of the last checkpoint; 0 if none is known."""
    try:
        return int(json.loads(table.files.read_bytes("_delta_log/_last_checkpoint"))["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return 0  # none yet, or a broken hint, which the next checkpoint replaces


def _delete_old_entries(table: NumberedTable) -> None:
    """Deletes log entries before the newest checkpoint that is at least ``LOG_KEPT`` versions old.

    By count, not by age as Delta does it: the time of a commit grows with the entries in the folder (3 ms at 300 of
    them, 10 ms at 2,000), however young they are. A writer that sleeps through so many versions cannot commit
    afterwards (tried): the log entry that its own would follow is gone. A reader starts again from the newest
    checkpoint.
    """
    entries = {
        name: int(match[1]) for name in table.files.list_names("_delta_log") if (match := _LOG_ENTRY.fullmatch(name))
    }
    checkpoints = [version for name, version in entries.items() if name.endswith(".parquet")]
    oldest_kept = max((version for version in checkpoints if version <= table.version - LOG_KEPT), default=0)
    outdated = sorted(name for name, version in entries.items() if version < oldest_kept)
    table.files.delete([f"_delta_log/{name}" for name in outdated])


def _delete_unreferenced(table: NumberedTable) -> None:
    """Deletes files left behind by merges and snapshots, and uncommitted files of killed processes.

    Only files an hour older than the newest commit: a process that wrote one and is still about to commit it loaded
    a version before that commit, and fails.
    """
    newest = max((file.modified for file in table.live_files()), default=0)
    before = min(newest, milliseconds()) - _RETENTION_MILLISECONDS
    written = table.files.modification_times(table.list_unreferenced_files())
    table.files.delete([path for path, at in written.items() if at < before])


_MOST_SECONDS_UNCOMMITTED = 600.0
"""The greatest age of a written file at its commit: unreferenced ones are deleted after an hour."""


def replace_files(
    journal: NumberedTable,
    inputs: Sequence[DataFile],
    make_rows: Callable[[Sequence[pa.Table]], pa.Table | None],
    *,
    name: str,
    data_change: bool = False,
) -> bool:
    """Replaces ``inputs`` by one file with the rows of ``make_rows``; False if another driver replaced one first.

    Args:
        journal: The journal's table.
        inputs: Live files.
        make_rows: Makes the new rows from the rows of each file; if it returns None, no file takes their place.
        name: The prefix of the new file's name.
        data_change: Whether rows change; false for a mere merge of files.

    Raises:
        StateError: A file is broken, or cannot be written.
    """
    try:
        rows = make_rows([read_file(journal, file.path) for file in inputs])
    except FileNotFoundError:
        check_files(journal)
        return False  # another driver replaced it: replaced files are deleted after an hour
    except (OSError, ValueError) as error:
        raise refusals.unreadable_error(journal.uri, error) from error
    began_at, written = time.time(), list[AddAction]()
    if rows is not None:
        with refusals.translate_write_errors(journal.uri):
            written.append(journal.files.write(rows, name=name, data_change=data_change))
        _check_written(journal, written[0].path, rows)
    if commit_replacement(journal, written, inputs, began_at=began_at, data_change=data_change):
        return True
    journal.files.delete([add.path for add in written])
    return False


def check_files(journal: NumberedTable) -> None:
    """Checks by one listing that every live file exists.

    Raises:
        StateError: A file is missing.
    """
    for attempt in range(2):  # a file that another driver has replaced is only missing until the refresh
        try:
            existing = set(journal.files.list_names(""))
        except OSError as error:
            raise refusals.unreadable_error(journal.uri, error) from error
        missing = [file.path for file in journal.live_files() if file.path not in existing]
        if not missing:
            return
        if not attempt:
            journal.refresh()
    repair = "restore it from a backup; `sparkassets state verify` lists everything that is missing"
    raise refusals.damaged_error(journal.uri, f"its file {missing[0]} is missing", repair=repair)


def read_file(journal: NumberedTable, path: str) -> pa.Table:
    """A file's rows in this release's types; other programs may write other nullability, for example."""
    schema = arrow_table(journal.columns, []).schema
    return journal.files.read_table(path).select(schema.names).cast(schema)


def commit_replacement(
    journal: NumberedTable,
    written: Sequence[AddAction],
    inputs: Sequence[DataFile],
    *,
    began_at: float,
    data_change: bool = False,
) -> bool:
    """Commits the written files in place of the inputs; False if one of these is no longer live.

    Tries again while other drivers commit first without touching the inputs.

    Also False if ``began_at``, the Unix time at which writing began, is too long ago: the new files may be deleted as
    unreferenced.
    """
    paths = {file.path for file in inputs}
    while time.time() - began_at < _MOST_SECONDS_UNCOMMITTED:
        with journal.lock:
            journal.refresh()
            if not paths <= {file.path for file in journal.live_files()}:
                return False
            now = milliseconds()
            removes = [file.remove(at=now, data_change=data_change) for file in inputs]
            if journal.commit(written, number=journal.number + 1, removes=removes):
                return True
    return False


def _check_written(journal: NumberedTable, path: str, rows: pa.Table) -> None:
    """Reads a replacement back before the originals are removed; deletes it if it is wrong.

    Raises:
        StateError: It differs from what was written.
    """
    if not journal.files.read_table(path).cast(rows.schema).equals(rows):
        journal.files.delete([path])
        raise refusals.unwritable_error(journal.uri, OSError(f"{path} differs from what was written"))


FAN_IN = 16
"""How many files of one level become one file of the next: n commits rewrite an entry log16(n) times."""
_MOST_BYTES_TO_MERGE = 16 * 2**20
"""Files of this size are not merged: it would save little and need much memory."""

_LEVEL_NAME = re.compile(r"level-(\d+)-")


def level_prefix(level: int) -> str:
    """The prefix of the names of files of a level; commits write level 0."""
    return f"level-{level}"


def compact(journal: NumberedTable, *, least: int = FAN_IN) -> int:
    """Merges files until no level has ``least`` of them; returns the number of merges."""
    merges = 0
    journal.refresh()
    check_files(journal)
    while (full_level := _full_level(journal.live_files(), least)) is not None:
        level, inputs = full_level
        if not _merge(journal, inputs, level=level):
            break
        merges += 1
    return merges


def _full_level(files: Sequence[DataFile], least: int) -> tuple[int, Sequence[DataFile]] | None:
    """The lowest level with at least ``least`` files, and its oldest files; None if there is none.

    Files beyond a certain size are never merged again. The rows of a level have no gaps, so neither has a merged file.
    """
    levels: dict[int, list[DataFile]] = defaultdict(list)
    for file in files:
        if file.size < _MOST_BYTES_TO_MERGE:
            levels[level_of_path(file.path)].append(file)
    return next(((level, levels[level][:FAN_IN]) for level in sorted(levels) if len(levels[level]) >= least), None)


def level_of_path(path: str) -> int:
    """The level in a file's name."""
    match = _LEVEL_NAME.match(path)
    return int(match[1]) if match else 0  # what another program wrote


def _merge(journal: NumberedTable, inputs: Sequence[DataFile], *, level: int) -> bool:
    """Replaces these files by one of the next level; False if another driver replaced one of them first."""
    import pyarrow as pa

    def merge_tables(tables: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(tables).sort_by("seq")

    return replace_files(journal, inputs, merge_tables, name=level_prefix(level + 1))


def expire(journal: NumberedTable, *, up_to: int) -> None:
    """Removes the entries up to ``up_to`` from the journal's newest version; their files are deleted an hour later.

    Makes one commit for all files without later entries, and one for each file that must be rewritten because it has
    some. If other drivers merge files meanwhile, it looks again; after many attempts the rest is left to the next call.
    """
    journal.refresh()
    for _ in range(TRIES):
        outdated = [file for file in journal.live_files() if file.last_seq is not None and file.last_seq <= up_to]
        if not outdated or commit_replacement(journal, [], outdated, began_at=time.time(), data_change=True):
            break
    for _ in range(TRIES):
        file = _oldest_file(journal, up_to)
        if file is None:
            return
        level = level_prefix(level_of_path(file.path))
        replace_files(journal, [file], partial(_rows_after, up_to=up_to), name=level, data_change=True)
        journal.refresh()


def _oldest_file(journal: NumberedTable, up_to: int) -> DataFile | None:
    """A file that may hold entries up to ``up_to``: by its statistics, or for lack of them. None if none is so old."""
    if journal.oldest_seq > up_to:
        return None
    return next(file for file in journal.live_files() if file.first_seq is None or file.first_seq <= up_to)


def _rows_after(tables: Sequence[pa.Table], *, up_to: int) -> pa.Table | None:
    """The rows of the only table with a ``seq`` above ``up_to``; None if none is left, so that no file is written."""
    import pyarrow.compute as pc

    remaining = tables[0].filter(pc.field("seq") > up_to)
    return remaining if remaining.num_rows else None


def migrate(journal: NumberedTable, upgrade: FormatUpgrade) -> int:
    """Rewrites each file with entries of an older format; returns the number of changed entries.

    A killed migration leaves some files rewritten and others not; calling it again migrates the rest.

    Raises:
        StateError: A file is missing, broken, or cannot be written.
    """
    journal.refresh()
    migrated, changed = set[str](), 0
    while (file := next((each for each in journal.live_files() if each.path not in migrated), None)) is not None:
        migrated.add(file.path)
        changed += _migrate_file(journal, file, upgrade)
        journal.refresh()
    return changed


def _migrate_file(journal: NumberedTable, file: DataFile, upgrade: FormatUpgrade) -> int:
    """Rewrites a file if any of its entries changes; returns the number of changed ones.

    0 if another driver merged the file meanwhile: the merged file is live by then and has its own turn.
    """
    changed = 0

    def upgrade_tables(tables: Sequence[pa.Table]) -> pa.Table | None:
        nonlocal changed
        rows = rows_from_table(JOURNAL_COLUMNS, tables[0], JournalRow)
        upgraded = [upgrade.upgrade_entry(row) for row in rows]
        changed = sum(before != after for before, after in zip(rows, upgraded, strict=True))
        return arrow_table(JOURNAL_COLUMNS, upgraded) if changed else None

    files = journal.files
    try:
        table = files.read_table(file.path)
    except FileNotFoundError as error:
        raise refusals.damaged_error(journal.uri, f"the file {file.path} is missing") from error
    if upgrade_tables([table]) is None:
        return 0
    replaced = replace_files(journal, [file], upgrade_tables, name=level_prefix(level_of_path(file.path)))
    return changed if replaced else 0
