"""`SparkReplayer`: computes a run again into scratch tables and compares them with what it published."""

from __future__ import annotations

import re
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
from sparkassets.core.phrases import listing
from sparkassets.core.spec.model import PythonBody
from sparkassets.core.spec.storage_overlaps import catalog_schema
from sparkassets.errors import InputError, RunError, SourceError
from sparkassets.features.replay.recorded_run import RecordedRun, read_recorded_run
from sparkassets.frozen import replace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.journal.history import RunRecord

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
        from sparkassets.features.replay.scratch_tables import write_scratch_table
        from sparkassets.spark.computation import computation_for
        from sparkassets.spark.table_comparison import SparkTableComparer

        self._runner.lend(spark)
        engine, _ = self._runner.open_engine(spark)
        engine.start()
        computation = engine.compute(recorded.order, attempt=1)
        differences = list[AssetDifference]()
        for order in recorded.order.table_orders:
            asset, published = order.asset, recorded.published[order.asset.name]
            part = computation_for(computation, asset.name)
            place = f"{folder}/{asset.name}" if recorded.order.outlets else folder
            scratch = write_scratch_table(part, place, published.published_partitions)
            comparer = SparkTableComparer(self._context.spec, part.frame.sparkSession)
            before = ComparedTable(
                asset.storage.path if asset.storage is not None else "",
                published.table_id or "",
                published.version or 0,
                published.published_partitions,
            )
            keys = comparison_keys(self._context.spec, asset)
            columns, rows = comparer.compare(asset, before, scratch, keys=keys, samples=samples)
            differences.append(AssetDifference(asset.name, columns, rows=rows))
        return tuple(differences)


def _with_notes(result: ReplayResult, recorded: RecordedRun) -> ReplayResult:
    """The result with what may have made its rows differ."""
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
    pins = [f"version {pin.version} of {name}" for name, pin in recorded.order.pins.items() if pin.version is not None]
    files = [f"the files of {name} as they were" for name in recorded.order.files]
    written = [f"version {each.version} of {name}" for name, each in recorded.published.items()]
    needed = listing((*pins, *files, *written), last="and")
    return RunError(message, hint=f"the replay needs {needed}; VACUUM and the log's retention remove old versions")
