"""Files that Spark stages in an attempt's folder of a table, for the driver to commit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.features import keeps_paths
from sparkassets.delta.file_split import FileSplit, split_staged
from sparkassets.delta.live_files import LiveFile
from sparkassets.delta.partition_files import UnchangedFiles
from sparkassets.delta.staging import StagedFile, StagingAttempt, discard
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitStamp
from sparkassets.spark import sqltext
from sparkassets.spark.capabilities import capabilities_of, union_all
from sparkassets.spark.column_comments import with_comments
from sparkassets.spark.partition_guard import guard_for
from sparkassets.spark.table_locations import path_of
from sparkassets.spark.targets import staging_layout
from sparkassets.spark.targets.file_merge import FileMerge, plan_file_merge
from sparkassets.spark.targets.judged_rows import keys_of
from sparkassets.spark.targets.replaced_files import SPELLED, prepare_replaced
from sparkassets.spark.targets.staged_write import attempt_of, write_staged
from sparkassets.spark.targets.unchanged_partitions import find_unchanged_before_commit
from sparkassets.spark.upserts.key_merge import KeyMerge
from sparkassets.spark.validation import ObservedFigures, RowRules, plan_observation
from sparkassets.spark.writes import PlannedWrite, layout_of

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sparkassets.spark.computation import SparkComputation

_SECOND_PART = "again"
"""The folder within an attempt's for rows that are staged a second time, without withheld ones."""
_ONE_TASK = 8 * 2**20
"""Staged files of up to so many bytes are read by one task."""
_NULLABLE_KEYS = ("nullable", "containsNull", "valueContainsNull")


@frozen
class DriverStaging:
    """Files for one commit.

    Attributes:
        table: As it was when they were staged; None where the commit creates it.
        fields: The columns of the table after the commit, as Delta has them in JSON.
        replaced: The table's files that the commit removes.
        since: The version before the run separated files, after which commits of others may conflict; None where it
            separated none.
        unchanged: The run's partitions that came out as they are in the table; None where they were not compared.
        attempt: Whose files they are.
        dropped_paths: Staged files that no commit will hold.
        merge: The merge that the files come from; None for rows that are written as they are.
        observed: What the write measured of the rules; None where a query has to measure them.
    """

    computation: SparkComputation
    planned_write: PlannedWrite
    table: DeltaTable | None
    files: Sequence[StagedFile]
    fields: Sequence[Mapping[str, Any]]
    replaced: FileSplit
    attempt: StagingAttempt
    since: int | None = None
    unchanged: UnchangedFiles | None = None
    dropped_paths: frozenset[str] = frozenset()
    merge: FileMerge | None = None
    observed: ObservedFigures | None = None

    @property
    def folder(self) -> str:
        """The attempt's folder."""
        return f"{path_of(self.planned_write.asset)}/{self.attempt.folder}"

    def with_files(self, files: Sequence[StagedFile]) -> DriverStaging:
        """The same with these of its files; the others are dropped."""
        paths = {file.path for file in files}
        dropped_paths = frozenset(file.path for file in self.files if file.path not in paths)
        return replace(self, files=files, dropped_paths=dropped_paths)


def can_withhold(planned: PlannedWrite, table: DeltaTable | None) -> bool:
    """Whether partitions can be left out of what is staged, whatever files they share with others."""
    if planned.landing.merge is not None:  # whose staged rows are merged once all are known
        return False
    layout = {name.lower() for name in layout_of(planned.asset, planned.schema, planned.table)}
    if layout.issuperset(name.lower() for name in planned.asset.partitioning.columns):
        return True
    return table is None or staging_layout.can_copy(planned, table)


def stage_rows(
    computation: SparkComputation,
    planned: PlannedWrite,
    table: DeltaTable | None,
    *,
    stamp: CommitStamp,
    rules: RowRules | None = None,
) -> DriverStaging | str:
    """Stages the rows for the driver's commit, or says why Spark has to commit, as the end of a sentence.

    The table's files are removed whole, so rows of other partitions in them are copied and staged, too, or separated
    first. Rows that ``rules`` take away go to files of their own; unchanged partitions are then only searched after the
    rules judged.

    Raises:
        RunError: Rows outside the partitions of the run (with examples), or whatever Spark says; nothing is published.
        SourceError: Files changed while they were read; nothing is published.
    """
    if planned.landing.merge is not None and table is not None:
        return _stage_merge(computation, planned, planned.landing.merge, table, stamp=stamp)
    found = prepare_replaced(computation, planned, table, stamp=stamp)
    if isinstance(found, str):
        return found
    table, replaced, fields = found.table, found.files, table_fields(planned, table)
    rows = rows_to_stage(planned, fields, table, replaced.mixed, rules)
    if isinstance(rows, str):
        return rows
    attempt, observation = attempt_of(planned.asset, stamp), None
    if rules is not None and not replaced.mixed:  # copied rows are not to be judged
        observation = plan_observation(rows, rules, keys_of(computation.order, rules, rows.schema))
    files = write_staged(computation, planned, rows, attempt, fields=fields, table=table, observation=observation)
    staged = DriverStaging(computation, planned, table, files, fields, replaced, attempt, found.since)
    if rules is None:
        return _find_unchanged(staged)
    if observation is not None and files:
        return replace(staged, observed=observation.read_figures(sum(file.rows for file in files)))
    return staged


