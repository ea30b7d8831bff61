"""Measures rules by the write that stages their rows, so that these rules take no query of their own.

Only where one row of aggregates says all: for rows that are one group, in a session of this process. A foreign key
takes a join and uniqueness an aggregation by its values; an author's function may be one that `observe` refuses. Spark
Connect and Sail lose observed rows silently. There a query measures (`measurement`), as it does whenever Spark did not
deliver the figures, or counted other rows than are in the files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.validations import ForeignKeyCheck, PythonCheck, RegisteredCheck, SqlCheck, ValidationRule
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.spark import gateway
from sparkassets.spark.failures import error_mentions
from sparkassets.spark.own_session import is_remote
from sparkassets.spark.validation.partition_grouping import PartitionGrouping
from sparkassets.spark.validation.row_rules import RowRules, rule_error
from sparkassets.spark.validation.rule_plans import ROW_COUNT, Figures, RulePlans, plan_rules, shared_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@frozen
class ObservedFigures:
    """What a write measured.

    Attributes:
        keys: The one group that all rows are in.
        plans: The plans of the rules.
        figures: The figures, by the names in the plans.
    """

    keys: PartitionGrouping
    plans: RulePlans
    figures: Figures


class RuleObservation:
    """Figures of rules that a write measures.

    Args:
        rules: The rules.
        keys: The one group that all rows are in.
        plans: The plans of the rules.
    """

    def __init__(self, rules: RowRules, keys: PartitionGrouping, plans: RulePlans) -> None:
        self._rules = rules
        self._keys = keys
        self._plans = plans
        self._observation: Any = None

    def attach(self, rows: DataFrame) -> DataFrame:
        """The rows, which measure the rules when they are written; as they are where `observe` refuses a rule.

        Nothing may shuffle them afterwards: only in the tasks that write is each row counted once, however often tasks
        are repeated.
        """
        from pyspark.errors import PySparkException
        from pyspark.sql import Observation

        observation = Observation()
        try:
            observed = rows.observe(observation, *shared_columns(self._plans))
        except PySparkException:  # the query that then measures says which rule it is
            return rows
        self._observation = observation
        return observed

    def read_figures(self, row_count: int) -> ObservedFigures | None:
        """The figures after the write; None where Spark delivers none, or not of as many rows as were written."""
        figures = None if self._observation is None else gateway.read_observation(self._observation)
        if figures is None or figures.get(ROW_COUNT) != row_count:
            return None
        return ObservedFigures(self._keys, self._plans, figures)

    def explain_error(self, error: Exception) -> RunError | None:
        """The error for people if the SQL of a rule failed the write; None for another error."""
        for rule, _ in self._plans:
            if any(error_mentions(error, f"({text})") for text in _sql_of(rule)):
                return rule_error(error, rule, owner=self._rules.owner)
        return None


def plan_observation(rows: DataFrame, rules: RowRules, keys: PartitionGrouping) -> RuleObservation | None:
    """The observation by which a write of the rows measures the rules; None where a query has to.

    Raises:
        RunError: A rule names a column that is missing.
    """
    if keys.keys or is_remote(rows.sparkSession) or not all(map(_is_observable, rules.rules)):
        return None
    plans = plan_rules(rows, rules, keys)
    return RuleObservation(rules, keys, plans) if plans else None


def _is_observable(rule: ValidationRule) -> bool:
    match rule.check:
        case ForeignKeyCheck() | PythonCheck() | RegisteredCheck(condition=""):
            return False
    return True


def _sql_of(rule: ValidationRule) -> list[str]:
    """The SQL that the rule's author wrote."""
    condition = rule.check.condition if isinstance(rule.check, SqlCheck | RegisteredCheck) else ""
    return [text for text in (condition, rule.where) if text]
