"""The one commit of an upsert: a `MERGE` by keys, in a session of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitStamp
from sparkassets.spark import sqltext
from sparkassets.spark.commit_stamps import format_stamp
from sparkassets.spark.failures import is_lacking
from sparkassets.spark.own_session import given_setting, open_brief_session
from sparkassets.spark.table_locations import table_sql
from sparkassets.spark.upserts.staged_rows import DELETED, StagedRows
from sparkassets.spark.versions import is_variant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

_SOURCE: Final = "sparkassets_upsert"
_TRANSACTION_KEYS: Final = ("spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion")
_USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"
_MATERIALIZE: Final = "spark.databricks.delta.merge.materializeSource"
_HASH_JOIN_KEY: Final = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"
"""Up to this size, rows are joined by a hash of them, so that the table is not sorted."""
_PART_SIZE_KEY: Final = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
_MERGE_HINT: Final = "run it on a cluster, or let the asset replace its partitions (write: replace)"


@frozen
class KeyMerge:
    """The one `MERGE` of an upsert's staged rows.

    Attributes:
        staged: The rows, with unique keys.
        keys: The columns by which they match rows of the table.
        columns: The columns to store, as names of the staged rows, which have the table's types already.
        newest_by: Columns, on both sides, by which an older staged row leaves a newer stored one alone; empty where the
            table does not store them.
        match_condition: SQL that holds for every stored row that can match, so that Delta reads fewer files.
        has_deletes: Whether staged rows may delete; a deletion of a key that is not stored is dropped in any case.
    """

    staged: StagedRows
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    newest_by: tuple[str, ...] = ()
    match_condition: str | None = None
    has_deletes: bool = True

    @property
    def place(self) -> Mapping[str, str]:
        """The columns of staged rows in SQL, by name: those of `read_staged`, under the alias ``s``."""
        return {name: f"s.{_view_column(number)}" for number, name in enumerate(self.staged.schema.names)}

    def read_staged(self, session: SparkSession) -> DataFrame:
        """The staged rows, their columns named unlike any of the table's: conditions name those without a qualifier."""
        rows = self.staged.read_rows(session)
        return rows.toDF(*map(_view_column, range(len(rows.columns))))

    @property
    def values(self) -> list[str]:
        """The stored columns that are no keys."""
        return [name for name in self.columns if name not in self.keys]

    @property
    def match(self) -> str:
        """SQL that matches rows ``t`` of the table: their keys, and the range of staged keys, to skip files."""
        if not self.staged.count:
            return "false"
        terms = [f"t.{_q(name)} = {self.place[name]}" for name in self.keys]
        terms += [f"t.{_q(name)} BETWEEN {low} AND {high}" for name, (low, high) in self.staged.bounds.items()]
        return " AND ".join([*terms, *([f"({self.match_condition})"] if self.match_condition is not None else [])])

    @property
    def deletes(self) -> str:
        """SQL that is true of a matched pair whose staged row deletes the stored one."""
        return " AND ".join([self.place[DELETED], *self._timely()]) if self.has_deletes else "false"

    @property
    def takes(self) -> str:
        """SQL that is true of a matched pair whose staged row counts, and not the stored one."""
        stays = [f"NOT {self.place[DELETED]}"] if self.has_deletes else []
        return " AND ".join([*stays, *self._timely()]) or "true"

    def updates(self, schema: StructType) -> str:
        """SQL that is true of a matched pair whose staged row counts, and has other values.

        Rows that are equal already are not updated, as far as Spark can compare them: an update rewrites their file.

        Args:
            schema: The columns of the table.
        """
        if not self.values:
            return "false"
        changed = _differs_sql(self.values, self.place, {field.name: field.dataType for field in schema.fields})
        return f"{self.takes} AND {changed}" if changed else self.takes

    def _timely(self) -> list[str]:
        """The condition that the staged row of a pair is not older than the stored one; none without `newest_by`."""
        late = f"{_order_sql(self.newest_by, self.place)} < {_order_sql(self.newest_by)}"
        return [f"NOT coalesce({late}, false)"] if self.newest_by else []

    def statement(self, table: str, schema: StructType) -> str:
        """The `MERGE` of the temporary view of staged rows into ``table``, whose columns are ``schema``."""
        clauses = [f"WHEN MATCHED AND {self.deletes} THEN DELETE"] if self.has_deletes else []
        if self.values:
            sets = ", ".join(f"t.{_q(name)} = {self.place[name]}" for name in self.values)
            clauses.append(f"WHEN MATCHED AND {self.updates(schema)} THEN UPDATE SET {sets}")
        names, given = ", ".join(map(_q, self.columns)), ", ".join(self.place[name] for name in self.columns)
        gone = self.place[DELETED]
        clauses.append(f"WHEN NOT MATCHED AND NOT {gone} THEN INSERT ({names}) VALUES ({given})")  # noqa: S608  quoted
        return f"MERGE INTO {table} AS t USING {_SOURCE} AS s ON {self.match}\n" + "\n".join(clauses)


