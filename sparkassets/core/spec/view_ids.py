"""Short ids of the views of a file source, under which their values are stored for each file."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from sparkassets.core.spec.model import AssetSpec

_DIGEST_SIZE: Final = 6


def view_id(uri: str) -> str:
    """Short id of a view, for places that name it often.

    >>> len(view_id("sparkassets:raw/event_day?by=day&timezone=UTC"))
    12
    """
    return blake2b(uri.encode(), digest_size=_DIGEST_SIZE).hexdigest()


def view_digest(asset: AssetSpec, uri: str) -> str:
    """Digest of a view of a file source and of how its files are read; it changes when either does."""
    view, source = asset.views[uri], asset.source
    columns = {name: kind for name, kind in asset.columns.items() if name.lower() in map(str.lower, view.columns)}
    told = [repr(view), sorted(columns.items()), None if source is None else sorted(source.options.items())]
    return blake2b(repr(told).encode(), digest_size=_DIGEST_SIZE).hexdigest()
