"""A Delta table at a path that Spark commits to."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import CommitMarker, Committed, Computation
from sparkassets.spark import writer
from sparkassets.spark.computation import held, own
from sparkassets.spark.schemas import declared_schema
from sparkassets.spark.table import table_of
from sparkassets.spark.targets import history
from sparkassets.spark.workplace import Workplace


class PathTarget:
    """Fenced and written by Spark, looked into without it; implements `ports.Target`."""

    def __init__(self, workplace: Workplace, asset: AssetSpec, *, app_id: str) -> None:
        self._workplace = workplace
        self._asset = asset
        self._app_id = app_id

    def transaction_version(self) -> int | None:
        """The newest version that was committed; None without a table or any commit of the asset's."""
        return history.transaction_version(self._asset, self._app_id)

    def committed(self, runs: Sequence[str]) -> Sequence[Committed]:
        """The data commits of these runs, oldest first.

        Raises:
            HistoryGoneError: The history cannot tell.
        """
        return history.committed(self._asset, runs, app_id=self._app_id)

    def fence(self, computation: Computation | None, *, marker: CommitMarker) -> None:
        """Commits an empty append, stamped; creates a missing table with the computation's or the declared columns.

        Raises:
            FenceConflictError: Somebody committed meanwhile: look again.
            TargetMissingError: There is no table, and nothing tells its columns.
        """
        with self._workplace.entered(self._asset) as session:
            schema = None
            if computation is not None:
                schema = own(computation).schema
            elif self._asset.columns:
                schema = declared_schema(session, self._asset.columns)
            writer.fence(session, self._asset, schema, marker=marker)

    def write(self, computation: Computation, *, marker: CommitMarker) -> None:
        """Computes the rows and commits them once, stamped; its return proves nothing.

        Raises:
            RunError: The computation or the commit failed.
            SourceError: Files changed while they were read; nothing was written.
        """
        made = own(computation)
        table = made.target or table_of(self._asset)
        with self._workplace.work(made.order) as (_, work), held(made) as frame:
            work.check(made.order.run)
            writer.write(made.order, frame, schema=made.schema, table=table, marker=marker)
