"""The checks of rows, a class each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Literal

from sparkassets.core.instants import Duration
from sparkassets.frozen import frozen

CheckScope = Literal["row", "partition", "run"]
"""What a check judges: rows, which are counted by partition, each partition, or all partitions of a run."""


CheckValue = str | int | float | bool
"""A value of YAML; of a date or a time its text."""


ColumnLookup = Callable[[str], tuple[str, str]]
"""Finds a column of the judged rows by its name: its quoted name in SQL, and its Spark SQL type."""


@frozen
class HasColumnsCheck:
    """The rows have these columns.

    Attributes:
        columns: Name and Spark SQL type of each; the type is empty where any will do.
    """

    columns: tuple[tuple[str, str], ...]
    kind = "has_columns"
    scope = "run"

    @property
    def subject(self) -> str:
        """The subject of the check, for its name."""
        return ", ".join(name for name, _ in self.columns)

    def to_yaml(self) -> object:
        """The check as in YAML."""
        return {name: kind or None for name, kind in self.columns}


@frozen
class NotNullCheck:
    """None of these columns is NULL."""

    columns: tuple[str, ...]
    kind = "not_null"
    scope = "row"

    @property
    def subject(self) -> str:
        """The subject of the check, for its name."""
        return ", ".join(self.columns)

    def failing_rows(self, column: ColumnLookup) -> str:
        """SQL that is true of a row that fails."""
        return " OR ".join(f"{column(name)[0]} IS NULL" for name in self.columns)

    def to_yaml(self) -> object:
        """The check as in YAML."""
        return list(self.columns)


class _ColumnCheck:
    """A check of one column, whose name is its subject."""

    __slots__ = ()
    column: str

    @property
    def subject(self) -> str:
        """The subject of the check, for its name."""
        return self.column


@frozen
class AcceptedCheck(_ColumnCheck):
    """The column is one of these values; NULL passes."""

    column: str
    values: tuple[CheckValue, ...]
    kind = "accepted"
    scope = "row"

    def failing_rows(self, column: ColumnLookup) -> str:
        """SQL that is true of a row that fails."""
        name, kind = column(self.column)
        return f"{name} NOT IN ({', '.join(_literal_sql(value, kind) for value in self.values)})"

    def to_yaml(self) -> object:
        """The check as in YAML."""
        return {self.column: list(self.values)}


@frozen
class RangeCheck(_ColumnCheck):
    """The column lies between two values, both included; NULL passes, and NaN does not.

    Attributes:
        min, max: None is open; one of them is set.
    """

    column: str
    min: CheckValue | None = None
    max: CheckValue | None = None
    kind = "range"
    scope = "row"

    def failing_rows(self, column: ColumnLookup) -> str:
        """SQL that is true of a row that fails."""
        name, kind = column(self.column)
        terms = [] if self.min is None else [f"{name} < {_literal_sql(self.min, kind)}"]
        terms += [] if self.max is None else [f"{name} > {_literal_sql(self.max, kind)}"]
        return " OR ".join([*terms, *([f"isnan({name})"] if kind in ("float", "double") else [])])

    def to_yaml(self) -> object:
        """The check as in YAML."""
        bounds = {"min": self.min, "max": self.max}
        return {self.column: {name: bound for name, bound in bounds.items() if bound is not None}}


@frozen
class PatternCheck(_ColumnCheck):
    """The whole text of the column matches a regular expression of Java's; NULL passes."""

    column: str
    regex: str
    kind = "pattern"
    scope = "row"

    def failing_rows(self, column: ColumnLookup) -> str:
        """SQL that is true of a row that fails."""
        from sparkassets.core.sandbox.literals import text_literal

        anchored = text_literal(rf"\A(?:{self.regex})\z")
        return f"NOT regexp_like(CAST({column(self.column)[0]} AS STRING), {anchored})"

    def to_yaml(self) -> object:
        """The check as in YAML."""
        return {self.column: self.regex}


@frozen
class ForeignKeyCheck:
    """The values of these columns are those of a row of another asset; a row with a NULL among them passes.

    Attributes:
        columns: Columns of the judged rows.
        asset: The other asset, which is read like an inlet.
        to: Its columns, in the order of ``columns``.
    """

    columns: tuple[str, ...]
    asset: str
    to: tuple[str, ...]
    kind = "foreign_key"
    scope = "row"

    @property
    def subject(self) -> str:
        """The subject of the check, for its name."""
        return f"{', '.join(self.columns)} in {self.asset}"

    def to_yaml(self) -> object:
        """The check as in YAML."""
        return {"columns": list(self.columns), "asset": self.asset, "to": list(self.to)}


@frozen
class UniqueCheck:
    """No two rows of a partition, or of the run, have the same values in these columns; a row with a NULL there passes.

    All rows that share their values count as failing.
    """

    columns: tuple[str, ...]
    scope: Literal["partition", "run"] = "partition"
    kind = "unique"

    @property
    def subject(self) -> str:
        """The subject of the check, for its name."""
        return ", ".join(self.columns)

    def to_yaml(self) -> object:
        """The check as in YAML."""
        return list(self.columns)


@frozen
class RowCountChange:
    """How far the number of rows may be from what it was: from the median of the latest that were published.

    Attributes:
        least, most: As shares: -0.5 and 1 are -50%..+100%; None is open.
        history_length: How many of the latest count.
    """

    least: Decimal | None
    most: Decimal | None
    history_length: int = 7

    def __str__(self) -> str:
        return f"{_format_percent(self.least)}..{_format_percent(self.most)}"


