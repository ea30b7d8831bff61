"""Documents of lineage: where partitions came from, and of which columns each column is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import instant_text, partitions_document

if TYPE_CHECKING:
    from sparkassets.core.derivation.column_lineage import AssetColumnLineage, ColumnLineage, LineageStep
    from sparkassets.core.journal.lineage import InletRead, PartitionLineage, PartitionOrigin
    from sparkassets.core.spec.project_spec import ProjectSpec


def lineage_document(lineage: PartitionLineage, project: ProjectSpec) -> dict[str, Any]:
    """``{asset, partitions, origins: [{asset, kind, partitions, …, reads: [{asset, …, origins}]}]}``.

    ``again`` is true for a run whose inlets stand earlier in the document.
    """
    return {
        "asset": lineage.asset,
        "partitions": partitions_document(lineage.partitions, project.assets[lineage.asset]),
        "origins": [_origin_document(origin, project) for origin in lineage.origins],
    }


def _origin_document(origin: PartitionOrigin, project: ProjectSpec) -> dict[str, Any]:
    """One origin of partitions, with what its run read."""
    return {
        "asset": origin.asset,
        "kind": origin.kind,
        "partitions": partitions_document(origin.partitions, project.assets[origin.asset]),
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
    """What a run read of one inlet, with the origins of that."""
    return {
        "asset": read.asset,
        "uri": read.uri,
        "partitions": partitions_document(read.parts, project.assets.get(read.asset)),
        "table_id": read.table_id,
        "version": read.version,
        "since": read.low,
        "origins": [_origin_document(origin, project) for origin in read.origins],
    }


def column_document(lineage: ColumnLineage) -> dict[str, Any]:
    """``{asset, column, sure, made_of: [{asset, column, how, …, further}], rows, used_by}``.

    ``column`` of a step is null where the column only decides which rows that asset has; ``rows`` is null where
    uncertain.
    """
    return {
        "asset": lineage.asset,
        "column": lineage.column,
        "sure": lineage.sure,
        "made_of": [_step_document(each) for each in lineage.made_of],
        "rows": _direct_steps_document(lineage.rows),
        "used_by": [_step_document(each) for each in lineage.used_by],
    }


def columns_document(lineage: AssetColumnLineage) -> dict[str, Any]:
    """``{asset, columns: {name: [{asset, column, how}]}, rows}``; null stands for what is uncertain."""
    columns = (
        None
        if lineage.columns is None
        else {name: _direct_steps_document(steps) for name, steps in lineage.columns.items()}
    )
    return {"asset": lineage.asset, "columns": columns, "rows": _direct_steps_document(lineage.rows)}


def _direct_steps_document(steps: Sequence[LineageStep] | None) -> list[dict[str, Any]] | None:
    """The columns that a column, or the choice of rows, is made of directly; null where that is uncertain."""
    if steps is None:
        return None
    return [
        {"asset": each.asset, "column": each.column, "how": list(each.how), "masked": each.masked} for each in steps
    ]


def _step_document(step: LineageStep) -> dict[str, Any]:
    """One step of a column's lineage, upstream or downstream, with the further steps from there on."""
    return {
        "asset": step.asset,
        "column": step.column or None,
        "how": list(step.how),
        "masked": step.masked,
        "sure": step.is_certain,
        "again": step.is_repeated,
        "further": [_step_document(each) for each in step.next_steps],
    }