def commit_merge(
    session: SparkSession, key_merge: KeyMerge, location: StorageLocation, schema: StructType, *, stamp: CommitStamp
) -> None:
    """Commits the merge as the attempt's; a return does not prove that this attempt's commit is in the table.

    Delta skips a commit whose transaction is in already, so the caller looks for the stamp afterwards.

    Raises:
        RunError: No session can be created for it.
        Exception: Whatever Spark says; nothing was published then.
    """
    with open_brief_session(session) as brief:
        if brief is session:
            raise RunError(
                "upserts need a copy of the Spark session for their transaction, and this session cannot be copied",
                hint=_MERGE_HINT,
            )
        key_merge.read_staged(brief).createOrReplaceTempView(_SOURCE)
        with _stamp_next_commit(brief, stamp):
            brief.sql(key_merge.statement(table_sql(location), schema)).collect()


@contextlib.contextmanager
def _stamp_next_commit(session: SparkSession, stamp: CommitStamp) -> Iterator[None]:
    """Marks the session's next commit as the attempt's: `MERGE` takes its stamp from settings of its session only.

    Raises:
        RunError: The session does not accept these settings.
    """
    from pyspark.errors import PySparkException

    app, version = _TRANSACTION_KEYS
    with contextlib.suppress(PySparkException):  # a serverless session takes few settings
        session.conf.set(_MATERIALIZE, "none")  # the rows are in files that nobody changes
        if given_setting(session, _HASH_JOIN_KEY) is None:
            session.conf.set(_HASH_JOIN_KEY, session.conf.get(_PART_SIZE_KEY))
    try:
        for key, value in (
            (app, stamp.app_id),
            (version, str(stamp.version)),
            (_USER_METADATA, format_stamp(stamp)),
        ):
            session.conf.set(key, value)
    except PySparkException as error:
        if not is_lacking(error):
            raise
        raise RunError(
            f"upserts need to set {key} on the Spark session, and this session does not allow it", hint=_MERGE_HINT
        ) from error
    try:
        yield
    finally:
        for key in (app, version, _USER_METADATA):
            with contextlib.suppress(Exception):  # its JVM may be gone
                session.conf.unset(key)


def _order_sql(names: Sequence[str], view_columns: Mapping[str, str] | None = None) -> str:
    """A struct of these columns, of the view or else of the table, by which SQL compares them one after the other."""
    values = [view_columns[name] if view_columns else f"t.{_q(name)}" for name in names]
    fields = ", ".join(f"'n{number}', {value}" for number, value in enumerate(values))
    return f"named_struct({fields})"


def _differs_sql(names: Sequence[str], view_columns: Mapping[str, str], types: Mapping[str, DataType]) -> str:
    """SQL that is true of a matched row if some value differs; empty where Spark cannot compare some type."""
    if not all(_is_comparable(types[name]) for name in names):
        return ""
    same = " AND ".join(f"t.{_q(name)} <=> {view_columns[name]}" for name in names)
    return f"NOT ({same})"


def _is_comparable(kind: DataType) -> bool:
    """Whether Spark can compare values of the type, to leave out rows that are the same: not maps and variants."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    match kind:
        case MapType():
            return False
        case ArrayType():
            return _is_comparable(kind.elementType)
        case StructType():
            return all(_is_comparable(each.dataType) for each in kind.fields)
    return not is_variant(kind)


def _view_column(number: int) -> str:
    """The name of a column of the view, unlike any of the table's: conditions name those without a qualifier."""
    return f"sparkassets_{number}"


def _q(name: str) -> str:
    return sqltext.name(name)