@frozen
class RowCountCheck:
    """So many rows are there.

    Attributes:
        min, max: None is open.
        change: Against the past.
    """

    min: int | None = None
    max: int | None = None
    change: RowCountChange | None = None
    scope: Literal["partition", "run"] = "partition"
    kind = "row_count"

    @property
    def subject(self) -> str:
        """The subject of the check, for its name."""
        return ", ".join(f"{key} {value}" for key, value in self._bounds().items())

    def to_yaml(self) -> object:
        """The check as in YAML."""
        history = {"over": self.change.history_length} if self.change is not None else {}
        return {**self._bounds(), **history}

    def _bounds(self) -> dict[str, int | str]:
        change = str(self.change) if self.change is not None else None
        bounds = {"min": self.min, "max": self.max, "change": change}
        return {name: bound for name, bound in bounds.items() if bound is not None}


@frozen
class FreshnessCheck(_ColumnCheck):
    """The newest value of a column of dates or times is at most so much older than the partition's end, or than now.

    Of a partition that is not over yet, of one without time and of a run it is now; a partition without any value
    fails.
    """

    column: str
    within: Duration
    scope: Literal["partition", "run"] = "partition"
    kind = "freshness"

    def to_yaml(self) -> object:
        """The check as in YAML."""
        return {self.column: self.within.text}


@frozen
class SqlCheck:
    """A condition in SQL: on the columns of a row, or of aggregates of a partition or the run.

    Of a row only FALSE fails, as of a CHECK in SQL: NULL passes. Of a partition or a run with rows only TRUE passes.
    """

    condition: str
    scope: CheckScope = "row"
    kind = "sql"

    @property
    def subject(self) -> str:
        """The subject of the check, for its name."""
        return " ".join(self.condition.split())

    def failing_rows(self, column: ColumnLookup) -> str:
        """SQL that is true of a row that fails."""
        del column  # its author has named the columns
        return f"NOT ({self.condition})"

    def to_yaml(self) -> object:
        """The check as in YAML."""
        return self.condition


@frozen
class PythonCheck:
    """A function of an allowed package that judges like a condition in SQL.

    It is called with the rows, and returns a column of booleans: per row or, where the scope is wider, an aggregate.
    For a run it may as well return True or None if the run passes, or False or a text that says what is wrong.

    Attributes:
        search_path: Absolute folder that must be on ``sys.path`` to import the module.
        code: Digest of the function and of what it calls.
    """

    module: str
    function: str
    scope: CheckScope = "row"
    search_path: str = ""
    code: str = ""
    kind = "python"

    @property
    def subject(self) -> str:
        """The subject of the check, for its name."""
        return self.function

    def to_yaml(self) -> object:
        """The check as in YAML, with the digest of its code."""
        return [f"{self.module}:{self.function}", self.code]


@frozen
class RegisteredCheck:
    """A check that an installed package registered, with its parameters.

    Attributes:
        parameters: As JSON.
        condition: SQL that is to be true, as of `SqlCheck`; empty where the check is called with the rows.
    """

    name: str
    parameters: Mapping[str, object]
    scope: CheckScope = "row"
    condition: str = ""
    kind = "check"

    @property
    def subject(self) -> str:
        """The subject of the check, for its name."""
        return self.name

    def failing_rows(self, column: ColumnLookup) -> str:
        """SQL that is true of a row that fails; of a check with a condition."""
        del column  # its package has named the columns
        return f"NOT ({self.condition})"

    def to_yaml(self) -> object:
        """The check as in YAML."""
        condition = {"condition": self.condition} if self.condition else {}
        return {"check": self.name, **self.parameters, **condition}


Check = (
    HasColumnsCheck
    | NotNullCheck
    | AcceptedCheck
    | RangeCheck
    | PatternCheck
    | ForeignKeyCheck
    | UniqueCheck
    | RowCountCheck
    | FreshnessCheck
    | SqlCheck
    | PythonCheck
    | RegisteredCheck
)
"""Each has ``kind``, its key in YAML, ``scope``, ``subject`` and ``to_yaml``.

One that SQL can judge row by row also has ``failing_rows``, by which the Spark layer recognises it.
"""


def _literal_sql(value: CheckValue, kind: str) -> str:
    """A value of YAML in SQL, for a column of that type.

    >>> _literal_sql(5, "string"), _literal_sql(0.5, "double"), _literal_sql("2025-01-02", "date")
    ("'5'", '0.5D', "CAST('2025-01-02' AS date)")
    """
    from sparkassets.core.sandbox.literals import text_literal

    if kind == "string" or kind.startswith(("varchar", "char")):
        return text_literal(str(value).lower() if isinstance(value, bool) else str(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and isfinite(value):
        return f"{value!r}D" if kind in ("float", "double") else f"CAST('{value!r}' AS DOUBLE)"
    return f"CAST({text_literal(str(value))} AS {kind})"


def _format_percent(share: Decimal | None) -> str:
    """A share with its sign; nothing where it is open.

    >>> from decimal import Decimal
    >>> _format_percent(Decimal("-0.5")), _format_percent(Decimal("1")), _format_percent(None)
    ('-50%', '+100%', '')
    """
    if share is None:
        return ""
    shown = format((share * 100).normalize(), "f")
    return f"{shown}%" if share < 0 else f"+{shown}%"
