"""Spark behind the runtime's ports: the engine that computes runs, and the factory of their targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sparkassets.core.runs import BranchPromotion
from sparkassets.core.spec.code_bodies import PythonBody, SqlBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import RunError
from sparkassets.ports import Engine, Enlist, RunComputation, RunOrder, Target
from sparkassets.processes import Process
from sparkassets.spark.changes import refuse_ignored_kinds
from sparkassets.spark.computation import OutletComputations, SparkComputation
from sparkassets.spark.context import Context, make_context
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.failures import explain_errors
from sparkassets.spark.frame_conversion import is_frame, to_spark
from sparkassets.spark.functions import run_function
from sparkassets.spark.gateway import find_jvms
from sparkassets.spark.inlet_reader import ReadInlets, read_inlets
from sparkassets.spark.iterations import (
    AttemptFolder,
    IterationArgument,
    make_attempt_folders,
    make_restore,
    read_newest_iteration,
)
from sparkassets.spark.open_tables import describe_table_of, find_table, open_table
from sparkassets.spark.own_session import copy_for_run, make_active, require_utc, set_for_run
from sparkassets.spark.partition_guard import drop_other_segments
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.process_state import restore_process_state
from sparkassets.spark.schemas import declared_schema, drop_defaults, with_plain_strings
from sparkassets.spark.self_writing import SelfWritingComputation, SelfWrittenTarget
from sparkassets.spark.sql_template import run_sql, run_statements
from sparkassets.spark.table_locations import location_of
from sparkassets.spark.targets.table_target import TableTarget
from sparkassets.spark.validation.inlet_checks import check_inlets
from sparkassets.spark.workplace import InterruptibleWork, SparkWorkplace
from sparkassets.spark.writes import check_schema, mode_of
from sparkassets.spark.writes.registered import combine_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Attend = Callable[[Context], None]
"""Called when a run has begun; returns, or raises, when its work has ended."""


class AttendedEngine:
    """Waits for work that is done elsewhere; implements `ports.Engine`.

    Args:
        project: The project of the runs.
        attend: Waits for the work.
        give_up: Called when a run is cancelled.
        engine: Computes everything else; started only if needed.
    """

    def __init__(self, project: ProjectSpec, attend: Attend, give_up: Callable[[], None], engine: Engine) -> None:
        self._project = project
        self._attend = attend
        self._give_up = give_up
        self._engine = engine

    def start(self) -> None:
        """Does nothing: the work brings what it needs."""

    def processes(self) -> Sequence[Process]:
        """The processes of the engine."""
        return self._engine.processes()

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        """Returns the run with no work done yet."""
        del attempt
        context = make_context(order, watermark=None, project=self._project)
        return SelfWritingComputation(order, context, ReadInlets(), partial(self._attend, context))

    def cancel(self, run: str) -> None:
        """Stops waiting for the work."""
        self._give_up()
        self._engine.cancel(run)

    def close(self) -> None:
        """Closes the engine."""
        self._engine.close()


class SparkTargetFactory:
    """Opens targets that an engine writes; implements `ports.TargetFactory`."""

    def __init__(self, engine: SparkEngine) -> None:
        self._workplace = engine.workplace

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> Target:
        """The table of the asset, or what its own code writes."""
        if asset.writes_itself:
            return SelfWrittenTarget(self._workplace, asset)
        return TableTarget(self._workplace, asset, app_id=app_id, enlist=enlist)


def read_promoted_rows(session: SparkSession, order: RunOrder, promotion: BranchPromotion) -> DataFrame:
    """The rows of one table that the run writes.

    Raises:
        RunError: The branch's table is gone.
    """
    asset, partitioning = order.asset, order.asset.partitioning
    path, owner = promotion.table_path(order.warehouse, asset.name), f"{asset.name} in branch {promotion.branch}"
    table_id, version = promotion.tables.get(asset.name, ("", 0))
    table = open_table(path)
    if table is None or str(table.metadata().id) != table_id:
        raise RunError(f"{owner} is gone: no table has the id {table_id}", hint="run the branch again")
    frame, is_exact = read_version(
        session, table, version, path=path, parts=order.partitions, partitioning=partitioning
    )
    predicate = partition_predicate(frame.schema, order.partitions, partitioning=partitioning, owner=owner)
    return frame if predicate is None or is_exact else frame.filter(predicate)


Opening = Callable[["SparkSession", RunOrder], ReadInlets]


def _session_of_run(shared: SparkSession, asset: AssetSpec) -> SparkSession:
    """The session of one run: of its own where the asset's code or settings could change that of others."""
    needs_own = isinstance(asset.body, PythonBody) or asset.writes_itself or asset.spark_conf
    session = copy_for_run(shared) if needs_own else shared
    set_for_run(session, asset.spark_conf)
    return session


