"""A numbered table of the state that a Spark session reads and writes, and its rows as Spark has them.

A session shows no transaction versions, and a write that it skips returns as if it had succeeded. So each commit names
its number and its writer in its ``userMetadata``, and after each write the table's history is searched for it.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.http_answers import quote_http_answers
from sparkassets.core.journal.rows import FORMAT, JournalRow, SnapshotRow
from sparkassets.core.redaction import redact
from sparkassets.core.table_names import quote_table_name
from sparkassets.errors import StateError
from sparkassets.frozen import frozen
from sparkassets.state import refusals
from sparkassets.state.refusals import NOT_WRITABLE, OTHER_RELEASE, StateCommitMark
from sparkassets.state.table_columns import REQUIRED, Columns, Kind, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES: Final[Mapping[Kind, str]] = {
    "long": "BIGINT",
    "timestamp": "TIMESTAMP",
    "string": "STRING",
    "longs": "ARRAY<BIGINT>",
    "strings": "ARRAY<STRING>",
}


def column_definitions(columns: Columns) -> str:
    """The columns as a ``CREATE TABLE`` has them."""
    return ", ".join(
        f"{_quote(name)} {_TYPES[kind]}{' NOT NULL' if name in REQUIRED else ''}" for name, kind in columns.items()
    )


def build_frame(
    session: SparkSession, columns: Columns, rows: Sequence[JournalRow] | Sequence[SnapshotRow]
) -> DataFrame:
    """The rows as a frame with these columns, sent to the session as one JSON text that Spark parses strictly."""
    from pyspark.sql import functions as sql

    encoded = [{name: _encode_value(kind, getattr(row, name)) for name, kind in columns.items()} for row in rows]
    kinds = ", ".join(f"{_quote(name)}: {_TYPES[_wire_kind(kind)]}" for name, kind in columns.items())
    parsed = sql.from_json(sql.lit(json.dumps(encoded)), f"array<struct<{kinds}>>", {"mode": "FAILFAST"})
    return session.range(1).select(sql.explode(parsed).alias("r")).selectExpr(*_select_expressions(columns))


def collect_rows(frame: DataFrame, columns: Columns, make: type[Row]) -> list[Row]:
    """The rows of a frame with these columns, ascending by ``seq``."""
    expressions = [
        f"unix_micros({_quote(name)})" if kind == "timestamp" else _quote(name) for name, kind in columns.items()
    ]
    kinds = tuple(columns.values())
    rows = [
        make(*(_decode_value(kind, value) for kind, value in zip(kinds, row, strict=True)))
        for row in frame.selectExpr(*expressions).collect()
    ]
    return sorted(rows, key=lambda row: row.seq)


def _quote(name: str) -> str:
    return quote_table_name((name,))


def _wire_kind(kind: Kind) -> Kind:
    """The kind of a value in that JSON text: an instant is a number of microseconds."""
    return "long" if kind == "timestamp" else kind


def _select_expressions(columns: Columns) -> list[str]:
    """SQL that turns a field of the parsed struct ``r`` into each column of the table."""
    values = []
    for name, kind in columns.items():
        value = f"timestamp_micros(r.{_quote(name)})" if kind == "timestamp" else f"r.{_quote(name)}"
        values.append(f"{value} AS {_quote(name)}")
    return values


def _encode_value(kind: Kind, value: Any) -> Any:  # noqa: ANN401  a field of a row
    return (value - _EPOCH) // timedelta(microseconds=1) if kind == "timestamp" else value


def _decode_value(kind: Kind, value: Any) -> Any:  # noqa: ANN401  likewise
    match kind:
        case "longs" | "strings":
            return tuple(value or ())
        case "timestamp":
            return _EPOCH + timedelta(microseconds=value)
        case _:
            return value


_MISSING_CONDITIONS: Final = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_PATH_DOES_NOT_EXIST",
)
_CONFLICT_CONDITIONS: Final = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")
"""Prefixes of Spark's error conditions if somebody else committed meanwhile."""
_DAMAGE_CONDITIONS: Final = (
    "DELTA_FILE_NOT_FOUND",
    "DELTA_LOG_FILE",
    "DELTA_STATE_RECOVER",
    "DELTA_TRUNCATED",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
    "FAILED_READ_FILE",
)
_JVM_CALL_PREFIX: Final = re.compile(r"^An error occurred while calling [^\n]*\n: (?:[a-z]\w*\.)*")
_HISTORY_PAGES: Final = (1, 20, 400, 2**31 - 1)
"""Numbers of newest commits to ask for, one after the other, until the one that is searched for is among them."""
_PROPERTIES: Final = {
    "delta.deletedFileRetentionDuration": "interval 1 hours",
    "delta.logRetentionDuration": "interval 2 days",
    "delta.dataSkippingStatsColumns": "seq",
}


