"""Looks at what assets are: at those in object stores several at once, as a look is a few requests to far away."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from sparkassets.core.spec.model import AssetSpec

T = TypeVar("T")

AT_ONCE = 16


def look_at_each(assets: Iterable[AssetSpec], look: Callable[[AssetSpec], T]) -> dict[str, T]:
    """By name what ``look`` says of each asset, in their order; those on a disk are looked at in this thread."""
    every = list(assets)
    distant = [asset for asset in every if _is_distant(asset)]
    near = {asset.name: look(asset) for asset in every if not _is_distant(asset)}
    if not distant:
        return near
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(AT_ONCE) as pool:
        far = dict(zip((asset.name for asset in distant), pool.map(look, distant), strict=True))
    return {asset.name: far[asset.name] if asset.name in far else near[asset.name] for asset in every}


def _is_distant(asset: AssetSpec) -> bool:
    return asset.storage is not None and "://" in asset.storage.path
