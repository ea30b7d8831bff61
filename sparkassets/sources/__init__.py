"""What changed in files and Delta tables that others write, without a JVM but for values in text files."""

from __future__ import annotations

from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import SourceObserver, TextFiles
from sparkassets.sources.targets import DeltaTargets

__all__ = ["DeltaTargets", "observer"]


def observer(asset: AssetSpec, *, texts: TextFiles) -> SourceObserver | None:
    """Who looks at ``asset``; None for a source that only ``events add`` tells about, and for what asks no look.

    Of what is no source the values are looked at that others go by. CSV and JSON files are read by ``texts``.
    """
    if asset.storage is None or (asset.source is None and not asset.views):
        return None
    if asset.source is not None and asset.source.kind == "events":
        return None
    if asset.source is None or asset.source.kind == "delta":
        from sparkassets.sources.delta import DeltaObserver

        return DeltaObserver()
    if asset.source.kind == "tables":
        from sparkassets.sources.table_sets import TableSetObserver

        return TableSetObserver()
    from sparkassets.sources.files import FileObserver

    return FileObserver(texts)
