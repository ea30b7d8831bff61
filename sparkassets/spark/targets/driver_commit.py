"""One stamped commit of the driver's: files that Spark has staged, or a fence, into a table at a path.

Spark computes and writes Parquet into the attempt's own folder in the table's; the driver reads the footers and commits
the files without Spark. Such a commit takes milliseconds, and is atomic between processes on every storage that
deltalake knows, also where Spark's own is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.runs import asset_app
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import PublishWrite
from sparkassets.delta.commit import CommitConflictError, CommitRequest, commit, create, is_committed
from sparkassets.delta.features import driver_properties, keeps_feed, keeps_paths, reason_of_columns, required_columns
from sparkassets.delta.file_split import FileSplit, make_touch_test, split_files, split_staged
from sparkassets.delta.file_statistics import KEEPS_BOUNDS
from sparkassets.delta.live_files import LiveFile
from sparkassets.delta.log import FileAction
from sparkassets.delta.partition_files import UnchangedFiles, examine_mixed_files
from sparkassets.delta.staging import (
    NULL_FOLDER,
    IterationRows,
    StagedFile,
    StagingAttempt,
    discard,
    discard_files,
    list_staged_files,
    make_readable,
)
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker, FenceConflictError, RunOrder
from sparkassets.spark import scratch, sqltext
from sparkassets.spark.failures import error_condition
from sparkassets.spark.own_session import given_setting, settings_of
from sparkassets.spark.partition_guard import guard_for
from sparkassets.spark.target_table import format_marker, path_of
from sparkassets.spark.targets import staging_layout
from sparkassets.spark.targets.unchanged_partitions import before_commit
from sparkassets.spark.validation import RowRules
from sparkassets.spark.writes import PlannedWrite, layout_of

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sparkassets.spark.computation import SparkComputation

_DEFAULTS = "spark.databricks.delta.properties.defaults."
_OF_THE_SESSION = {
    "spark.databricks.delta.optimizeWrite.enabled": "the session optimises each write",
    "spark.databricks.delta.autoCompact.enabled": "the session compacts after each write",
}
_LOG_STORES = ("spark.delta.logStore.class", "spark.delta.logStore.file.impl")
_AGAIN = "again"
"""The folder in an attempt's of what is staged once more, without rows that are withheld."""
_MAY_BE_NULL = ("nullable", "containsNull", "valueContainsNull")


def spark_write_reason(work: PlannedWrite, table: DeltaTable | None) -> str | None:
    """Why this run is not the driver's to commit, beside what asset and table tell; None where it is."""
    landing = work.landing
    if landing.merge is not None:
        return "the run's rows are merged by their keys"
    if work.partitions is not None and work.partitions.keeps_removed:
        return "rows of segments that were removed stay beside those of all others"
    if (
        landing.statements_before
        or landing.statements_after
        or (landing.columns == "widened" and landing.replaces != "all")
    ):
        return "the run changes the table's columns"
    session = landing.rows.sparkSession
    if found := find_session_reason(session, new=table is None) or scratch.find_staging_obstacle(
        session, path_of(work.asset)
    ):
        return found
    if (table is None or landing.columns != "kept") and (found := reason_of_columns(_fields(work, table), table)):
        return found
    return None if table is None else _find_unmet_promise(work, table)


def spark_making_reason(session: SparkSession, schema: StructType) -> str | None:
    """Why a new table without rows is not the driver's to make; None where it is."""
    return find_session_reason(session, new=True) or reason_of_columns(_nullable(schema), None)


def _find_unmet_promise(work: PlannedWrite, table: DeltaTable) -> str | None:
    """What the table has, and the run's rows do not promise to fit."""
    if list(table.metadata().partition_columns) != layout_of(work.asset, work.schema, work.table):
        return "the run changes the table's folders"
    if work.landing.columns == "replaced":
        return None
    promised = {field.name.lower() for field in work.schema.fields if not field.nullable}
    unsure = (name for name in required_columns(_json(table)) if name.lower() not in promised)
    if (first := next(unsure, None)) is not None:
        return f"its column '{first}' must not be null, which the result does not promise"
    return None


def find_session_reason(session: SparkSession, *, new: bool) -> str | None:
    """What the user's settings ask of Delta's own writer."""
    for key, reason in _OF_THE_SESSION.items():
        if (given_setting(session, key) or "").lower() == "true":
            return reason
    if any(given_setting(session, key) for key in _LOG_STORES):
        return "the session sets a log store of its own"
    if new and any(key.startswith(_DEFAULTS) for key in settings_of(session)):
        return "the session sets properties of new tables"
    return None


