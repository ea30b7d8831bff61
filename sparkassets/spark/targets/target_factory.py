"""Which kind of target an asset has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import Enlist, Target
from sparkassets.spark.targets.named_target import NamedTarget
from sparkassets.spark.targets.path_target import PathTarget
from sparkassets.spark.targets.self_written_target import SelfWrittenTarget

if TYPE_CHECKING:
    from sparkassets.spark.engine import SparkEngine


class SparkTargetFactory:
    """Targets that are written where an engine computes; implements `ports.TargetFactory`."""

    def __init__(self, engine: SparkEngine) -> None:
        self._workplace = engine.workplace

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> Target:
        """The table of the asset, or whatever its own code writes."""
        if asset.writes_itself:
            return SelfWrittenTarget(self._workplace, asset)
        named = asset.storage is not None and asset.storage.table
        kind = NamedTarget if named else PathTarget
        return kind(self._workplace, asset, app_id=app_id, enlist=enlist)
