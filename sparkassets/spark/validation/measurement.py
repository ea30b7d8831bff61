"""Measures rules on rows: one aggregation by partition for all of them, and another for uniqueness.

Every figure is a value of a row that Spark returns, and a missing one is a failure. What the write of the rows has
measured already (`observation`) is not measured again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.instants import format_instant, from_unix, to_unix
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.validations import (
    MASKED,
    FailingRow,
    FreshnessCheck,
    HasColumnsCheck,
    PythonCheck,
    RegisteredCheck,
    RowCountCheck,
    RuleTally,
    SqlCheck,
    UniqueCheck,
    ValidationRule,
)
from sparkassets.errors import RunError, SparkAssetsError
from sparkassets.spark import sqltext
from sparkassets.spark.failures import explain_errors, run_error
from sparkassets.spark.validation.observation import ObservedFigures
from sparkassets.spark.validation.partition_grouping import PartitionGrouping
from sparkassets.spark.validation.row_rules import TAKEN, RowRules, as_column, rule_error
from sparkassets.spark.validation.rule_plans import (
    ROW_COUNT,
    Figures,
    RulePlan,
    RulePlans,
    failing_condition,
    plan_rules,
    shared_columns,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

_MOST_SHOWN: Final = 20
"""How many rules show failing rows."""
_MOST_ROWS: Final = 2_000
"""Failing rows shown of one rule, whatever the number of partitions."""
_ROW_NUMBER: Final = "sparkassets_place"


def measure(
    read_rows: Callable[[], DataFrame],
    rules: RowRules,
    keys: PartitionGrouping,
    observed: ObservedFigures | None = None,
) -> tuple[RuleTally, ...]:
    """The tallies of the rules of ``rules``, by partition; one for the whole run where a rule is about that.

    Args:
        read_rows: Reads all rows; where rules take rows away, with the column `TAKEN`.
        rules: The rules.
        keys: How rows are grouped into partitions.
        observed: What the write of the rows measured. Rows are then only read for uniqueness and for samples.

    Raises:
        RunError: A rule cannot be asked of such rows, or Spark says something else.
    """
    measurement = _RuleMeasurement(read_rows, rules, keys)
    with explain_errors(what=f"{rules.owner} cannot be validated"):
        return tuple(measurement.add_samples(list(measurement.tallies(observed))))


def shared_plan(frame: DataFrame, rules: RowRules, keys: PartitionGrouping) -> DataFrame:
    """The aggregation that all rules of `measure` share: a row for each partition, a column for each figure."""
    joined = rules.join_foreign_keys(frame)
    return _aggregate_by_partition(joined, keys, shared_columns(plan_rules(joined, rules, keys)))


class _RuleMeasurement:
    """One measurement of rows; arguments as of `measure`."""

    def __init__(self, read_rows: Callable[[], DataFrame], rules: RowRules, keys: PartitionGrouping) -> None:
        self._read_rows = read_rows
        self._rules = rules
        self._keys = keys

    @cached_property
    def _frame(self) -> DataFrame:
        """The rows, with the columns for foreign keys."""
        return self._rules.join_foreign_keys(self._read_rows())

    def tallies(self, observed: ObservedFigures | None) -> Iterator[RuleTally]:
        """The measurements of all rules.

        Raises:
            RunError: A rule does not fit the rows; names that rule.
        """
        plans, shared = self._measure_shared() if observed is None else _share_observed(observed)
        for rule in self._rules.rules:
            if isinstance(rule.check, HasColumnsCheck):
                yield self._tally_columns(rule, rule.check)
        for rule, plan in plans:
            try:
                yield from self._tally(rule, plan, shared)
            except SparkAssetsError:
                raise
            except Exception as error:
                raise rule_error(error, rule, owner=self._rules.owner) from error

    def _measure_shared(self) -> tuple[RulePlans, Mapping[PartitionSet, Figures]]:
        """The plans of the rules, and the figures by partition, from the one query for all of them."""
        plans = plan_rules(self._frame, self._rules, self._keys)
        if not plans:
            return plans, {}
        try:
            rows = _aggregate_by_partition(self._frame, self._keys, shared_columns(plans)).collect()
        except Exception as error:
            raise self._find_faulty_rule(plans, error) from error
        return plans, self._read_figures(rows)

    def _tally(
        self, rule: ValidationRule, plan: RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurements of one rule by partition, from the figures of the shared aggregation."""
        match rule.check:
            case FreshnessCheck():
                return self._tally_freshness(rule, plan, shared)
            case UniqueCheck():
                return self._tally_unique(rule, plan, shared)
        if rule.check.scope == "row" or isinstance(rule.check, RowCountCheck):
            return self._tally_counts(rule, plan, shared)
        return self._tally_condition(rule, plan, shared)

    def _find_faulty_rule(self, plans: RulePlans, error: Exception) -> RunError:
        """The error for the first rule that also fails alone, because Spark's error about all of them names none."""
        for rule, plan in plans:
            try:
                aggregated = _aggregate_by_partition(self._frame, self._keys, shared_columns([(rule, plan)]))
                aggregated.schema  # noqa: B018  has Spark look at it
            except Exception as rule_failure:  # noqa: BLE001  what it says is handed on
                return rule_error(rule_failure, rule, owner=self._rules.owner)
        return run_error(error, what=f"{self._rules.owner} cannot be validated")

    def _tally_columns(self, rule: ValidationRule, check: HasColumnsCheck) -> RuleTally:
        """The measurement of a rule about columns, for the whole run."""
        types = {field.name.lower(): field.dataType.simpleString() for field in self._frame.schema.fields}
        faults = []
        for name, kind in check.columns:
            actual = types.get(name.lower())
            if actual is None:
                faults.append(f"has no column {name}")
            elif kind and actual != self._normalize_type(kind):
                faults.append(f"{name} is {actual.upper()}, not {kind.upper()}")
        return RuleTally(rule.name, self._run_partitions, 0, int(bool(faults)), "; ".join(faults))

    def _normalize_type(self, kind: str) -> str:
        """A type's name in Spark's own spelling."""
        (field,) = self._frame.sparkSession.createDataFrame([], f"c {kind}").schema.fields
        spelling: str = field.dataType.simpleString()
        return spelling

    def _read_figures(self, rows: Sequence[Row]) -> dict[PartitionSet, Figures]:
        """The measured numbers by partition, from one row of aggregates each.

        Raises:
            RunError: A row is of no partition of the run, or two rows are of the same one.
        """
        figures: dict[PartitionSet, Figures] = {}
        width, partitions = len(self._keys.keys), frozenset(self._keys.partitions)
        for row in rows:
            partition = self._keys.find_partition(tuple(row)[:width])
            if partition not in partitions or partition is None or partition in figures:
                values = ", ".join(map(str, tuple(row)[:width]))
                raise RunError(f"{self._rules.owner}: rows outside the run's partitions were measured: {values}")
            figures[partition] = row.asDict()
        return figures

    @property
    def _run_partitions(self) -> PartitionSet:
        return PartitionSet.union(self._keys.partitions)

    def _tally_counts(
        self, rule: ValidationRule, plan: RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurement of a rule that counts rows, by partition; for a rule of the run the sum."""
        tallies = {
            partition: (_read_number(row, plan.checked), _read_number(row, plan.own) if plan.own else 0)
            for partition, row in shared.items()
        }
        if rule.check.scope == "run":
            checked, failing = (sum(numbers) for numbers in zip(*tallies.values(), strict=True)) if tallies else (0, 0)
            yield RuleTally(rule.name, self._run_partitions, checked, failing)
            return
        for partition, (checked, failing) in tallies.items():
            yield RuleTally(rule.name, partition, checked, failing)

    def _tally_freshness(
        self, rule: ValidationRule, plan: RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurement of a rule about the newest value: failing where that is older than the rule allows.

        It is compared with the partition's end, or with now where that is earlier, and for a rule of the run.
        """
        if not isinstance(rule.check, FreshnessCheck) or plan.own is None:
            raise TypeError(f"{rule.name} does not measure a newest value")
        newest = {partition: (_read_number(row, plan.checked), row[plan.own]) for partition, row in shared.items()}
        if rule.check.scope == "run":
            newest = {self._run_partitions: _combine_newest(newest.values())}
        now = to_unix(datetime.now(UTC))
        for partition, (checked, value) in newest.items():
            extent = partition.extent if rule.check.scope == "partition" else None
            limit = min(now, extent[1]) if extent is not None else now
            oldest = (-rule.check.within).add_to(limit, self._rules.timezone)
            text = _describe_stale(value, oldest) if checked else ""
            yield RuleTally(rule.name, partition, checked, int(bool(text)), text)

    def _tally_unique(
        self, rule: ValidationRule, plan: RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurement of a rule about uniqueness: how many rows share their values with another row."""
        from pyspark.sql import functions as sql

        if not isinstance(rule.check, UniqueCheck):
            raise TypeError(f"{rule.name} does not check uniqueness")
        keys = self._keys.keys if rule.check.scope == "partition" else ()
        names = [f"k{number}" for number in range(len(keys))]
        repeated = self._find_repeated(rule, rule.check, plan, keys)
        counted = repeated.groupBy(*names).agg(sql.sum("n").alias("failing")).collect()
        failing = {
            (self._keys.find_partition(tuple(row)[: len(keys)]) if keys else self._run_partitions): row["failing"] or 0
            for row in counted
        }
        for tally in self._tally_counts(rule, RulePlan(plan.checked), shared):
            yield RuleTally(rule.name, tally.partition, tally.checked, failing.get(tally.partition, 0))

    def _find_repeated(
        self, rule: ValidationRule, check: UniqueCheck, plan: RulePlan, keys: Sequence[str]
    ) -> DataFrame:
        """The values that several rows have, by partition, with the number of rows; NULL is equal to nothing."""
        from pyspark.sql import functions as sql

        frame = self._frame if plan.applies_to is None else self._frame.filter(plan.applies_to)
        columns = [self._rules.column(rule, frame, name)[0] for name in check.columns]
        values = [sql.col(sqltext.name(name)).alias(f"v{number}") for number, name in enumerate(columns)]
        not_null = " AND ".join(f"{sqltext.name(name)} IS NOT NULL" for name in columns)
        key_columns = [sql.expr(key).alias(f"k{number}") for number, key in enumerate(keys)]
        return (
            frame.filter(not_null).groupBy(*key_columns, *values).agg(sql.count(sql.lit(1)).alias("n")).filter("n > 1")
        )

    def _tally_condition(
        self, rule: ValidationRule, plan: RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurement of a rule whose condition on aggregates must be true; without rows it holds."""
        counted = list(self._tally_counts(rule, RulePlan(plan.checked), shared))
        if plan.own is not None:
            answers = {partition: row[plan.own] for partition, row in shared.items()}
        else:
            answers = self._evaluate_condition(rule, plan)
        for tally in counted:
            answer = answers.get(tally.partition)
            is_failing = bool(tally.checked) and answer is not True
            yield RuleTally(
                rule.name,
                tally.partition,
                tally.checked,
                int(is_failing),
                _describe_answer(answer) if is_failing else "",
            )

    def _evaluate_condition(self, rule: ValidationRule, plan: RulePlan) -> dict[PartitionSet, Any]:
        """The value of the rule's condition for each partition, or for the run, from an aggregation of its own.

        For a rule of the run it may also be what an author's function returned, such as a text.
        """
        from pyspark.sql import Column
        from pyspark.sql import functions as sql

        frame = self._frame if plan.applies_to is None else self._frame.filter(plan.applies_to)
        answer: Any
        if isinstance(rule.check, SqlCheck | RegisteredCheck) and rule.check.condition:
            answer = sql.expr(rule.check.condition)
        elif isinstance(rule.check, PythonCheck | RegisteredCheck):
            answer = self._rules.calling(rule.check, frame)
        else:
            raise TypeError(f"{rule.name} has no result of its own")
        if rule.check.scope == "run":
            if not isinstance(answer, Column):
                return {self._run_partitions: True if answer is None else answer}
            (row,) = frame.agg(answer.alias("answer")).collect()
            return {self._run_partitions: row["answer"]}
        columns = [sql.expr(f"count(1) AS {ROW_COUNT}"), as_column(answer, rule).alias("answer")]
        aggregated = _aggregate_by_partition(frame, self._keys, columns)
        return {partition: row["answer"] for partition, row in self._read_figures(aggregated.collect()).items()}

    def add_samples(self, tallies: Sequence[RuleTally]) -> list[RuleTally]:
        """The measurements with failing rows as samples, for the first rules that ask for some and fail."""
        rules = {rule.name: rule for rule in self._rules.rules}
        failing = dict.fromkeys(each.rule for each in tallies if each.failing and rules[each.rule].samples)
        samples = {name: self._collect_samples(rules[name]) for name in list(failing)[:_MOST_SHOWN]}
        return [_with_samples(each, samples.get(each.rule, {})) if each.failing else each for each in tallies]

    def _collect_samples(self, rule: ValidationRule) -> Mapping[PartitionSet, Sequence[FailingRow]]:
        """Some failing rows by partition; empty for a check that does not judge rows."""
        from pyspark.sql import functions as sql

        if rule.check.scope == "row":
            rows = self._frame.filter(failing_condition(rule, self._rules, self._frame))
        elif isinstance(rule.check, UniqueCheck):
            return self._collect_repeated(rule, rule.check)
        else:
            return {}
        keys = [sql.expr(key).alias(f"k{number}") for number, key in enumerate(self._keys.keys)]
        names = [name for name in self._frame.columns if not name.startswith("sparkassets_")]
        key_names = [f"k{number}" for number in range(len(keys))]
        few = _take_few_of_each(rows.select(*keys, *map(self._format_column, names)), key_names, most=rule.samples)
        return self._group_samples(few, names)

    def _collect_repeated(
        self, rule: ValidationRule, check: UniqueCheck
    ) -> Mapping[PartitionSet, Sequence[FailingRow]]:
        """Examples of values that several rows share, by partition; for a rule of the run under all its partitions."""
        keys = self._keys.keys if check.scope == "partition" else ()
        plan = RulePlan("", applies_to=self._rules.applies_to_sql(rule, has_taken=TAKEN in self._frame.columns))
        names = [self._rules.column(rule, self._frame, name)[0] for name in check.columns]
        key_names = [f"k{number}" for number in range(len(keys))]
        values = [self._format_column(name, of=f"v{number}") for number, name in enumerate(names)]
        few = _take_few_of_each(
            self._find_repeated(rule, check, plan, keys).select(*key_names, *values), key_names, most=rule.samples
        )
        if check.scope == "run":
            return {self._run_partitions: [dict(zip(names, map(str, row), strict=True)) for row in few]}
        return self._group_samples(few, names)

    def _group_samples(self, rows: Sequence[Row], names: Sequence[str]) -> Mapping[PartitionSet, Sequence[FailingRow]]:
        """The sample rows by partition; their first columns are the grouping keys."""
        width, samples = len(self._keys.keys), defaultdict[PartitionSet, list[FailingRow]](list)
        for row in rows:
            partition = self._keys.find_partition(tuple(row)[:width])
            if partition is not None:
                samples[partition].append(dict(zip(names, tuple(row)[width:], strict=True)))
        return samples

    def _format_column(self, name: str, *, of: str = "") -> Column:
        """The column's value as text for people, cut to what samples show; stars for a private column.

        ``of`` is the column of the frame that holds the value, where that has another name.
        """
        from pyspark.sql import functions as sql

        if name.lower() in self._rules.masked:
            return sql.lit(MASKED)
        kind = self._frame.schema[name].dataType.simpleString()
        quoted = sqltext.name(of or name)
        is_plain = not kind.startswith(("array", "map", "struct", "variant", "binary"))
        text = f"CAST({quoted} AS STRING)" if is_plain else f"to_json(named_struct('v', {quoted}))"
        return sql.expr(f"coalesce(left({text}, 201), 'NULL')").alias(f"s{name}")


def _aggregate_by_partition(frame: DataFrame, keys: PartitionGrouping, columns: Sequence[Column]) -> DataFrame:
    """Aggregates the columns for each partition that has rows, whose values come first."""
    from pyspark.sql import functions as sql

    return frame.groupBy(*(sql.expr(f"{key} AS k{number}") for number, key in enumerate(keys.keys))).agg(*columns)


def _share_observed(observed: ObservedFigures) -> tuple[RulePlans, Mapping[PartitionSet, Figures]]:
    """The plans of the rules, and the figures that the write measured, by the one partition."""
    (partition,) = observed.keys.partitions
    return observed.plans, {partition: observed.figures}


def _read_number(row: Figures, name: str) -> int:
    figure = row[name]
    if not isinstance(figure, int):
        raise RunError(f"Spark returned no figure for {name}: {figure!r}")
    return figure


def _combine_newest(measured: Collection[tuple[int, int | None]]) -> tuple[int, int | None]:
    """The number of all rows, and the newest of the values; None where no partition has one."""
    values = [value for _, value in measured if value is not None]
    return sum(checked for checked, _ in measured), max(values, default=None)


def _describe_stale(micros: int | None, oldest: int) -> str:
    """Why the newest value is too old: the value if it is before ``oldest`` (Unix seconds); empty if it is not."""
    if micros is None:
        return "no value"
    seconds = micros // 1_000_000
    return f"newest {format_instant(from_unix(seconds))}" if seconds < oldest else ""


def _describe_answer(answer: object) -> str:
    """The condition's value for people, where it says more than "false"; else empty."""
    return answer if isinstance(answer, str) else "it is NULL" if answer is None else ""


def _take_few_of_each(rows: DataFrame, keys: Sequence[str], *, most: int) -> list[Row]:
    """The first few rows for each value of the key columns: one partition's rows must not crowd out another's."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    few = rows.limit(most)
    if keys:
        row_number = sql.row_number().over(Window.partitionBy(*keys).orderBy(sql.lit(0)))
        few = (
            rows.withColumn(_ROW_NUMBER, row_number)
            .filter(sql.col(_ROW_NUMBER) <= most)
            .drop(_ROW_NUMBER)
            .limit(_MOST_ROWS)
        )
    rows_taken: list[Row] = few.collect()
    return rows_taken


def _with_samples(tally: RuleTally, samples_by_partition: Mapping[PartitionSet, Sequence[FailingRow]]) -> RuleTally:
    """The tally with the failing rows of its partition, or of all partitions that it covers."""
    samples = samples_by_partition.get(tally.partition) or [
        each for partition, rows in samples_by_partition.items() if tally.partition.covers(partition) for each in rows
    ]
    return replace(tally, samples=tuple(samples)) if samples else tally
