"""``publish``: each run writes its rows or files as an iteration beside the earlier ones."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.frozen import frozen


@frozen
class PublishWrite:
    """Each run writes an iteration that no later run changes; the table shows the newest one of each partition.

    For the attributes and methods see `ReplaceWrite`.

    Attributes:
        keep: Least number of iterations that are kept, the newest by record.
    """

    keep: int
    name = "publish"
    recomputable = True
    only_adds = False
    by_keys = False
    takes_all = True
    side_by_side = True

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # an iteration stays in any case
        if strategy in ("date_range", "segments"):
            return "an iteration is of one run, which computes many; 'strategy: every_instance' has one for each"
        return None

    def parts(self) -> Mapping[str, object]:
        """Nothing: how many are kept changes no rows."""
        return {}
