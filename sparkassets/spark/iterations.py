"""Iterations that a function writes itself: its folder, the row that points to it, and its readers.

The files of such a function are no table, so the table at the asset's path has one row instead, or one for each
partition of the run, that points to the newest folder. Any Delta reader can follow it; a function with the asset as
an argument gets an `IterationArgument`.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.events import to_record
from sparkassets.core.instants import find_zone
from sparkassets.core.iterations import FILES, iteration_folder
from sparkassets.core.partitions import NOTHING
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.staging import StagingAttempt, discard, iteration_rows, open_folder
from sparkassets.errors import RunError
from sparkassets.files.object_stores import local_path
from sparkassets.ports import RunOrder
from sparkassets.spark import sqltext
from sparkassets.spark.author_values import for_author
from sparkassets.spark.context import Context, RunPartition, list_run_partitions
from sparkassets.spark.table_locations import path_of

if TYPE_CHECKING:
    from pendulum import DateTime
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_FOLDER_COMMENT: Final = "where the iteration's files are, in the table's folder"
"""The comment of the column by which such a table is recognised."""
_TEXT_COLUMNS: Final = ("run", "key", "path", "folder", "extra")
"""The text columns of a row, between those of its partition and ``published_at``."""


@dataclass(frozen=True)
class IterationArgument:
    """An iteration in a folder, as an argument of a function.

    Attributes:
        path: The folder.
        key: The key of its partition; without partitions the run's id.
        extra: The extra of the function that wrote it.
        run: The run that published it.
        published_at: In the zone of the asset that wrote it.
        iterations: The newest iteration of each partition that is read, by key; this one is the last.
    """

    path: str
    key: str
    extra: Mapping[str, Any]
    run: str
    published_at: DateTime
    iterations: Sequence[IterationArgument] = field(default=(), repr=False)


@dataclass(frozen=True)
class RestoreComputation:
    """A run that makes an older iteration the newest again, without computing."""

    order: RunOrder
    measures: Mapping[str, Any]

    def order_for(self, outlet: str) -> RunOrder:
        """The order for the table of one outlet."""
        return next(each for each in self.order.table_orders if each.asset.name == outlet)

    def release(self) -> None:
        """Nothing is held."""


def make_restore(order: RunOrder) -> RestoreComputation:
    """The computation that makes older iterations the newest again, with the extras they were published with.

    Raises:
        RunError: An iteration is gone.
    """
    measures: Mapping[str, Any] = {}
    for each in order.table_orders:
        path = path_of(each.asset)
        rows = iteration_rows(path, each.restores)
        if rows is None:
            folder = f"{path}/{iteration_folder(each.restores)}"
            raise RunError(f"{each.asset.name}: the iteration is gone: {folder} does not exist")
        measures = measures or rows.run_metadata.get("measures", {})
    return RestoreComputation(order, {key: measures[key] for key in ("extra", "outlets", "writes") if key in measures})


class AttemptFolder:
    """The folder into which the function of one attempt writes files, for one outlet."""

    def __init__(self, order: RunOrder, attempt: int) -> None:
        self._order = order
        self._root = path_of(order.asset).rstrip("/")
        self._attempt = StagingAttempt(order.run, order.token, attempt, publishes=True)
        self._folder = iteration_folder(self._attempt.name, FILES)
        self.path = f"{self._root}/{self._folder}"

    def discard(self) -> None:
        """Removes the folder, as far as the storage allows it."""
        discard(self._root, self._attempt)

    @contextlib.contextmanager
    def keep_on_success(self) -> Iterator[None]:
        """Creates the folder, empty, for the time of the context; removes it after an error."""
        self.discard()
        if (local := local_path(self.path)) is not None:
            Path(local).mkdir(parents=True)
        try:
            yield
        except BaseException:
            self.discard()
            raise

    def rows(self, session: SparkSession, context: Context) -> DataFrame:
        """The rows that point to the files that the function wrote.

        Raises:
            RunError: It wrote no file.
        """
        name = self._order.asset.name
        if not self._is_written():
            raise RunError(
                f"{name}: its function returned nothing, and wrote no file into context.outlets.{name}.path",
                hint="write the files there, or return the rows",
            )
        extras = {**context.extra, **(context.outlets[name].extra if name in context.outlets else {})}
        rows = list(_list_partitions(self._order.asset, self._list_partitions(context)))
        types = {**_partition_column_types(self._order.asset), **dict.fromkeys(_TEXT_COLUMNS, "STRING")}
        extra = json.dumps(extras, sort_keys=True, ensure_ascii=False)
        entries = [
            (*values, context.run_id, partition.key if partition else context.run_id, self.path, self._folder, extra)
            for partition, values in rows
        ]
        schema = ", ".join(f"{sqltext.name(name)} {kind}" for name, kind in types.items())
        frame = session.createDataFrame(entries, schema).selectExpr("*", "current_timestamp() AS published_at")
        return frame.withMetadata("folder", {"comment": _FOLDER_COMMENT})

    def _list_partitions(self, context: Context) -> Sequence[RunPartition]:
        """The partitions of the files: those of the run, and those that its function added.

        Raises:
            RunError: No segment was known, and none was added.
        """
        order = self._order.with_new_segments(context.added_segments)
        if not context.added_segments or (order.discovered_partitions == NOTHING and not order.discovers_segments):
            written = context.partitions
        else:
            parts = order.asset.partitioning.resolve_whole(order.partitions, context.added_segments)
            written = list_run_partitions(order.asset.partitioning, parts, find_zone(order.asset.local_zone))
        if any(len(partition.segments) < len(order.asset.partitioning.segments) for partition in written):
            raise RunError(
                f"{order.asset.name}: its function wrote files for all segments, but no segment is known",
                hint="add each segment by context.add_partition(key)",
            )
        return written

    def discard_if_empty(self) -> None:
        """Removes the folder if the function wrote nothing into it, because it returned rows instead."""
        local = local_path(self.path)
        if local is not None and not self._is_written():
            shutil.rmtree(local, ignore_errors=True)

    def _is_written(self) -> bool:
        """Whether the folder contains a file."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._folder, allow_not_found=True, recursive=True)
        return any(each.is_file for each in open_folder(self._root).get_file_info(selector))


