"""What a column is made of: the columns that it uses, and how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from sparkassets.frozen import frozen

How = Literal[
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

VALUES: Final[tuple[How, ...]] = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


@frozen
class Use:
    """A column that another is made of.

    Attributes:
        asset: Whose it is.
        column: As it is written in the query, or as its asset is known to have it.
        how: What becomes of it.
        masked: Only a hash of it comes through.
    """

    asset: str
    column: str
    how: How = "IDENTITY"
    masked: bool = False

    @property
    def gives_values(self) -> bool:
        """Whether its values come through, and do not only decide."""
        return self.how in VALUES

    def through(self, how: How, *, masked: bool = False) -> Use:
        """The same, once what it became of is used again.

        >>> Use("a", "x", "AGGREGATION").through("TRANSFORMATION").how, Use("a", "x", "FILTER").through("IDENTITY").how
        ('AGGREGATION', 'FILTER')
        >>> Use("a", "x").through("JOIN").how
        'JOIN'
        """
        if not self.gives_values:
            return self
        later = how if how not in VALUES or VALUES.index(how) > VALUES.index(self.how) else self.how
        return Use(self.asset, self.column, later, self.masked or masked)


Uses = frozenset[Use]

NONE: Final[Uses] = frozenset()


@frozen
class Derived:
    """What a query makes.

    Attributes:
        columns: Its columns in order, each with all that it uses; None where that is not sure.
        rows: What decides which rows there are; None where that is not sure.
    """

    columns: Mapping[str, Uses | None]
    rows: Uses | None = NONE

    def of(self, column: str) -> Uses | None:
        """What a column uses, in any case of letters; None where that is not sure, or there is none of that name."""
        return next((uses for name, uses in self.columns.items() if name.casefold() == column.casefold()), None)


def union(each: Iterable[Uses | None]) -> Uses | None:
    """All uses together; None where one is not sure."""
    found = list(each)
    return None if None in found else frozenset[Use]().union(*(uses for uses in found if uses is not None))


Sign = Literal["=", "<", "<=", ">", ">="]


@frozen
class Compared:
    """A column against a literal, as text."""

    column: str
    sign: Sign
    value: str


@frozen
class Filter:
    """Comparisons, all or any of which hold."""

    operator: Literal["AND", "OR"]
    terms: tuple[Compared | Filter, ...]

    def renamed(self, names: Mapping[str, str]) -> Filter | None:
        """The same, or what is wider, of columns by other names; None where none of them has one.

        Args:
            names: By the names in lower case.
        """
        terms = [_renamed(each, names) for each in self.terms]
        kept = [each for each in terms if each is not None]
        whole = self.operator == "AND" or len(kept) == len(terms)
        return Filter(self.operator, tuple(kept)) if kept and whole else None


def _renamed(term: Compared | Filter, names: Mapping[str, str]) -> Compared | Filter | None:
    if isinstance(term, Filter):
        return term.renamed(names)
    name = names.get(term.column.casefold())
    return None if name is None else Compared(name, term.sign, term.value)
