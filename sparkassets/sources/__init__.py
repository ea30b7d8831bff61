"""Observes files and Delta tables that others write, without a JVM except for values in text files."""

from __future__ import annotations

from collections.abc import Callable

from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import SourceObserver, TextFileReader
from sparkassets.sources.targets import DeltaTargetObserver

__all__ = ["DeltaTargetObserver", "make_observer"]


def make_observer(
    asset: AssetSpec,
    *,
    texts: TextFileReader,
    by_session: Callable[[SourceObserver], SourceObserver] = lambda plain: plain,
) -> SourceObserver | None:
    """The observer of ``asset``; None for a source of ``events add``, and for what needs no observation.

    Args:
        asset: At a path. For one that is no source, only its views are observed.
        texts: Reads CSV and JSON files.
        by_session: Wraps an observer to use a session for Delta tables that it cannot open.
    """
    kind = asset.source.kind if asset.source is not None else "delta" if asset.views else "events"
    if asset.storage is None or kind == "events":
        return None
    if kind not in ("delta", "tables"):
        from sparkassets.sources.files import FileObserver

        return FileObserver(texts)
    from sparkassets.sources.delta import DeltaObserver

    if asset.views:
        return DeltaObserver()
    table_observer = by_session(DeltaObserver())
    if kind == "delta":
        return table_observer
    from sparkassets.sources.table_sets import ListedFolders, TableSetObserver

    return TableSetObserver(ListedFolders(), table_observer)
