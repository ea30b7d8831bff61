"""Who commits to an asset's table, the driver or Spark, as far as asset, storage and table tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.features import reason_for_spark
from sparkassets.files.object_stores import local_path

if TYPE_CHECKING:
    from deltalake import DeltaTable

_HIDDEN = "_"
"""Delta takes what is in a folder whose name begins so for no data, but for those of partitions."""


def spark_commit_reason(asset: AssetSpec, table: DeltaTable | None) -> str | None:
    """Why Spark commits to the asset's ``table``, as the end of a sentence; None where the driver does.

    A run may have reasons of its own besides: columns that change, or nulls where the table has none.
    """
    if asset.commit == "spark":
        return "the asset says 'commit: spark'"
    if asset.name.startswith(_HIDDEN):
        return "files in folders with its name would be hidden from VACUUM"
    if asset.storage is not None and asset.storage.table:
        return "its table is in a catalog"
    if asset.storage is None or not _is_known(asset.storage.path):
        return "its table is neither on a disk nor on S3"
    return None if table is None else reason_for_spark(table)


def spark_creation_reason(asset: AssetSpec) -> str | None:
    """Why Spark makes the asset's table where there is none, as the end of a sentence; None where the driver does."""
    return spark_commit_reason(asset, None) or (
        "the asset gives properties to its new table" if asset.properties else None
    )


def _is_known(path: str) -> bool:
    """Whether files can be staged there that nobody renames or sees, and commits be made only where none is yet."""
    return local_path(path) is not None or path.partition("://")[0].lower() in ("s3", "s3a")
