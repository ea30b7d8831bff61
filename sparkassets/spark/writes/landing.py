"""How rows get into a table that is there: what a write mode decides, and one commit does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from sparkassets.ports import RunOrder
from sparkassets.spark.blocks import Blocks
from sparkassets.spark.table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class Landing:
    """What the commit of a run's rows is made of.

    Attributes:
        rows: As they are written.
        save: How Spark's writer takes it: rows are added, or take the place of what ``options`` say.
        options: Of Delta's writer.
        before, after: Statements around the commit, which change no rows.
    """

    rows: DataFrame
    save: Literal["append", "overwrite"] = "append"
    options: Mapping[str, str] = field(default_factory=dict)
    before: Sequence[str] = ()
    after: Sequence[str] = ()


class Mode(Protocol):
    """One way for rows to land; a file each."""

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """Refuses columns that cannot land so in the table, before any row is computed.

        Raises:
            RunError: With every difference.
        """

    def landing(self, order: RunOrder, frame: DataFrame, table: TargetTable, *, blocks: Blocks | None) -> Landing:
        """How the run's rows get into the table; one outside the blocks must fail the commit."""
