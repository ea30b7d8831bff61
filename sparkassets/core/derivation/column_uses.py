"""The columns that a derived column uses, and how it uses each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from sparkassets.frozen import frozen

UseKind = Literal[
    "IDENTITY",
    "TRANSFORMATION",
    "AGGREGATION",
    "CONDITIONAL",
    "WINDOW",
    "FILTER",
    "JOIN",
    "GROUP_BY",
    "SORT",
]
"""In the words of OpenLineage: the first three give the values, the others decide which of them, or which rows."""

VALUES: Final[tuple[UseKind, ...]] = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


@frozen
class ColumnUse:
    """A column that another is derived from.

    Attributes:
        asset: The asset that has the column.
        column: As it is written in the query, or as its asset is known to have it.
        how: How it is used.
        masked: Whether only a hash of it comes through.
    """

    asset: str
    column: str
    how: UseKind = "IDENTITY"
    masked: bool = False

    @property
    def gives_values(self) -> bool:
        """Whether its values come through, and do not only decide."""
        return self.how in VALUES

    def used_as(self, how: UseKind, *, masked: bool = False) -> ColumnUse:
        """The same, once what it became of is used again.

        >>> ColumnUse("a", "x", "AGGREGATION").used_as("TRANSFORMATION").how, ColumnUse("a", "x",
        ...     "FILTER").used_as("IDENTITY").how
        ('AGGREGATION', 'FILTER')
        >>> ColumnUse("a", "x").used_as("JOIN").how
        'JOIN'
        """
        if not self.gives_values:
            return self
        later = how if how not in VALUES or VALUES.index(how) > VALUES.index(self.how) else self.how
        return ColumnUse(self.asset, self.column, later, self.masked or masked)


ColumnUses = frozenset[ColumnUse]

NO_USES: Final[ColumnUses] = frozenset()


@frozen
class QueryDerivation:
    """The columns of a query and what they are derived from.

    Attributes:
        columns: Its columns in order, each with the columns it uses; None where that is uncertain.
        rows: The columns that decide which rows there are; None where that is uncertain.
    """

    columns: Mapping[str, ColumnUses | None]
    rows: ColumnUses | None = NO_USES

    def uses_of_column(self, column: str) -> ColumnUses | None:
        """The uses of a column, in any case of letters; None where they are uncertain, or there is no such column."""
        return next((uses for name, uses in self.columns.items() if name.casefold() == column.casefold()), None)


def merge_uses(each: Iterable[ColumnUses | None]) -> ColumnUses | None:
    """All uses together; None where one is not sure."""
    found = list(each)
    return None if None in found else frozenset[ColumnUse]().union(*(uses for uses in found if uses is not None))


ComparisonSign = Literal["=", "<", "<=", ">", ">="]


@frozen
class ColumnComparison:
    """A column against a literal, as text."""

    column: str
    sign: ComparisonSign
    value: str


@frozen
class RowFilter:
    """Comparisons, all or any of which hold."""

    operator: Literal["AND", "OR"]
    terms: tuple[ColumnComparison | RowFilter, ...]

    def rename_columns(self, names: Mapping[str, str]) -> RowFilter | None:
        """The same, or what is wider, of columns by other names; None where none of them has one.

        Args:
            names: By the names in lower case.
        """
        terms = [_rename_term(each, names) for each in self.terms]
        kept = [each for each in terms if each is not None]
        whole = self.operator == "AND" or len(kept) == len(terms)
        return RowFilter(self.operator, tuple(kept)) if kept and whole else None


def _rename_term(term: ColumnComparison | RowFilter, names: Mapping[str, str]) -> ColumnComparison | RowFilter | None:
    if isinstance(term, RowFilter):
        return term.rename_columns(names)
    name = names.get(term.column.casefold())
    return None if name is None else ColumnComparison(name, term.sign, term.value)
