"""A table that holds the folded state up to one entry: the newest snapshot, or the base before the oldest entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sparkassets.core.journal.rows import SnapshotRow
from sparkassets.ports import FormatUpgrade
from sparkassets.state import refusals
from sparkassets.state.numbered_table import TRIES, NumberedTable
from sparkassets.state.table_columns import SNAPSHOT_COLUMNS, arrow_table, rows_from_table


class SnapshotTable:
    """A snapshot or base table; the number of its newest commit is the entry that its rows stand for.

    Attributes:
        table: The Delta table, which may not exist yet.
        repair: What to do when it is damaged.
    """

    def __init__(
        self, uri: str, *, app_id: str, journal: NumberedTable, options: Mapping[str, str], repair: str
    ) -> None:
        self.table = NumberedTable(uri, app_id=app_id, columns=SNAPSHOT_COLUMNS, options=options, repair=repair)
        self._journal = journal
        self.repair = repair

    def open(self) -> bool:
        """Whether the table exists; opens it.

        Raises:
            StateError: It belongs to another journal, has a newer format, is damaged or out of reach.
        """
        if self.table.is_open:
            return True
        if not self.table.open():
            return False
        refusals.check_journal(self.table.uri, self.table.properties, journal_id=self._journal.table_id)
        return True

    def make(self) -> NumberedTable:
        """The table, created if it is missing."""
        if not self.open():
            self.table.create({refusals.JOURNAL_PROPERTY: self._journal.table_id})
        return self.table

    def read_snapshot(self) -> tuple[Sequence[SnapshotRow], int]:
        """The rows and the entry that they stand for; no rows and 0 if there is no table."""
        was_open = self.table.is_open
        if not self.open():
            return (), 0
        with self.table.lock:
            if was_open:  # a table that was opened just now is the newest version
                self.table.refresh()
            seq = self.table.number
            rows = rows_from_table(SNAPSHOT_COLUMNS, self.table.scan(), SnapshotRow) if seq else []
        if any(row.seq != seq for row in rows):
            why = f"it is of entry {seq}, but contains rows of others"
            raise refusals.damaged_error(self.table.uri, why, repair=self.repair)
        return rows, seq

    def save(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces all rows in one commit numbered ``seq``, unless the table's number is already that high."""
        table = self.make()
        with table.lock:
            table.refresh()
            if table.number < seq:
                self._replace(rows, seq=seq, is_superseded=lambda: table.number >= seq)

    def migrate(self, upgrade: FormatUpgrade) -> int:
        """Rewrites the rows with ``upgrade`` under the same number; returns how many changed."""
        table = self.table
        with table.lock:
            rows, seq = self.read_snapshot()
            upgraded = [*map(upgrade.upgrade_snapshot, rows)]
            changed = sum(before != after for before, after in zip(rows, upgraded, strict=True))
            if changed:
                self._replace(upgraded, seq=seq, is_superseded=lambda: table.number != seq)
            return changed

    def _replace(self, rows: Sequence[SnapshotRow], *, seq: int, is_superseded: Callable[[], bool]) -> None:
        """Commits the rows as the table's only ones; gives up when ``is_superseded`` says that another commit wins."""
        from sparkassets.state.maintenance import checkpoint_after_commit

        table = self.table
        with refusals.translate_write_errors(table.uri):
            written = table.files.write(arrow_table(SNAPSHOT_COLUMNS, rows), name="snapshot")
        for _ in range(TRIES):
            if table.commit([written], number=seq, overwrite=True):
                checkpoint_after_commit(table)
                return
            if is_superseded():
                table.files.delete([written.path])
                return
        raise refusals.busy_error(table.uri)