def _stage_merge(
    computation: SparkComputation, planned: PlannedWrite, merge: KeyMerge, table: DeltaTable, *, stamp: CommitStamp
) -> DriverStaging | str:
    """Stages the files that a merge rewrites, or says why Spark has to merge."""
    computation.inlets.check_files()  # the rows to merge have been read by now
    try:
        found = plan_file_merge(planned, merge, table)
    except Exception as error:
        raise planned.explain_error(error) from error
    if isinstance(found, str):
        return found
    if not keeps_paths(file.path for file in found.replaced):
        return SPELLED
    fields, attempt = table_fields(planned, table), attempt_of(planned.asset, stamp)
    files: Sequence[StagedFile] = ()
    if found.rows is not None:
        files = write_staged(computation, planned, found.rows, attempt, fields=fields, table=table)
    replaced = FileSplit(inside=tuple(found.replaced))
    return DriverStaging(computation, planned, table, files, fields, replaced, attempt, merge=found)


def _find_unchanged(staged: DriverStaging) -> DriverStaging:
    """The staging with the partitions that came out unchanged, if the asset's `unchanged` asks for them."""
    planned, files = staged.planned_write, staged.files
    if planned.asset.unchanged == "publish" or staged.table is None:
        return staged
    own_folder = f"{staged.folder}{staging_layout.own_folder(files)}"
    order = staged.computation.order
    return replace(
        staged,
        unchanged=find_unchanged_before_commit(
            order, planned, staged.table, replaced=staged.replaced, files=files, folder=own_folder
        ),
    )


def own_rows(staged: DriverStaging) -> DataFrame:
    """The run's own staged rows, without copied ones; with the column `TAKEN` if rules take some away."""
    session, schema = staged.planned_write.landing.rows.sparkSession, _spark_schema(staged.fields)
    kinds = staging_layout.folder_kinds(staged.files)
    for name, kind in kinds.items():
        schema = schema.add(name, kind)
    if not staged.files:
        return session.createDataFrame([], schema)
    rows = session.read.schema(schema).parquet(staged.folder)
    if sum(file.size for file in staged.files) <= _ONE_TASK:  # rules then take one job without a shuffle
        rows = rows.coalesce(1)
    return staging_layout.drop_copied(rows, kinds)


def select_published(staged: DriverStaging, withheld: PartitionSet, *, stamp: CommitStamp) -> DriverStaging:
    """The staging with the files to commit: without rows that rules took away, and without withheld partitions.

    Old rows of withheld partitions stay in the table. Files that mix withheld partitions with others are written once
    more, without them; in a table with a folder for each partition there are none.

    Raises:
        RunError: As of `stage_rows`.
    """
    remaining = [file for file in staged.files if not staging_layout.is_taken(file)]
    if not withheld:
        published = staged.with_files(remaining)
        return _find_unchanged(published) if staged.planned_write.asset.rules else published
    order = staged.computation.order.restrict_to(staged.computation.order.partitions - withheld)
    computation = replace(staged.computation, order=order)
    planned = replace(staged.planned_write, partitions=guard_for(order, staged.planned_write.schema))
    found = prepare_replaced(computation, planned, staged.table, stamp=stamp)
    if isinstance(found, str):
        raise _make_withholding_error(planned.asset)
    own_files = [file for file in remaining if not staging_layout.is_copied(file)]
    split = split_staged(staged.fields, own_files, withheld, partitioning=planned.asset.partitioning)
    published = replace(
        staged.with_files(split.outside),
        computation=computation,
        planned_write=planned,
        table=found.table,
        replaced=found.files,
        since=found.since if staged.since is None else staged.since,
    )
    if not split.mixed and not found.files.mixed:
        return _find_unchanged(published)
    rewritten = _write_again(staged, published, split.mixed)
    return replace(published, files=[*split.outside, *rewritten])


