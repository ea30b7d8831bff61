"""The differences of an asset between branch and base, as rows of a table, as lines for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.cli.output import TableColumn, Terminal, print_table, strip_controls
from sparkassets.cli.plan_tables import partitions_text
from sparkassets.core.documents.document_values import partitions_document
from sparkassets.core.documents.table_difference import AssetDifference, RowCounts
from sparkassets.core.spec.project_spec import ProjectSpec

if TYPE_CHECKING:
    from sparkassets.core.documents.table_difference import RowComparison, RowDifference
    from sparkassets.core.spec.model import AssetSpec

DIFFERENCE_COLUMNS = [
    TableColumn("asset"),
    TableColumn("partitions", wraps=True),
    TableColumn("added", is_right_aligned=True),
    TableColumn("removed", is_right_aligned=True),
    TableColumn("changed", is_right_aligned=True),
    TableColumn("same", is_right_aligned=True),
]
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def print_differences(differences: Sequence[AssetDifference], project: ProjectSpec, terminal: Terminal) -> None:
    """Prints a table of the partitions that differ, and the other differences of each asset, a line each."""
    rows = [row for difference in differences for row in partition_rows(difference, project)]
    if rows:
        print_table(terminal, DIFFERENCE_COLUMNS, rows)
    for difference in differences:
        terminal.print(*(f"{difference.asset}: {line}" for line in difference_lines(difference, project)))


def partition_rows(difference: AssetDifference, project: ProjectSpec) -> Iterator[list[str]]:
    """A table row for each partition that differs, and a last one with the totals of all partitions compared.

    The totals are left out if the only partition that was compared differs: they would repeat its row.
    """
    if difference.rows is None:
        return
    differing = [(partition, counts) for partition, counts in difference.rows.partitions if counts.has_differences]
    for partition, counts in differing:
        yield [difference.asset, partitions_text(difference.asset, partition, project), *_count_cells(counts)]
    if len(differing) != 1 or len(difference.rows.partitions) > 1:
        yield [difference.asset, "all", *_count_cells(difference.total_row_counts)]


def _count_cells(counts: RowCounts) -> list[str]:
    return [f"{each:,}" for each in (counts.added, counts.removed, counts.changed, counts.same)]


def difference_document(difference: AssetDifference, project: ProjectSpec) -> dict[str, Any]:
    """One asset's differences as JSON; ``rows`` is null if none were compared, ``by`` if they have no keys."""
    asset, rows = project.assets.get(difference.asset), difference.rows
    return {
        "asset": difference.asset,
        "columns": {
            "added": dict(difference.columns.added),
            "removed": dict(difference.columns.removed),
            "changed": {name: list(types) for name, types in difference.columns.changed.items()},
        },
        "only_in_base": partitions_document(difference.only_base, asset) if difference.only_base else None,
        "only_in_branch": partitions_document(difference.only_branch, asset) if difference.only_branch else None,
        "rows": None if rows is None else _rows_document(rows, difference.total_row_counts, asset),
    }


def _rows_document(rows: RowComparison, total: RowCounts, asset: AssetSpec | None) -> dict[str, Any]:
    """Compared rows as JSON: keys, totals, each partition that differs, and sample rows."""
    return {
        "by": list(rows.keys) or None,
        "keys_not_unique": rows.has_duplicate_keys,
        **_count_changes(total),
        "partitions": [
            {"partitions": partitions_document(partition, asset), **_count_changes(counts)}
            for partition, counts in rows.partitions
            if counts.has_differences
        ],
        "samples": [
            {
                "change": each.change,
                "before": None if each.before is None else dict(each.before),
                "after": None if each.after is None else dict(each.after),
            }
            for each in rows.samples
        ],
    }


def _count_changes(counts: RowCounts) -> dict[str, int]:
    return {"added": counts.added, "removed": counts.removed, "changed": counts.changed, "same": counts.same}


def difference_lines(difference: AssetDifference, project: ProjectSpec) -> Iterator[str]:
    """A line for each column that differs, for partitions that one side lacks, and for the sample rows."""
    for line in (
        *_column_lines(difference),
        *_describe_one_sided(difference, project),
        *_describe_missing_keys(difference),
        *_sample_lines(difference),
    ):
        yield strip_controls(line)


def _column_lines(difference: AssetDifference) -> Iterator[str]:
    """A line for each added, removed or changed column."""
    for name, kind in difference.columns.added.items():
        yield f"+ column {name} {kind}"
    for name, kind in difference.columns.removed.items():
        yield f"- column {name} {kind}"
    for name, (before, after) in difference.columns.changed.items():
        yield f"~ column {name} {before} -> {after}"


def _describe_one_sided(difference: AssetDifference, project: ProjectSpec) -> Iterator[str]:
    """Lines on partitions that one side only has, and on keys that are not unique."""
    for partitions, where in ((difference.only_base, "the base"), (difference.only_branch, "the branch")):
        if partitions:
            yield f"{partitions_text(difference.asset, partitions, project) or 'all of it'} is in {where} only"
    if difference.rows is not None and difference.rows.has_duplicate_keys:
        yield "its keys are not unique, so whole rows are compared"


def _describe_missing_keys(difference: AssetDifference) -> Iterator[str]:
    """A line if rows were added and removed, but no keys are declared: without keys a changed row counts as both."""
    rows, total = difference.rows, difference.total_row_counts
    if rows is not None and not rows.keys and not rows.has_duplicate_keys and total.added and total.removed:
        yield "no keys are declared, so a changed row counts as removed and added; a `unique` rule declares keys"


def _sample_lines(difference: AssetDifference) -> Iterator[str]:
    for sample in difference.rows.samples if difference.rows is not None else ():
        yield f"{_SIGNS[sample.change]} {_sample_text(sample)}"


def _sample_text(sample: RowDifference) -> str:
    """One row on one line; of a changed row the values that differ are ``before -> after``."""
    if sample.before is None or sample.after is None:
        return ", ".join(
            f"{name}={_value_text(value)}" for name, value in (sample.before or sample.after or {}).items()
        )
    return ", ".join(_change_text(name, sample.before, sample.after) for name in sample.after)


def _change_text(name: str, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> str:
    """``name=value`` if the value is the same in both rows, else ``name=old -> new``."""
    old_value, new_value = before.get(name), after.get(name)
    return (
        f"{name}={_value_text(new_value)}"
        if old_value == new_value
        else f"{name}={_value_text(old_value)} -> {_value_text(new_value)}"
    )


def _value_text(value: str | None) -> str:
    return "NULL" if value is None else value
