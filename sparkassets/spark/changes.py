"""The changes of an inlet's table as rows: by its change feed, its appended files, or its catalog.

For a version that replaces files, as the commit of a replaced partition does, Delta reports all rows of these files as
deleted and inserted. Rows that are the same before and after are left out here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.query_text import normal_form
from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
from sparkassets.core.spec.code_bodies import PythonBody, SqlBody
from sparkassets.core.spec.model import CHANGE_COLUMNS, CHANGE_TYPE, AssetSpec
from sparkassets.delta.change_feed import FeedRange, TableChanges, table_changes
from sparkassets.delta.features import keeps_feed
from sparkassets.delta.log import DeltaLog, LogCommit
from sparkassets.delta.tables import load_table
from sparkassets.errors import RunError, SourceChangedError
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.capabilities import capabilities_of, union_all
from sparkassets.spark.commit_history import changes_rows, commits_since, only_appends
from sparkassets.spark.delta_files import read_appended, read_version
from sparkassets.spark.failures import first_line
from sparkassets.spark.frame_conversion import to_spark
from sparkassets.spark.functions import source_of
from sparkassets.spark.open_tables import CatalogTable
from sparkassets.spark.schemas import spark_schema
from sparkassets.spark.table_locations import read_feed, read_rows
from sparkassets.spark.versions import is_variant

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType


@frozen
class InletChanges:
    """The changes of one inlet that a run reads.

    Attributes:
        frame: The change rows: the table's columns, then `CHANGE_COLUMNS`.
        position: The position up to which they are read; becomes the inlet's watermark.
        after: The version up to which earlier runs read; None where this run reads the whole table.
        only_inserts: Whether the log proves that all of them are inserts.
    """

    frame: DataFrame
    position: TablePosition
    after: int | None
    only_inserts: bool


def read_changes(
    session: SparkSession, table: DeltaTable, pin: InletPin, *, path: str, name: str, by_keys: bool
) -> InletChanges:
    """Changes in the inlet ``name`` after its pin's position, up to its version; everything without a position.

    Args:
        session: In UTC.
        table: The table at ``path``, at any version.
        pin: The inlet's pin, with a version.
        path: Where the table is.
        name: The inlet's name, for messages.
        by_keys: Whether the changes go into an upsert, for which only matters whether a row exists, not how often.

    Raises:
        SourceChangedError: The changes can no longer be read.
    """
    version, owner = pin.version or 0, f"the inlet {name!r}"
    position = TablePosition(pin.table_id or str(table.metadata().id), version)
    if pin.low is None:
        frame, _ = read_version(session, table, version, path=path)
        refuse_change_columns(frame.columns, owner)
        rows = flag_inserted_rows(frame, version, _read_commit_time(path, version))
        return InletChanges(rows, position, after=None, only_inserts=True)
    read_position = TablePosition.parse(pin.low)
    if read_position is None or read_position.table_id != position.table_id or read_position.version > version:
        raise SourceChangedError(
            f"the changes of {owner} after {pin.low}, up to which it was read, cannot be determined", source=name
        )
    changes = table_changes(path, read_position, version)
    if changes.availability.kind != "available":
        raise SourceChangedError(
            f"the changes of {owner} cannot be determined: {changes.availability.reason}", source=name
        )
    frame = _read_changed_rows(session, table, changes, path=path, version=version, name=name, by_keys=by_keys)
    return InletChanges(frame, position, read_position.version, changes.only_inserts)


def make_empty_changes(frame: DataFrame) -> DataFrame:
    """No rows, with the columns of a table's changes."""
    kinds = [f"CAST(NULL AS {kind}) AS {column}" for column, kind in CHANGE_COLUMNS.items()]
    return frame.filter("false").selectExpr("*", *kinds)


def refuse_ignored_kinds(inlets: Mapping[str, InletChanges], asset: AssetSpec, columns: Sequence[str]) -> None:
    """Refuses updates and deletes if the asset's code ignores `CHANGE_TYPE`: they would be taken for new rows.

    Starts a job only where the log does not prove that all changes are inserts.

    Args:
        inlets: The inlets that are read by their changes, by name.
        asset: The asset whose code reads them.
        columns: The columns that the code returns; with `CHANGE_TYPE` among them it passes the kind on.

    Raises:
        RunError: For the first update or delete.
    """
    code = _find_ignoring_code(asset.body, columns) if inlets else None
    for name, changes in inlets.items() if code is not None else ():
        if not changes.only_inserts and (first := _find_first_non_insert(changes.frame)) is not None:
            version, kind = first
            what = "a delete" if kind == "delete" else "an update"
            raise RunError(
                f"{asset.name}: version {version} of the inlet {name!r} has {what}, which {code} would take for a "
                f"new row: it does not use {CHANGE_TYPE}",
                hint=f"distinguish {CHANGE_TYPE} insert, update_preimage, update_postimage and delete, as in WHERE "
                f"{CHANGE_TYPE} <> 'update_preimage'",
            )


