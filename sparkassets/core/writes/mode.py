"""What each write mode answers; code outside the rooms of the modes asks these, and never which mode it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class WriteMode:
    """How a run's rows get into its target, as data: the Spark layer has the code, by the mode's class.

    Attributes:
        name: As ``write`` has it.
        recomputable: Whether rows can be computed again, for lost rows and for a rebuild.
        only_adds: Whether a run leaves all earlier rows as they are, so that several assets may write one table.
        by_keys: Whether rows replace those with the same keys, by Spark's merge.
        takes_all: Whether a run of an asset without partitions replaces the whole table.
        side_by_side: Whether runs of different partitions may commit in parallel.
        is_promotable: Whether rows of a branch can take the place of the base's.
        combines: Whether the rows that land are made of a run's rows and of those in the table.
        is_of_code: Whether the asset's own code writes the target.
        kept_iterations: Least number of iterations that are kept, the newest by record; 0 where runs write none.
    """

    __slots__ = ()
    name: ClassVar[str] = ""
    recomputable: ClassVar[bool] = True
    only_adds: ClassVar[bool] = False
    by_keys: ClassVar[bool] = False
    takes_all: ClassVar[bool] = False
    side_by_side: ClassVar[bool] = True
    is_promotable: ClassVar[bool] = False
    combines: ClassVar[bool] = False
    is_of_code: ClassVar[bool] = False

    @property
    def kept_iterations(self) -> int:
        """0: runs write no iterations."""
        return 0

    @property
    def unique_columns(self) -> tuple[str, ...]:
        """Columns whose values no two rows of the table share; empty where it promises nothing."""
        return ()

    @property
    def last_run_wins(self) -> bool:
        """Whether of rows with the same keys those written last count, so that runs must follow in order."""
        return False

    @property
    def added_columns(self) -> tuple[str, ...]:
        """Columns that the table has besides those of a run's rows."""
        return ()

    def stores_column(self, column: str) -> bool:
        """Whether the table has this column of a run's rows."""
        del column
        return True

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it, as it would destroy or double history; None where it does."""
        del strategy, partitioned
        return None

    def parts(self) -> Mapping[str, object]:
        """The options that decide which rows come out, by name; changing one counts as a change of the code."""
        return {}