class SparkEngine:
    """Computes runs in one Spark session; implements `ports.Engine`.

    Args:
        project: Has the settings of a session that is started here, and the packages of functions.
        session: As of a `SparkWorkplace`.
        opening: Reads the inlets of a run; by default `read_inlets`.

    Attributes:
        workplace: The session in which rows are computed and written.
    """

    def __init__(
        self, project: ProjectSpec, session: SparkSession | None = None, *, opening: Opening | None = None
    ) -> None:
        self._project = project
        self._read_inlets = opening or read_inlets
        self.workplace = SparkWorkplace(
            session,
            name=f"sparkassets-{project.name}",
            settings=project.spark,
            engine=project.engine,
            packages=project.python,
        )

    def start(self) -> None:
        """Starts or finds the session, once.

        Raises:
            SparkUnavailableError: With one clear line.
        """
        self.workplace.start()

    def processes(self) -> Sequence[Process]:
        """The JVM's process."""
        return find_jvms()

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        """Opens the inlets and has the asset's SQL or function describe its rows; reads only the target's schema.

        Raises:
            RunError: The asset's code, its inlets or the columns that come out are wrong.
            SourceError: An inlet changed or vanished.
        """
        if order.restores:
            return make_restore(order)
        if order.promotes is not None:
            return self._compute_promoted(order, order.promotes)
        folders = make_attempt_folders(order, attempt)
        with self.workplace.work(order) as (shared, work), ExitStack() as folders_kept:
            for folder in folders.values():
                folders_kept.enter_context(folder.keep_on_success())
            with explain_errors(what=order.asset.name):
                asset = order.asset
                session = _session_of_run(shared, asset)
                inlets = self._read_inlets(session, order)
                work.check(order.run)
                checked_inlets = replace(inlets, verdicts=check_inlets(order, inlets.frames, self._project.python))
                work.check(order.run)
                bounds = list(inlets.watermark_bounds)
                context = make_context(
                    order,
                    watermark=bounds[0] if len(bounds) == 1 else None,
                    project=self._project,
                    folders={name: folder.path for name, folder in folders.items()},
                )
                if order.asset.writes_itself:
                    return SelfWritingComputation(
                        order, context, checked_inlets, partial(self._write, session, order, checked_inlets, context)
                    )
                return self._compute_outlets(session, order, checked_inlets, context, folders, work)

    def _compute_promoted(self, order: RunOrder, promotion: BranchPromotion) -> SparkComputation | OutletComputations:
        """The rows of each table that takes over rows of a branch."""
        with self.workplace.work(order) as (session, work), explain_errors(what=order.asset.name):
            inlets = self._read_inlets(session, order) if order.has_rules else ReadInlets()
            work.check(order.run)
            context = make_context(order, watermark=None, project=self._project, folders={})
            parts = [
                _describe_computation(
                    session,
                    table_order,
                    read_promoted_rows(session, table_order, promotion),
                    _PriorTarget(session, table_order.asset),
                    inlets,
                    context,
                )
                for table_order in order.table_orders
            ]
        return (
            OutletComputations({table_order.order.asset.name: table_order for table_order in parts})
            if order.outlets
            else parts[0]
        )

    def cancel(self, run: str) -> None:
        """Interrupts the Spark work that the run is doing now; returns at once."""
        self.workplace.cancel(run)
        restore_process_state()

    def close(self) -> None:
        """Stops the session if this engine created it."""
        self.workplace.close()

    def _compute_outlets(
        self,
        session: SparkSession,
        order: RunOrder,
        inlets: ReadInlets,
        context: Context,
        folders: Mapping[str, AttemptFolder],
        work: InterruptibleWork,
    ) -> SparkComputation | OutletComputations:
        """The rows of each table that the run writes; fails if those of one do not fit."""
        frames = [
            (each, combine_rows(each, rows, before.read_partitions), before)
            for each, rows, before in self._iterate_frames(session, order, inlets, context, work)
        ]
        if folders and not frames:
            written_files = (
                (each, folders[each.asset.name].rows(session, context), _PriorTarget(session, each.asset))
                for each in order.table_orders
            )
            parts = [
                replace(_describe_computation(session, *each, inlets, context), writes_files=True)
                for each in written_files
            ]
        else:
            for folder in folders.values():
                folder.discard_if_empty()
            parts = [_describe_computation(session, *each, inlets, context) for each in frames]
        if not order.outlets:
            return parts[0]
        return OutletComputations({each.order.asset.name: each for each in parts})

    def _write(self, session: SparkSession, order: RunOrder, inlets: ReadInlets, context: Context) -> None:
        """Runs the asset's own code, which writes its target."""
        with self.workplace.work(order) as (_, work):
            work.check(order.run)
            make_active(session)
            if isinstance(order.asset.body, PythonBody):
                run_function(
                    session,
                    order.asset.body,
                    outlets=order.asset.outlets,
                    allowed=self._project.python,
                    inlets=_make_arguments(order, inlets.frames),
                    context=context,
                    given_up=work.cancelled.is_set,
                    writes="all",
                )
                return
            for each in order.table_orders:
                if not isinstance(each.asset.body, SqlBody):
                    raise RunError(f"{each.asset.name} has neither SQL nor a function")
                run_statements(session, each, each.asset.body, inlets=inlets.frames, context=context)

    def _iterate_frames(
        self, session: SparkSession, order: RunOrder, inlets: ReadInlets, context: Context, work: InterruptibleWork
    ) -> Iterator[tuple[RunOrder, DataFrame, _PriorTarget]]:
        """The rows of each table, and the table before the run."""
        if isinstance(order.asset.body, PythonBody):
            frames = run_function(
                session,
                order.asset.body,
                outlets=order.asset.outlets,
                allowed=self._project.python,
                inlets=_make_arguments(order, inlets.frames),
                context=context,
                given_up=work.cancelled.is_set,
                writes="files" if order.asset.publishes else "nothing",
            )
            for each, rows in zip(order.table_orders, frames, strict=bool(frames)):
                yield each, _convert_rows(session, each, rows), _PriorTarget(session, each.asset)
            return
        for each in order.table_orders:
            body, before = each.asset.body, _PriorTarget(session, each.asset)
            if not isinstance(body, SqlBody):
                raise RunError(f"{each.asset.name} has neither SQL nor a function")
            frame = run_sql(session, each, body, inlets=inlets.frames, outlet=before.frame, context=context)
            yield each, frame, before