def _write_again(staged: DriverStaging, published: DriverStaging, mixed: Sequence[StagedFile]) -> Sequence[StagedFile]:
    """Writes the published rows of files that mix them with withheld ones, and copies of old rows beside them.

    Raises:
        RunError: They cannot be read.
    """
    planned, table, copied = published.planned_write, published.table, published.replaced.mixed
    if planned.partitions is None:
        raise TypeError("partitions are withheld from a run that has some")
    rows: DataFrame | str = _read_again(staged, mixed).filter(planned.partitions.predicate)
    if copied and table is not None:
        rows = staging_layout.add_copied(rows, planned, table, files=copied, most=len(copied))
    if isinstance(rows, str):
        raise _make_withholding_error(planned.asset)
    return write_staged(
        published.computation, planned, rows, staged.attempt, fields=staged.fields, table=table, part=_SECOND_PART
    )


def _make_withholding_error(asset: AssetSpec) -> RunError:
    return RunError(f"{asset.name}: rows of withheld partitions share files that cannot be read")


def _read_again(staged: DriverStaging, files: Sequence[StagedFile]) -> DataFrame:
    """The rows of these staged files, in the table's columns."""
    session, schema = staged.planned_write.landing.rows.sparkSession, _spark_schema(staged.fields)
    if not files:
        return session.createDataFrame([], schema)
    path = path_of(staged.planned_write.asset)
    if capabilities_of(session).names_folders:
        reader = session.read.schema(schema).option("basePath", staged.folder)
        frame = reader.parquet(*(f"{path}/{file.path}" for file in files))
        return frame.selectExpr(*map(sqltext.name, schema.names))
    return union_all([_read_file(session, f"{path}/{file.path}", schema, file.partition) for file in files])


def _read_file(session: SparkSession, path: str, schema: StructType, values: Mapping[str, str | None]) -> DataFrame:
    """The rows of one file, with the values of its folders' columns."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import StructType

    stored = StructType([field for field in schema.fields if field.name not in values])
    columns = (
        sql.lit(values[field.name]).cast(field.dataType).alias(field.name)
        if field.name in values
        else sql.col(sqltext.name(field.name))
        for field in schema.fields
    )
    return session.read.schema(stored).parquet(path).select(*columns)


def _spark_schema(fields: Sequence[Mapping[str, Any]]) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson({"type": "struct", "fields": [dict(each) for each in fields]})


def discard_attempt(asset: AssetSpec, stamp: CommitStamp) -> None:
    """Removes the files that a write with that stamp staged, unless a commit holds them."""
    discard(path_of(asset), attempt_of(asset, stamp))


def table_fields(planned: PlannedWrite, table: DeltaTable | None) -> list[dict[str, Any]]:
    """The columns of the table after the commit, as Delta's JSON: the present ones, then new ones of the rows."""
    row_fields = with_comments(nullable_fields(planned.landing.rows.schema), planned.asset)
    if table is None or planned.landing.columns == "replaced":
        return row_fields
    present: list[dict[str, Any]] = json.loads(table.schema().to_json())["fields"]
    names = {field["name"].lower() for field in present}
    return [*present, *(field for field in row_fields if field["name"].lower() not in names)]


def nullable_fields(schema: StructType) -> list[dict[str, Any]]:
    """The columns of a new table, as Delta's JSON; all may be NULL, as with Delta's own writer."""

    def drop_promises(value: dict[str, Any]) -> dict[str, Any]:
        return {key: True if key in _NULLABLE_KEYS else each for key, each in value.items()}

    fields: list[dict[str, Any]] = json.loads(schema.json(), object_hook=drop_promises)["fields"]
    return fields


def rows_to_stage(
    planned: PlannedWrite,
    fields: Sequence[Mapping[str, Any]],
    table: DeltaTable | None,
    mixed: Sequence[LiveFile] = (),
    rules: RowRules | None = None,
) -> DataFrame | str:
    """The rows in the table's columns, order and spelling, with copies of the other rows in ``mixed`` files.

    Or why Spark has to commit: only Delta can read these files, or the table has a column named like one that separates
    rows.
    """
    spelling = {name.lower(): sqltext.name(name) for name in planned.landing.rows.columns}
    rows = planned.landing.rows.selectExpr(
        *(f"{spelling[each['name'].lower()]} AS {sqltext.name(each['name'])}" for each in fields)
    )
    marked = staging_layout.flag_taken_rows(rows, rules)
    if marked is None:
        return staging_layout.RESERVED
    if table is None or not mixed:
        return marked
    return staging_layout.add_copied(marked, planned, table, files=mixed)