def _find_ignoring_code(body: SqlBody | PythonBody | None, columns: Sequence[str]) -> str | None:
    """The code that ignores the kind of changes, as a noun; None where its text names `CHANGE_TYPE`."""
    if body is None or CHANGE_TYPE in (column.lower() for column in columns):
        return None
    if isinstance(body, SqlBody):
        return None if CHANGE_TYPE in normal_form(body.text).lower() else "its SQL"
    return None if CHANGE_TYPE in source_of(body) else "its function's module"


def _find_first_non_insert(frame: DataFrame) -> tuple[int, str] | None:
    """Version and kind of the first change that is not an insert; None if all are."""
    others = frame.filter(f"{CHANGE_TYPE} <> 'insert'")
    first = others.selectExpr(f"min(struct(_commit_version, {CHANGE_TYPE})) AS first").collect()[0][0]
    return None if first is None else (first[0], first[1])


def _read_changed_rows(
    session: SparkSession,
    table: DeltaTable,
    changes: TableChanges,
    *,
    path: str,
    version: int,
    name: str,
    by_keys: bool,
) -> DataFrame:
    """The changed rows of a table at a path, all in the table's columns as of ``version``.

    Feed and appended files cover different commits, so their rows are put together; no rows if nothing changed.
    """
    table.load_as_version(version)
    schema = spark_schema(table.schema().to_json())
    refuse_change_columns(schema.names, f"the inlet {name!r}")
    frames = [
        _read_feed(session, feed_range, schema, path=path, name=name, by_keys=by_keys)
        for feed_range in changes.feed_ranges
    ]
    frames += _read_appended(session, table, changes.appended_commits, path=path)
    if not frames:
        return make_empty_changes(session.createDataFrame([], schema))
    return union_all(frames)


def refuse_change_columns(columns: Sequence[str], owner: str) -> None:
    """Refuses a table that has a column of its own with the name of a change column.

    Raises:
        RunError: For the first such column.
    """
    for column in columns:
        if column.lower() in CHANGE_COLUMNS:
            raise RunError(
                f"{owner} has a column {column!r}, a name that the change feed reserves",
                hint="rename it, or read it by {after: <column>}",
            )


def _read_feed(
    session: SparkSession, feed_range: FeedRange, schema: StructType, *, path: str, name: str, by_keys: bool
) -> DataFrame:
    """The change rows of consecutive versions, with the columns of ``schema`` and then those of a change.

    Where the versions replaced files, rows that are equal before and after are left out, if Spark can compare them.

    Raises:
        SourceChangedError: A column is gone meanwhile.
    """
    if capabilities_of(session).reads_feeds:
        reader = session.read.format("delta").option("readChangeFeed", "true")
        rows = reader.option("startingVersion", feed_range.first).option("endingVersion", feed_range.last).load(path)
    else:
        rows = _read_feed_by_driver(session, feed_range, schema, path=path, name=name)
    present = {column.lower() for column in rows.columns}
    if missing := [column for column in schema.names if column.lower() not in present]:
        raise SourceChangedError(f"the inlet {name!r} no longer has the column {missing[0]!r}", source=name)
    rows = rows.select(*(sqltext.name(column) for column in [*schema.names, *CHANGE_COLUMNS]))
    return drop_equal_pairs(rows, by_keys=by_keys) if feed_range.replaced and is_comparable(schema) else rows


def _read_feed_by_driver(
    session: SparkSession, feed_range: FeedRange, schema: StructType, *, path: str, name: str
) -> DataFrame:
    """The change rows of consecutive versions, which the driver reads into memory."""
    import pyarrow as pa

    feed = load_table(path).load_cdf(starting_version=feed_range.first, ending_version=feed_range.last)
    rows = to_spark(session, pa.table(feed), asset=name, declared=schema, table_schema=None)
    kinds = [f"CAST({column} AS {kind}) AS {column}" for column, kind in CHANGE_COLUMNS.items()]
    return rows.selectExpr(*(sqltext.name(name) for name in rows.columns if name not in CHANGE_COLUMNS), *kinds)


