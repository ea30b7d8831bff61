"""Documents of what the journal records: events and marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import interval_document, key_ranges, partitions_document
from sparkassets.core.journal.announcements import event_partitioning

if TYPE_CHECKING:
    from sparkassets.core.journal.marks import MarkResult
    from sparkassets.core.spec.project_spec import ProjectSpec


def event_document(event: Mapping[str, Any], project: ProjectSpec) -> dict[str, Any]:
    """One event: ``{seq, asset, uri, partitions, at, extra, run}``.

    An event from the journal also has its ``id`` and the runs that it ``triggered`` or was ``included_in``.
    """
    partitioning = event_partitioning(project, asset=event["asset"], uri=event["uri"])
    return {**event, "partitions": key_ranges(event["partitions"], partitioning)}


def mark_document(mark: MarkResult, project: ProjectSpec) -> dict[str, Any]:
    """``{asset, mark, changed, partitions, unchanged, data_interval, settled, reason, by}``.

    Both sets of partitions are null for an asset without partitions; ``data_interval`` is that of the named instance,
    or null.
    """
    asset = project.assets[mark.asset]
    return {
        "asset": mark.asset,
        "mark": mark.kind,
        "changed": bool(mark.partitions),
        "partitions": partitions_document(mark.partitions, asset),
        "unchanged": partitions_document(mark.unchanged, asset),
        "data_interval": interval_document(mark.instance),
        "settled": list(mark.settled),
        "reason": mark.reason,
        "by": mark.by,
    }
