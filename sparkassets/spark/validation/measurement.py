"""Measures rules on rows: one aggregation by partition for all of them, and another for uniqueness.

Every figure is a value of a row that Spark returns. `observe` is not used, because it silently returns nothing
where the rows go through a temporary view (on Spark Connect). A missing figure is a failure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
from sparkassets.spark.validation.row_rules import TAKEN, RowRules, as_column, rule_error

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

_MOST_SHOWN: Final = 20
"""How many rules show failing rows."""
_MOST_ROWS: Final = 2_000
"""Failing rows shown of one rule, whatever the number of partitions."""
_PLACE: Final = "sparkassets_place"
_ROWS: Final = "rows"

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
    measuring = _RuleMeasurement(rules.with_others(frame), rules, keys, has_taken=has_taken)
    try:
        return tuple(measuring.add_samples(list(measuring.tallies())))
    except SparkAssetsError:
        raise
    except Exception as error:
        raise run_error(error, what=f"{rules.owner} cannot be validated") from error


def shared_plan(frame: DataFrame, rules: RowRules, keys: PartitionGrouping) -> DataFrame:
    """The aggregation that all rules of `measure` share: a row for each partition, a column for each figure."""
    measuring = _RuleMeasurement(rules.with_others(frame), rules, keys, has_taken=TAKEN in frame.columns)
    return measuring.aggregate_shared(measuring.plans())


class _RuleMeasurement:
    """One measurement of rows.

    Args:
        frame: As of `measure`, with the columns for foreign keys.
        asked: As of `measure`.
        keys: As of `measure`.
        has_taken: Whether rows have the column `TAKEN`.
    """

    def __init__(self, frame: DataFrame, asked: RowRules, keys: PartitionGrouping, *, has_taken: bool) -> None:
        self._frame = frame
        self._asked = asked
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
            shared = self._figures(self.aggregate_shared(plans).collect()) if plans else {}
        except SparkAssetsError:
            raise
        except Exception as error:
            raise self._find_faulty_rule(plans, error) from error
        for rule in self._asked.rules:
            if isinstance(rule.check, HasColumnsCheck):
                yield self._of_columns(rule, rule.check)
        for rule, plan in plans:
            try:
                yield from plan.tallies(self, rule, shared)
            except SparkAssetsError:
                raise
            except Exception as error:
                raise rule_error(error, rule, owner=self._asked.owner) from error

    def plans(self) -> list[tuple[ValidationRule, _RulePlan]]:
        """The plan of each rule that needs rows; rules about columns do not."""
        return [(rule, self._plan(rule)) for rule in self._asked.rules if not isinstance(rule.check, HasColumnsCheck)]

    def aggregate_shared(self, plans: Sequence[tuple[ValidationRule, _RulePlan]]) -> DataFrame:
        """The one aggregation for all plans: a row for each partition, a column for each figure."""
        return self._by_partition(self._frame, [column for _, plan in plans for column in plan.columns])

    def _find_faulty_rule(self, plans: Sequence[tuple[ValidationRule, _RulePlan]], error: Exception) -> RunError:
        """The error for the first rule that also fails alone, because Spark's error about all of them names none."""
        for rule, plan in plans:
            try:
                self._by_partition(self._frame, plan.columns).schema  # noqa: B018  has Spark look at it
            except Exception as own:  # noqa: BLE001  what it says is handed on
                return rule_error(own, rule, owner=self._asked.owner)
        return run_error(error, what=f"{self._asked.owner} cannot be validated")

    def _of_columns(self, rule: ValidationRule, check: HasColumnsCheck) -> RuleTally:
        """The measurement of a rule about columns, for the whole run."""
        there = {field.name.lower(): field.dataType.simpleString() for field in self._frame.schema.fields}
        wrong = []
        for name, kind in check.columns:
            found = there.get(name.lower())
            if found is None:
                wrong.append(f"has no column {name}")
            elif kind and found != self._normal(kind):
                wrong.append(f"{name} is {found.upper()}, not {kind.upper()}")
        return RuleTally(rule.name, self._run_partitions, 0, int(bool(wrong)), "; ".join(wrong))

    def _normal(self, kind: str) -> str:
        """A type's name in Spark's own spelling."""
        (field,) = self._frame.sparkSession.createDataFrame([], f"c {kind}").schema.fields
        found: str = field.dataType.simpleString()
        return found

    def _plan(self, rule: ValidationRule) -> _RulePlan:
        """The aggregates that measure one rule, under names of their own, so that all rules share one job.

        Counts the rows that the rule looks at, and, by its kind, the failing rows, the newest time or the value of its
        condition. A condition joins the shared job only if it judges the same groups of rows; else it needs one of its
        own.
        """
        from pyspark.sql import functions as sql

        check, looks = rule.check, self._asked.looked_at_rows(rule, has_taken=self._has_taken)
        checked = next(self._names)
        rows = sql.count(sql.lit(1)) if looks is None else sql.count_if(looks)
        columns = [rows.alias(checked)]
        if isinstance(check, RowCountCheck):
            return _RulePlan(checked, columns)
        if check.scope == "row":
            failing = next(self._names)
            return _RulePlan(checked, [*columns, sql.count_if(self._fails(rule)).alias(failing)], failing)
        if isinstance(check, FreshnessCheck):
            newest = next(self._names)
            micros = self._micros(rule, check.column)
            return _RulePlan(checked, [*columns, sql.max(_where(micros, looks)).alias(newest)], newest)
        own = None
        in_shared = looks is None and (check.scope == "partition" or not self._keys.keys)
        if in_shared and isinstance(check, SqlCheck | RegisteredCheck) and check.condition:
            own = next(self._names)
            columns.append(sql.expr(check.condition).alias(own))
        return _RulePlan(checked, columns, own, looks=looks)

    def _fails(self, rule: ValidationRule) -> Column:
        """A column that is true of rows that fail the rule.

        If rules take rows away, `TAKEN` holds the number of the rule that took a row; all other rules judge what is
        left.
        """
        from pyspark.sql import functions as sql

        takes = row_removing_rules(self._asked.rules)
        if rule in takes and self._has_taken:
            return sql.col(TAKEN) == takes.index(rule) + 1
        bad = self._asked.bad_rows(rule, self._frame)
        return (sql.col(TAKEN) == 0) & bad if self._has_taken else bad

    def _micros(self, rule: ValidationRule, column: str) -> Column:
        """The column's date or time as microseconds since 1970; one without a zone is read in the rules' zone."""
        from pyspark.sql import functions as sql

        name, kind = self._asked.column(rule, self._frame, column)
        time = f"CAST({sqltext.name(name)} AS TIMESTAMP)"
        if kind != "timestamp":
            time = f"to_utc_timestamp({time}, {sqltext.text(self._asked.timezone)})"
        return sql.expr(f"unix_micros({time})")

    def _by_partition(self, frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
        """Aggregates the columns for each partition that has rows."""
        from pyspark.sql import functions as sql

        keys = [sql.expr(key).alias(f"k{number}") for number, key in enumerate(self._keys.keys)]
        return frame.groupBy(*keys).agg(sql.count(sql.lit(1)).alias(_ROWS), *columns)

    def _figures(self, rows: Sequence[Row]) -> dict[PartitionSet, Figures]:
        """The measured numbers by partition, from one row of aggregates each.

        Raises:
            RunError: A row is of no partition of the run, or two rows are of the same one.
        """
        found: dict[PartitionSet, Figures] = {}
        width, known = len(self._keys.keys), frozenset(self._keys.partitions)
        for row in rows:
            partition = self._keys.find_partition(tuple(row)[:width])
            if partition not in known or partition is None or partition in found:
                values = ", ".join(map(str, tuple(row)[:width]))
                raise RunError(f"{self._asked.owner}: rows of no partition of the run were measured: {values}")
            found[partition] = row.asDict()
        return found

    @property
    def _run_partitions(self) -> PartitionSet:
        return PartitionSet.union(self._keys.partitions)

    def of_counts(
        self, rule: ValidationRule, plan: _RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurement of a rule that counts rows, by partition; for a rule of the run the sum."""
        tallies = {
            partition: (_number(row, plan.checked), _number(row, plan.own) if plan.own else 0)
            for partition, row in shared.items()
        }
        if rule.check.scope == "run":
            checked, failing = (sum(numbers) for numbers in zip(*tallies.values(), strict=True)) if tallies else (0, 0)
            yield RuleTally(rule.name, self._run_partitions, checked, failing)
            return
        for partition, (checked, failing) in tallies.items():
            yield RuleTally(rule.name, partition, checked, failing)

    def of_freshness(
        self, rule: ValidationRule, plan: _RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurement of a rule about the newest value: failing where that is older than the rule allows.

        It is compared with the partition's end, or with now where that is earlier, and for a rule of the run.
        """
        if not isinstance(rule.check, FreshnessCheck) or plan.own is None:
            raise TypeError(f"{rule.name} asks for no newest value")
        newest = {partition: (_number(row, plan.checked), row[plan.own]) for partition, row in shared.items()}
        if rule.check.scope == "run":
            values = [value for _, value in newest.values() if value is not None]
            newest = {self._run_partitions: (sum(checked for checked, _ in newest.values()), max(values, default=None))}
        now = to_unix(datetime.now(UTC))
        for partition, (checked, value) in newest.items():
            extent = partition.extent if rule.check.scope == "partition" else None
            limit = min(now, extent[1]) if extent is not None else now
            oldest = (-rule.check.within).add_to(limit, self._asked.timezone)
            text = _describe_stale(value, oldest) if checked else ""
            yield RuleTally(rule.name, partition, checked, int(bool(text)), text)

    def of_unique(
        self, rule: ValidationRule, plan: _RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurement of a rule about uniqueness: how many rows share their values with another row."""
        from pyspark.sql import functions as sql

        if not isinstance(rule.check, UniqueCheck):
            raise TypeError(f"{rule.name} asks for nothing unique")
        keys = self._keys.keys if rule.check.scope == "partition" else ()
        names = [f"k{number}" for number in range(len(keys))]
        repeated = self._find_repeated(rule, rule.check, plan, keys)
        found = repeated.groupBy(*names).agg(sql.sum("n").alias("failing")).collect()
        failing = {
            (self._keys.find_partition(tuple(row)[: len(keys)]) if keys else self._run_partitions): row["failing"] or 0
            for row in found
        }
        for tally in self.of_counts(rule, _RulePlan(plan.checked, []), shared):
            yield RuleTally(rule.name, tally.partition, tally.checked, failing.get(tally.partition, 0))

    def _find_repeated(
        self, rule: ValidationRule, check: UniqueCheck, plan: _RulePlan, keys: Sequence[str]
    ) -> DataFrame:
        """The values that several rows have, by partition, with the number of rows; NULL is equal to nothing."""
        from pyspark.sql import functions as sql

        frame = self._frame if plan.looks is None else self._frame.filter(plan.looks)
        columns = [self._asked.column(rule, frame, name)[0] for name in check.columns]
        values = [sql.col(sqltext.name(name)).alias(f"v{number}") for number, name in enumerate(columns)]
        known = " AND ".join(f"{sqltext.name(name)} IS NOT NULL" for name in columns)
        key_columns = [sql.expr(key).alias(f"k{number}") for number, key in enumerate(keys)]
        return frame.filter(known).groupBy(*key_columns, *values).agg(sql.count(sql.lit(1)).alias("n")).filter("n > 1")

    def of_condition(
        self, rule: ValidationRule, plan: _RulePlan, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurement of a rule whose condition on aggregates must be true; without rows it holds."""
        counted = list(self.of_counts(rule, _RulePlan(plan.checked, []), shared))
        if plan.own is not None:
            answers = {partition: row[plan.own] for partition, row in shared.items()}
        else:
            answers = self._answers(rule, plan)
        for tally in counted:
            answer = answers.get(tally.partition)
            bad = bool(tally.checked) and answer is not True
            yield RuleTally(
                rule.name, tally.partition, tally.checked, int(bad), _describe_answer(answer) if bad else ""
            )

    def _answers(self, rule: ValidationRule, plan: _RulePlan) -> dict[PartitionSet, Any]:
        """The value of the rule's condition for each partition, or for the run, from an aggregation of its own.

        For a rule of the run it may also be what an author's function returned, such as a text.
        """
        from pyspark.sql import Column
        from pyspark.sql import functions as sql

        frame = self._frame if plan.looks is None else self._frame.filter(plan.looks)
        answer: Any
        if isinstance(rule.check, SqlCheck | RegisteredCheck) and rule.check.condition:
            answer = sql.expr(rule.check.condition)
        elif isinstance(rule.check, PythonCheck | RegisteredCheck):
            answer = self._asked.calling(rule.check, frame)
        else:
            raise TypeError(f"{rule.name} tells nothing by itself")
        if rule.check.scope == "run":
            if not isinstance(answer, Column):
                return {self._run_partitions: True if answer is None else answer}
            (row,) = frame.agg(answer.alias("told")).collect()
            return {self._run_partitions: row["told"]}
        found = self._by_partition(frame, [as_column(answer, rule).alias("told")])
        return {partition: row["told"] for partition, row in self._figures(found.collect()).items()}

    def add_samples(self, tallies: Sequence[RuleTally]) -> list[RuleTally]:
        """The measurements with failing rows as samples, for the first rules that ask for some and fail."""
        rules = {rule.name: rule for rule in self._asked.rules}
        failing = dict.fromkeys(each.rule for each in tallies if each.failing and rules[each.rule].samples)
        shown = {name: self._samples(rules[name]) for name in list(failing)[:_MOST_SHOWN]}
        return [_with_samples(each, shown.get(each.rule, {})) if each.failing else each for each in tallies]

    def _samples(self, rule: ValidationRule) -> Mapping[PartitionSet, Sequence[FailingRow]]:
        """Some failing rows by partition; empty for a check that does not judge rows."""
        from pyspark.sql import functions as sql

        if rule.check.scope == "row":
            rows = self._frame.filter(self._fails(rule))
        elif isinstance(rule.check, UniqueCheck):
            return self._shared_values(rule, rule.check)
        else:
            return {}
        keys = [sql.expr(key).alias(f"k{number}") for number, key in enumerate(self._keys.keys)]
        names = [name for name in self._frame.columns if not name.startswith("sparkassets_")]
        key_names = [f"k{number}" for number in range(len(keys))]
        found = _few_of_each(rows.select(*keys, *map(self._format_column, names)), key_names, most=rule.samples)
        return self._by_their_partition(found, names)

    def _shared_values(self, rule: ValidationRule, check: UniqueCheck) -> Mapping[PartitionSet, Sequence[FailingRow]]:
        """Examples of values that several rows share, by partition; for a rule of the run under all its partitions."""
        keys = self._keys.keys if check.scope == "partition" else ()
        plan = _RulePlan("", [], looks=self._asked.looked_at_rows(rule, has_taken=self._has_taken))
        names = [self._asked.column(rule, self._frame, name)[0] for name in check.columns]
        key_names = [f"k{number}" for number in range(len(keys))]
        values = [self._format_column(name, of=f"v{number}") for number, name in enumerate(names)]
        found = _few_of_each(
            self._find_repeated(rule, check, plan, keys).select(*key_names, *values), key_names, most=rule.samples
        )
        if check.scope == "run":
            return {self._run_partitions: [dict(zip(names, map(str, row), strict=True)) for row in found]}
        return self._by_their_partition(found, names)

    def _by_their_partition(
        self, rows: Sequence[Row], names: Sequence[str]
    ) -> Mapping[PartitionSet, Sequence[FailingRow]]:
        """The sample rows by partition; their first columns are the grouping keys."""
        width, found = len(self._keys.keys), defaultdict[PartitionSet, list[FailingRow]](list)
        for row in rows:
            partition = self._keys.find_partition(tuple(row)[:width])
            if partition is not None:
                found[partition].append(dict(zip(names, tuple(row)[width:], strict=True)))
        return found

    def _format_column(self, name: str, *, of: str = "") -> Column:
        """The column's value as text for people, cut to what samples show; stars for a private column."""
        from pyspark.sql import functions as sql

        if name.lower() in self._asked.masked:
            return sql.lit(MASKED)
        kind = self._frame.schema[name].dataType.simpleString()
        quoted = sqltext.name(of or name)
        plain = not kind.startswith(("array", "map", "struct", "variant", "binary"))
        text = f"CAST({quoted} AS STRING)" if plain else f"to_json(named_struct('v', {quoted}))"
        return sql.expr(f"coalesce(left({text}, 201), 'NULL')").alias(f"s{name}")


@frozen
class _RulePlan:
    """The aggregates that measure one rule, by their names in the shared aggregation.

    Attributes:
        checked: The name of the number of rows that the rule looks at.
        columns: The rule's columns in the shared aggregation.
        own: The name of the rule's result, such as the number of failing rows; None if it takes another aggregation.
        looks: The condition of rows that the rule looks at; None for all.
    """

    checked: str
    columns: Sequence[Column]
    own: str | None = None
    looks: Column | None = None

    def tallies(
        self, by: _RuleMeasurement, rule: ValidationRule, shared: Mapping[PartitionSet, Figures]
    ) -> Iterator[RuleTally]:
        """The measurements by partition, from the figures of the shared aggregation."""
        match rule.check:
            case FreshnessCheck():
                return by.of_freshness(rule, self, shared)
            case UniqueCheck():
                return by.of_unique(rule, self, shared)
        if rule.check.scope == "row" or isinstance(rule.check, RowCountCheck):
            return by.of_counts(rule, self, shared)
        return by.of_condition(rule, self, shared)


def _where(value: Column, looks: Column | None) -> Column:
    from pyspark.sql import functions as sql

    return value if looks is None else sql.when(looks, value)


def _number(row: Figures, name: str) -> int:
    found = row[name]
    if not isinstance(found, int):
        raise RunError(f"Spark returned no figure for {name}: {found!r}")
    return found


def _describe_stale(micros: int | None, oldest: int) -> str:
    """Why the newest value is too old: the value if it is before ``oldest`` (Unix seconds); empty if it is not."""
    if micros is None:
        return "no value"
    seconds = micros // 1_000_000
    return f"newest {format_instant(from_unix(seconds))}" if seconds < oldest else ""


def _describe_answer(answer: object) -> str:
    """The condition's value for people, where it says more than "false"; else empty."""
    return answer if isinstance(answer, str) else "it is NULL" if answer is None else ""


def _few_of_each(rows: DataFrame, keys: Sequence[str], *, most: int) -> list[Row]:
    """The first few rows for each value of the key columns: one partition's rows must not crowd out another's."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    few = rows.limit(most)
    if keys:
        place = sql.row_number().over(Window.partitionBy(*keys).orderBy(sql.lit(0)))
        few = rows.withColumn(_PLACE, place).filter(sql.col(_PLACE) <= most).drop(_PLACE).limit(_MOST_ROWS)
    found: list[Row] = few.collect()
    return found


def _with_samples(tally: RuleTally, shown: Mapping[PartitionSet, Sequence[FailingRow]]) -> RuleTally:
    found = shown.get(tally.partition) or [
        each for partition, some in shown.items() if tally.partition.covers(partition) for each in some
    ]
    return replace(tally, samples=tuple(found)) if found else tally
