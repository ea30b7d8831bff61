"""The journal in two Delta tables, through deltalake: no JVM, and safe for any number of drivers."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.errors import StateError
from sparkassets.ports import JournalImage
from sparkassets.state import refusals
from sparkassets.state.columns import JOURNAL_COLUMNS, SNAPSHOT_COLUMNS, arrow_table, rows
from sparkassets.state.location import JOURNAL, WATERMARKS, StateLocation
from sparkassets.state.rules import check_append, check_snapshot, conflict, wrong_in

if TYPE_CHECKING:
    from sparkassets.state.numbered import NumberedTable

REBUILT = f"remove the folder {WATERMARKS}, which is made anew from the journal"
_TRIES = 20
"""How often a commit is tried again while something else than the journal's own commits changes the table."""


class DeltaStore:
    """`ports.JournalStore` in ``<uri>/journal`` and ``<uri>/watermarks``; nothing is opened before it is needed.

    Safe for threads and for processes; not across ``fork``: processes that use a store must be spawned.

    Args:
        uri: A folder, or ``s3://``, ``abfss://``, ``gs://`` as deltalake takes them.
        storage_options: deltalake's options for the object store, credentials among them.
    """

    def __init__(self, uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        self._location = StateLocation(uri)
        self._options = dict(storage_options or {})

    # ------------------------------------------------------------------ being there

    def exists(self) -> bool:
        """Whether the journal is there; for a missing local folder without importing deltalake."""
        if self._location.folder is not None and not self._location.holds(JOURNAL):
            return False
        return self._journal.open()

    def create(self, *, project: str) -> None:
        """Creates both tables; of two processes that do so at once one creates them, and both go on.

        What a power failure left torn at the end of their logs is put aside: nobody had acted upon it.
        """
        if not self._journal.is_open:
            self._journal.mend()
            self._watermarks.mend()
        if not self.exists():
            self._journal.create({refusals.PROJECT_PROPERTY: project})
        refusals.check_project(self._location.uri, self._journal.properties, project=project)
        self._make_watermarks()

    # ------------------------------------------------------------------ reading

    def check(self, *, project: str) -> None:
        """A look at the journal's log."""
        refusals.check_project(self._location.uri, self._open_journal().properties, project=project)

    def read(self, *, project: str) -> JournalImage:
        """The snapshot first, then the journal, which can only be ahead of it."""
        journal = self._open_journal()
        refusals.check_project(self._location.uri, journal.properties, project=project)
        snapshot, snapshot_seq = self._read_snapshot()
        with journal.lock:
            journal.refresh()
            if journal.last_seq < snapshot_seq:
                why = f"it ends at entry {journal.last_seq}, but the snapshot stands for entry {snapshot_seq}"
                raise refusals.damaged(journal.uri, why)
            return JournalImage(
                journal_id=journal.table_id,
                commit=journal.number,
                snapshot=snapshot,
                snapshot_seq=snapshot_seq,
                tail=_tail(journal, snapshot_seq),
            )

    def read_after(self, seq: int) -> tuple[int, Sequence[JournalRow]]:
        """One look at the log when nothing is new; commits without rows (merges of files) count."""
        journal = self._open_journal()
        with journal.lock:
            journal.refresh()
            return journal.number, _tail(journal, seq)

    def history(
        self,
        *,
        kinds: Sequence[str] | None = None,
        asset: str | None = None,
        uri: str | None = None,
        run: str | None = None,
        ids: Collection[str] | None = None,
        after_seq: int = 0,
        last: int | None = None,
    ) -> Sequence[JournalRow]:
        """Reads the files from the newest back, and stops when ``last`` rows are found."""
        from sparkassets.state.history import matching

        journal = self._open_journal()
        with journal.lock:
            journal.refresh()
            return matching(
                journal, kinds=kinds, asset=asset, uri=uri, run=run, ids=ids, after_seq=after_seq, last=last
            )

    # ------------------------------------------------------------------ writing

    def append(self, rows: Sequence[JournalRow], *, after: int) -> None:
        """Writes one small file and commits it under the next number, by compare-and-set on Delta's log."""
        journal = self._open_journal()
        with journal.lock:
            if journal.number != after:
                journal.refresh()
            if journal.number != after:
                raise conflict(found=journal.number, after=after)
            check_append(rows, last_seq=journal.last_seq)
            with refusals.writing(journal.uri):
                written = journal.files.write(arrow_table(JOURNAL_COLUMNS, rows), name="level-0")
            for _ in range(_TRIES):
                if journal.commit([written], number=after + 1):
                    self._after_commit(journal)
                    return
                if journal.number != after:
                    journal.files.delete([written.path])
                    raise conflict(found=journal.number, after=after)
            raise refusals.busy(journal.uri)

    def save_snapshot(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces all rows in one commit under the number ``seq``; a greater one that is there already stays."""
        journal = self._open_journal()
        if journal.last_seq < seq:
            journal.refresh()
        check_snapshot(rows, seq=seq, last_seq=journal.last_seq)
        watermarks = self._make_watermarks()
        with watermarks.lock:
            watermarks.refresh()
            if watermarks.number >= seq:
                return
            with refusals.writing(watermarks.uri):
                written = watermarks.files.write(arrow_table(SNAPSHOT_COLUMNS, rows), name="snapshot")
            for _ in range(_TRIES):
                if watermarks.commit([written], number=seq, overwrite=True):
                    self._after_commit(watermarks)
                    return
                if watermarks.number >= seq:
                    watermarks.files.delete([written.path])
                    return
            raise refusals.busy(watermarks.uri)

    def maintain(self) -> None:
        """Merges the journal's small files and keeps both logs short; a look at each log when nothing is due."""
        from sparkassets.state.compaction import compact
        from sparkassets.state.housekeeping import keep

        journal, watermarks = self._open_journal(), self._make_watermarks()
        compact(journal)
        keep(journal)
        watermarks.refresh()
        keep(watermarks)

    # ------------------------------------------------------------------ inside

    @cached_property
    def _journal(self) -> NumberedTable:
        from sparkassets.state.numbered import NumberedTable

        return NumberedTable(
            self._location.table(JOURNAL), app_id="sparkassets.journal", columns=JOURNAL_COLUMNS, options=self._options
        )

    @cached_property
    def _watermarks(self) -> NumberedTable:
        from sparkassets.state.numbered import NumberedTable

        return NumberedTable(
            self._location.table(WATERMARKS),
            app_id="sparkassets.snapshot",
            columns=SNAPSHOT_COLUMNS,
            options=self._options,
            repair=REBUILT,
        )

    def _open_journal(self) -> NumberedTable:
        if not self._journal.is_open and not self.exists():
            raise refusals.absent(self._location.uri)
        return self._journal

    def _open_watermarks(self) -> NumberedTable | None:
        """The snapshot's table; None when it was never made or was removed, and the journal alone tells all."""
        watermarks = self._watermarks
        if not watermarks.is_open:
            if not watermarks.open():
                return None
            refusals.check_journal(watermarks.uri, watermarks.properties, journal_id=self._journal.table_id)
        return watermarks

    def _make_watermarks(self) -> NumberedTable:
        found = self._open_watermarks()
        if found is None:
            self._watermarks.create({refusals.JOURNAL_PROPERTY: self._journal.table_id})
            found = self._watermarks
        return found

    def _read_snapshot(self) -> tuple[Sequence[SnapshotRow], int]:
        opened_before = self._watermarks.is_open
        watermarks = self._open_watermarks()
        if watermarks is None:
            return (), 0
        with watermarks.lock:
            if opened_before:
                watermarks.refresh()
            seq = watermarks.number
            found = rows(SNAPSHOT_COLUMNS, watermarks.scan(), SnapshotRow) if seq else []
        if any(row.seq != seq for row in found):
            why = f"it stands for entry {seq} and holds rows of others"
            raise refusals.damaged(watermarks.uri, why, repair=REBUILT)
        return found, seq

    @staticmethod
    def _after_commit(table: NumberedTable) -> None:
        """A checkpoint when it is this commit's turn; when that fails the commit stands, and a later one makes it."""
        from sparkassets.state.housekeeping import CHECKPOINT_EVERY, checkpoint

        with contextlib.suppress(StateError):
            if table.version % CHECKPOINT_EVERY == 0:
                checkpoint(table)


def _tail(journal: NumberedTable, seq: int) -> Sequence[JournalRow]:
    """The rows after ``seq``, each exactly once.

    Raises:
        StateError: One is missing or there twice.
    """
    newest = journal.last_seq
    if newest <= seq:
        return ()
    found = rows(JOURNAL_COLUMNS, journal.scan(f"seq > {seq}"), JournalRow)
    if wrong := wrong_in(found, seq):
        raise refusals.damaged(journal.uri, wrong)
    if len(found) != newest - seq:
        raise refusals.damaged(journal.uri, f"entry {seq + len(found) + 1} is missing")
    return found