def drop_equal_pairs(rows: DataFrame, *, by_keys: bool) -> DataFrame:
    """Drops pairs of equal rows, one deleted and one inserted by the same version.

    A version that rewrites a file reports all its rows as deleted and inserted; those that did not change cancel out.

    Args:
        rows: Rows of a change feed, all of them deletes or inserts.
        by_keys: Whether a row with fewer copies than before counts as unchanged, because an upsert stores one anyway.
    """
    columns = [sqltext.name(column) for column in rows.columns if column != CHANGE_TYPE]
    surplus_count = f"sum(IF({CHANGE_TYPE} = 'delete', -1, 1))"
    if by_keys:
        surplus_count = f"IF(bool_or({CHANGE_TYPE} <> 'delete'), greatest({surplus_count}, 0), {surplus_count})"
    counted = rows.groupBy(*columns).agg(_expression(f"{surplus_count} AS __more"))
    kind = f"explode(array_repeat(IF(__more > 0, 'insert', 'delete'), CAST(abs(__more) AS INT))) AS {CHANGE_TYPE}"
    surplus = counted.filter("__more <> 0").selectExpr(*columns, kind)
    return surplus.select(*(sqltext.name(column) for column in rows.columns))


def is_comparable(schema: StructType) -> bool:
    """Whether rows of this schema can be grouped, and equal ones are the same bytes."""
    return all(_has_comparable_bytes(each.dataType) for each in schema.fields)


