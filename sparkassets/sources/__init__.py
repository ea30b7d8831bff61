"""What changed in files and Delta tables that others write, without a JVM but for values in text files."""

from __future__ import annotations

from collections.abc import Callable

from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import SourceObserver, TextFileReader
from sparkassets.sources.targets import DeltaTargets

__all__ = ["DeltaTargets", "make_observer"]


def make_observer(
    asset: AssetSpec,
    *,
    texts: TextFileReader,
    by_session: Callable[[SourceObserver], SourceObserver] = lambda plain: plain,
) -> SourceObserver | None:
    """Who looks at ``asset``; None for a source that only ``events add`` tells about, and for what asks no look.

    Args:
        asset: At a path. Of what is no source the values are looked at that others go by.
        texts: Reads CSV and JSON files.
        by_session: Looks through a session at the Delta tables that its argument cannot open.
    """
    if asset.storage is None or (asset.source is None and not asset.views):
        return None
    if asset.source is not None and asset.source.kind == "events":
        return None
    if asset.source is None or asset.source.kind in ("delta", "tables"):
        from sparkassets.sources.delta import DeltaObserver

        if asset.views:
            return DeltaObserver()
        alone = by_session(DeltaObserver())
        if asset.source is None or asset.source.kind == "delta":
            return alone
        from sparkassets.sources.table_sets import ListedFolders, TableSetObserver

        return TableSetObserver(ListedFolders(), alone)
    from sparkassets.sources.files import FileObserver

    return FileObserver(texts)