def make_attempt_folders(order: RunOrder, attempt: int) -> Mapping[str, AttemptFolder]:
    """Folders for the run's function, by outlet; empty unless the asset is a function that publishes iterations."""
    publishes = order.asset.publishes and isinstance(order.asset.body, PythonBody)
    return {each.asset.name: AttemptFolder(each, attempt) for each in order.table_orders} if publishes else {}


def read_newest_iteration(asset: AssetSpec, frame: DataFrame) -> IterationArgument | None:
    """The newest iteration that an inlet's rows point to; None if they are ordinary rows.

    Raises:
        RunError: The partitions to read have no iteration.
    """
    if not asset.publishes or not _points_to_iterations(frame.schema):
        return None
    columns = [sqltext.name(name) for name in _partition_column_types(asset)]
    rows, local = frame.orderBy(*columns, "published_at").collect(), find_zone(asset.local_zone)
    iterations = [
        IterationArgument(
            f"{path_of(asset).rstrip('/')}/{row.folder}",
            row.key,
            to_record(json.loads(row.extra)),
            row.run,
            for_author(row.published_at.astimezone(local), local),  # Spark's is naive, of the driver's clock
        )
        for row in rows
    ]
    if not iterations:
        raise RunError(f"the inlet {asset.name!r} has no iteration of the requested partitions")
    return replace(iterations[-1], iterations=tuple(iterations))


def unpublished_schema() -> StructType:
    """A placeholder column for the table of an asset that has published nothing; later runs replace it."""
    from pyspark.sql.types import StructType

    return StructType().add("run", "string")


def _points_to_iterations(schema: StructType) -> bool:
    """Whether the rows of a table with that schema point to iterations."""
    return any(field.name == "folder" and field.metadata.get("comment") == _FOLDER_COMMENT for field in schema.fields)


def _partition_column_types(asset: AssetSpec) -> dict[str, str]:
    """The columns that hold a row's partition, with their types; dimensions without a column are left out."""
    time, segments = asset.partitioning.time, asset.partitioning.by_columns.segments
    types = {time.column: "DATE" if time.has_dates else "TIMESTAMP"} if time is not None and time.column else {}
    return {**types, **{each.column: "STRING" for each in segments}}


def _list_partitions(
    asset: AssetSpec, partitions: Sequence[RunPartition]
) -> Iterator[tuple[RunPartition | None, tuple[object, ...]]]:
    """Each partition of the run with the values of its columns; one entry without either if there are no partitions."""
    time, segments = asset.partitioning.time, asset.partitioning.by_columns.segments
    if not partitions:
        yield None, ()
    for partition in partitions:
        values: list[object] = [partition.segments.get(each.column) for each in segments]
        if time is not None and time.column is not None and partition.start is not None:
            local = partition.start.astimezone(find_zone(time.timezone))
            values.insert(0, local.date() if time.has_dates else partition.start)
        yield partition, tuple(values)