def write(made: SparkComputation, work: PlannedWrite, table: DeltaTable | None, *, marker: CommitMarker) -> bool:
    """As `stage`, and commits; False where Spark has to.

    Raises:
        RunError: As of `stage`, or another writer was quicker.
        SourceError: As of `stage`.
    """
    staged = stage_rows(made, work, table, marker=marker)
    if staged is not None:
        commit_staged(staged, marker=marker)
    return staged is not None


@frozen
class DriverStaging:
    """Files that a commit is to add.

    Attributes:
        table: As it was when they were staged; None where the commit makes it.
        files: All of them; None where the same or a higher version of the transaction is in, so that none were staged.
        replaced: What goes for them.
        unchanged: What of the run's partitions is in the table already as it came out; None where it was not compared.
        attempt: Whose they are.
        dropped_paths: Paths of files that were staged, and that no commit will hold.
    """

    computation: SparkComputation
    planned_write: PlannedWrite
    table: DeltaTable | None
    files: Sequence[StagedFile] | None = None
    fields: Sequence[Mapping[str, Any]] = ()
    replaced: FileSplit = FileSplit()
    unchanged: UnchangedFiles | None = None
    attempt: StagingAttempt | None = None
    dropped_paths: frozenset[str] = frozenset()

    @property
    def layout(self) -> list[str]:
        """The columns that folders are named by."""
        return layout_of(self.planned_write.asset, self.planned_write.schema, self.planned_write.table)


def can_withhold(work: PlannedWrite, table: DeltaTable | None) -> bool:
    """Whether partitions of what is staged can be left out, whatever files they share with others."""
    layout = {name.lower() for name in layout_of(work.asset, work.schema, work.table)}
    if layout.issuperset(name.lower() for name in work.asset.partitioning.columns):
        return True
    return not _copies_none(work.asset, table) and (table is None or staging_layout.can_copy(work, table))


def _copies_none(asset: AssetSpec, table: DeltaTable | None) -> bool:
    """Whether no file may hold copies of others' rows: they are no part of an iteration, and news in a change feed."""
    return isinstance(asset.write, PublishWrite) or (table is not None and keeps_feed(table.metadata().configuration))


def stage_rows(
    made: SparkComputation,
    work: PlannedWrite,
    table: DeltaTable | None,
    *,
    marker: CommitMarker,
    asked: RowRules | None = None,
) -> DriverStaging | None:
    """Stages the rows, and others that share files with those they replace; None where Spark has to commit.

    Nothing is computed where the same or a higher version of the transaction is in. What rules that are ``asked`` take
    away is in files of its own, and what came out unchanged is not looked for before these have judged the partitions.

    Raises:
        RunError: Rows outside the partitions (with examples), or whatever Spark says; nothing was published then.
        SourceError: Files changed while they were read; nothing was published.
    """
    if table is not None and is_committed(table, app=marker.app_id, version=marker.version):
        return DriverStaging(made, work, table)
    replaced, fields = _find_replaced(made.order, work, table), _fields(work, table)
    if replaced.mixed and _copies_none(work.asset, table):
        return None
    taken = [*replaced.inside, *replaced.mixed]
    rows = _rows(work, fields, table, replaced.mixed, asked) if keeps_paths(file.path for file in taken) else None
    if rows is None:
        return None
    attempt = attempt_of(work.asset, marker)
    files = _staged_rows(made, work, rows, attempt, fields=fields, table=table)
    staged = DriverStaging(made, work, table, files, fields, replaced, attempt=attempt)
    return staged if asked is not None else _compare_staged(staged)


def _compare_staged(staged: DriverStaging) -> DriverStaging:
    """With what came out as it is in the table, where the asset asks for it."""
    work, files, attempt = staged.planned_write, staged.files, staged.attempt
    if work.asset.unchanged == "publish" or staged.table is None or files is None or attempt is None:
        return staged
    order, own = staged.computation.order, f"{path_of(work.asset)}/{attempt.folder}{staging_layout.own_folder(files)}"
    return replace(
        staged, unchanged=before_commit(order, work, staged.table, replaced=staged.replaced, files=files, folder=own)
    )


