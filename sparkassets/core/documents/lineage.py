"""Where partitions came from, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import instant_text, partitions_document

if TYPE_CHECKING:
    from sparkassets.core.journal.lineage import InletRead, PartitionLineage, PartitionOrigin
    from sparkassets.core.spec.model import ProjectSpec


def lineage_document(found: PartitionLineage, project: ProjectSpec) -> dict[str, Any]:
    """``{asset, partitions, origins: [{asset, kind, partitions, …, reads: [{asset, …, origins}]}]}``.

    ``again`` is true for a run whose inlets stand earlier in the document.
    """
    return {
        "asset": found.asset,
        "partitions": partitions_document(found.blocks, project.assets[found.asset]),
        "origins": [_origin_document(origin, project) for origin in found.origins],
    }


def _origin_document(origin: PartitionOrigin, project: ProjectSpec) -> dict[str, Any]:
    return {
        "asset": origin.asset,
        "kind": origin.kind,
        "partitions": partitions_document(origin.blocks, project.assets[origin.asset]),
        "seq": origin.seq,
        "at": instant_text(origin.at),
        "run": origin.run,
        "definition": origin.definition or None,
        "table_id": origin.table_id,
        "version": origin.version,
        "note": origin.note or None,
        "changed": list(origin.changed),
        "again": origin.again,
        "reads": [_read_document(read, project) for read in origin.reads],
    }


def _read_document(read: InletRead, project: ProjectSpec) -> dict[str, Any]:
    return {
        "asset": read.asset,
        "uri": read.uri,
        "partitions": partitions_document(read.parts, project.assets.get(read.asset)),
        "table_id": read.table_id,
        "version": read.version,
        "since": read.low,
        "origins": [_origin_document(origin, project) for origin in read.origins],
    }
