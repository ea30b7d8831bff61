"""A Delta table whose commits carry consecutive numbers of one transaction id: compare-and-set on Delta's log.

The rules that trials forced (docs/design/journal.md#a-serialisable-log) stand here: the number comes from the very
table object that commits, a commit is never retried by deltalake, and every commit is followed by a refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, Transaction

from sparkassets.core.journal.rows import FORMAT
from sparkassets.delta import durability
from sparkassets.delta.log import DeltaLog, parse_transactions
from sparkassets.delta.tables import fault_of
from sparkassets.errors import StateError
from sparkassets.state import refusals
from sparkassets.state.data_files import DataFile, FileAccess
from sparkassets.state.refusals import NOT_WRITABLE, StateCommitMark
from sparkassets.state.state_cache import LogEnd
from sparkassets.state.table_columns import Columns, delta_schema

if TYPE_CHECKING:
    from arro3.core import Table

RELOAD_EVERY = 20
"""Versions after which a table object is opened again: refreshed only, it carries the whole log since it was opened,
and a commit took 28 ms instead of 3 after 400 of them."""

LOG_KEPT = 200
"""How many versions of log entries are kept: no reader or writer falls behind by more in one step."""

_UNFLUSHED_VERSIONS = 4
"""Versions before a process's first commit that it flushes to disk as well, if their writers did not yet."""

TRIES = 20
"""How often a commit is repeated while other changes than the journal's own commits move the table."""

_NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


