"""Judges staged rows by the asset's rules: what is withheld, dropped, or put into quarantine.

Rows in quarantine are committed before the table's own commit, with the same transaction version, so that no row is
there twice. Rows of runs that never reached their own commit are recognised by ``_run``: such a run is in no journal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.validations import RunJudgement, row_removing_rules
from sparkassets.core.validations.judgement import judge_run
from sparkassets.frozen import frozen
from sparkassets.ports import CommitStamp, RunOrder
from sparkassets.spark import sqltext
from sparkassets.spark.capabilities import require_commits
from sparkassets.spark.computation import SparkComputation
from sparkassets.spark.failures import explain_errors
from sparkassets.spark.inlet_reader import ReadInlets
from sparkassets.spark.open_tables import find_table
from sparkassets.spark.partition_guard import find_segments, guard_for
from sparkassets.spark.scratch import ScratchRows, attempt_of, discard_scratch
from sparkassets.spark.table_locations import location_of, save_rows
from sparkassets.spark.targets.spark_commit import stamp_options
from sparkassets.spark.upserts.staged_rows import EVERY_ROW, KeptRows
from sparkassets.spark.validation import (
    STAYS,
    TAKEN,
    CheckCaller,
    ObservedFigures,
    PartitionGrouping,
    RowRules,
    measure,
)
from sparkassets.spark.writes import choose_judged_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


def find_rules(order: RunOrder, inlets: ReadInlets, packages: Collection[str]) -> RowRules | None:
    """The validations of the run's rows, with what they need besides the rows; None for an asset without any."""
    asset = order.asset
    if not asset.rules:
        return None
    time = asset.partitioning.time
    return RowRules(
        f"the result of {asset.name}",
        asset.rules,
        inlets.frames,
        CheckCaller(asset.name, packages, asset.location),
        asset.timezone if time is None else time.timezone,
        frozenset(name.lower() for name in asset.private),
    )


def judge_rows(order: RunOrder, rules: RowRules, rows: DataFrame) -> RunJudgement:
    """The judgement of `judge_staged` for rows that nothing has measured."""
    return judge_staged(order, rules, lambda: rows, None)


def judge_staged(
    order: RunOrder, rules: RowRules, read_rows: Callable[[], DataFrame], observed: ObservedFigures | None
) -> RunJudgement:
    """Measures the rows, and judges which partitions of the run are published.

    Partitions of segments that the run was to discover, and that have no rows, are not judged.

    Args:
        order: The run.
        rules: Its rules.
        read_rows: Reads the staged rows.
        observed: What the write of these rows measured; None where a query has to.

    Raises:
        RunError: A rule does not fit such rows, or Spark fails.
    """
    keys = keys_of(order, rules, read_rows().schema) if observed is None else observed.keys
    tallies = measure(read_rows, rules, keys, observed)
    absent = (
        order.discovered_partitions - _find_partitions_with_rows(order, read_rows())
        if order.discovered_partitions
        else NOTHING
    )
    partitions = [partition for partition in keys.partitions if not absent.covers(partition)]
    return judge_run(rules.rules, tallies, partitions, past=order.past, accepted=order.accepted_partitions)


def _find_partitions_with_rows(order: RunOrder, rows: DataFrame) -> PartitionSet:
    """The partitions to discover that have rows; the run leaves the others to the next one."""
    keys = find_segments(rows, order.restrict_to(order.discovered_partitions))
    return order.asset.partitioning.restrict_to_segments(order.discovered_partitions, keys)


def keys_of(order: RunOrder, rules: RowRules, schema: StructType) -> PartitionGrouping:
    """How rows are grouped into the run's partitions; all in one group if its segments are not known yet.

    Raises:
        RunError: A column that assigns rows to partitions is missing.
    """
    if order.discovers_segments:
        return PartitionGrouping.whole(order.partitions)
    return PartitionGrouping.from_schema(
        schema, order.partitions, partitioning=order.asset.partitioning, owner=rules.owner
    )


_STAGED_PART = "judged"
"""The name of the rows within the attempt."""


@frozen
class JudgedStaging:
    """Rows that were staged to be judged, each with the rule that takes it away.

    Attributes:
        computation: The computation that they come from.
        place: Where they are staged.
        schema: The schema of the staged rows.
        columns: The columns that the computation returned.
        delete_column: The column that says whether a row deletes another; no rule judges such rows. None without it.
    """

    computation: SparkComputation
    place: ScratchRows
    schema: StructType
    columns: tuple[str, ...]
    delete_column: str | None

    def read_judged(self) -> DataFrame:
        """The rows that rules judge: all that do not delete."""
        rows = self._read_staged()
        return rows if self.delete_column is None else rows.filter(f"NOT {self.delete_column}").drop(self.delete_column)

    def select_published(self, withheld: PartitionSet) -> SparkComputation:
        """The computation of the rows to publish: those staged that no rule removed, without withheld partitions.

        With a delete column it reads the staged rows as they were chosen (`KeptRows`); an upsert that chose the newest
        row of each key again could choose otherwise.
        """
        order, conditions = self.computation.order, []
        if TAKEN in self.schema.names:
            conditions.append(f"{TAKEN} = {STAYS}")
        if withheld:
            order = order.restrict_to(order.partitions - withheld)
            partitions = guard_for(order, self.schema)
            conditions += [] if partitions is None else [f"({partitions.predicate})"]
        columns = (*self.columns, *([self.delete_column] if self.delete_column is not None else []))
        staged = KeptRows(self.place, self.schema, columns, " AND ".join(conditions) or EVERY_ROW)
        frame = staged.read_rows(self.computation.frame.sparkSession).select(*map(sqltext.name, self.columns))
        chosen_rows = staged if self.delete_column is not None else None
        return replace(self.computation, order=order, frame=frame, inlets=ReadInlets(), kept_rows=chosen_rows)

    def _read_staged(self) -> DataFrame:
        return self.place.read_rows(self.computation.frame.sparkSession, self.schema)


