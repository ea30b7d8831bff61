"""The columns that the paths of a source's files give, apart from what reads YAML: a run asks for them, too."""

from __future__ import annotations

from sparkassets.core.patterns import PathPattern
from sparkassets.core.spec.model import AssetSpec


def path_columns(asset: AssetSpec) -> dict[str, str]:
    """The columns of the fields in a source's path or name, with their types, time first; empty without fields."""
    if asset.storage is None or asset.source is None or not asset.source.varies:
        return {}
    partitioning = asset.path_partitioning
    pattern = PathPattern.parse(asset.storage.as_path, partitioning.segment_columns)
    segments = {each.name: asset.column_types.get(each.name, "STRING") for each in pattern.segments}
    if pattern.field is None or partitioning.time is None:
        return segments
    return {pattern.field.name: "DATE" if partitioning.time.has_dates else "TIMESTAMP", **segments}
