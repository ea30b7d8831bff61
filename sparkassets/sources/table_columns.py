"""The columns of a Delta table as it is now, for whoever checks a project before anything runs."""

from __future__ import annotations

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.schemas import newest_columns


def has_local_columns(asset: AssetSpec) -> bool:
    """Whether only the table of this source tells its columns, and asking it is cheap: it is on a local disk."""
    if asset.source is None or asset.source.kind != "delta" or asset.columns or asset.storage is None:
        return False
    return "://" not in asset.storage.path


def read_table_columns(path: str) -> list[str] | None:
    """The columns of the table in a local folder, in order; None where there is none that can be read."""
    return None if "://" in path else newest_columns(path)


def read_stored_columns(asset: AssetSpec) -> list[str] | None:
    """The columns of a source's Delta table in a local folder; None where they cannot be read."""
    return read_table_columns(asset.storage.path) if has_local_columns(asset) and asset.storage is not None else None
