"""Rows that rules take out of a table, kept in one beside it: ``<table>_quarantine``.

They are there before the table's own commit, in one commit of the same version of the same transaction, so that none is
there twice. What runs left that never got to their own commit is told by ``_run``: such a run is in no journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import row_removing_rules
from sparkassets.ports import CommitMarker, RunOrder
from sparkassets.spark import sqltext
from sparkassets.spark.current_table import open_relation
from sparkassets.spark.failures import run_error
from sparkassets.spark.partition_guard import guard_for
from sparkassets.spark.relation import TableRelation, relation_of
from sparkassets.spark.targets.spark_commit import stamps
from sparkassets.spark.validation import TAKEN, PartitionGrouping, RowRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RULE, RUN, BLOCK = "_rule", "_run", "_block"
"""The columns that come to those of the rows: the rule's name, the run's, and the key of the partition."""
_BESIDE: Final = "_quarantine"


def quarantine_of(asset: AssetSpec) -> TableRelation:
    """The table of the rows that are taken out of the asset's."""
    return TableRelation(relation_of(asset).storage.with_suffix(_BESIDE))


def keep_quarantined(
    rows: DataFrame, asked: RowRules, order: RunOrder, keys: PartitionGrouping, *, marker: CommitMarker
) -> None:
    """Commits those of the rows that rules put into quarantine, but for those of withheld blocks.

    Raises:
        RunError: They cannot be kept; the table's own commit must not come then.
    """
    numbers = {
        n: rule.name for n, rule in enumerate(row_removing_rules(asked.rules), 1) if rule.severity == "quarantine"
    }
    out = rows.filter(f"{TAKEN} IN ({', '.join(map(str, numbers))})")
    published = order.restrict_to(order.blocks - marker.withheld)
    if marker.withheld and (blocks := guard_for(published, rows.schema)) is not None:
        out = out.filter(blocks.predicate)
    names = " ".join(f"WHEN {number} THEN {sqltext.text(name)}" for number, name in numbers.items())
    told = out.selectExpr(
        "* EXCEPT (" + TAKEN + ")",
        f"CASE {TAKEN} {names} END AS {RULE}",
        f"{sqltext.text(order.run)} AS {RUN}",
        f"{_label(keys, order)} AS {BLOCK}",
    )
    try:
        relation = quarantine_of(order.asset)
        there = not relation.storage.table or open_relation(rows.sparkSession, relation) is not None
        relation.save_rows(told, {**stamps(marker), "mergeSchema": "true"}, there=there)
    except Exception as error:
        raise run_error(error, what=f"{order.asset.name}: rows cannot be put into quarantine") from error


def _label(keys: PartitionGrouping, order: RunOrder) -> str:
    """The key of a row's block, as SQL."""
    partitioning = order.asset.partitioning
    if not keys.keys:
        labels = partitioning.display_labels(order.blocks, most=1)
        return sqltext.text(labels[0]) if labels else "CAST(NULL AS STRING)"
    return keys.label(partitioning)


def is_needed(marker: CommitMarker) -> bool:
    """Whether the run has rows for it, as far as is told."""
    found = marker.judgement
    return found is not None and any(each.severity == "quarantine" and each.failing for each in found.verdicts)