def _has_comparable_bytes(kind: DataType) -> bool:
    """Whether equal values of the type are the same bytes: not so for maps, variants and text with a collation."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    match kind:
        case StructType():
            return is_comparable(kind)
        case ArrayType():
            return _has_comparable_bytes(kind.elementType)
        case MapType():
            return False
    return " collate " not in kind.simpleString().lower() and not is_variant(kind)


def _read_appended(
    session: SparkSession, table: DeltaTable, commits: Sequence[LogCommit], *, path: str
) -> list[DataFrame]:
    """The rows of these commits, one frame each; the commits only added files, while there was no feed."""
    return [
        flag_inserted_rows(read_appended(session, table, each, path=path), each.version, each.timestamp)
        for each in commits
    ]


def flag_inserted_rows(frame: DataFrame, version: int, timestamp: int | None) -> DataFrame:
    """The rows as inserts of ``version``, committed at ``timestamp`` (milliseconds since 1970; None is NULL)."""
    at = "NULL" if timestamp is None else f"timestamp_millis({timestamp})"
    values = {CHANGE_TYPE: "'insert'", "_commit_version": str(version), "_commit_timestamp": at}
    return frame.selectExpr(
        "*", *(f"CAST({values[name]} AS {kind}) AS {name}" for name, kind in CHANGE_COLUMNS.items())
    )


def _read_commit_time(path: str, version: int) -> int | None:
    """When the version was committed, in milliseconds since 1970; None where the log lacks it."""
    log = DeltaLog(path)
    content = log.read_content(version)
    return None if content is None else log.parse_commit(version, content).timestamp


def _expression(text: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.expr(text)


_EXACT_OPERATIONS: Final = ("DELETE", "UPDATE", "MERGE")
"""Operations whose changed rows the feed holds exactly, and no other rows."""


def read_catalog_changes(
    session: SparkSession, table: CatalogTable, pin: InletPin, *, name: str, by_keys: bool
) -> InletChanges:
    """Changes in the inlet ``name`` after its pin's position, up to its version; everything without a position.

    Args:
        session: In UTC.
        table: The table in a catalog, at any version.
        pin: The inlet's pin, with a version.
        name: The inlet's name, for messages.
        by_keys: Whether the changes go into an upsert, for which only matters whether a row exists, not how often.

    Raises:
        SourceChangedError: The changes can no longer be read.
    """
    version, owner = pin.version or 0, f"the inlet {name!r}"
    position = TablePosition(pin.table_id or table.table_id, version)
    frame = read_rows(table.location, session, version)
    refuse_change_columns(frame.columns, owner)
    if pin.low is None:
        return InletChanges(
            flag_inserted_rows(frame, version, _find_commit_time(table, version)),
            position,
            after=None,
            only_inserts=True,
        )
    read_position = TablePosition.parse(pin.low)
    if read_position is None or read_position.table_id != position.table_id or read_position.version > version:
        raise SourceChangedError(
            f"the changes of {owner} after {pin.low}, up to which it was read, cannot be determined", source=name
        )
    availability, commits = find_readable_changes(table, read_position, version)
    if availability.kind != "available":
        raise SourceChangedError(f"the changes of {owner} cannot be determined: {availability.reason}", source=name)
    only_inserts = all(only_appends(each) for each in commits)
    if not commits:
        return InletChanges(make_empty_changes(frame), position, read_position.version, only_inserts=True)
    names, has_feed = [*frame.columns, *CHANGE_COLUMNS], keeps_feed(table.properties)
    read = partial(_read_catalog_feed, by_keys=by_keys) if has_feed else _read_catalog_appended
    try:
        changed = read(session, table, commits, names=names)
        changed.schema  # noqa: B018  Spark looks whether the feed was on only now
    except Exception as error:
        if not (only_inserts and has_feed):
            raise SourceChangedError(
                f"the changes of {owner} cannot be determined: {first_line(error)}", source=name
            ) from error
        changed = _read_catalog_appended(session, table, commits, names=names)  # it came before the feed was on
    return InletChanges(changed, position, read_position.version, only_inserts)


def find_readable_changes(
    table: CatalogTable, after: TablePosition, version: int
) -> tuple[ChangeAvailability, Sequence[Mapping[str, Any]]]:
    """Whether changes after a position, up to ``version``, can be read; and the commits that changed rows."""
    if after.table_id != table.table_id:
        return ChangeAvailability("lost", "the table was replaced by another of the same name"), ()
    later = commits_since(table, after.version)
    if later is None:
        return ChangeAvailability("lost", f"its history no longer has the commits after version {after.version}"), ()
    commits = [each for each in later if each["version"] <= version and changes_rows(each)]
    rewriting = next((each for each in commits if not only_appends(each)), None)
    if rewriting is not None and not keeps_feed(table.properties):
        described = f"version {rewriting['version']} ({rewriting['operation']})"
        return ChangeAvailability("unrecorded", f"{described} changed or removed rows"), ()
    return ChangeAvailability(), commits


def _read_catalog_feed(
    session: SparkSession,
    table: CatalogTable,
    commits: Sequence[Mapping[str, Any]],
    *,
    names: Sequence[str],
    by_keys: bool,
) -> DataFrame:
    """Reads the feed version by version: a version that rewrote equal rows has changed none.

    Equal rows are not looked for in a version that cannot have any, such as one that only appends, and where a column's
    type cannot be compared. ``by_keys``: as of `drop_equal_pairs`.
    """
    frames = []
    for commit in commits:
        rows = read_feed(table.location, session, commit["version"], commit["version"])
        rows = rows.select(*(sqltext.name(name) for name in names))
        is_exact = (
            only_appends(commit)
            or commit["operation"] in _EXACT_OPERATIONS
            or not is_comparable(rows.drop(*CHANGE_COLUMNS).schema)
        )
        frames.append(rows if is_exact else drop_equal_pairs(rows, by_keys=by_keys))
    return union_all(frames)


def _read_catalog_appended(
    session: SparkSession, table: CatalogTable, commits: Sequence[Mapping[str, Any]], *, names: Sequence[str]
) -> DataFrame:
    """The rows of the files that each commit added."""
    frames = []
    for commit in commits:
        version = commit["version"]
        rows = read_rows(table.location, session, version)
        if version:
            rows = rows.withColumn("__file", _file_path_column())
            before = (
                read_rows(table.location, session, version - 1).select(_file_path_column().alias("__file")).distinct()
            )
            rows = rows.join(before, "__file", "left_anti").drop("__file")
        inserted = flag_inserted_rows(rows, version, _commit_millis(commit))
        frames.append(inserted.select(*(sqltext.name(name) for name in names)))
    return union_all(frames)


def _file_path_column() -> Any:  # noqa: ANN401  a column
    from pyspark.sql import functions as sql

    return sql.col("_metadata.file_path")


def _find_commit_time(table: CatalogTable, version: int) -> int | None:
    """When a version was committed, in milliseconds since 1970; None where the history does not say."""
    newer = takewhile(lambda commit: commit["version"] >= version, table.iterate_commits())
    return next((_commit_millis(commit) for commit in newer if commit["version"] == version), None)


def _commit_millis(commit: Mapping[str, Any]) -> int | None:
    at = commit["timestamp"]
    return None if at is None else int(at.timestamp() * 1000)
