"""``replace``: a run's rows replace those of its partitions, or all rows."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.frozen import frozen


@frozen
class ReplaceWrite:
    """A run's rows replace those of its partitions, or all rows of an asset without partitions.

    Attributes:
        recomputable: Whether rows can be computed again, for lost rows and for a rebuild.
        only_adds: Whether a run leaves all earlier rows as they are, so that several assets may write one table.
        by_keys: Whether rows replace those with the same keys, by Spark's merge.
        takes_all: Whether a run of an asset without partitions replaces the whole table.
        side_by_side: Whether runs of different partitions may commit in parallel.
    """

    name = "replace"
    recomputable = True
    only_adds = False
    by_keys = False
    takes_all = True
    side_by_side = True

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it, as it would destroy or double history; None where it does."""
        if strategy == "latest_only":
            return "a run has only what is new and would destroy what is there"
        if strategy == "every_instance" and not partitioned:
            return "every run would destroy what the runs before it wrote"
        return None

    def parts(self) -> Mapping[str, object]:
        """The options that decide which rows come out, by name; changing one counts as a change of the code."""
        return {}
