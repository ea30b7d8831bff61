"""The write modes by what the core calls them; a file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import AppendWrite, PublishWrite, ReplaceWrite, UpsertWrite, Write
from sparkassets.errors import RunError
from sparkassets.spark.writes.append import AppendMode
from sparkassets.spark.writes.landing import LandingMode
from sparkassets.spark.writes.publish import PublishMode
from sparkassets.spark.writes.replace import ReplaceMode
from sparkassets.spark.writes.upsert import UpsertMode

_MODES: Final[Mapping[type[Write], LandingMode]] = {
    ReplaceWrite: ReplaceMode(),
    AppendWrite: AppendMode(),
    UpsertWrite: UpsertMode(),
    PublishWrite: PublishMode(),
}


def mode_of(asset: AssetSpec) -> LandingMode:
    """How the asset's rows land."""
    if asset.write is None:
        raise RunError(f"{asset.name} is not written here")
    return _MODES[type(asset.write)]