class NumberedTable:
    """One open table whose commits are numbered; safe for the threads of a process.

    Attributes:
        uri: The table's folder or URI.
        app_id: The transaction id whose version is the number.
        lock: Held by a caller that makes several reads of one version; reentrant.
        watched_from: The first version that this process opened; clean-up is due so many versions after it.

    Args:
        columns: The columns that the table must have.
        options: deltalake's options for the object store.
        repair: What to do when the table is damaged; None advises to restore a backup.
    """

    def __init__(
        self, uri: str, *, app_id: str, columns: Columns, options: Mapping[str, str], repair: str | None = None
    ) -> None:
        self.uri = uri
        self.app_id = app_id
        self.columns = columns
        self.lock = RLock()
        self._options = dict(options)
        self._repair = repair
        self._schema = delta_schema(columns)
        self.watched_from: int | None = None
        self._table: DeltaTable | None = None
        self._loaded_version = 0
        self._facts: dict[str, int] = {}
        self._facts_version = -1
        self._flushed_version: int | None = None
        self._folder = None if "://" in uri else Path(uri)

    @property
    def is_open(self) -> bool:
        """Whether a version is loaded."""
        return self._table is not None

    def open(self) -> bool:
        """Loads the newest version; False if there is no such table.

        Raises:
            StateError: The table is not the state's, has a newer format, is damaged or out of reach.
        """
        with self.lock:
            table, self._table = self._load(), None
            if table is None:
                return False
            number = self._number_of(table)
            self._check_entries(table, number)
            self._table, self._loaded_version, self._facts_version = table, table.version(), -1
            self._cache_fact("number", number)
            self.watched_from = self._loaded_version if self.watched_from is None else self.watched_from
            return True

    def refresh(self) -> None:
        """Loads the newest version.

        Raises:
            StateError: The table is gone, damaged or out of reach.
        """
        with self.lock:
            if self._table is not None and self._table.version() - self._loaded_version < RELOAD_EVERY:
                try:
                    # two files say whether a local log has grown; in a store deltalake's listing is one request
                    if self._folder is None or not DeltaLog(self.uri).ends_at(self._table.version()):
                        self._table.update_incremental()
                except (DeltaError, OSError):
                    self._table = None  # open it again: only if that fails too is it damaged
                else:
                    return
            if not self.open():
                raise refusals.absent_error(self.uri)

    def check_there(self, state: str) -> None:
        """Checks that a local table that was opened still exists.

        Raises:
            StateError: It was removed; the message names the ``state``.
        """
        if self._folder is not None and not (self._folder / durability.LOG).is_dir():
            raise refusals.removed_error(state)

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's configuration."""
        return self._loaded_table.metadata().configuration

    @property
    def table_id(self) -> str:
        """The Delta table id."""
        return str(self._loaded_table.metadata().id)

    @property
    def version(self) -> int:
        """The loaded version."""
        return self._loaded_table.version()

    @property
    def number(self) -> int:
        """The number of the last commit, 0 before the first."""
        return self._cached_fact("number", self._number_of)

    @property
    def last_seq(self) -> int:
        """The greatest ``seq`` in the table, by its files' statistics; 0 without rows."""
        return self._cached_fact(
            "last_seq", lambda _: max((file.last_seq or 0 for file in self.live_files()), default=0)
        )

    @property
    def oldest_seq(self) -> int:
        """The smallest ``seq`` in the table, 1 without rows."""
        return self._cached_fact("begins", lambda _: self._find_oldest_seq())

    def live_files(self) -> list[DataFile]:
        """The table's files, ascending by ``seq``; those without statistics first."""
        return DataFile.list_live(self._loaded_table)

    def scan(self, predicate: str | None = None) -> Table:
        """The rows of this version for which the SQL ``predicate`` holds, as an Arrow table in no order.

        Raises:
            StateError: A data file is missing or broken.
        """
        with self.lock:
            try:
                return self._loaded_table.scan(columns=list(self.columns), predicate=predicate).read_all()
            except Exception as error:  # arro3 raises bare `Exception` for whatever goes wrong in a stream
                raise refusals.unreadable_error(self.uri, error, repair=self._repair) from error

    @cached_property
    def files(self) -> FileAccess:
        """The table's files."""
        return FileAccess(self.uri, self._options)

    def set_aside_torn(self) -> None:
        """Puts aside torn files at the end of the log, left by a power failure.

        Raises:
            StateError: The folder cannot be written.
        """
        if self._folder is not None:
            with refusals.translate_write_errors(self.uri):
                durability.put_aside_torn(self._folder)

    @contextmanager
    def copy_without_torn_files(self) -> Iterator[NumberedTable | None]:
        """Yields a temporary copy of the table without its torn files; None if its log is whole or cannot be listed."""
        try:
            is_torn = self._folder is not None and bool(durability.find_torn_files(self._folder))
        except PermissionError:
            is_torn = False  # reported when the table is opened
        if self._folder is None or not is_torn:
            yield None
            return
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="sparkassets-") as folder:
            durability.copy_whole(self._folder, Path(folder))
            yield NumberedTable(
                folder, app_id=self.app_id, columns=self.columns, options=self._options, repair=self._repair
            )

    def create(self, properties: Mapping[str, str]) -> None:
        """Creates the empty table, or opens one that another process has just created.

        Raises:
            StateError: It cannot be created.
        """
        configuration = {
            refusals.FORMAT_PROPERTY: str(FORMAT),
            "delta.deletedFileRetentionDuration": "interval 1 hours",
            "delta.dataSkippingStatsColumns": "seq",
            **properties,
        }
        try:
            DeltaTable.create(
                self.uri,
                self._schema,
                configuration=configuration,
                storage_options=self._options,
                # a creation that lost the race would be retried as version 1, with another table id
                commit_properties=CommitProperties(max_commit_retries=0),
                raise_if_key_not_exists=False,
            )
        except (DeltaError, OSError) as error:
            if not self.open():
                raise refusals.unwritable_error(self.uri, error) from error
        else:
            self.open()
            self._sync_log(0)

    def commit(
        self,
        adds: Sequence[AddAction],
        *,
        number: int,
        removes: Sequence[RemoveAction] = (),
        overwrite: bool = False,
    ) -> bool:
        """Commits on top of the loaded version under ``number`` and refreshes; False if another driver was first.

        Whatever deltalake returns, the log decides whether the commit is in.

        Raises:
            StateError: The table cannot be written, and nothing was; or it cannot be found out whether it was.
        """
        with self.lock:
            table, previous = self._loaded_table, self.version
            failure: Exception | None = None
            try:
                table.create_write_transaction(
                    [*adds, *removes],
                    "overwrite" if overwrite else "append",
                    self._schema,
                    commit_properties=CommitProperties(
                        custom_metadata={"userMetadata": str(StateCommitMark(self.app_id, number))},
                        max_commit_retries=0,
                        app_transactions=[Transaction(self.app_id, number)],
                    ),
                    post_commithook_properties=_NO_HOOKS,
                )
            except (DeltaError, OSError) as error:
                failure = error
            try:
                self.refresh()
            except StateError:
                if failure is None:
                    return True  # the commit stands; the next call meets whatever is wrong
                raise
            if failure is not None and self.version == previous:
                raise refusals.unwritable_error(self.uri, failure) from failure
            # the commit counts also if the refresh does not see it yet, or the folder was moved away since
            is_certain = failure is None and self.version <= previous + 1
            paths = [*(add.path for add in adds), *(remove.path for remove in removes)]
            if not (is_certain or self._is_committed(previous + 1, paths, has_returned=failure is None)):
                return False
            if self.version == previous + 1:
                self._cache_fact("number", number)
            self._sync_log(previous + 1)
            return True

    def _sync_log(self, version: int) -> None:
        """Flushes the log up to that version to the disk; only then may anybody act upon it."""
        if self._folder is None:
            return
        first = version - _UNFLUSHED_VERSIONS if self._flushed_version is None else self._flushed_version + 1
        try:
            durability.sync_files(self._folder, map(durability.entry_path, range(max(0, first), version + 1)))
        except OSError as error:
            raise refusals.unsettled_error(self.uri, error) from error
        self._flushed_version = version

    def checkpoint(self) -> None:
        """Writes a checkpoint of the loaded version and opens the table upon it.

        Raises:
            StateError: It cannot be written.
        """
        with self.lock, refusals.translate_write_errors(self.uri):
            self._loaded_table.create_checkpoint()
            if self._folder is not None:
                durability.sync_files(self._folder, [f"{durability.LOG}/{self.version:020d}.checkpoint.parquet"])
            self.open()

    def note_format(self) -> None:
        """Records in the table's properties that all of its rows have the current format.

        Raises:
            StateError: It cannot be written.
        """
        with self.lock, refusals.translate_write_errors(self.uri):
            self.refresh()
            if self.properties.get(refusals.FORMAT_PROPERTY) != str(FORMAT):
                properties = {refusals.FORMAT_PROPERTY: str(FORMAT)}
                self._loaded_table.alter.set_table_properties(
                    properties, raise_if_not_exists=False
                )  # Delta does not know our property
                self.open()

    def list_unreferenced_files(self) -> list[str]:
        """Files that no version of the last hour refers to, and that are older than an hour."""
        return self._loaded_table.vacuum(dry_run=True, full=True)

    def log_end(self, *, number: int) -> LogEnd | None:
        """The loaded version's commit; None if it has another number, or if the log lost it."""
        with self.lock:
            content = self._log_entry(self.version) if self.is_open and self.number == number else None
            files = tuple(file.path for file in self.live_files()) if content is not None else ()
            return None if content is None else LogEnd(self.uri, self.version, content, files)

    def _find_oldest_seq(self) -> int:
        files = self.live_files()
        if any(file.first_seq is None for file in files):  # another program wrote it, and kept no statistics
            return min(self.scan().column("seq").to_pylist(), default=1)
        return min((file.first_seq for file in files if file.first_seq is not None), default=1)

    @property
    def _loaded_table(self) -> DeltaTable:
        """The open deltalake table; opened if it is not.

        Raises:
            StateError: It does not exist.
        """
        if self._table is None:
            self.open()
        if self._table is None:
            raise refusals.absent_error(self.uri)
        return self._table

    def _cached_fact(self, name: str, find: Callable[[DeltaTable], int]) -> int:
        """The value of ``find`` for the loaded version; computed once, as each call of deltalake takes 0.3 ms."""
        with self.lock:
            table = self._loaded_table
            if self._facts_version != table.version() or name not in self._facts:
                self._cache_fact(name, find(table))
            return self._facts[name]

    def _cache_fact(self, name: str, fact: int) -> None:
        """Caches a fact about the loaded version."""
        if self._facts_version != self.version:
            self._facts, self._facts_version = {}, self.version
        self._facts[name] = fact

    def _number_of(self, table: DeltaTable) -> int:
        """The number of the last commit in the loaded version, 0 before the first.

        Read from the newest log entry if that has it: deltalake would read all entries since the last checkpoint.
        """
        transactions = parse_transactions(self._log_entry(table.version()) or b"")
        if self.app_id in transactions:
            return transactions[self.app_id]
        try:
            return table.transaction_version(self.app_id) or 0
        except (DeltaError, OSError) as error:  # it reads the log once more
            raise refusals.unreadable_error(self.uri, error, repair=self._repair) from error

    def _load(self) -> DeltaTable | None:
        """The newest version of the table, checked for format and columns; None if there is no table.

        Raises:
            StateError: It cannot be read or is not the state's.
        """
        try:
            table = DeltaTable(self.uri, storage_options=self._options)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError, ValueError) as error:
            if self._folder is not None and (broken := durability.find_torn_files(self._folder)):
                raise refusals.torn_error(self.uri, broken[0].name) from error
            if self._folder is not None and (why := fault_of(self._folder)) is not None:
                raise refusals.damaged_error(self.uri, why, repair=self._repair) from error
            raise refusals.unreadable_error(self.uri, error, repair=self._repair) from error
        refusals.check_format(self.uri, table.metadata().configuration)
        refusals.check_columns(self.uri, (field.name for field in table.schema().fields), self.columns)
        return table

    def _is_committed(self, version: int, paths: Sequence[str], *, has_returned: bool) -> bool:
        """Whether log entry ``version`` is this commit: whether it names all of ``paths``.

        An object store may carry out a put whose answer is lost, so a commit that raised may be in. If the entry has
        been deleted since, nobody can tell.

        Args:
            version: The version that the commit would have.
            paths: Files that it adds or removes; their names are unique.
            has_returned: Whether deltalake reported success.

        Raises:
            StateError: It cannot be found out, as too many commits followed.
        """
        entry = self._log_entry(version)
        is_ours = entry is not None and all(path.encode() in entry for path in paths)
        if self.version - version < LOG_KEPT or not (is_ours or has_returned):
            return is_ours
        raise StateError(
            f"the outcome of commit {version} of {self.uri} is unknown: this driver slept through "
            f"{self.version - version} commits of others",
            hint="start again; committed entries are kept",
            topic=NOT_WRITABLE,
        )

    def _log_entry(self, version: int) -> bytes | None:
        """The content of a log entry; None if the entry does not exist."""
        try:
            return self.files.read_bytes(f"_delta_log/{version:020d}.json")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refusals.unreadable_error(self.uri, error, repair=self._repair) from error

    def _check_entries(self, table: DeltaTable, number: int) -> None:
        """Refuses a log whose newest entries are empty files, which a power failure leaves and Delta reads past.

        A numbered commit moves version and number by one, so only as many entries as lack a number need a look.
        """
        behind = table.version() - number
        for version in range(table.version(), max(-1, table.version() - min(behind, RELOAD_EVERY)), -1):
            if self._log_entry(version) == b"":
                raise refusals.torn_error(self.uri, f"{version:020d}.json")
