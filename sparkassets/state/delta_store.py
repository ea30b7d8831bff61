"""The journal in two Delta tables, through deltalake: no JVM, and safe for any number of drivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import StateError
from sparkassets.files.object_stores import deltalake_options
from sparkassets.ports import ALL_HISTORY, FoldedImage, FormatUpgrade, HistoryQuery, JournalImage, StateDamage
from sparkassets.state import refusals
from sparkassets.state.location import BASE, JOURNAL, WATERMARKS, StateLocation
from sparkassets.state.refusals import check_append, check_base, check_snapshot, conflict_error, find_sequence_fault
from sparkassets.state.state_cache import CachedState, StateCache
from sparkassets.state.table_columns import JOURNAL_COLUMNS, arrow_table, rows_from_table

if TYPE_CHECKING:
    from sparkassets.state.numbered_table import NumberedTable
    from sparkassets.state.snapshot_table import SnapshotTable

REBUILT = f"remove the folder {WATERMARKS}; it is rebuilt from the journal"


class DeltaStore:
    """`ports.JournalStore` in ``<uri>/journal`` and ``<uri>/watermarks``; opens each table when it is needed.

    Safe for threads and for processes; not across ``fork``: processes that use a store must be spawned.

    Args:
        uri: A folder, or ``s3://``, ``abfss://``, ``gs://`` as deltalake takes them.
        storage_options: deltalake's options for the object store, credentials among them; by default what the project
            says of its bucket.
        cache: Folder of the cache, which keeps the state of a local journal; None keeps none.
    """

    def __init__(
        self, uri: str, storage_options: Mapping[str, str] | None = None, *, cache: Path | None = None
    ) -> None:
        self._location = StateLocation(uri)
        self._given = storage_options
        self._cache = cache
        self._is_known = False

    def exists(self) -> bool:
        """Whether the journal is there; for a missing or unchanged local one without importing deltalake."""
        if self._location.folder is not None and not self._location.holds(JOURNAL):
            return False
        return self._unchanged_state() is not None or self._journal.open()

    def create(self, *, project: str) -> None:
        """Creates both tables; if two processes do so at once, one creates them and both continue.

        First puts aside the files that a power failure left torn at the end of the logs. Their commits were never
        confirmed, so nobody acted upon them. Nothing is touched if the state could not be read without them either.

        Raises:
            StateError: It is not this project's or damaged, or it was removed since this store has opened it.
        """
        if self._unchanged_state(project) is not None:
            return
        was_known = self._is_known or self._journal.is_open
        if not self._journal.is_open:
            self._check_without_torn_files(project)
            for table in (self._journal, self._watermarks.table, self._base.table):
                table.set_aside_torn()
        if not self.exists():
            if was_known:  # an empty state would have appended rows computed once more
                raise refusals.removed_error(self._location.uri)
            self._location.make()
            self._journal.create({refusals.PROJECT_PROPERTY: project})
        refusals.check_project(self._location.uri, self._journal.properties, project=project)
        self._watermarks.make()

    def check(self, *, project: str) -> None:
        """Checks that the journal exists and is this project's; reads its log only."""
        try:
            refusals.check_project(self._location.uri, self._open_journal().properties, project=project)
        except StateError:
            self._check_without_torn_files(project)
            raise

    def read_image(self, *, project: str) -> JournalImage:
        """Reads the snapshot, then the tail of the journal; if entries between them have expired, the base instead.

        In this order the journal can only be ahead of the snapshot, never behind it.
        """
        try:
            return self._read_consistent_image(project)
        except StateError:
            self._check_without_torn_files(project)  # a run puts torn files aside: say here what it would say
            raise

    def read_state(self, *, project: str) -> FoldedImage:
        """What the image folds to; of a local journal that has not changed since, from the cache."""
        if (unchanged := self._unchanged_state(project)) is not None:
            return unchanged
        folded = self.read_image(project=project).fold()
        if self._states is not None and not self._is_known:
            self._keep_state(project, folded, self._states)
        self._is_known = True
        return folded

    def _keep_state(self, project: str, folded: FoldedImage, states: StateCache) -> None:
        """Keeps a state that was just read, unless another thread has read on since."""
        journal_end = self._journal.log_end(number=folded.state.commit)
        snapshot_end = self._watermarks.table.log_end(number=folded.snapshot_seq)
        if journal_end is not None and snapshot_end is not None:
            states.keep(CachedState(project, folded, (journal_end, snapshot_end)))

    def _unchanged_state(self, project: str | None = None) -> FoldedImage | None:
        """The cached state of a journal that has not changed since; None if it is of another project."""
        cached = self._states.find() if self._states is not None else None
        if cached is None or project not in {None, cached.project}:
            return None
        self._is_known = True
        return cached.folded

    def _read_consistent_image(self, project: str) -> JournalImage:
        """The journal's image; see `read_image`.

        Entries up to the snapshot may have expired, and entries after it, too: then the base must reach further.

        Raises:
            StateError: The journal ends before the snapshot, or entries between it and the base are missing.
        """
        journal = self._open_journal()
        refusals.check_project(self._location.uri, journal.properties, project=project)
        snapshot, snapshot_seq = self._watermarks.read_snapshot()
        with journal.lock:
            journal.refresh()
            if journal.last_seq < snapshot_seq:
                raise refusals.behind_error(journal.uri, journal.last_seq, snapshot_seq)
            if snapshot_seq + 1 < journal.oldest_seq:
                snapshot, snapshot_seq = self._base.read_snapshot()
                journal.refresh()  # the journal last again, so that it is not behind the base
            if snapshot_seq + 1 < journal.oldest_seq:
                raise refusals.damaged_error(journal.uri, f"entry {snapshot_seq + 1} is missing")
            return JournalImage(
                journal_id=journal.table_id,
                commit=journal.number,
                snapshot=snapshot,
                snapshot_seq=snapshot_seq,
                tail=_read_tail(journal, snapshot_seq),
            )

    def read_after(self, seq: int) -> tuple[int, Sequence[JournalRow]]:
        """The journal's commit number and the rows after ``seq``; reads the log once if there are none.

        The number also grows by commits without rows, such as merges of files.
        """
        unchanged = self._unchanged_state()
        if unchanged is not None and unchanged.state.seq == seq:
            return unchanged.state.commit, ()
        journal = self._open_journal()
        with journal.lock:
            journal.refresh()
            return journal.number, _read_tail(journal, seq)

    def read_history(self, query: HistoryQuery = ALL_HISTORY) -> Sequence[JournalRow]:
        """Reads files from the newest back, and stops once the ``last`` rows of the query are found."""
        from sparkassets.state.history_scan import find_rows

        journal = self._open_journal()
        with journal.lock:
            journal.refresh()
            return find_rows(journal, query)

    def oldest_seq(self) -> int:
        """The number of the oldest kept entry; reads the log only."""
        journal = self._open_journal()
        with journal.lock:
            journal.refresh()
            return journal.oldest_seq

    def read_base(self) -> tuple[Sequence[SnapshotRow], int]:
        """The rows of the base table and the entry that they stand for; no rows and 0 before any entry has expired."""
        self._open_journal()
        return self._base.read_snapshot()

    def find_damages(self) -> Sequence[StateDamage]:
        """Damages of all tables; reads every file."""
        from sparkassets.state.damages import find_table_damages

        journal = self._open_journal()
        journal.refresh()
        return find_table_damages(journal, self._watermarks, self._base)

    def append(self, rows: Sequence[JournalRow], *, after: int) -> None:
        """Writes one small file and commits it under number ``after`` + 1, by compare-and-set on Delta's log.

        Raises:
            JournalConflictError: Another driver has committed since number ``after``.
            StateError: The table cannot be written.
        """
        from sparkassets.state.maintenance import checkpoint_after_commit
        from sparkassets.state.numbered_table import TRIES

        journal = self._open_journal()
        with journal.lock:
            if journal.number != after:
                journal.refresh()
            if journal.number != after:
                raise conflict_error(found=journal.number, after=after)
            check_append(rows, last_seq=journal.last_seq)
            with refusals.translate_write_errors(journal.uri):
                written = journal.files.write(arrow_table(JOURNAL_COLUMNS, rows), name="level-0")
            for _ in range(TRIES):
                if journal.commit([written], number=after + 1):
                    checkpoint_after_commit(journal)
                    return
                if journal.number != after:
                    journal.files.delete([written.path])
                    raise conflict_error(found=journal.number, after=after)
            raise refusals.busy_error(journal.uri)

    def save_snapshot(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces all rows in one commit under the number ``seq``, unless a greater one is there."""
        check_snapshot(rows, seq=seq, last_seq=self._last_seq(seq))
        self._watermarks.save(rows, seq=seq)

    def expire(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Writes the base first: if killed in between, the journal only holds more than it must."""
        from sparkassets.state.maintenance import clean_up, expire

        check_base(rows, seq=seq, last_seq=self._last_seq(seq + 1))
        self._base.save(rows, seq=seq)
        expire(self._open_journal(), up_to=self._base.table.number)
        clean_up(self._base.table)

    def maintain(self, *, fully: bool = False) -> None:
        """Merges the journal's small files and shortens both logs; if nothing is due it only reads each log."""
        from sparkassets.state.maintenance import FAN_IN, compact, tidy_when_due

        journal, watermarks = self._open_journal(), self._watermarks.make()
        compact(journal, least=2 if fully else FAN_IN)
        tidy_when_due(journal, fully=fully)
        watermarks.refresh()
        tidy_when_due(watermarks, fully=fully)

    def migrate(self, upgrade: FormatUpgrade) -> int:
        """Migrates table by table; the format number comes last."""
        from sparkassets.state.maintenance import migrate

        journal = self._open_journal()
        changed = migrate(journal, upgrade)
        for each in (self._watermarks, self._base):
            changed += each.migrate(upgrade)
        for table in (journal, self._watermarks.table, self._base.table):
            if table.is_open:
                table.note_format()
        return changed

    def _check_without_torn_files(self, project: str) -> None:
        """Checks that the state would be readable without the torn files at the end of its logs.

        Raises:
            StateError: It would not be, so the files stay as they are for a person to look at.
        """
        from sparkassets.state.damages import check_without_torn_files

        check_without_torn_files(
            self._location.uri, self._journal, self._watermarks.table, self._base.table, project=project
        )

    @cached_property
    def _options(self) -> Mapping[str, str]:
        return deltalake_options(self._location.uri) if self._given is None else self._given

    @cached_property
    def _states(self) -> StateCache | None:
        folder = self._location.folder
        return StateCache(self._cache, folder.absolute()) if self._cache is not None and folder is not None else None

    @cached_property
    def _journal(self) -> NumberedTable:
        from sparkassets.state.numbered_table import NumberedTable

        return NumberedTable(
            self._location.table(JOURNAL), app_id="sparkassets.journal", columns=JOURNAL_COLUMNS, options=self._options
        )

    @cached_property
    def _watermarks(self) -> SnapshotTable:
        return self._snapshots(WATERMARKS, "sparkassets.snapshot", repair=REBUILT)

    @cached_property
    def _base(self) -> SnapshotTable:
        return self._snapshots(BASE, "sparkassets.base", repair=f"restore the folder {BASE} from a backup")

    def _snapshots(self, name: str, app_id: str, *, repair: str) -> SnapshotTable:
        from sparkassets.state.snapshot_table import SnapshotTable

        uri = self._location.table(name)
        return SnapshotTable(uri, app_id=app_id, journal=self._journal, options=self._options, repair=repair)

    def _open_journal(self) -> NumberedTable:
        """The open journal.

        Raises:
            StateError: It does not exist, or its folder was removed since it was opened.
        """
        if self._journal.is_open:
            self._journal.check_there(self._location.uri)  # or a write would create the folder again, without a log
        elif not self.exists():
            raise refusals.absent_error(self._location.uri)
        return self._journal

    def _last_seq(self, least: int) -> int:
        """The number of the journal's newest entry; looked up again only if the known one is below ``least``."""
        journal = self._open_journal()
        if journal.last_seq < least:
            journal.refresh()
        return journal.last_seq


def _read_tail(journal: NumberedTable, seq: int) -> Sequence[JournalRow]:
    """The kept rows after ``seq``, each exactly once.

    Raises:
        StateError: One is missing or duplicate.
    """
    newest, seq = journal.last_seq, max(seq, journal.oldest_seq - 1)
    if newest <= seq:
        return ()
    rows = rows_from_table(JOURNAL_COLUMNS, journal.scan(f"seq > {seq}"), JournalRow)
    if fault := find_sequence_fault(rows, seq):
        raise refusals.damaged_error(journal.uri, fault)
    if len(rows) != newest - seq:
        raise refusals.damaged_error(journal.uri, f"entry {seq + len(rows) + 1} is missing")
    return rows