def own_rows(staged: DriverStaging) -> DataFrame:
    """What was staged of the run's own rows, with `TAKEN` where rules take some away."""
    from pyspark.sql.types import StructType

    session, files, attempt = staged.planned_write.landing.rows.sparkSession, staged.files or (), staged.attempt
    schema = StructType.fromJson({"type": "struct", "fields": [dict(each) for each in staged.fields]})
    kinds = staging_layout.folder_kinds(files)
    for name, kind in kinds.items():
        schema = schema.add(name, kind)
    if not files or attempt is None:
        return session.createDataFrame([], schema)
    read = session.read.schema(schema).parquet(f"{path_of(staged.planned_write.asset)}/{attempt.folder}")
    return staging_layout.drop_copied(read, kinds)


def select_published(staged: DriverStaging, withheld: PartitionSet) -> DriverStaging:
    """What is committed of it where these partitions are withheld: their rows neither come nor go.

    Files that hold rows of such partitions and of others are written once more, without them; of a table whose folders
    tell its partitions there are none.

    Raises:
        RunError: As of `stage`.
    """
    if staged.files is None or staged.attempt is None:
        return staged
    kept = [file for file in staged.files if not staging_layout.is_taken(file)]
    if not withheld:
        done = _with_files(staged, kept)
        return _compare_staged(done) if staged.planned_write.asset.rules else done
    made = replace(
        staged.computation, order=staged.computation.order.restrict_to(staged.computation.order.partitions - withheld)
    )
    work = replace(staged.planned_write, partitions=guard_for(made.order, staged.planned_write.schema))
    replaced = _find_replaced(made.order, work, staged.table)
    own = [file for file in kept if not staging_layout.is_copied(file)]
    lying = split_staged(staged.fields, own, withheld, partitioning=work.asset.partitioning)
    settled = replace(_with_files(staged, lying.outside), computation=made, planned_write=work, replaced=replaced)
    if not lying.mixed and not replaced.mixed:
        return _compare_staged(settled)
    rows = _read_again(staged, lying.mixed).filter(work.partitions.predicate) if work.partitions is not None else None
    if rows is not None and replaced.mixed and staged.table is not None:
        rows = staging_layout.add_copied(rows, work, staged.table, files=replaced.mixed, most=len(replaced.mixed))
    if rows is None:
        raise RunError(f"{work.asset.name}: rows of withheld partitions share files with others that cannot be read")
    again = _staged_rows(made, work, rows, staged.attempt, fields=staged.fields, table=staged.table, part=_AGAIN)
    return replace(settled, files=[*lying.outside, *again])


def _with_files(staged: DriverStaging, files: Sequence[StagedFile]) -> DriverStaging:
    """The same with these of its files."""
    paths = {file.path for file in files}
    gone = frozenset(file.path for file in staged.files or () if file.path not in paths)
    return replace(staged, files=files, dropped_paths=gone)


