"""A table of what is known as of one entry: the newest snapshot, or the base of the kept entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sparkassets.core.journal.codec.rows import SnapshotRow
from sparkassets.ports import FormatUpgrade
from sparkassets.state import refusals
from sparkassets.state.numbered_table import TRIES, NumberedTable
from sparkassets.state.table_columns import SNAPSHOT_COLUMNS, arrow_table, rows_from_table


class SnapshotTable:
    """One such table, whose commits have the entries' numbers that they stand for.

    Attributes:
        table: The Delta table, which may not be there.
        repair: What to do when it is damaged.
    """

    def __init__(
        self, uri: str, *, app_id: str, journal: NumberedTable, options: Mapping[str, str], repair: str
    ) -> None:
        self.table = NumberedTable(uri, app_id=app_id, columns=SNAPSHOT_COLUMNS, options=options, repair=repair)
        self._journal = journal
        self.repair = repair

    def open(self) -> bool:
        """Whether it is there.

        Raises:
            StateError: It is not this journal's, newer, damaged or out of reach.
        """
        if self.table.is_open:
            return True
        if not self.table.open():
            return False
        refusals.check_journal(self.table.uri, self.table.properties, journal_id=self._journal.table_id)
        return True

    def make(self) -> NumberedTable:
        """The table; created if it is missing."""
        if not self.open():
            self.table.create({refusals.JOURNAL_PROPERTY: self._journal.table_id})
        return self.table

    def read_snapshot(self) -> tuple[Sequence[SnapshotRow], int]:
        """The rows and the number that they stand for; nothing and 0 where there is no table."""
        opened_before = self.table.is_open
        if not self.open():
            return (), 0
        with self.table.lock:
            if opened_before:
                self.table.refresh()
            seq = self.table.number
            found = rows_from_table(SNAPSHOT_COLUMNS, self.table.scan(), SnapshotRow) if seq else []
        if any(row.seq != seq for row in found):
            why = f"it stands for entry {seq} and holds rows of others"
            raise refusals.damaged_error(self.table.uri, why, repair=self.repair)
        return found, seq

    def save(self, found: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces all rows in one commit under the number ``seq``, unless a greater one is there."""
        table = self.make()
        with table.lock:
            table.refresh()
            if table.number < seq:
                self._replace(found, seq=seq, beaten=lambda: table.number >= seq)

    def migrate(self, upgrade: FormatUpgrade) -> int:
        """Upgrades the rows by ``upgrade``, under their number; returns how many changed."""
        table = self.table
        with table.lock:
            known, seq = self.read_snapshot()
            upgraded = [*map(upgrade.upgrade_snapshot, known)]
            changed = sum(before != after for before, after in zip(known, upgraded, strict=True))
            if changed:
                self._replace(upgraded, seq=seq, beaten=lambda: table.number != seq)
            return changed

    def _replace(self, found: Sequence[SnapshotRow], *, seq: int, beaten: Callable[[], bool]) -> None:
        from sparkassets.state.maintenance import checkpoint_after_commit

        table = self.table
        with refusals.translate_write_errors(table.uri):
            written = table.files.write(arrow_table(SNAPSHOT_COLUMNS, found), name="snapshot")
        for _ in range(TRIES):
            if table.commit([written], number=seq, overwrite=True):
                checkpoint_after_commit(table)
                return
            if beaten():
                table.files.delete([written.path])
                return
        raise refusals.busy_error(table.uri)
