"""``append``: a run adds its rows to those in the target."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.frozen import frozen


@frozen
class AppendWrite:
    """A run adds its rows to those in the target; for the attributes and methods see `ReplaceWrite`."""

    name = "append"
    recomputable = False
    only_adds = True
    by_keys = False
    takes_all = False
    side_by_side = True

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # earlier rows stay in any case
        return {
            "full_refresh": "every run would append all rows once more",
            "date_range": "a partition that is computed again would be there twice",
            "segments": "a segment that is computed again would be there twice",
        }.get(strategy)

    def parts(self) -> Mapping[str, object]:
        """Nothing."""
        return {}