def _read_again(staged: DriverStaging, files: Sequence[StagedFile]) -> DataFrame:
    """The rows of some of the staged files."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import StructType

    session, attempt = staged.planned_write.landing.rows.sparkSession, staged.attempt
    schema = StructType.fromJson({"type": "struct", "fields": [dict(each) for each in staged.fields]})
    if not files or attempt is None:
        return session.createDataFrame([], schema)
    path = path_of(staged.planned_write.asset)
    read = session.read.schema(schema).option("basePath", f"{path}/{attempt.folder}")
    frame = read.parquet(*(f"{path}/{file.path}" for file in files))
    return frame.select(*(sql.col(sqltext.name(name)) for name in schema.names))


def commit_staged(staged: DriverStaging, *, marker: CommitMarker) -> None:
    """Commits what was staged.

    Raises:
        RunError: Another writer was quicker; nothing was published then.
    """
    made, work, table, same = (
        staged.computation,
        staged.planned_write,
        staged.table,
        staged.unchanged or UnchangedFiles(),
    )
    if staged.files is None:
        return
    path, layout = path_of(work.asset), staged.layout
    come = [file for file in staged.files if file.path not in same.staged_paths]
    goes = staged.replaced.without(same.table_paths)
    if useless := staged.dropped_paths | same.staged_paths:
        discard_files(path, useless) if come else discard(path, attempt_of(work.asset, marker))
    come = _move_files(work, come)
    if isinstance(work.asset.write, PublishWrite):
        _publish(staged, come, marker=marker)
        return
    change = CommitRequest(
        owner=work.asset.name,
        app=marker.app_id,
        version=marker.version,
        user_metadata=format_marker(
            marker if staged.unchanged is None else marker.with_unchanged(same.parts, rows=same.rows)
        ),
        adds=[file.add(layout) for file in come],
        removes=[*goes.inside, *goes.mixed],
        replaces_all=work.landing.replaces == "all" and not same.table_paths,
        schema=_schema(staged.fields) if table is None or work.landing.columns != "kept" else None,
        metrics=_metrics(come, goes),
        conflicts_with=_make_conflict_test(made, work, table, staged.replaced),
        is_parallel_run=_make_parallel_test(made, work, marker),
    )
    if table is None:
        create(path, change, layout=layout, properties=driver_properties(work.asset))
    else:
        commit(path, table, change, since=made.read_version)


def discard_attempt(asset: AssetSpec, marker: CommitMarker) -> None:
    """Removes what a write with that marker staged, and no commit holds."""
    discard(path_of(asset), attempt_of(asset, marker))


def attempt_of(asset: AssetSpec, marker: CommitMarker) -> StagingAttempt:
    """Whose the files are that a write with that marker stages."""
    return StagingAttempt(marker.run, marker.token, marker.attempt, isinstance(asset.write, PublishWrite))


def stage_iteration(made: SparkComputation, work: PlannedWrite, table: DeltaTable | None, marker: CommitMarker) -> str:
    """Stages the rows as an iteration that is read by its own log, for Spark to commit them; returns where they are.

    Raises:
        RunError: As of `write`.
    """
    fields, attempt = _fields(work, table), attempt_of(work.asset, marker)
    layout = layout_of(work.asset, work.schema, work.table)
    rows = _rows(work, fields, None, (), None)
    if rows is None:
        raise TypeError("rows without others are always told")
    files = _staged_rows(made, work, rows, attempt, fields=fields, table=table)
    path, change = (
        path_of(work.asset),
        CommitRequest(work.asset.name, marker.app_id, marker.version, format_marker(marker)),
    )
    make_readable(path, attempt, files, change, schema=_schema(fields), layout=layout)
    return f"{path}/{attempt.folder}"


def _staged_rows(
    made: SparkComputation,
    work: PlannedWrite,
    rows: DataFrame,
    attempt: StagingAttempt,
    *,
    fields: Sequence[Mapping[str, Any]],
    table: DeltaTable | None,
    part: str = "",
) -> Sequence[StagedFile]:
    """What was staged of the rows; nothing is left behind of what cannot be.

    Args:
        made: Of what they are the rows.
        work: Of their write.
        rows: With the columns that keep some of them apart.
        attempt: Whose they are.
        fields: The columns of the table.
        table: Where they are to land.
        part: The folder in the attempt's, where what is staged takes the place of something staged before.
    """
    path, layout = path_of(work.asset), layout_of(work.asset, work.schema, work.table)
    folder = f"{attempt.folder}/{part}" if part else attempt.folder
    try:
        _stage(work, rows, f"{path}/{folder}", [*staging_layout.separating_columns(rows), *layout])
        made.inlets.check_files()
        files = _list_staged(work, attempt, fields=fields, layout=layout, table=table)
        return [file for file in files if file.path.startswith(f"{folder}/")]
    except BaseException as error:
        if error_condition(error) != "PATH_ALREADY_EXISTS":  # of what is there, something may be in the table
            discard(path, attempt)
        raise


def _publish(staged: DriverStaging, files: Sequence[StagedFile], *, marker: CommitMarker) -> None:
    """Commits an iteration: it is what readers see, unless a newer one is."""
    made, work, table, replaced = staged.computation, staged.planned_write, staged.table, staged.replaced
    path, layout = path_of(work.asset), layout_of(work.asset, work.schema, work.table)
    schema, beside = _schema(staged.fields), made.order.keeps_newest_iteration and table is not None
    change = CommitRequest(
        owner=work.asset.name,
        app=marker.app_id,
        version=marker.version,
        user_metadata=format_marker(marker),
        adds=() if beside else [file.add(layout) for file in files],
        removes=() if beside else replaced.inside,
        replaces_all=work.landing.replaces == "all" and not beside,
        schema=schema if not beside and (table is None or work.landing.columns != "kept") else None,
        metrics=_metrics(files, FileSplit() if beside else replaced),
        conflicts_with=(lambda _: False) if beside else _make_conflict_test(made, work, table, replaced),
        is_parallel_run=_make_parallel_test(made, work, marker),
    )
    make_readable(path, attempt_of(work.asset, marker), files, change, schema=schema, layout=layout)
    if table is None:
        create(path, change, layout=layout, properties=driver_properties(work.asset))
    else:
        commit(path, table, change, since=made.read_version)


def commit_restored(order: RunOrder, rows: IterationRows, table: DeltaTable, *, marker: CommitMarker) -> bool:
    """Commits an older iteration as what readers see of its partitions, or of all; False where Spark has to.

    Raises:
        RunError: Another writer was quicker.
    """
    asset, whole = order.asset, order.partitions.is_everything
    if list(table.metadata().partition_columns) != list(rows.layout) or not (whole or _fits(rows, table)):
        return False
    replaced = FileSplit() if whole else split_files(table, order.partitions, partitioning=asset.partitioning)
    if replaced.mixed:
        return False
    own = asset_app(marker.app_id)
    change = CommitRequest(
        owner=asset.name,
        app=marker.app_id,
        version=marker.version,
        user_metadata=format_marker(marker),
        adds=rows.adds(),
        removes=replaced.inside,
        replaces_all=whole,
        schema=_schema(rows.schema["fields"]) if whole else None,
        metrics={"numOutputRows": rows.rows},
        conflicts_with=(lambda _: True)
        if whole
        else make_touch_test(table, order.partitions, partitioning=asset.partitioning, found=replaced),
        is_parallel_run=lambda app: not whole and app != marker.app_id and asset_app(app) == own,
    )
    commit(path_of(asset), table, change)
    return True


def _fits(rows: IterationRows, table: DeltaTable) -> bool:
    """Whether the table has all columns of the iteration as they are there."""
    there = {field["name"]: field["type"] for field in _json(table)["fields"]}
    return all(there.get(field["name"]) == field["type"] for field in rows.schema["fields"])


def fence(asset: AssetSpec, table: DeltaTable, *, marker: CommitMarker) -> None:
    """Commits no rows.

    Raises:
        FenceConflictError: Another writer was quicker, and changed the table.
    """
    change = CommitRequest(asset.name, marker.app_id, marker.version, format_marker(marker))
    try:
        commit(path_of(asset), table, change)
    except CommitConflictError as error:
        raise FenceConflictError(str(error)) from error


def make_table(asset: AssetSpec, schema: StructType, *, marker: CommitMarker) -> None:
    """Makes the table, without rows, by a fence.

    Raises:
        FenceConflictError: Another writer made it first.
    """
    fields = _nullable(schema)
    change = CommitRequest(asset.name, marker.app_id, marker.version, format_marker(marker), schema=_schema(fields))
    try:
        create(path_of(asset), change, layout=layout_of(asset, schema, None), properties=driver_properties(asset))
    except CommitConflictError as error:
        raise FenceConflictError(str(error)) from error


def _find_replaced(order: RunOrder, work: PlannedWrite, table: DeltaTable | None) -> FileSplit:
    """The files that go: those of the replaced rows alone, and those that hold other rows besides."""
    if table is None or work.landing.replaces == "nothing" or order.keeps_newest_iteration:
        return FileSplit()
    parts, partitioning = EVERYTHING if work.landing.replaces == "all" else order.partitions, work.asset.partitioning
    found = split_files(table, parts, partitioning=partitioning)
    return examine_mixed_files(path_of(work.asset), table, found, parts, partitioning=partitioning)


def _make_parallel_test(made: SparkComputation, work: PlannedWrite, marker: CommitMarker) -> Callable[[str], bool]:
    """Whether a transaction is of a run of the asset beside this one.

    It stands in the way where the rows come of the asset's own table, or take the place of all that is in it.
    """
    own, apart = asset_app(marker.app_id), made.read_version is None and work.landing.replaces != "all"
    return lambda app: apart and app != marker.app_id and asset_app(app) == own


def _make_conflict_test(
    made: SparkComputation, work: PlannedWrite, table: DeltaTable | None, replaced: FileSplit
) -> Callable[[FileAction], bool]:
    """Whether a foreign file is of what the run replaces, or has read of its own table."""
    if table is None or (work.landing.replaces == "nothing" and made.read_version is None):
        return lambda _: False
    if made.read_version is not None or work.landing.replaces == "all":
        return lambda _: True
    return make_touch_test(table, made.order.partitions, partitioning=work.asset.partitioning, found=replaced)


def _fields(work: PlannedWrite, table: DeltaTable | None) -> list[dict[str, Any]]:
    """The columns of the table after the commit, as Delta has them in JSON."""
    given = _nullable(work.landing.rows.schema)
    if table is None or work.landing.columns == "replaced":
        return given
    there: list[dict[str, Any]] = _json(table)["fields"]
    known = {field["name"].lower() for field in there}
    return [*there, *(field for field in given if field["name"].lower() not in known)]


def _nullable(schema: StructType) -> list[dict[str, Any]]:
    """Columns of a new schema; like Delta's own writer, none is made NOT NULL by what a result happens to promise."""
    fields: list[dict[str, Any]] = json.loads(schema.json(), object_hook=_promising_nothing)["fields"]
    return fields


