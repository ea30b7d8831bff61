"""The application ids under which runs commit to their targets: one for each asset and one for each parallel slot."""

from __future__ import annotations


def app_id(journal: str, asset: str, slot: int = 0) -> str:
    """The application id of an asset's runs in one slot; slot 0 is the asset's own chain.

    >>> app_id("f3", "daily"), app_id("f3", "daily", 2)
    ('f3/daily', 'f3/daily/2')
    """
    return f"{journal}/{asset}/{slot}" if slot else f"{journal}/{asset}"


def asset_app(app: str) -> str:
    """The application id of the asset's own chain, from that of any of its slots.

    >>> asset_app("f3/daily/2"), asset_app("f3/daily")
    ('f3/daily', 'f3/daily')
    """
    return "/".join(app.split("/")[:2])
