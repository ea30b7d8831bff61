"""How rows get into a table that is there: what a write mode decides, and one commit does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal, Protocol

from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitStamp, RunOrder
from sparkassets.spark.open_tables import TableDescription
from sparkassets.spark.partition_guard import PartitionGuard, guard_for
from sparkassets.spark.upserts.key_merge import KeyMerge
from sparkassets.spark.upserts.staged_rows import KeptRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


Columns = Literal["kept", "widened", "replaced"]
"""What becomes of a table's columns: nothing, some come or get wider types, or those of the rows take their place."""


@frozen
class RowLanding:
    """What one commit of a run's rows does to the table, whether the driver or Spark commits.

    Attributes:
        rows: The rows to write, in the columns of the table.
        replaces: Which rows of the table they replace.
        columns: What becomes of the table's columns.
        statements_before, statements_after: SQL statements around the commit, which change no rows.
        merge: The `MERGE` that commits staged rows by their keys; None where ``rows`` are written as they are.
    """

    rows: DataFrame
    replaces: Literal["nothing", "partitions", "all"] = "nothing"
    columns: Columns = "kept"
    statements_before: Sequence[str] = ()
    statements_after: Sequence[str] = ()
    merge: KeyMerge | None = None

    @property
    def changes_columns(self) -> bool:
        """Whether the table gets other columns, or others of their properties, and keeps rows."""
        is_widened = self.columns == "widened" and self.replaces != "all"
        return is_widened or bool(self.statements_before or self.statements_after)


@frozen
class ChosenRows:
    """The rows of a run that are to land, before validations judge them.

    Attributes:
        rows: The rows; one that cannot land fails the job that computes it.
        columns: Those columns of ``rows`` that the asset's code returned.
        delete_condition: SQL that is true of rows that delete another one; None where no row deletes.
        explain_error: The error for people if the job that computes them fails; None for an error of another kind.
    """

    rows: DataFrame
    columns: Sequence[str]
    delete_condition: str | None = None
    explain_error: Callable[[Exception], RunError | None] = lambda _: None


@frozen
class ReadyRows:
    """A run's rows, ready for their commit.

    Attributes:
        frame: The rows.
        stamp: The stamp of the commit, with the measures that the preparation added.
        landing: How they land, where the preparation decided that; None leaves it to `LandingMode.plan_landing`.
        explain_error: The error for people if the job that computes them fails; None for an error of another kind.
    """

    frame: DataFrame
    stamp: CommitStamp
    landing: RowLanding | None = None
    explain_error: Callable[[Exception], RunError | None] = lambda _: None


class LandingMode(Protocol):
    """How the rows of one write mode get into a table; one implementation for each mode.

    Attributes:
        by_spark: Whether some run's commit, such as a merge, takes Spark.
    """

    by_spark: bool

    def table_schema(self, asset: AssetSpec, schema: StructType) -> StructType:
        """The columns that the table stores of a result with this schema.

        Raises:
            RunError: The result lacks a column from which they follow.
        """

    def choose_rows(self, order: RunOrder, frame: DataFrame) -> ChosenRows:
        """The rows that validations judge; `prepare_rows` then gets them instead of the whole result."""

    def prepare_rows(
        self,
        order: RunOrder,
        frame: DataFrame,
        table: TableDescription | None,
        *,
        stamp: CommitStamp,
        kept: KeptRows | None = None,
    ) -> AbstractContextManager[ReadyRows]:
        """Prepares the commit, such as by staging rows; leaving the context removes what was only needed for it.

        ``table`` is None for the first rows of a table, whose columns then bind nothing. With ``kept`` the rows were
        chosen, judged and staged before, and are taken from there.

        Raises:
            RunError: The rows cannot land so; nothing was published.
        """

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TableDescription) -> None:
        """Refuses columns that this mode cannot write into the table, before any row is computed.

        Raises:
            RunError: With every difference.
        """

    def plan_landing(
        self, order: RunOrder, frame: DataFrame, table: TableDescription, *, partitions: PartitionGuard | None
    ) -> RowLanding:
        """How the run's rows get into an existing table; rows outside the partitions must fail the commit."""


class AllColumnsMode:
    """The common part of the modes that store every column, and need no preparation."""

    by_spark = False

    def table_schema(self, asset: AssetSpec, schema: StructType) -> StructType:
        """The result's schema, unchanged."""
        del asset
        return schema

    def choose_rows(self, order: RunOrder, frame: DataFrame) -> ChosenRows:
        """All rows; one outside the run's partitions fails the job that computes it."""
        partitions = guard_for(order, frame.schema)
        return ChosenRows(frame if partitions is None else partitions.guard_rows(frame), frame.columns)

    def prepare_rows(
        self,
        order: RunOrder,
        frame: DataFrame,
        table: TableDescription | None,
        *,
        stamp: CommitStamp,
        kept: KeptRows | None = None,
    ) -> AbstractContextManager[ReadyRows]:
        """The rows as they are; nothing is prepared."""
        del order, table, kept
        return nullcontext(ReadyRows(frame, stamp))