def _promising_nothing(value: dict[str, Any]) -> dict[str, Any]:
    return {key: True if key in _MAY_BE_NULL else each for key, each in value.items()}


def _json(table: DeltaTable) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(table.schema().to_json())
    return schema


def _schema(fields: Sequence[Mapping[str, Any]]) -> Schema:
    from deltalake import Schema

    return Schema.from_json(json.dumps({"type": "struct", "fields": list(fields)}))


def _rows(
    work: PlannedWrite,
    fields: Sequence[Mapping[str, Any]],
    table: DeltaTable | None,
    mixed: Sequence[LiveFile],
    asked: RowRules | None,
) -> DataFrame | None:
    """The rows with the table's columns, in its order and spelling, and those that stay of the files that go.

    None where Delta has to read these, or rows of a table with such a column cannot be kept apart.
    """
    from pyspark.sql import functions as sql

    spelt = {name.lower(): sqltext.name(name) for name in work.landing.rows.columns}
    rows = work.landing.rows.select(*(sql.col(spelt[each["name"].lower()]).alias(each["name"]) for each in fields))
    marked = staging_layout.mark_taken(rows, asked)
    if marked is None or table is None or not mixed:
        return marked
    return staging_layout.add_copied(marked, work, table, files=mixed)


def _stage(work: PlannedWrite, rows: DataFrame, folder: str, layout: Sequence[str]) -> None:
    """Writes the rows as Parquet; those of one folder of the table come together in as few files as their size asks."""
    if layout:
        rows = _foldable(rows, layout).hint("rebalance", *map(sqltext.name, layout))
    as_kept = {**KEEPS_BOUNDS, **scratch.staging_options(rows.sparkSession, folder)}
    writer = rows.write.format("parquet").mode("error").options(**as_kept)
    try:
        (writer.partitionBy(*layout) if layout else writer).save(folder)
    except Exception as error:
        raise work.explain_error(error) from error


