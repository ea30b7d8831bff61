"""The one commit of an upsert: a `MERGE` by keys, in a session of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker
from sparkassets.spark import sqltext
from sparkassets.spark.failures import is_lacking
from sparkassets.spark.own_session import given_setting, open_brief_session
from sparkassets.spark.target_table import TableRelation, format_marker
from sparkassets.spark.upserts.staged_rows import DELETED, StagedRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_SOURCE: Final = "sparkassets_upsert"
_OF_THE_COMMIT: Final = ("spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion")
_USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"
_MATERIALIZE: Final = "spark.databricks.delta.merge.materializeSource"
_HASHED: Final = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"
"""Up to this size, rows are joined by a hash of them, so that the table is not sorted."""
_USUAL_PART: Final = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
_ELSEWHERE: Final = "run it on a cluster, or let the asset replace its partitions (write: replace)"


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

    def statement(self, table: str, schema: StructType) -> str:
        """The `MERGE` of the temporary view of staged rows into ``table``, whose columns are ``schema``.

        Rows that are equal already are not updated, as far as Spark can compare them: an update rewrites their file.
        """
        place = {name: f"s.{_column(number)}" for number, name in enumerate(self.staged.schema.names)}
        late = f" AND NOT coalesce({_order(self.newest_by, place)} < {_order(self.newest_by)}, false)"
        late = late if self.newest_by else ""
        gone = place[DELETED]
        values = [name for name in self.columns if name not in self.keys]
        kinds = {field.name: field.dataType for field in schema.fields}
        clauses = [f"WHEN MATCHED AND {gone}{late} THEN DELETE"] if self.has_deletes else []
        if values:
            changed = _differ(values, place, kinds)
            conditions = "".join((late, f" AND {changed}" if changed else ""))
            sets = ", ".join(f"t.{_q(name)} = {place[name]}" for name in values)
            clauses.append(
                f"WHEN MATCHED{f' AND NOT {gone}' if self.has_deletes else ''}{conditions} THEN UPDATE SET {sets}"
            )
        names, given = ", ".join(map(_q, self.columns)), ", ".join(place[name] for name in self.columns)
        clauses.append(f"WHEN NOT MATCHED AND NOT {gone} THEN INSERT ({names}) VALUES ({given})")  # noqa: S608  quoted
        return f"MERGE INTO {table} AS t USING {_SOURCE} AS s ON {self._on(place)}\n" + "\n".join(clauses)

    def _on(self, place: Mapping[str, str]) -> str:
        """The condition that matches rows: their keys, and the range of staged keys, by which Delta skips files."""
        if not self.staged.count:
            return "false"
        terms = [f"t.{_q(name)} = {place[name]}" for name in self.keys]
        terms += [f"t.{_q(name)} BETWEEN {low} AND {high}" for name, (low, high) in self.staged.bounds.items()]
        return " AND ".join([*terms, *([f"({self.match_condition})"] if self.match_condition is not None else [])])


def commit_merge(
    session: SparkSession, merging: KeyMerge, relation: TableRelation, schema: StructType, *, marker: CommitMarker
) -> None:
    """Commits the merge as the attempt's; a return does not prove that this attempt's commit is in the table.

    Delta skips a commit whose transaction is in already, so the caller looks for the marker afterwards.

    Raises:
        RunError: No session can be created for it.
        Exception: Whatever Spark says; nothing was published then.
    """
    with open_brief_session(session) as own:
        if own is session:
            raise RunError(
                "a merge takes its transaction from its session alone, and this one cannot be copied", hint=_ELSEWHERE
            )
        source = merging.staged.read_rows(own)
        source.toDF(*map(_column, range(len(source.columns)))).createOrReplaceTempView(_SOURCE)
        with _stamp_next_commit(own, marker):
            own.sql(merging.statement(relation.sql, schema)).collect()


@contextlib.contextmanager
def _stamp_next_commit(own: SparkSession, marker: CommitMarker) -> Iterator[None]:
    """Marks the session's next commit as the attempt's: `MERGE` takes its marker from settings of its session only.

    Raises:
        RunError: The session does not accept these settings.
    """
    from pyspark.errors import PySparkException

    app, version = _OF_THE_COMMIT
    with contextlib.suppress(PySparkException):  # a serverless session takes few settings
        own.conf.set(_MATERIALIZE, "none")  # the rows are in files that nobody changes
        if given_setting(own, _HASHED) is None:
            own.conf.set(_HASHED, own.conf.get(_USUAL_PART))
    try:
        for key, value in (
            (app, marker.app_id),
            (version, str(marker.version)),
            (_USER_METADATA, format_marker(marker)),
        ):
            own.conf.set(key, value)
    except PySparkException as error:
        if not is_lacking(error):
            raise
        raise RunError(
            f"a merge takes its transaction from its session alone, and this one does not take {key}", hint=_ELSEWHERE
        ) from error
    try:
        yield
    finally:
        for key in (app, version, _USER_METADATA):
            with contextlib.suppress(Exception):  # its JVM may be gone
                own.conf.unset(key)


def _order(names: Sequence[str], place: Mapping[str, str] | None = None) -> str:
    """A struct of these columns, of the view or else of the table, by which SQL compares them one after the other."""
    values = [place[name] if place else f"t.{_q(name)}" for name in names]
    fields = ", ".join(f"'n{number}', {value}" for number, value in enumerate(values))
    return f"named_struct({fields})"


def _differ(names: Sequence[str], place: Mapping[str, str], kinds: Mapping[str, object]) -> str:
    """SQL that is true of a matched row if some value differs; empty where Spark cannot compare some type."""
    if not all(_is_comparable(kinds[name]) for name in names):
        return ""
    same = " AND ".join(f"t.{_q(name)} <=> {place[name]}" for name in names)
    return f"NOT ({same})"


def _is_comparable(kind: object) -> bool:
    """Whether Spark can compare values of the type, to leave out rows that are the same: not maps and variants."""
    from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

    match kind:
        case MapType() | VariantType():
            return False
        case ArrayType():
            return _is_comparable(kind.elementType)
        case StructType():
            return all(_is_comparable(each.dataType) for each in kind.fields)
    return True


def _column(number: int) -> str:
    """The name of a column of the view, unlike any of the table's: conditions name those without a qualifier."""
    return f"sparkassets_{number}"


def _q(name: str) -> str:
    return sqltext.name(name)
