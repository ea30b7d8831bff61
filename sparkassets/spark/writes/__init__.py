"""How rows land in a table, a file for each write mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import Append, Replace, Write
from sparkassets.errors import RunError
from sparkassets.spark.writes.append import AppendMode
from sparkassets.spark.writes.landing import Landing, Mode
from sparkassets.spark.writes.replace import ReplaceMode

_MODES: Final[Mapping[type[Write], Mode]] = {Replace: ReplaceMode(), Append: AppendMode()}


def mode_of(asset: AssetSpec) -> Mode:
    """How the asset's rows land."""
    if asset.write is None:
        raise RunError(f"{asset.name} is not written here")
    return _MODES[type(asset.write)]


__all__ = ["Landing", "Mode", "mode_of"]