def _foldable(rows: DataFrame, layout: Sequence[str]) -> DataFrame:
    """The rows without text that Delta takes for no value: one task would make two files of one name of the two."""
    texts = [name for name in layout if rows.schema[name].dataType.simpleString() == "string"]
    return rows.withColumns({name: _or_null(name) for name in texts}) if texts else rows


def _or_null(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.expr(f"nullif({sqltext.name(name)}, {sqltext.text(NULL_FOLDER)})")


def _list_staged(
    work: PlannedWrite,
    attempt: StagingAttempt,
    *,
    fields: Sequence[Mapping[str, Any]],
    layout: Sequence[str],
    table: DeltaTable | None,
) -> Sequence[StagedFile]:
    """What was written, as the commit tells it."""
    properties = {} if table is None else table.metadata().configuration
    try:
        return list_staged_files(
            path_of(work.asset), attempt, schema={"fields": fields}, layout=layout, properties=properties
        )
    except OSError as error:
        made = RunError(f"{work.asset.name}: the files that Spark wrote cannot be read: {error}")
        made.retryable = True
        raise made from error


def _move_files(work: PlannedWrite, files: Sequence[StagedFile]) -> list[StagedFile]:
    """The files under the paths that the table's log gets: no folder is named by a column that is not the table's.

    Raises:
        RunError: The storage does not let them be moved.
    """
    try:
        return staging_layout.move_committed(path_of(work.asset), files)
    except OSError as error:
        made = RunError(f"{work.asset.name}: the files that Spark wrote cannot be moved: {error}")
        made.retryable = True
        raise made from error


def _metrics(files: Sequence[StagedFile], replaced: FileSplit) -> dict[str, int]:
    """As Delta's own writer has them."""
    taken, stays = [*replaced.inside, *replaced.mixed], staging_layout.count_copied(files)
    told = [file.rows for file in taken if file.rows is not None]
    deleted = {"numDeletedRows": sum(told) - stays} if replaced.mixed and len(told) == len(taken) else {}
    return {
        "numFiles": len(files),
        "numOutputRows": sum(file.rows for file in files),
        "numCopiedRows": stays,
        **deleted,
        "numOutputBytes": sum(file.size for file in files),
        "numRemovedFiles": len(taken),
        "numRemovedBytes": sum(file.size for file in taken),
    }
