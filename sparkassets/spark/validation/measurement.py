"""Measures rules on rows: one aggregation by partition for all of them, and another for uniqueness.

Every figure is a value of a row that Spark returns. `observe` is not used, because it silently returns nothing
where the rows go through a temporary view (on Spark Connect). A missing figure is a failure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from itertools import count
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
    row_removing_rules,
)
from sparkassets.errors import RunError, SparkAssetsError
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.failures import run_error
from sparkassets.spark.validation.partition_grouping import PartitionGrouping
from sparkassets.spark.validation.row_rules import STAYS, TAKEN, RowRules, as_column, rule_error

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

_MOST_SHOWN: Final = 20
"""How many rules show failing rows."""
_MOST_ROWS: Final = 2_000
"""Failing rows shown of one rule, whatever the number of partitions."""
_ROW_NUMBER: Final = "sparkassets_place"
_ROW_COUNT: Final = "rows"

Figures = Mapping[str, Any]


def measure(frame: DataFrame, rules: RowRules, keys: PartitionGrouping) -> tuple[RuleTally, ...]:
    """The tallies of the rules of ``rules``, by partition; one for the whole run where a rule is about that.

    Args:
        frame: All rows; where rules take rows away, with the column `TAKEN`.
        rules: The rules.
        keys: How rows are grouped into partitions.

    Raises:
        RunError: A rule cannot be asked of such rows, or Spark says something else.
    """
    has_taken = TAKEN in frame.columns
    measurement = _RuleMeasurement(rules.join_foreign_keys(frame), rules, keys, has_taken=has_taken)
    try:
        return tuple(measurement.add_samples(list(measurement.tallies())))
    except SparkAssetsError:
        raise
    except Exception as error:
        raise run_error(error, what=f"{rules.owner} cannot be validated") from error


def shared_plan(frame: DataFrame, rules: RowRules, keys: PartitionGrouping) -> DataFrame:
    """The aggregation that all rules of `measure` share: a row for each partition, a column for each figure."""
    measuring = _RuleMeasurement(rules.join_foreign_keys(frame), rules, keys, has_taken=TAKEN in frame.columns)
    return measuring.aggregate_shared(measuring.plans())


class _RuleMeasurement:
    """One measurement of rows.

    Args:
        frame: As of `measure`, with the columns for foreign keys.
        asked: As of `measure`.
        keys: As of `measure`.
        has_taken: Whether rows have the column `TAKEN`.
    """

    def __init__(self, frame: DataFrame, rules: RowRules, keys: PartitionGrouping, *, has_taken: bool) -> None:
        self._frame = frame
        self._rules = rules
        self._keys = keys
        self._has_taken = has_taken
        self._names = (f"f{number}" for number in count())

    def tallies(self) -> Iterator[RuleTally]:
        """The measurements of all rules.

        Raises:
            RunError: A rule does not fit the rows; names that rule.
        """
        plans = self.plans()
        try:
            shared = self._read_figures(self.aggregate_shared(plans).collect()) if plans else {}
        except SparkAssetsError:
            raise
        except Exception as error:
            raise self._find_faulty_rule(plans, error) from error
        for rule in self._rules.rules:
            if isinstance(rule.check, HasColumnsCheck):
                yield self._tally_columns(rule, rule.check)
        for rule, plan in plans:
            try:
                yield from plan.tallies(self, rule, shared)
            except SparkAssetsError:
                raise
            except Exception as error:
                raise rule_error(error, rule, owner=self._rules.owner) from error

    def plans(self) -> list[tuple[ValidationRule, _RulePlan]]:
        """The plan of each rule that needs rows; rules about columns do not."""
        return [
            (rule, self._plan_rule(rule)) for rule in self._rules.rules if not isinstance(rule.check, HasColumnsCheck)
        ]

    def aggregate_shared(self, plans: Sequence[tuple[ValidationRule, _RulePlan]]) -> DataFrame:
        """The one aggregation for all plans: a row for each partition, a column for each figure."""
        columns = {name: column for _, plan in plans for name, column in plan.columns.items()}
        return self._aggregate_by_partition(self._frame, columns)

    def _find_faulty_rule(self, plans: Sequence[tuple[ValidationRule, _RulePlan]], error: Exception) -> RunError:
        """The error for the first rule that also fails alone, because Spark's error about all of them names none."""
        for rule, plan in plans:
            try:
                self._aggregate_by_partition(self._frame, plan.columns).schema  # noqa: B018  has Spark look at it
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

    def _plan_rule(self, rule: ValidationRule) -> _RulePlan:
        """The aggregates that measure one rule, under names of their own, so that all rules share one job.

        They are SQL as far as possible: py4j takes some twenty calls for each method of a column, and three for a text.
        Counts the rows that the rule looks at, and, by its kind, the failing rows, the newest time or the value of its
        condition. A condition joins the shared job only if it judges the same groups of rows; else it needs one of its
        own.
        """
        from pyspark.sql import functions as sql

        check, applies_to = rule.check, self._rules.applies_to_condition(rule, has_taken=self._has_taken)
        checked = _ROW_COUNT if applies_to is None else next(self._names)
        columns = {} if applies_to is None else {checked: sql.count_if(applies_to)}
        if isinstance(check, RowCountCheck):
            return _RulePlan(checked, columns)
        if check.scope == "row":
            failing = next(self._names)
            return _RulePlan(checked, {**columns, failing: sql.count_if(self._failing_condition(rule))}, failing)
        if isinstance(check, FreshnessCheck):
            newest = next(self._names)
            micros = self._microseconds(rule, check.column)
            return _RulePlan(checked, {**columns, newest: sql.max(_null_unless(micros, applies_to))}, newest)
        own = None
        in_shared = applies_to is None and (check.scope == "partition" or not self._keys.keys)
        if in_shared and isinstance(check, SqlCheck | RegisteredCheck) and check.condition:
            own = next(self._names)
            columns[own] = sql.expr(check.condition)
        return _RulePlan(checked, columns, own, applies_to=applies_to)

    def _failing_condition(self, rule: ValidationRule) -> Column:
        """A column that is true of rows that fail the rule.

        If rules take rows away, `TAKEN` holds the number of the rule that took a row; all other rules judge what is
        left.
        """
        from pyspark.sql import functions as sql

        removing_rules = row_removing_rules(self._rules.rules)
        if rule in removing_rules and self._has_taken:
            return sql.expr(f"{TAKEN} = {removing_rules.index(rule) + 1}")
        failing = self._rules.bad_rows(rule, self._frame)
        return sql.expr(f"{TAKEN} = {STAYS}") & failing if self._has_taken else failing

    def _microseconds(self, rule: ValidationRule, column: str) -> Column:
        """The column's date or time as microseconds since 1970; one without a zone is read in the rules' zone."""
        from pyspark.sql import functions as sql

        name, kind = self._rules.column(rule, self._frame, column)
        time = f"CAST({sqltext.name(name)} AS TIMESTAMP)"
        if kind != "timestamp":
            time = f"to_utc_timestamp({time}, {sqltext.text(self._rules.timezone)})"
        return sql.expr(f"unix_micros({time})")

    def _aggregate_by_partition(self, frame: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
        """Aggregates the columns, by name, for each partition that has rows."""
        from pyspark.sql import functions as sql

        keys = [sql.expr(key) for key in self._keys.keys]
        aggregated = frame.groupBy(*keys).agg(sql.expr("count(1)"), *columns.values())
        return aggregated.toDF(*(f"k{number}" for number in range(len(keys))), _ROW_COUNT, *columns)

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

    def tally_counts(
        self, rule: ValidationRule, plan: _RulePlan, shared: Mapping[PartitionSet, Figures]
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

    def tally_freshness(
        self, rule: ValidationRule, plan: _RulePlan, shared: Mapping[PartitionSet, Figures]
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

    def tally_unique(
        self, rule: ValidationRule, plan: _RulePlan, shared: Mapping[PartitionSet, Figures]
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
        for tally in self.tally_counts(rule, _RulePlan(plan.checked), shared):
            yield RuleTally(rule.name, tally.partition, tally.checked, failing.get(tally.partition, 0))

    def _find_repeated(
        self, rule: ValidationRule, check: UniqueCheck, plan: _RulePlan, keys: Sequence[str]
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

    def tally_condition(
        self, rule: ValidationRule, plan: _RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurement of a rule whose condition on aggregates must be true; without rows it holds."""
        counted = list(self.tally_counts(rule, _RulePlan(plan.checked), shared))
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

    def _evaluate_condition(self, rule: ValidationRule, plan: _RulePlan) -> dict[PartitionSet, Any]:
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
            (row,) = frame.agg(answer.alias("told")).collect()
            return {self._run_partitions: row["told"]}
        aggregated = self._aggregate_by_partition(frame, {"told": as_column(answer, rule)})
        return {partition: row["told"] for partition, row in self._read_figures(aggregated.collect()).items()}

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
            rows = self._frame.filter(self._failing_condition(rule))
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
        plan = _RulePlan("", applies_to=self._rules.applies_to_condition(rule, has_taken=self._has_taken))
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
        """The column's value as text for people, cut to what samples show; stars for a private column."""
        from pyspark.sql import functions as sql

        if name.lower() in self._rules.masked:
            return sql.lit(MASKED)
        kind = self._frame.schema[name].dataType.simpleString()
        quoted = sqltext.name(of or name)
        is_plain = not kind.startswith(("array", "map", "struct", "variant", "binary"))
        text = f"CAST({quoted} AS STRING)" if is_plain else f"to_json(named_struct('v', {quoted}))"
        return sql.expr(f"coalesce(left({text}, 201), 'NULL')").alias(f"s{name}")


@frozen
class _RulePlan:
    """The aggregates that measure one rule, by their names in the shared aggregation.

    Attributes:
        checked: The name of the number of rows that the rule looks at.
        columns: The rule's own columns in the shared aggregation, by name.
        own: The name of the rule's result, such as the number of failing rows; None if it takes another aggregation.
        applies_to: The condition of rows that the rule looks at; None for all.
    """

    checked: str
    columns: Mapping[str, Column] = field(default_factory=dict)
    own: str | None = None
    applies_to: Column | None = None

    def tallies(
        self, measurement: _RuleMeasurement, rule: ValidationRule, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurements by partition, from the figures of the shared aggregation."""
        match rule.check:
            case FreshnessCheck():
                return measurement.tally_freshness(rule, self, shared)
            case UniqueCheck():
                return measurement.tally_unique(rule, self, shared)
        if rule.check.scope == "row" or isinstance(rule.check, RowCountCheck):
            return measurement.tally_counts(rule, self, shared)
        return measurement.tally_condition(rule, self, shared)


def _null_unless(value: Column, applies_to: Column | None) -> Column:
    from pyspark.sql import functions as sql

    return value if applies_to is None else sql.when(applies_to, value)


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
    samples = samples_by_partition.get(tally.partition) or [
        each for partition, rows in samples_by_partition.items() if tally.partition.covers(partition) for each in rows
    ]
    return replace(tally, samples=tuple(samples)) if samples else tally
