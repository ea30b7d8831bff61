"""Rules as Spark columns: which rows a rule looks at, and which of these fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.phrases import kind_of
from sparkassets.core.validations import (
    ForeignKeyCheck,
    FreshnessCheck,
    HasColumnsCheck,
    PythonCheck,
    RegisteredCheck,
    RowCountCheck,
    UniqueCheck,
    ValidationRule,
    row_removing_rules,
)
from sparkassets.errors import RunError, SparkAssetsError
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.failures import error_condition, run_error
from sparkassets.spark.schemas import column_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TAKEN: Final = "sparkassets_taken"
"""The column with the number of the rule that takes a row away, from 1; 0 for a row that stays."""
STAYS: Final = 0

Calling = Callable[[PythonCheck | RegisteredCheck, "DataFrame"], Any]
"""Calls a user's own check on rows."""


def _refuse_call(check: PythonCheck | RegisteredCheck, frame: DataFrame) -> Any:  # noqa: ANN401
    del frame
    raise RunError(f"{check.subject!r} is not supported here")


@frozen
class RowRules:
    """The rules about a table's rows, and what they need besides the rows.

    Attributes:
        owner: The owner of the rows, for messages.
        rules: In their order.
        others: The rows of other assets, by name, that foreign keys point to.
        calling: Calls users' own checks.
        timezone: The zone of dates, and of times without a zone.
        masked: Lower-case names of columns whose values are never shown.
    """

    owner: str
    rules: tuple[ValidationRule, ...]
    others: Mapping[str, DataFrame] = field(default_factory=dict)
    calling: Calling = _refuse_call
    timezone: str = "UTC"
    masked: frozenset[str] = frozenset()

    @property
    def takes_rows(self) -> bool:
        """Whether some rule takes rows away."""
        return bool(row_removing_rules(self.rules))

    def number_taking_rule(self, frame: DataFrame) -> Column:
        """The number of the rule that takes a row away, as in `TAKEN`.

        Raises:
            RunError: A rule cannot be asked of such rows.
        """
        from pyspark.sql import functions as sql

        number_column = sql.lit(STAYS)
        for number, rule in reversed(list(enumerate(row_removing_rules(self.rules), 1))):
            number_column = sql.when(self.bad_rows(rule, frame), sql.lit(number)).otherwise(number_column)
        try:
            frame.select(number_column).schema  # noqa: B018  has Spark look at it
        except Exception as error:
            raise self._find_faulty_rule(frame) or error from error
        return number_column

    def _find_faulty_rule(self, frame: DataFrame) -> RunError | None:
        """The failure of the first rule that takes rows away and fails on its own, too."""
        for rule in row_removing_rules(self.rules):
            try:
                frame.select(self.bad_rows(rule, frame)).schema  # noqa: B018  has Spark look at it
            except Exception as rule_failure:  # noqa: BLE001  what it says is handed on
                return rule_error(rule_failure, rule, owner=self.owner)
        return None

    def bad_rows(self, rule: ValidationRule, frame: DataFrame) -> Column:
        """Whether the rule looks at a row and the row fails; false or null for others.

        An author's function returns which rows pass, so its answer is negated; SQL holds the rule's ``where`` already.

        Raises:
            RunError: It judges no single rows, its column is missing, or the function fails.
        """
        from pyspark.sql import functions as sql

        try:
            if (text := self.bad_rows_sql(rule, frame)) is not None:
                return sql.expr(text)
            failing = ~as_column(self.calling(rule.check, frame), rule)  # type: ignore[arg-type]  # all others have SQL
            return failing if not rule.where else sql.expr(f"({rule.where})") & failing
        except SparkAssetsError:
            raise
        except Exception as error:
            raise rule_error(error, rule, owner=self.owner) from error

    def join_foreign_keys(self, frame: DataFrame) -> DataFrame:
        """Adds a column for each foreign key, true where the other asset has such a row.

        Raises:
            RunError: A column is missing, or the other asset is not read.
        """
        for rule in self.rules:
            if isinstance(rule.check, ForeignKeyCheck):
                frame = self._join_foreign_key(frame, rule, rule.check)
        return frame

    def applies_to_sql(self, rule: ValidationRule, *, has_taken: bool) -> str | None:
        """SQL that is true of the rows that the rule looks at; None where it looks at all."""
        terms = [f"({rule.where})"] if rule.where else []
        if has_taken:
            removing_rules = row_removing_rules(self.rules)
            taken_later = f" OR {TAKEN} > {removing_rules.index(rule)}" if rule in removing_rules else ""
            terms.append(f"({TAKEN} = {STAYS}{taken_later})")
        return " AND ".join(terms) if terms else None

    def column(self, rule: ValidationRule, frame: DataFrame, name: str) -> tuple[str, str]:
        """The spelling and the type of a column that the rule names.

        Raises:
            RunError: It is not there.
        """
        return column_type(frame.schema, name, owner=f"{rule.name}: {self.owner}")

    def bad_rows_sql(self, rule: ValidationRule, frame: DataFrame) -> str | None:
        """`bad_rows` as SQL; None where an author's function judges the rows.

        For a foreign key the rows must have been joined by `_join_foreign_key`: a key that found no partner fails, one
        with a NULL does not.

        Raises:
            RunError: The rule judges no single rows, or its column is missing.
        """
        check = rule.check

        def column(name: str) -> tuple[str, str]:
            """The column as SQL, and its type."""
            spelling, kind = self.column(rule, frame, name)
            return sqltext.name(spelling), kind

        match check:
            case PythonCheck() | RegisteredCheck(condition=""):
                return None
            case HasColumnsCheck() | UniqueCheck() | RowCountCheck() | FreshnessCheck():
                raise RunError(f"{self.owner}: {rule.name} does not judge single rows")
            case ForeignKeyCheck(columns):
                not_null = " AND ".join(f"{column(name)[0]} IS NOT NULL" for name in columns)
                failing = f"{not_null} AND {sqltext.name(_match_column(check))} IS NULL"
            case _:
                failing = check.failing_rows(column)
        return f"({rule.where}) AND ({failing})" if rule.where else failing

    def _join_foreign_key(self, frame: DataFrame, rule: ValidationRule, check: ForeignKeyCheck) -> DataFrame:
        """The rows with a column that is true where the other asset has their key, else NULL.

        The other asset's keys are made distinct first, so that the join repeats no row.
        """
        from pyspark.sql import functions as sql

        if check.asset not in self.others:
            raise RunError(f"{self.owner}: the foreign key's asset {check.asset!r} is not read")
        other = self.others[check.asset]
        keys = [sql.col(sqltext.name(name)).alias(f"{_match_column(check)} {n}") for n, name in enumerate(check.to)]
        existing = other.select(*keys).distinct().withColumn(_match_column(check), sql.lit(True))  # noqa: FBT003
        conditions = [
            frame[sqltext.name(self.column(rule, frame, name)[0])] == existing[f"`{_match_column(check)} {n}`"]
            for n, name in enumerate(check.columns)
        ]
        joined = frame.join(existing, conditions, "left")
        return joined.select(
            *map(sql.col, map(sqltext.name, frame.columns)), sql.col(sqltext.name(_match_column(check)))
        )


def rule_error(error: Exception, rule: ValidationRule, *, owner: str) -> RunError:
    """The failure of a run whose rule does not fit its rows."""
    failure = run_error(error, what=f"{owner}: {rule.name}")
    if error_condition(error) == "NESTED_AGGREGATE_FUNCTION" and rule.check.scope == "row":
        failure.hint = "a condition over several rows needs `per: partition` or `per: run`"
    return failure


def as_column(answer: object, rule: ValidationRule) -> Column:
    """The column that a user's own check returned.

    Raises:
        RunError: It is no column.
    """
    from pyspark.sql import Column

    if not isinstance(answer, Column):
        raise RunError(f"{rule.name} returned {kind_of(answer)}; expected a column of booleans, such as rows['n'] > 0")
    return answer


def _match_column(check: ForeignKeyCheck) -> str:
    return f"sparkassets_{check.subject}_{', '.join(check.to)}"
