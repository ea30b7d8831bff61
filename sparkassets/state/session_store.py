"""The journal in Delta tables through a Spark session: in a catalog, or at a path that the session reaches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import isqrt
from threading import RLock
from typing import TYPE_CHECKING, Final

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.core.table_names import format_table_name, quote_table_name
from sparkassets.errors import StateError
from sparkassets.ports import ALL_HISTORY, FoldedImage, FormatUpgrade, HistoryQuery, JournalImage, StateDamage
from sparkassets.state import refusals
from sparkassets.state.location import BASE, JOURNAL, WATERMARKS
from sparkassets.state.refusals import check_append, check_base, check_snapshot, conflict_error, find_sequence_fault
from sparkassets.state.session_table import NumberedVersion, SessionTable
from sparkassets.state.table_columns import JOURNAL_COLUMNS, SNAPSHOT_COLUMNS, Columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TRIES: Final = 20
"""How often a commit is repeated while other changes than the journal's own commits move the table."""
_FEWEST_TO_MERGE: Final = 32
"""Fewer files than this are not merged, however short the journal is."""
_VACUUM_EVERY: Final = 1_000
"""Commits between two vacuums: a session is slow at listing files."""
_PATH_PROPERTIES: Final = {
    "delta.enableDeletionVectors": "false",
    "delta.enableRowTracking": "false",
    "delta.checkpointPolicy": "classic",
}
"""Without features that some platforms turn on for new tables: a state at a path is also read without Spark."""
_UNSAFE_SCHEMES: Final = {
    "file": "on a local disk Spark's commits are safe in only one JVM",
    "s3a": "on S3 Spark's commits are safe from only one driver at a time",
    "s3n": "on S3 Spark's commits are safe from only one driver at a time",
}


