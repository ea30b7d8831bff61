"""A dataset event, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.values import spans
from sparkassets.core.journal.announce import partition_of

if TYPE_CHECKING:
    from sparkassets.core.spec.model import ProjectSpec


def event_document(event: Mapping[str, Any], project: ProjectSpec) -> dict[str, Any]:
    """One event: ``{seq, asset, uri, partitions, at, extra, run}``.

    One of the journal has its ``id`` besides, and the runs that it ``triggered`` or was ``included_in``.
    """
    partitioning = partition_of(project, asset=event["asset"], uri=event["uri"])
    return {**event, "partitions": spans(event["partitions"], partitioning)}
