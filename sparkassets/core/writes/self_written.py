"""``self``: the asset's own code writes its target; sparkassets records when, and which partitions changed."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.frozen import frozen


@frozen
class SelfWrite:
    """The function or the statements of a run write the target; a run is repeated after a failure or a crash.

    For the attributes and methods see `ReplaceWrite`.
    """

    name = "self"
    recomputable = True
    only_adds = False
    by_keys = False
    takes_all = False
    side_by_side = False

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """None: what its code does to the rows that are there is for its author to say."""
        del strategy, partitioned
        return None

    def parts(self) -> Mapping[str, object]:
        """Nothing: the code is all."""
        return {}