class SessionStore:
    """`ports.JournalStore` in tables ``journal``, ``watermarks`` and ``base`` of a schema, or in folders of a path.

    Safe for threads. Safe for any number of drivers where the storage can create a log entry only if it is missing
    (put-if-absent), or a catalog orders the commits; elsewhere two drivers overwrite each other's, and creating the
    state warns of it.

    Args:
        session: Returns the session; not called before the state is needed.
        schema: Catalog and schema of the tables; instead of ``uri``.
        uri: A folder or URI as Spark takes it.
    """

    def __init__(
        self, session: Callable[[], SparkSession], *, schema: tuple[str, ...] = (), uri: str | None = None
    ) -> None:
        self._session = session
        self._schema = schema
        self._uri = (uri or "").rstrip("/")
        self._display_name = format_table_name(schema) if schema else self._uri
        self._lock = RLock()
        self._last_read: tuple[NumberedVersion, int] | None = None
        self._vacuumed_at = 0
        self._journal = self._table(JOURNAL, "sparkassets.journal", JOURNAL_COLUMNS)
        repair = f"remove {self._name(WATERMARKS)[1]}; it is rebuilt from the journal"
        self._watermarks = self._table(WATERMARKS, "sparkassets.snapshot", SNAPSHOT_COLUMNS, repair)
        self._base = self._table(BASE, "sparkassets.base", SNAPSHOT_COLUMNS)

    def exists(self) -> bool:
        """Whether the journal's table exists; opens it."""
        return self._journal.is_open or self._journal.open()

    def create(self, *, project: str) -> None:
        """Creates the schema and both tables; if two processes do so at once, one creates them and both continue."""
        if not self.exists():
            self._make_schema()
            self._journal.create({refusals.PROJECT_PROPERTY: project})
            self._warn_of_unsafe_commits()
        self.check(project=project)
        self._ensure_created(self._watermarks)

    def check(self, *, project: str) -> None:
        """Checks by the table's properties that the journal is this project's."""
        refusals.check_project(self._display_name, self._open_journal().properties, project=project)

    def read_image(self, *, project: str) -> JournalImage:
        """Reads the snapshot, then the tail of the journal; if entries between them have expired, the base instead.

        In this order the journal can only be ahead of the snapshot, never behind it.
        """
        self.check(project=project)
        snapshot, snapshot_seq = self._read_snapshot_table(self._watermarks)
        with self._lock:
            moment = self._journal.current_moment()
            tail = self._read_tail(moment, snapshot_seq)
            # entries after the snapshot have expired: the base has them; more may expire while it is read
            while tail and tail[0].seq > snapshot_seq + 1:
                snapshot, snapshot_seq = self._read_snapshot_table(self._base)
                moment = self._journal.current_moment()
                tail = self._read_tail(moment, snapshot_seq)
            last = tail[-1].seq if tail else self._last_seq(moment)
            if last < snapshot_seq:
                why = f"it ends at entry {last}, but the snapshot is of entry {snapshot_seq}"
                raise refusals.damaged_error(self._journal.display_name, why)
            self._last_read, self._vacuumed_at = (moment, last), self._vacuumed_at or moment.number
            return JournalImage(self._journal.table_id, moment.number, snapshot, snapshot_seq, tail)

    def read_state(self, *, project: str) -> FoldedImage:
        """What the snapshot and the tail fold to."""
        return self.read_image(project=project).fold()

    def read_after(self, seq: int) -> tuple[int, Sequence[JournalRow]]:
        """The journal's commit number and the rows after ``seq``; asks the history once if there are none."""
        self._open_journal()
        with self._lock:
            moment = self._journal.current_moment()
            if self._last_read is not None and self._last_read[0] == moment and self._last_read[1] <= seq:
                return moment.number, ()
            tail = self._read_tail(moment, seq)
            self._last_read = (moment, tail[-1].seq if tail else self._last_seq(moment))
            return moment.number, tail

    def read_history(self, query: HistoryQuery = ALL_HISTORY) -> Sequence[JournalRow]:
        """Matching rows, by one query of Spark."""
        journal = self._open_journal()
        if query.last == 0:
            return ()

        def select_matching(frame: DataFrame) -> DataFrame:
            from pyspark.sql import functions as sql

            matching = frame.filter(sql.col("seq") > query.after_seq)
            if query.up_to_seq is not None:
                matching = matching.filter(sql.col("seq") <= query.up_to_seq)
            for column, values in query.allowed_values.items():
                matching = matching.filter(sql.col(column).isin(list(values)))
            return matching if query.last is None else matching.orderBy(sql.desc("seq")).limit(query.last)

        return journal.read_rows(JournalRow, select_rows=select_matching)

    def append(self, rows: Sequence[JournalRow], *, after: int) -> None:
        """Commits under number ``after`` + 1; Spark skips a number that another has used, so the history decides."""
        journal = self._open_journal()
        with self._lock:
            for _ in range(_TRIES):
                moment, last = self._seen_or_current(after)
                if moment.number != after:
                    raise conflict_error(found=moment.number, after=after)
                check_append(rows, last_seq=last)
                if journal.commit(rows, number=after + 1, upon=moment):
                    self._last_read = (replace(moment, number=after + 1), rows[-1].seq)
                    return
                self._last_read = None
            raise refusals.busy_error(journal.display_name)

    def save_snapshot(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces all rows in one commit under the number ``seq``; a greater one that already exists stays."""
        journal = self._open_journal()
        with self._lock:
            last = self._last_read[1] if self._last_read is not None else 0
            check_snapshot(rows, seq=seq, last_seq=last if seq <= last else self._last_seq(journal.current_moment()))
        self._save_rows(self._watermarks, rows, seq=seq)

    def maintain(self, *, fully: bool = False) -> None:
        """Merges the journal's files if they are many for its length, and removes unreferenced ones.

        A longer journal may have more files, up to the square root of its commits. Spark itself shortens the logs.
        """
        journal = self._open_journal()
        number = journal.current_moment().number
        if fully or journal.count_files() >= max(_FEWEST_TO_MERGE, isqrt(number)):
            journal.merge_files()
        if fully or number // _VACUUM_EVERY > self._vacuumed_at // _VACUUM_EVERY:
            journal.vacuum()
            for table in (self._watermarks, self._base):
                if self._ensure_open(table):
                    table.vacuum()
        self._vacuumed_at = number

    def oldest_seq(self) -> int:
        """The number of the oldest kept entry; asks the journal only if entries have expired."""
        journal = self._open_journal()
        return (journal.smallest_seq() or 1) if self._ensure_open(self._base) else 1

    def read_base(self) -> tuple[Sequence[SnapshotRow], int]:
        """The rows of the base table and the entry that they stand for; no rows and 0 before any entry has expired."""
        self._open_journal()
        return self._read_snapshot_table(self._base)

    def expire(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Writes the base, reads it back, then deletes the entries up to ``seq`` from the journal.

        If killed in between, the journal still holds entries that the base has folded, which does no harm. A deletion
        takes no commit number of the journal: if another driver commits meanwhile, it is tried again.
        """
        journal = self._open_journal()
        check_base(rows, seq=seq, last_seq=self._last_seq(journal.current_moment()))
        self._save_rows(self._base, rows, seq=seq)
        stored, up_to = self._read_snapshot_table(self._base)
        if up_to < seq or (up_to == seq and sorted(stored, key=str) != sorted(rows, key=str)):
            raise self._base.damaged_error(f"it differs from what was written for entry {seq}")
        for _ in range(_TRIES):
            if (journal.smallest_seq() or 0) > up_to:
                return
            journal.delete(f"seq <= {up_to}")

    def find_damages(self) -> Sequence[StateDamage]:
        """Damages that reading reveals; files are the session's business."""
        damages = list[StateDamage]()
        checks: list[tuple[SessionTable, Callable[[], object]]] = [(self._journal, self._check_entries)]
        checks += [(table, partial(self._read_snapshot_table, table)) for table in (self._watermarks, self._base)]
        for table, check in checks:
            try:
                check()
            except StateError as error:
                damages.append(
                    StateDamage(str(error.args[0]), error.hint or f"restore {table.display_name} from a backup")
                )
        return damages

    def migrate(self, upgrade: FormatUpgrade) -> int:
        """Does nothing: no release has stored an older format here."""
        del upgrade
        self._open_journal()
        return 0

    def _table(self, name: str, app_id: str, columns: Columns, repair: str | None = None) -> SessionTable:
        """One of the state's tables, not opened yet; ``repair`` is the advice if it is damaged."""
        sql, display_name = self._name(name)
        return SessionTable(
            self._session,
            sql,
            display_name=display_name,
            app_id=app_id,
            columns=columns,
            properties={} if self._schema else _PATH_PROPERTIES,
            repair=repair,
        )

    def _name(self, table: str) -> tuple[str, str]:
        """The quoted SQL name of one of the state's tables, and its name for people."""
        if self._schema:
            return quote_table_name((*self._schema, table)), format_table_name((*self._schema, table))
        return f"delta.{quote_table_name((f'{self._uri}/{table}',))}", f"{self._uri}/{table}"

    def _make_schema(self) -> None:
        """Creates a missing schema; looks first, as a user without the right to create may use an existing one."""
        if not self._schema:
            return
        name, session = quote_table_name(self._schema), self._session()
        try:
            session.sql(f"DESCRIBE SCHEMA {name}").collect()
        except Exception:  # noqa: BLE001  it is missing, or nobody may look: creating tells
            self._journal.execute(f"CREATE SCHEMA IF NOT EXISTS {name}")

    def _warn_of_unsafe_commits(self) -> None:
        """Warns if neither the storage nor a catalog keeps two drivers from overwriting each other's commits."""
        scheme = self._journal.location.partition(":")[0].lower()
        if scheme in _UNSAFE_SCHEMES and not self._journal.is_catalog_managed:
            text = f"the state {self._display_name} is in {self._journal.location}: {_UNSAFE_SCHEMES[scheme]}; "
            warnings.warn(f"{text}run one driver at a time, or give `state` a path", RuntimeWarning, stacklevel=2)

    def _open_journal(self) -> SessionTable:
        """The open journal.

        Raises:
            StateError: It does not exist.
        """
        if not self.exists():
            raise refusals.absent_error(self._display_name)
        return self._journal

    def _ensure_open(self, table: SessionTable) -> bool:
        """Whether the snapshot or base table exists; opens it and checks that it belongs to this journal."""
        if not table.is_open:
            if not table.open():
                return False
            refusals.check_journal(table.display_name, table.properties, journal_id=self._journal.table_id)
        return True

    def _ensure_created(self, table: SessionTable) -> None:
        if not self._ensure_open(table):
            table.create({refusals.JOURNAL_PROPERTY: self._journal.table_id})

    def _read_snapshot_table(self, table: SessionTable) -> tuple[Sequence[SnapshotRow], int]:
        """The table's rows and the entry that they stand for; no rows and 0 if the table is missing or empty."""
        if not self._ensure_open(table):
            return (), 0
        moment = table.current_moment()
        if not moment.number:
            return (), 0
        rows = table.read_rows(SnapshotRow, version=moment.version)
        if any(row.seq != moment.number for row in rows):
            raise table.damaged_error(f"it is of entry {moment.number}, but contains rows of others")
        return rows, moment.number

    def _save_rows(self, table: SessionTable, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces all rows of the table in one commit numbered ``seq``, unless its number is already that high."""
        self._ensure_created(table)
        for _ in range(_TRIES):
            moment = table.current_moment()
            if moment.number >= seq or table.commit(rows, number=seq, upon=moment, overwrite=True):
                return
        raise refusals.busy_error(table.display_name)

    def _check_entries(self) -> None:
        """Reads all entries that are kept, to find missing or unreadable ones."""
        self._read_tail(self._journal.current_moment(), 0)

    def _seen_or_current(self, after: int) -> tuple[NumberedVersion, int]:
        """The journal's version and last entry: as last seen if its number is ``after``, else looked up again."""
        if self._last_read is None or self._last_read[0].number != after:
            moment = self._journal.current_moment()
            self._last_read = (moment, self._last_seq(moment))
        return self._last_read

    def _read_tail(self, moment: NumberedVersion, seq: int) -> Sequence[JournalRow]:
        """The rows after ``seq`` that are kept, each exactly once.

        Raises:
            StateError: One is missing or duplicate. Entries that the base stands for may be missing: they have expired.
        """
        rows = self._journal.read_rows(
            JournalRow, version=moment.version, select_rows=lambda frame: frame.filter(f"seq > {seq}")
        )
        if rows and rows[0].seq > seq + 1:
            seq = max(seq, min(rows[0].seq - 1, self._read_snapshot_table(self._base)[1]))
        if wrong := find_sequence_fault(rows, seq):
            raise self._journal.damaged_error(wrong)
        return rows

    def _last_seq(self, moment: NumberedVersion) -> int:
        return self._journal.greatest_seq(moment.version)
