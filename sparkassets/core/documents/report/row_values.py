"""What the rows of a report have in common: partitions in a few words, and texts that somebody bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.wording import label_partitions
from sparkassets.core.spec.model import AssetSpec

MOST_TEXT = 2_000
"""Characters of an error, and of what else nobody bounds."""


def drop_empty(told: Mapping[str, Any]) -> dict[str, Any]:
    """The same without what nobody knows, or is empty: most is."""
    return {name: value for name, value in told.items() if value not in (None, "", [], {})}


def partition_text(parts: PartitionSet, asset: AssetSpec | None) -> str:
    """Partitions by the first of their keys; nothing for the whole of an asset, or of what is none any more."""
    if asset is None or not asset.partitioning.is_partitioned or not asset.partitioning.can_list(parts):
        return ""
    return label_partitions(parts, asset.partitioning)


def partition_count(parts: PartitionSet, asset: AssetSpec | None) -> int | None:
    """How many partitions these are; None for the whole of an asset, or of what is none any more."""
    if asset is None or not asset.partitioning.is_partitioned or not asset.partitioning.can_list(parts):
        return None
    return asset.partitioning.count(parts)


def shorten(text: str) -> str:
    """The beginning of a text that nobody bounds."""
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"