def _describe_computation(
    session: SparkSession, order: RunOrder, frame: DataFrame, before: _PriorTarget, inlets: ReadInlets, context: Context
) -> SparkComputation:
    """Checks the rows against their table; includes segments that the function added."""
    require_utc(frame.sparkSession, asset=order.asset.name)
    order = order.with_new_segments(context.added_segments)
    frame = drop_other_segments(drop_defaults(frame), order)
    schema = mode_of(order).table_schema(order.asset, frame.schema)
    table = describe_table_of(session, order.asset)
    refuse_ignored_kinds(inlets.changes, order.asset, frame.schema.names)
    check_schema(session, order, schema, table)
    rows = with_plain_strings(frame, frame.schema)
    return SparkComputation(order, rows, schema, table, context, inlets, before.version)


def _make_arguments(order: RunOrder, frames: Mapping[str, DataFrame]) -> dict[str, DataFrame | IterationArgument]:
    """The inlets as arguments of a function; an inlet that is no table is an `IterationArgument`."""
    return {name: read_newest_iteration(order.inlets[name], frame) or frame for name, frame in frames.items()}


def _convert_rows(session: SparkSession, order: RunOrder, rows: Any) -> DataFrame:  # noqa: ANN401
    """The rows as Spark's, with the declared types."""
    if is_frame(rows):
        frame: DataFrame = rows
        return frame
    asset, table = order.asset, describe_table_of(session, order.asset)
    declared = declared_schema(session, asset.column_types) if asset.column_types else None
    return to_spark(session, rows, asset=asset.name, declared=declared, table_schema=table and table.schema)


class _PriorTarget:
    """The target as it is before the run, read if its SQL asks for it.

    Attributes:
        version: The version that was read; None if none was.
    """

    def __init__(self, session: SparkSession, asset: AssetSpec) -> None:
        self.version: int | None = None
        self._session = session
        self._asset = asset

    def read_partitions(self, order: RunOrder, like: DataFrame) -> DataFrame:
        """Its rows of the run's partitions, and maybe others; none, with the columns of ``like``, where it has none."""
        table = find_table(self._session, location_of(self._asset))
        if table is None:
            return like.limit(0)
        if self.version is None:  # else its SQL has read that version
            self.version = table.version
        if table.describe().has_no_rows:
            return like.limit(0)
        partitioning = self._asset.partitioning
        return table.read_rows(self._session, self.version, parts=order.partitions, partitioning=partitioning)[0]

    def frame(self) -> DataFrame:
        """Its rows."""
        asset, table = self._asset, find_table(self._session, location_of(self._asset))
        if table is not None:
            self.version = table.version
            return table.read_rows(self._session, self.version)[0]
        if asset.columns:
            return self._session.createDataFrame([], declared_schema(self._session, asset.columns))
        raise RunError(
            f"the outlet {asset.name!r} does not exist before its first run, so its columns are unknown",
            hint="declare its 'columns'",
        )
