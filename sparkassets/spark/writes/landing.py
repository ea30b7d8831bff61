"""How rows get into a table that is there: what a write mode decides, and one commit does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from sparkassets.frozen import frozen
from sparkassets.ports import RunOrder
from sparkassets.spark.blocks import Blocks
from sparkassets.spark.table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


Columns = Literal["kept", "widened", "replaced"]
"""What becomes of a table's columns: nothing, some come or get wider types, or those of the rows take their place."""


@frozen
class Landing:
    """What the commit of a run's rows is made of, whoever commits.

    Attributes:
        rows: As they are written.
        replaces: The rows that they take the place of: none, those of the run's blocks, or all.
        columns: What becomes of the table's.
        before, after: Statements around the commit, which change no rows.
    """

    rows: DataFrame
    replaces: Literal["nothing", "blocks", "all"] = "nothing"
    columns: Columns = "kept"
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