def stage_judged(computation: SparkComputation, rules: RowRules, *, stamp: CommitStamp) -> JudgedStaging:
    """Stages the rows that may land, each marked with the rule that takes it away, if any does.

    Raises:
        RunError: They cannot be computed, or must not land; nothing was published.
        SourceError: Files changed while they were read.
    """
    judged, planned = choose_judged_rows(computation.order, computation.frame, schema=computation.schema)
    place = ScratchRows(location_of(computation.order.asset), attempt_of(stamp), _STAGED_PART)
    rows = judged.rows
    if rules.takes_rows:
        joined = rules.join_foreign_keys(rows)
        taking = _except_deletes(judged.delete_condition, rules.number_taking_rule(joined))
        rows = joined.select(*map(_column_named, rows.columns), taking.alias(TAKEN))
    try:
        place.write_rows(rows)
        computation.inlets.check_files()
    except Exception as error:
        release_judged(computation, stamp)
        raise planned.explain_error(error) from error
    return JudgedStaging(computation, place, rows.schema, tuple(judged.columns), judged.delete_condition)


def release_judged(computation: SparkComputation, stamp: CommitStamp) -> None:
    """Removes the staged rows, where the storage allows it."""
    discard_scratch(computation.frame.sparkSession, location_of(computation.order.asset), attempt_of(stamp))


def _except_deletes(deletes: str | None, taking: Column) -> Column:
    """The rule that takes a row away; none for rows that delete another."""
    from pyspark.sql import functions as sql

    return taking if deletes is None else sql.when(sql.expr(deletes), sql.lit(STAYS)).otherwise(taking)


def _column_named(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.col(sqltext.name(name))


RULE, RUN, PARTITION = "_rule", "_run", "_block"
"""The columns added to those of the rows: the rule's name, the run's, and the partition's key."""
_QUARANTINE_SUFFIX: Final = "_quarantine"


def quarantine_of(asset: AssetSpec) -> StorageLocation:
    """The quarantine table of an asset, beside its own."""
    return location_of(asset).with_suffix(_QUARANTINE_SUFFIX)


def keep_quarantined(
    rows: DataFrame, rules: RowRules, order: RunOrder, keys: PartitionGrouping, *, stamp: CommitStamp
) -> None:
    """Commits the rows that rules put into quarantine, each with its rule, run and partition.

    Rows of withheld partitions are left out, because nothing of these is published.

    Raises:
        RunError: They cannot be stored; then the table's own commit must not follow.
    """
    require_commits(rows.sparkSession, order.asset.name, "rules put rows into quarantine")
    numbers = {
        n: rule.name for n, rule in enumerate(row_removing_rules(rules.rules), 1) if rule.severity == "quarantine"
    }
    quarantined = rows.filter(f"{TAKEN} IN ({', '.join(map(str, numbers))})")
    published = order.restrict_to(order.partitions - stamp.withheld)
    if stamp.withheld and (partitions := guard_for(published, rows.schema)) is not None:
        quarantined = quarantined.filter(partitions.predicate)
    names = " ".join(f"WHEN {number} THEN {sqltext.text(name)}" for number, name in numbers.items())
    labelled = quarantined.selectExpr(
        "*",
        f"CASE {TAKEN} {names} END AS {RULE}",
        f"{sqltext.text(order.run)} AS {RUN}",
        f"{_label_sql(keys, order)} AS {PARTITION}",
    ).drop(TAKEN)
    with explain_errors(what=f"{order.asset.name}: rows cannot be put into quarantine"):
        location = quarantine_of(order.asset)
        exists = not location.table or find_table(rows.sparkSession, location) is not None
        save_rows(location, labelled, {**stamp_options(stamp), "mergeSchema": "true"}, exists=exists)


def _label_sql(keys: PartitionGrouping, order: RunOrder) -> str:
    """The key of a row's partition, as SQL."""
    partitioning = order.asset.partitioning
    if not keys.keys:
        labels = partitioning.display_labels(order.partitions, most=1)
        return sqltext.text(labels[0]) if labels else "CAST(NULL AS STRING)"
    return keys.label(partitioning)


def has_quarantined_rows(stamp: CommitStamp) -> bool:
    """Whether the run has rows to put into quarantine: rules of that severity found failing rows."""
    judgement = stamp.judgement
    return judgement is not None and any(each.severity == "quarantine" and each.failing for each in judgement.verdicts)