SelectRows = Callable[["DataFrame"], "DataFrame"]


@frozen
class NumberedVersion:
    """A version of a table, and the number of the newest commit with a mark in it; 0 before the first."""

    version: int
    number: int


class SessionTable:
    """One table; safe for the threads of a process.

    Attributes:
        display_name: The table's name for people.

    Args:
        session: Returns the session.
        name: The table's name, quoted for SQL.
        app_id: The transaction id whose version is the number.
        properties: What a new table gets beside what every table of the state gets.
        repair: What to do when the table is damaged; None advises to restore a backup.
    """

    def __init__(
        self,
        session: Callable[[], SparkSession],
        name: str,
        *,
        display_name: str,
        app_id: str,
        columns: Columns,
        properties: Mapping[str, str],
        repair: str | None = None,
    ) -> None:
        self.display_name = display_name
        self._session = session
        self._name = name
        self._app_id = app_id
        self._columns = columns
        self._properties = properties
        self._repair = repair
        self._detail: Any = None

    @property
    def is_open(self) -> bool:
        """Whether the table was found by `open`."""
        return self._detail is not None

    def open(self) -> bool:
        """Looks at the table; False if there is none.

        Raises:
            StateError: The table is not the state's, has a newer format, is damaged or out of reach.
        """
        try:
            (detail,) = self._session().sql(f"DESCRIBE DETAIL {self._name}").collect()
            columns = self._frame().columns
        except Exception as error:
            if _has_condition(error, _MISSING_CONDITIONS):
                return False
            raise self._unreadable_error(error) from error
        refusals.check_format(self.display_name, detail["properties"])
        refusals.check_columns(self.display_name, columns, self._columns)
        self._detail = detail
        return True

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties when it was opened."""
        properties: Mapping[str, str] = self._table_detail["properties"]
        return properties

    @property
    def table_id(self) -> str:
        """The Delta table id."""
        return str(self._table_detail["id"])

    @property
    def location(self) -> str:
        """The URI of the table's folder."""
        return str(self._table_detail["location"])

    @property
    def is_catalog_managed(self) -> bool:
        """Whether the table's catalog orders its commits, as Unity Catalog does for tables that it manages."""
        return "catalogManaged" in (self._table_detail["tableFeatures"] or ())

    def count_files(self) -> int:
        """The number of live files now."""
        return int(self._query(f"DESCRIBE DETAIL {self._name}")[0]["numFiles"])

    def current_moment(self) -> NumberedVersion:
        """The newest version, with the number of the newest commit that has a mark.

        Raises:
            StateError: The table is gone or out of reach, or its history has writes and no mark with a number.
        """
        newest, oldest, has_writes = -1, -1, False
        for commit in self._newest_commits():
            newest = commit["version"] if newest < 0 else newest
            oldest, mark = commit["version"], StateCommitMark.parse(commit["userMetadata"], self._app_id)
            if mark is not None:
                return NumberedVersion(newest, mark.number)
            has_writes = has_writes or commit["operation"] == "WRITE"
        if oldest or has_writes:  # only a history that is whole, from version 0 on, proves that nothing was committed
            raise StateError(
                f"the history of {self.display_name} lacks the number of its last commit",
                hint="an older release wrote it: run the project once with this release and `state` as a path",
                topic=OTHER_RELEASE,
            )
        return NumberedVersion(newest, 0)

    def read_rows(
        self, make: type[Row], *, version: int | None = None, select_rows: SelectRows = lambda frame: frame
    ) -> list[Row]:
        """Rows of a version, by default the newest, that ``select_rows`` selects from its frame; ascending by ``seq``.

        Raises:
            StateError: They cannot be read.
        """
        try:
            return collect_rows(select_rows(self._frame(version)), self._columns, make)
        except Exception as error:
            raise self._unreadable_error(error) from error

    def greatest_seq(self, version: int) -> int:
        """The greatest ``seq`` in a version, 0 without rows."""
        ((greatest,),) = self._query(f"SELECT max(seq) FROM {self._name} VERSION AS OF {version}")  # noqa: S608  quoted
        return greatest or 0

    def smallest_seq(self) -> int:
        """The smallest ``seq`` in the newest version, 0 without rows."""
        ((smallest,),) = self._query(f"SELECT min(seq) FROM {self._name}")  # noqa: S608  quoted
        return smallest or 0

    def damaged_error(self, why: str) -> StateError:
        """The error for surplus or missing rows."""
        return refusals.damaged_error(self.display_name, why, repair=self._repair)

    def create(self, properties: Mapping[str, str]) -> None:
        """Creates the empty table, or opens the one that another process has just created.

        Raises:
            StateError: It cannot be created.
        """
        all_properties = {refusals.FORMAT_PROPERTY: str(FORMAT), **_PROPERTIES, **self._properties, **properties}
        literals = ", ".join(f"{_text_literal(key)} = {_text_literal(value)}" for key, value in all_properties.items())
        columns = column_definitions(self._columns)
        query = f"CREATE TABLE IF NOT EXISTS {self._name} ({columns}) USING delta TBLPROPERTIES ({literals})"
        failure: Exception | None = None
        try:
            self._session().sql(query).collect()
        except Exception as error:  # noqa: BLE001  another process may have been quicker
            failure = error
        if not self.open():
            raise self._unwritable_error(failure or Exception("it does not exist")) from failure

    def commit(
        self,
        rows: Sequence[JournalRow] | Sequence[SnapshotRow],
        *,
        number: int,
        upon: NumberedVersion,
        overwrite: bool = False,
    ) -> bool:
        """Commits under ``number``; False if another driver was first.

        Spark's return value and error prove nothing: the history is searched for the commit's mark.

        Args:
            rows: The rows to write.
            number: Greater than the number in ``upon``.
            upon: The version that the caller has seen; the search goes back to it.
            overwrite: Whether the rows replace all others.

        Raises:
            StateError: The table cannot be written, and nothing was; or it cannot be found out whether it was.
        """
        from pyspark.sql import functions as sql

        mark, failure = StateCommitMark(self._app_id, number, uuid.uuid4().hex), None
        try:
            frame = build_frame(self._session(), self._columns, rows)
            writer = frame.writeTo(self._name).option("txnAppId", self._app_id).option("txnVersion", number)
            writer = writer.option("userMetadata", str(mark))
            writer.overwrite(sql.expr("true")) if overwrite else writer.append()
        except Exception as error:  # noqa: BLE001  whatever it was, the history tells whether it is in
            failure = error
        if self._is_committed(mark, after=upon.version):
            return True
        if failure is None or _has_condition(failure, _CONFLICT_CONDITIONS) or self.current_moment().number >= number:
            return False
        raise self._unwritable_error(failure) from failure

    def merge_files(self) -> None:
        """Merges many small files into few.

        Raises:
            StateError: It cannot be written.
        """
        self.execute(f"OPTIMIZE {self._name}")

    def delete(self, condition: str) -> None:
        """Deletes rows by a SQL condition, unless another driver commits meanwhile.

        Raises:
            StateError: It cannot be written.
        """
        self.execute(f"DELETE FROM {self._name} WHERE {condition}")  # noqa: S608  quoted

    def vacuum(self) -> None:
        """Removes unreferenced files.

        Raises:
            StateError: It cannot be written.
        """
        self.execute(f"VACUUM {self._name}")

    def execute(self, statement: str) -> None:
        """Runs a statement that changes the state; gives up if another commit overtakes it or the catalog does it.

        Raises:
            StateError: It failed.
        """
        try:
            self._session().sql(statement).collect()
        except Exception as error:
            # a catalog that manages its tables merges and removes their files itself
            if not _has_condition(error, (*_CONFLICT_CONDITIONS, "DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION")):
                raise self._unwritable_error(error) from error

    @property
    def _table_detail(self) -> Any:  # noqa: ANN401  a row of Spark's
        if self._detail is None and not self.open():
            raise refusals.absent_error(self.display_name)
        return self._detail

    def _frame(self, version: int | None = None) -> DataFrame:
        at = "" if version is None else f" VERSION AS OF {version}"
        return self._session().sql(f"SELECT * FROM {self._name}{at}")  # noqa: S608  quoted

    def _query(self, statement: str) -> list[Any]:
        """The rows of a statement's result.

        Raises:
            StateError: The table is missing or cannot be read.
        """
        try:
            rows: list[Any] = self._session().sql(statement).collect()
        except Exception as error:
            if _has_condition(error, _MISSING_CONDITIONS):
                raise refusals.absent_error(self.display_name) from error
            raise self._unreadable_error(error) from error
        return rows

    def _newest_commits(self) -> Iterator[Any]:
        """The table's commits, newest first, as far back as its history goes; asked for in growing pages."""
        oldest_version: int | None = None
        for page in _HISTORY_PAGES:
            commits = self._query(f"DESCRIBE HISTORY {self._name} LIMIT {page}")
            for commit in commits:
                if oldest_version is None or commit["version"] < oldest_version:
                    oldest_version = commit["version"]
                    yield commit
            if len(commits) < page:
                return

    def _is_committed(self, mark: StateCommitMark, *, after: int) -> bool:
        """Whether a commit after version ``after`` has this mark.

        Raises:
            StateError: The history no longer reaches back to ``after``, so it cannot be found out.
        """
        version = after + 1
        for commit in self._newest_commits():
            if StateCommitMark.parse(commit["userMetadata"], self._app_id) == mark:
                return True
            version = commit["version"]
            if version <= after:
                return False
        if version == after + 1:  # the history begins right after what the caller has seen: nothing is hidden
            return False
        raise StateError(
            f"the outcome of a commit to {self.display_name} is unknown: others committed, and the history begins "
            f"at version {version}",
            hint="start again; committed entries are kept",
            topic=NOT_WRITABLE,
        )

    def _unreadable_error(self, error: Exception) -> StateError:
        if _has_condition(error, _DAMAGE_CONDITIONS):
            return refusals.damaged_error(self.display_name, str(_SparkMessage(error)), repair=self._repair)
        return refusals.unreachable_error(self.display_name, _SparkMessage(error))

    def _unwritable_error(self, error: Exception) -> StateError:
        return refusals.unwritable_error(self.display_name, _SparkMessage(error))


class _SparkMessage(Exception):  # noqa: N818  it is never raised: what a refusal tells of
    """The message of a Spark error as one line, without credentials; made to be passed on, never raised."""

    def __init__(self, error: BaseException) -> None:
        text = _JVM_CALL_PREFIX.sub("", str(getattr(error, "_desc", None) or error).strip()).partition("\n")[0]
        super().__init__(redact(quote_http_answers(text.partition(" SQLSTATE: ")[0])) or type(error).__name__)


def _has_condition(error: BaseException, conditions: Sequence[str]) -> bool:
    """Whether the error or one of its causes names a Spark error condition that begins with one of ``conditions``."""
    cause: BaseException | None = error  # pyspark keeps the message in _desc, and the cause from the JVM in _cause
    while cause is not None:
        text = str(getattr(cause, "_desc", None) or cause)
        if any(f"[{condition}" in text for condition in conditions):
            return True
        cause = getattr(cause, "_cause", None) or cause.__cause__
    return False


def _text_literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"
