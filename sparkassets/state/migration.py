"""The journal's entries as today's format has them, file by file: an old file stays until the new one was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.core.journal.codec.rows import JournalRow
from sparkassets.ports import FormatUpgrade
from sparkassets.state import refusals
from sparkassets.state.compaction import level_of_path, level_prefix
from sparkassets.state.data_files import DataFile
from sparkassets.state.file_replacement import replace_files
from sparkassets.state.numbered_table import NumberedTable
from sparkassets.state.table_columns import JOURNAL_COLUMNS, arrow_table, rows_from_table

if TYPE_CHECKING:
    import pyarrow as pa


def migrate(journal: NumberedTable, upgrade: FormatUpgrade) -> int:
    """Writes anew each file that holds entries of an older format; returns how many entries changed.

    Where it is killed, some files are written anew and others not, which whoever does it again finds out by looking.

    Raises:
        StateError: A file is missing, broken, or cannot be written.
    """
    journal.refresh()
    seen, changed = set[str](), 0
    while (file := next((each for each in journal.live_files() if each.path not in seen), None)) is not None:
        seen.add(file.path)
        changed += _migrate_file(journal, file, upgrade)
        journal.refresh()
    return changed


def _migrate_file(journal: NumberedTable, file: DataFile, upgrade: FormatUpgrade) -> int:
    """Writes a file anew if it has to be; another driver may merge it meanwhile, and the merged one comes later."""
    changed = 0

    def upgrade_tables(tables: Sequence[pa.Table]) -> pa.Table | None:
        nonlocal changed
        old = rows_from_table(JOURNAL_COLUMNS, tables[0], JournalRow)
        new = [upgrade.upgrade_entry(row) for row in old]
        changed = sum(before != after for before, after in zip(old, new, strict=True))
        return arrow_table(JOURNAL_COLUMNS, new) if changed else None

    found = journal.files
    try:
        table = found.read_table(file.path)
    except FileNotFoundError as error:
        raise refusals.damaged_error(journal.uri, f"the file {file.path} is missing") from error
    if upgrade_tables([table]) is None:
        return 0
    replaced = replace_files(journal, [file], upgrade_tables, name=level_prefix(level_of_path(file.path)))
    return changed if replaced else 0
