"""The ids under which runs commit to their targets: one for each asset, and one for each slot of runs side by side."""

from __future__ import annotations


def app_id(journal: str, asset: str, slot: int = 0) -> str:
    """The id of the transactions of an asset's runs in one slot; its own chain is slot 0.

    >>> app_id("f3", "daily"), app_id("f3", "daily", 2)
    ('f3/daily', 'f3/daily/2')
    """
    return f"{journal}/{asset}/{slot}" if slot else f"{journal}/{asset}"


def asset_app(app: str) -> str:
    """The id of the asset's own chain, of that of any of its slots.

    >>> asset_app("f3/daily/2"), asset_app("f3/daily")
    ('f3/daily', 'f3/daily')
    """
    return "/".join(app.split("/")[:2])
