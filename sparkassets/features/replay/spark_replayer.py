"""`SparkReplayer`: computes a run again into scratch tables and compares them with what it published."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Final

from sparkassets.app.context import ProjectContext
from sparkassets.app.work_runner import WorkRunner
from sparkassets.core.definitions.variation import find_unstable_words
from sparkassets.core.documents.table_difference import (
    AssetDifference,
    ComparedTable,
    ReplayResult,
    comparison_keys,
)
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.phrases import listing
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.spec.storage_overlaps import catalog_schema
from sparkassets.errors import InputError, RunError, SourceError
from sparkassets.features.replay.recorded_run import RecordedRun, needs_earlier_rows, read_recorded_run
from sparkassets.frozen import replace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.journal.entries import PublishedEntry
    from sparkassets.core.journal.history import RunRecord
    from sparkassets.core.runs import InletPin
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.ports import RunOrder
    from sparkassets.spark.table_comparison import SparkTableComparer

REPLAY_FOLDER: Final = "_replays"
"""The folder of a warehouse that holds scratch tables of replays."""


class SparkReplayer:
    """Replays runs by Spark; implements `sparkassets.app.history.RunReplayer`."""

    def __init__(self, context: ProjectContext, runner: WorkRunner) -> None:
        self._context = context
        self._runner = runner

    def replay(self, record: RunRecord, spark: SparkSession | None, *, keep: str, samples: int) -> ReplayResult:
        """Computes the run into scratch tables and compares these with what it published."""
        run, recorded = record.run, read_recorded_run(self._context, record)
        warehouse = self._context.spec.warehouse.rstrip("/")
        if not keep and catalog_schema(warehouse):
            raise InputError(f"the warehouse {warehouse!r} is not a folder", hint="name one for the rows: --keep DIR")
        parent = f"{warehouse}/{REPLAY_FOLDER}"
        folder = keep or f"{parent}/{run}"
        if not keep:
            self._context.adapters.remove_folder(parent, run)  # of a replay that was killed
        try:
            differences = self._compare(recorded, folder, spark, samples)
        except (RunError, SourceError) as error:
            raise _with_reason(error, recorded) from None
        finally:
            if not keep:
                self._context.adapters.remove_folder(parent, run)
        result = ReplayResult(
            run, recorded.order.asset.name, recorded.definition.id, recorded.is_present_code, differences, folder=keep
        )
        return result if result.is_equal else _with_notes(result, recorded)

    def _compare(
        self, recorded: RecordedRun, folder: str, spark: SparkSession | None, samples: int
    ) -> tuple[AssetDifference, ...]:
        """The differences of each table from what the run published to what it computes into ``folder``."""
        from sparkassets.features.replay.scratch_tables import (
            copy_earlier_rows,
            in_scratch_tables,
            write_scratch_tables,
        )
        from sparkassets.spark.engine import SparkEngine
        from sparkassets.spark.failures import explain_errors
        from sparkassets.spark.table_comparison import SparkTableComparer

        self._runner.lend(spark)
        engine, targets = self._runner.open_engine(spark)
        if not isinstance(engine, SparkEngine):
            raise TypeError(f"expected an engine of Spark, got {type(engine).__name__}")
        engine.start()
        order, project = recorded.order, self._context.spec
        scratch = in_scratch_tables(order, folder)
        tables = list(zip(order.table_orders, scratch.table_orders, strict=True))
        withheld = PartitionSet.union(each.withheld for each in recorded.published.values())
        with engine.workplace.enter_session(order.asset) as session:
            with explain_errors(what=order.asset.name):
                for each, copy in tables:
                    if needs_earlier_rows(each):
                        published = recorded.published[each.asset.name]
                        copy_earlier_rows(session, each, copy, published, project=project, targets=targets)
            computation = engine.compute(scratch, attempt=1)
            try:
                write_scratch_tables(scratch, computation, withheld, targets)
            finally:
                computation.release()
            with closing(SparkTableComparer(project, session)) as comparer:
                return tuple(
                    _compare_table(project, comparer, each, copy, recorded.published[each.asset.name], samples)
                    for each, copy in tables
                )


def _compare_table(
    project: ProjectSpec,
    comparer: SparkTableComparer,
    order: RunOrder,
    scratch: RunOrder,
    published: PublishedEntry,
    samples: int,
) -> AssetDifference:
    """The differences from what the run published in one table to what its scratch table holds."""
    from sparkassets.spark.open_tables import open_table
    from sparkassets.spark.table_locations import path_of

    asset, path, partitions = order.asset, path_of(scratch.asset), published.published_partitions
    table = open_table(path)
    if table is None:
        raise RunError(f"the replayed rows of {asset.name} cannot be found in {path!r}")
    only_added = asset.write is not None and asset.write.only_adds and not needs_earlier_rows(order)
    before = ComparedTable(
        path_of(asset), published.table_id or "", published.version or 0, partitions, only_added=only_added
    )
    after = ComparedTable(path, str(table.metadata().id), table.version(), partitions)
    keys = comparison_keys(project, asset)
    columns, rows = comparer.compare(asset, before, after, keys=keys, samples=samples)
    return AssetDifference(asset.name, columns, rows=rows)


def _with_notes(result: ReplayResult, recorded: RecordedRun) -> ReplayResult:
    """The result with notes on what may have made its rows differ although the code and what it read are the same."""
    notes = list[str]()
    if unstable := find_unstable_words(recorded.definition):
        notes.append(f"its query has {listing(unstable, last='and')}, which may return other rows in each run")
    if isinstance(recorded.order.asset.body, PythonBody):
        notes.append("it is a function, which may read more than its inlets")
    return replace(result, notes=tuple(notes))


_IS_GONE: Final = re.compile(r"NOT_EXIST|NOT_FOUND|does not exist|is gone|not the recorded|no longer", re.IGNORECASE)


def _with_reason(error: RunError | SourceError, recorded: RecordedRun) -> RunError:
    """The error of a replay, whose hint names what it needs where something has changed or is gone."""
    message = str(error.args[0])
    if not isinstance(error, SourceError) and not _IS_GONE.search(message):
        return RunError(message, hint=error.hint)
    pins = [_describe_pin(name, pin) for name, pin in recorded.order.pins.items() if pin.version is not None]
    files = [f"the files of {name} as they were" for name in recorded.order.files]
    written = [_written_versions(each, recorded) for each in recorded.order.table_orders]
    needed = listing((*pins, *files, *written), last="and")
    removal = "VACUUM and the log's retention remove old versions"
    if any(pin.iteration for pin in recorded.order.pins.values()):
        removal = f"{removal}, and `keep` old iterations"
    return RunError(message, hint=f"the replay needs {needed}; {removal}")


def _describe_pin(inlet: str, pin: InletPin) -> str:
    """The iteration or version of a Delta inlet that the run read."""
    return f"iteration {pin.iteration} of {inlet}" if pin.iteration else f"version {pin.version} of {inlet}"


def _written_versions(order: RunOrder, recorded: RecordedRun) -> str:
    """The versions of a table that a replay reads: the run's, and the one before if rows follow from it."""
    version = recorded.published[order.asset.name].version or 0
    versions = f"versions {version - 1} and {version}" if needs_earlier_rows(order) else f"version {version}"
    return f"{versions} of {order.asset.name}"
