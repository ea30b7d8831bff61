"""A dataset event, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import key_ranges
from sparkassets.core.journal.announcements import event_partitioning

if TYPE_CHECKING:
    from sparkassets.core.spec.model import ProjectSpec


def event_document(event: Mapping[str, Any], project: ProjectSpec) -> dict[str, Any]:
    """One event: ``{seq, asset, uri, partitions, at, extra, run}``.

    One of the journal has its ``id`` besides, and the runs that it ``triggered`` or was ``included_in``.
    """
    partitioning = event_partitioning(project, asset=event["asset"], uri=event["uri"])
    return {**event, "partitions": key_ranges(event["partitions"], partitioning)}
