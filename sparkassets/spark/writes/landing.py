"""How rows get into a table that is there: what a write mode decides, and one commit does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal, Protocol

from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker, RunOrder
from sparkassets.spark.partition_guard import PartitionGuard, guard_for
from sparkassets.spark.target_table import TargetTable
from sparkassets.spark.upserts.key_merge import KeyMerge
from sparkassets.spark.upserts.staged_rows import KeptRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


Columns = Literal["kept", "widened", "replaced"]
"""What becomes of a table's columns: nothing, some come or get wider types, or those of the rows take their place."""


@frozen
class RowLanding:
    """What the commit of a run's rows is made of, whoever commits.

    Attributes:
        rows: As they are written.
        replaces: The rows that they take the place of: none, those of the run's partitions, or all.
        columns: What becomes of the table's.
        statements_before, statements_after: Statements around the commit, which change no rows.
        merge: What is merged by keys, in place of all that; its rows are staged.
    """

    rows: DataFrame
    replaces: Literal["nothing", "partitions", "all"] = "nothing"
    columns: Columns = "kept"
    statements_before: Sequence[str] = ()
    statements_after: Sequence[str] = ()
    merge: KeyMerge | None = None


@frozen
class ChosenRows:
    """Of a run's rows those that are to land, and may be judged before.

    Attributes:
        rows: They, of which one that cannot land fails the job that computes it.
        delete_condition: Whether a row takes another away, as SQL on them; None where none does.
        columns: Of ``rows``, those of the rows as they were computed.
        explain_error: What is said to people of an error of that job; None of others.
    """

    rows: DataFrame
    columns: Sequence[str]
    delete_condition: str | None = None
    explain_error: Callable[[Exception], RunError | None] = lambda _: None


@frozen
class ReadyRows:
    """A run's rows, ready to land.

    Attributes:
        frame: The rows.
        marker: Of the commit, with what is to be told of it.
        landing: Where what was done to be ready tells how they land.
        explain_error: What is said to people of an error of the job that computes them; None of others.
    """

    frame: DataFrame
    marker: CommitMarker
    landing: RowLanding | None = None
    explain_error: Callable[[Exception], RunError | None] = lambda _: None


class LandingMode(Protocol):
    """One way for rows to land; a file each.

    Attributes:
        by_spark: Whether Spark may commit something for any run.
    """

    by_spark: bool

    def table_schema(self, asset: AssetSpec, schema: StructType) -> StructType:
        """The columns that the table has of a result's.

        Raises:
            RunError: They cannot be told.
        """

    def choose_rows(self, order: RunOrder, frame: DataFrame) -> ChosenRows:
        """The rows that are judged, and that `ready` is given in place of all."""

    def prepare_rows(
        self,
        order: RunOrder,
        frame: DataFrame,
        table: TargetTable | None,
        *,
        marker: CommitMarker,
        kept: KeptRows | None = None,
    ) -> AbstractContextManager[ReadyRows]:
        """Does what comes before the commit, and undoes it when that is over.

        ``table`` is the one whose columns bind; None where there is none. The rows are those of ``kept``, where they
        were chosen and judged before.

        Raises:
            RunError: The rows cannot land so; nothing was published.
        """

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """Refuses columns that cannot land so in the table, before any row is computed.

        Raises:
            RunError: With every difference.
        """

    def plan_landing(
        self, order: RunOrder, frame: DataFrame, table: TargetTable, *, partitions: PartitionGuard | None
    ) -> RowLanding:
        """How the run's rows get into the table; one outside the partitions must fail the commit."""


class AllColumnsMode:
    """What modes share that store each column, and need nothing before the commit."""

    by_spark = False

    def table_schema(self, asset: AssetSpec, schema: StructType) -> StructType:
        """All."""
        del asset
        return schema

    def choose_rows(self, order: RunOrder, frame: DataFrame) -> ChosenRows:
        """All."""
        partitions = guard_for(order, frame.schema)
        return ChosenRows(frame if partitions is None else partitions.guard_rows(frame), frame.columns)

    def prepare_rows(
        self,
        order: RunOrder,
        frame: DataFrame,
        table: TargetTable | None,
        *,
        marker: CommitMarker,
        kept: KeptRows | None = None,
    ) -> AbstractContextManager[ReadyRows]:
        """The rows as they are."""
        del order, table, kept
        return nullcontext(ReadyRows(frame, marker))
