"""A store in memory: for tests and simulations, under the same contract as the durable one."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from threading import Lock

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.ports import ALL_HISTORY, FoldedImage, FormatUpgrade, HistoryQuery, JournalImage, StateDamage
from sparkassets.state.refusals import (
    PROJECT_PROPERTY,
    absent_error,
    check_append,
    check_base,
    check_project,
    check_snapshot,
    conflict_error,
)

_URI = "memory"


class MemoryStore:
    """The journal of one process; safe for its threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._project: str | None = None
        self._journal_id = str(uuid.uuid4())
        self._commit = 0
        self._rows: list[JournalRow] = []
        self._snapshot: tuple[SnapshotRow, ...] = ()
        self._snapshot_seq = 0
        self._base: tuple[SnapshotRow, ...] = ()
        self._base_seq = 0

    def exists(self) -> bool:
        """See `ports.JournalStore`; so for the other methods."""
        return self._project is not None

    def create(self, *, project: str) -> None:
        """Creates the journal, once."""
        with self._lock:
            if self._project is None:
                self._project = project
            self._check(project)

    def check(self, *, project: str) -> None:
        """See `ports.JournalStore`."""
        with self._lock:
            self._check(project)

    def read_image(self, *, project: str) -> JournalImage:
        """The snapshot and the tail."""
        with self._lock:
            self._check(project)
            return JournalImage(
                self._journal_id, self._commit, self._snapshot, self._snapshot_seq, self._rows_after(self._snapshot_seq)
            )

    def read_state(self, *, project: str) -> FoldedImage:
        """What the snapshot and the tail fold to."""
        return self.read_image(project=project).fold()

    def read_after(self, seq: int) -> tuple[int, Sequence[JournalRow]]:
        """The journal's commit number and the rows after ``seq``."""
        with self._lock:
            self._check()
            return self._commit, self._rows_after(seq)

    def append(self, rows: Sequence[JournalRow], *, after: int) -> None:
        """Appends in one commit, numbered ``after`` + 1, if no other has that number."""
        with self._lock:
            self._check()
            if self._commit != after:
                raise conflict_error(found=self._commit, after=after)
            check_append(rows, last_seq=self._last_seq)
            self._rows.extend(rows)
            self._commit += 1

    def save_snapshot(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces an older snapshot."""
        with self._lock:
            self._check()
            check_snapshot(rows, seq=seq, last_seq=self._last_seq)
            if seq > self._snapshot_seq:
                self._snapshot, self._snapshot_seq = tuple(rows), seq

    def read_history(self, query: HistoryQuery = ALL_HISTORY) -> Sequence[JournalRow]:
        """Matching rows of the whole journal."""
        allowed = query.allowed_values
        with self._lock:
            self._check()
            matching = [
                row
                for row in self._rows_after(query.after_seq)
                if (query.up_to_seq is None or row.seq <= query.up_to_seq)
                and all(getattr(row, field) in values for field, values in allowed.items())
            ]
        return matching if query.last is None else matching[max(0, len(matching) - query.last) :]

    def maintain(self, *, fully: bool = False) -> None:
        """Does nothing: there are no files."""
        del fully
        with self._lock:
            self._check()

    def oldest_seq(self) -> int:
        """The number of the oldest kept entry."""
        with self._lock:
            self._check()
            return self._base_seq + 1

    def read_base(self) -> tuple[Sequence[SnapshotRow], int]:
        """The base rows and the entry that they stand for; no rows and 0 before any entry has expired."""
        with self._lock:
            self._check()
            return self._base, self._base_seq

    def expire(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces the entries up to ``seq`` by the base ``rows``; does nothing if the base reaches as far already."""
        with self._lock:
            self._check()
            check_base(rows, seq=seq, last_seq=self._last_seq)
            if seq > self._base_seq:
                self._rows = self._rows[seq - self._base_seq :]
                self._base, self._base_seq = tuple(rows), seq
                if seq > self._snapshot_seq:  # an older snapshot would leave a gap before the oldest kept entry
                    self._snapshot, self._snapshot_seq = tuple(rows), seq

    def find_damages(self) -> Sequence[StateDamage]:
        """No damages: memory holds exactly what was appended."""
        with self._lock:
            self._check()
        return ()

    def migrate(self, upgrade: FormatUpgrade) -> int:
        """Upgrades entries, snapshot and base rows to today's format; returns how many rows changed."""
        with self._lock:
            self._check()
            rows = [*map(upgrade.upgrade_entry, self._rows)]
            snapshot = tuple(map(upgrade.upgrade_snapshot, self._snapshot))
            base = tuple(map(upgrade.upgrade_snapshot, self._base))
            old, new = (*self._rows, *self._snapshot, *self._base), (*rows, *snapshot, *base)
            self._rows, self._snapshot, self._base = rows, snapshot, base
            return sum(before != after for before, after in zip(old, new, strict=True))

    @property
    def _last_seq(self) -> int:
        return self._base_seq + len(self._rows)

    def _rows_after(self, seq: int) -> tuple[JournalRow, ...]:
        return tuple(self._rows[max(0, seq - self._base_seq) :])

    def _check(self, project: str | None = None) -> None:
        if self._project is None:
            raise absent_error(_URI)
        if project is not None:
            check_project(_URI, {PROJECT_PROPERTY: self._project}, project=project)
