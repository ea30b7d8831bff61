"""A dataset event, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkassets.core.documents.values import spans


def event_document(event: Mapping[str, Any]) -> dict[str, Any]:
    """One event: ``{seq, asset, uri, partitions, at, extra, run}``.

    One of the journal has its ``id`` besides, and the runs that it ``triggered`` or was ``included_in``.
    """
    return {**event, "partitions": spans(event["partitions"])}
