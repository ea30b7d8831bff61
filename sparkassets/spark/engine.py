"""Spark behind the runtime's port."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec, ProjectSpec, PythonBody, SqlBody
from sparkassets.errors import RunError, SparkAssetsError
from sparkassets.ports import CommitMarker, Committed, Computation, RunOrder
from sparkassets.processes import Process
from sparkassets.spark import loss, target, writer
from sparkassets.spark.collations import with_plain_strings
from sparkassets.spark.computation import SparkComputation, held
from sparkassets.spark.context import Context, context_of
from sparkassets.spark.failures import run_error
from sparkassets.spark.functions import run_function
from sparkassets.spark.interrupts import Interrupts
from sparkassets.spark.own_session import beside, leaving_active, require_utc
from sparkassets.spark.processes import writing_processes
from sparkassets.spark.reader import ReadInlets, read_inlets
from sparkassets.spark.schemas import declared_schema
from sparkassets.spark.session import check_session, open_session
from sparkassets.spark.template import run_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkEngine:
    """Computes and writes runs in one Spark session; implements `ports.Engine`.

    Args:
        project: Its settings are for a session that is started here; functions may come from its packages.
        session: The session to work beside, never in; None takes the active one, else starts one. Only one that was
            started here is ever stopped here.
    """

    def __init__(self, project: ProjectSpec, session: SparkSession | None = None) -> None:
        self._project = project
        self._given = session
        self._theirs: SparkSession | None = None
        self._session: SparkSession | None = None
        self._created = False
        self._starting = threading.Lock()
        self._interrupts = Interrupts()

    def start(self) -> None:
        """Starts or finds the session, once.

        Raises:
            SparkUnavailableError: With one clear line.
        """
        with self._starting:
            if self._session is not None:
                return
            if self._given is not None:
                check_session(self._given)
                found = self._given
            else:
                name = f"sparkassets-{self._project.name}"
                found, self._created = open_session(self._project.spark, name=name)
            self._theirs = None if self._created else found
            self._session = found if self._created else beside(found)

    def processes(self) -> Sequence[Process]:
        """This Python process and its JVM."""
        return writing_processes()

    def compute(self, order: RunOrder, *, attempt: int) -> Computation:
        """Opens the inlets and lets the asset's SQL or function describe its rows; looks at the target's schema only.

        Raises:
            RunError: The asset's code, its inlets or the columns that come out are wrong.
            SourceError: An inlet changed or vanished.
        """
        del attempt  # every attempt computes alike
        session = self._started()
        with (
            loss.told_of(order.asset.name),
            leaving_active(self._theirs),
            self._interrupts.work(session, order.run) as work,
        ):
            try:
                inlets = read_inlets(session, order)
                work.check(order.run)
                marks = list(inlets.watermarks.values())
                context = context_of(order, watermark=marks[0] if len(marks) == 1 else None, project=self._project)
                frame = self._rows(session, order, inlets, context)
                require_utc(frame.sparkSession, asset=order.asset.name)
                schema, there = frame.schema, target.target_of(order.asset)
                writer.check_schema(session, order, schema, there)
                return SparkComputation(with_plain_strings(frame, schema), schema, there, context, inlets)
            except SparkAssetsError:
                raise
            except Exception as error:
                raise run_error(error, what=order.asset.name) from error

    def write(self, order: RunOrder, computation: Computation, *, marker: CommitMarker) -> None:
        """Computes the rows and commits them once, stamped; its return proves nothing.

        Raises:
            RunError: The computation or the commit failed.
            SourceError: Files changed while they were read; nothing was written.
        """
        made, name = _own(computation), order.asset.name
        session = self._started()
        there = made.target or target.target_of(order.asset)
        with (
            loss.told_of(name),
            leaving_active(self._theirs),
            self._interrupts.work(session, order.run) as work,
            held(made, asset=name) as frame,
        ):
            work.check(order.run)
            writer.write(order, frame, schema=made.schema, target=there, marker=marker)

    def fence(self, order: RunOrder, computation: Computation | None, *, marker: CommitMarker) -> None:
        """Commits an empty append, stamped; creates a missing table with the computation's or the declared columns.

        Raises:
            FenceConflictError: Somebody committed meanwhile: look again.
            TargetMissingError: There is no table, and nothing tells its columns.
        """
        session = self._started()
        schema = None
        with loss.told_of(order.asset.name), leaving_active(self._theirs):
            if computation is not None:
                schema = _own(computation).schema
            elif order.asset.columns:
                schema = declared_schema(session, order.asset.columns)
            writer.fence(session, order.asset, schema, marker=marker)

    def transaction_version(self, asset: AssetSpec, app_id: str) -> int | None:
        """The newest transaction version of ``app_id`` in the target; None without a table or transaction."""
        return target.transaction_version(asset, app_id)

    def committed(self, asset: AssetSpec, runs: Sequence[str], *, app_id: str) -> Sequence[Committed]:
        """The data commits of these runs in the target, oldest first.

        Raises:
            HistoryGoneError: The history cannot tell.
        """
        return target.committed(asset, runs, app_id=app_id)

    def cancel(self, run: str) -> None:
        """Interrupts the Spark work that the run is doing now; returns at once."""
        if self._session is not None:
            self._interrupts.cancel(self._session, run)

    def close(self) -> None:
        """Stops the session if this engine created it."""
        with self._starting:
            if self._session is not None and self._created:
                with contextlib.suppress(Exception):  # its JVM may be gone already, say by the same signal
                    self._session.stop()
            self._session, self._theirs, self._created = None, None, False

    def _started(self) -> SparkSession:
        self.start()
        if self._session is None:
            raise RunError("the Spark session was closed")
        return self._session

    def _rows(self, session: SparkSession, order: RunOrder, inlets: ReadInlets, context: Context) -> DataFrame:
        body = order.asset.body
        match body:
            case SqlBody():

                def outlet() -> DataFrame:
                    return _before(session, order.asset)

                return run_sql(session, order, body, inlets=inlets.frames, outlet=outlet, context=context)
            case PythonBody():
                return run_function(
                    session,
                    body,
                    asset=order.asset.name,
                    allowed=self._project.python,
                    inlets=inlets.frames,
                    context=context,
                )
            case None:
                raise RunError(f"{order.asset.name} has neither SQL nor a function")


def _own(computation: Computation) -> SparkComputation:
    if not isinstance(computation, SparkComputation):
        raise TypeError(f"expected what compute returned, got {type(computation).__name__}")
    return computation


def _before(session: SparkSession, asset: AssetSpec) -> DataFrame:
    """The target as it is before the run."""
    there = target.target_of(asset)
    if there is not None:
        return session.read.format("delta").option("versionAsOf", there.version).load(target.path_of(asset))
    if asset.columns:
        return session.createDataFrame([], declared_schema(session, asset.columns))
    raise RunError(
        f"the outlet {asset.name!r} is not there before its first run, so its columns are unknown",
        hint="declare its 'columns'",
    )
