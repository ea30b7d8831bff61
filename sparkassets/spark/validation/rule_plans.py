"""The aggregates that measure rules, named so that all rules share one aggregation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.validations import (
    FreshnessCheck,
    HasColumnsCheck,
    RegisteredCheck,
    RowCountCheck,
    SqlCheck,
    ValidationRule,
    row_removing_rules,
)
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.validation.partition_grouping import PartitionGrouping
from sparkassets.spark.validation.row_rules import STAYS, TAKEN, RowRules

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Figures = Mapping[str, Any]
"""Measured numbers of one partition, by their names in the shared aggregation."""
ROW_COUNT: Final = "rows"
"""The name of the number of rows in the shared aggregation."""


@frozen
class RulePlan:
    """The aggregates that measure one rule, by their names in the shared aggregation.

    Attributes:
        checked: The name of the number of rows that the rule looks at.
        columns: The rule's own columns in the shared aggregation, under their names.
        own: The name of the rule's result, such as the number of failing rows; None if it takes another aggregation.
        applies_to: SQL that is true of the rows that the rule looks at; None for all.
    """

    checked: str
    columns: Sequence[Column] = ()
    own: str | None = None
    applies_to: str | None = None


RulePlans = Sequence[tuple[ValidationRule, RulePlan]]
"""The rules that need rows, each with its plan."""


def plan_rules(frame: DataFrame, rules: RowRules, keys: PartitionGrouping) -> RulePlans:
    """The plan of each rule that needs rows; rules about columns do not.

    Args:
        frame: The rows, with the columns for foreign keys; where rules take rows away, with the column `TAKEN`.
        rules: The rules.
        keys: How rows are grouped into partitions.

    Raises:
        RunError: A rule names a column that is missing.
    """
    planner = _RulePlanner(frame, rules, keys)
    return [(rule, planner.plan(rule)) for rule in rules.rules if not isinstance(rule.check, HasColumnsCheck)]


def shared_columns(plans: RulePlans) -> list[Column]:
    """The columns of the aggregation that all plans share, under their names."""
    from pyspark.sql import functions as sql

    own = [column for _, plan in plans for column in plan.columns]
    return [sql.expr(f"count(1) AS {ROW_COUNT}"), *own]


def failing_condition(rule: ValidationRule, rules: RowRules, frame: DataFrame) -> Column:
    """A column that is true of rows that fail the rule.

    If rules take rows away, `TAKEN` holds the number of the rule that took a row; all other rules judge what is left.
    """
    from pyspark.sql import functions as sql

    text = _failing_sql(rule, rules, frame)
    if text is not None:
        return sql.expr(text)
    failing = rules.bad_rows(rule, frame)
    return sql.expr(f"{TAKEN} = {STAYS}") & failing if TAKEN in frame.columns else failing


def _failing_sql(rule: ValidationRule, rules: RowRules, frame: DataFrame) -> str | None:
    """`failing_condition` as SQL; None where an author's function judges the rows."""
    removing_rules, has_taken = row_removing_rules(rules.rules), TAKEN in frame.columns
    if rule in removing_rules and has_taken:
        return f"{TAKEN} = {removing_rules.index(rule) + 1}"
    failing = rules.bad_rows_sql(rule, frame)
    return f"{TAKEN} = {STAYS} AND ({failing})" if failing is not None and has_taken else failing


class _RulePlanner:
    """Plans rules one after the other; arguments as of `plan_rules`."""

    def __init__(self, frame: DataFrame, rules: RowRules, keys: PartitionGrouping) -> None:
        self._frame = frame
        self._rules = rules
        self._keys = keys
        self._has_taken = TAKEN in frame.columns
        self._names = (f"f{number}" for number in count())

    def plan(self, rule: ValidationRule) -> RulePlan:
        """The aggregates that measure one rule, under names of their own.

        They are SQL as far as possible: py4j takes some twenty calls for each method of a column, and three for a text.
        Counts the rows that the rule looks at, and, by its kind, the failing rows, the newest time or the value of its
        condition. A condition joins the shared job only if it judges the same groups of rows; else it needs one of its
        own.
        """
        from pyspark.sql import functions as sql

        check, applies_to = rule.check, self._rules.applies_to_sql(rule, has_taken=self._has_taken)
        checked = ROW_COUNT if applies_to is None else next(self._names)
        columns = [] if applies_to is None else [sql.expr(f"count_if({applies_to}) AS {checked}")]
        if isinstance(check, RowCountCheck):
            return RulePlan(checked, columns)
        own = next(self._names)
        if check.scope == "row":
            return RulePlan(checked, [*columns, self._count_failing(rule, own)], own)
        if isinstance(check, FreshnessCheck):
            micros = self._microseconds(rule, check.column)
            value = micros if applies_to is None else f"CASE WHEN {applies_to} THEN {micros} END"
            return RulePlan(checked, [*columns, sql.expr(f"max({value}) AS {own}")], own)
        in_shared = applies_to is None and (check.scope == "partition" or not self._keys.keys)
        if in_shared and isinstance(check, SqlCheck | RegisteredCheck) and check.condition:
            return RulePlan(checked, [*columns, sql.expr(f"({check.condition}) AS {own}")], own)
        return RulePlan(checked, columns, applies_to=applies_to)

    def _count_failing(self, rule: ValidationRule, name: str) -> Column:
        from pyspark.sql import functions as sql

        text = _failing_sql(rule, self._rules, self._frame)
        if text is not None:
            return sql.expr(f"count_if({text}) AS {name}")
        return sql.count_if(failing_condition(rule, self._rules, self._frame)).alias(name)

    def _microseconds(self, rule: ValidationRule, column: str) -> str:
        """The column's date or time as microseconds since 1970; one without a zone is read in the rules' zone."""
        name, kind = self._rules.column(rule, self._frame, column)
        time = f"CAST({sqltext.name(name)} AS TIMESTAMP)"
        if kind != "timestamp":
            time = f"to_utc_timestamp({time}, {sqltext.text(self._rules.timezone)})"
        return f"unix_micros({time})"
