"""``replace``: a run's rows take the place of those of its blocks, or of all."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.frozen import frozen


@frozen
class ReplaceWrite:
    """A run's rows take the place of those of its blocks, or of all.

    Attributes:
        recomputable: What a run wrote can be computed again: lost rows are, and a rebuild makes the table anew.
        only_adds: A run leaves all rows as they are, so that several assets may write one table.
        by_keys: Rows take the place of those with their keys, in a merge, which is Spark's.
        takes_all: A run of an asset without partitions takes the place of the whole table.
        side_by_side: Runs of different partitions may commit beside each other.
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
        """What of it decides which rows come out, by name; a change of it is one of the asset's code."""
        return {}
