"""Properties of the tables that runs make, beside those that a session gives; a table that is there keeps its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import PublishWrite

FEED: Final = "delta.enableChangeDataFeed"
"""The table's property that has its writers keep a change feed."""
_FED: Final = {FEED: "true"}
_ITERATED: Final = {"delta.deletedFileRetentionDuration": "interval 36500 days"}
"""Of a table of iterations: Spark's ``VACUUM LITE`` goes by the log, to which older ones' files are dead."""


def keeps_feed(properties: Mapping[str, Any]) -> bool:
    """Whether a table with these has its changes told.

    >>> keeps_feed({FEED: "TRUE"}), keeps_feed({})
    (True, False)
    """
    return str(properties.get(FEED) or "").lower() == "true"


def spark_properties(asset: AssetSpec) -> dict[str, str]:
    """Those of a new table of the asset's that Spark makes."""
    return {**(_FED if asset.followed else {}), **asset.properties}


def driver_properties(asset: AssetSpec) -> dict[str, str]:
    """Those of one that the driver makes: Spark makes none whose removed files stay for longer than its log."""
    return {**(_ITERATED if isinstance(asset.write, PublishWrite) else {}), **spark_properties(asset)}
