"""What a query reads rows from: their columns, each with the columns of assets that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.core.derivation.column_uses import NO_USES, ColumnUse, ColumnUses, UncertainDerivation
from sparkassets.frozen import frozen

_NAMES_WITHOUT_COLUMN: Final = frozenset(
    {
        *("current_date", "current_timestamp", "localtimestamp", "now", "current_timezone"),
        *("user", "current_user", "session_user", "current_catalog", "current_database", "current_schema"),
        *("grouping__id", "_metadata", "_change_type", "_commit_version", "_commit_timestamp"),
    }
)
"""Names that may be no columns at all."""


@frozen
class QueryRelation:
    """A relation that a query reads.

    Attributes:
        asset: The asset whose rows it has; empty for rows of no asset.
        columns: All its columns, in order; None if they are unknown.
    """

    asset: str
    columns: tuple[str, ...] | None = None


@frozen
class DerivedColumn:
    """A column of a row source, with the columns it uses; its name is empty where Spark makes one up."""

    name: str
    uses: ColumnUses | None


@frozen
class RowSource:
    """Rows in FROM, or the rows of a query.

    Attributes:
        columns: The columns in order; None if they are unknown, so that any name may be a column of ``asset``.
        rows: The columns that decide which rows there are; None if that is uncertain.
    """

    columns: tuple[DerivedColumn, ...] | None
    asset: str = ""
    rows: ColumnUses | None = NO_USES

    @classmethod
    def from_relation(cls, relation: QueryRelation) -> RowSource:
        """The rows of a relation, of which each column is made of itself."""
        if relation.columns is None:
            return cls(None, relation.asset)
        uses = ({ColumnUse(relation.asset, name)} if relation.asset else NO_USES for name in relation.columns)
        return cls(tuple(map(DerivedColumn, relation.columns, map(frozenset, uses))), relation.asset)

    @property
    def required_columns(self) -> tuple[DerivedColumn, ...]:
        """The columns.

        Raises:
            UncertainDerivation: They are unknown.
        """
        if self.columns is None:
            raise UncertainDerivation
        return self.columns

    def columns_named(self, name: str) -> list[DerivedColumn]:
        """The columns of that name, ignoring case."""
        return [each for each in self.columns or () if each.name.casefold() == name.casefold()]

    def uses_of(self, name: str) -> ColumnUses:
        """The columns that one column is made of.

        Raises:
            UncertainDerivation: There may be no such column, or there are several.
        """
        if self.columns is None:
            if name.casefold() in _NAMES_WITHOUT_COLUMN:
                raise UncertainDerivation
            return frozenset({ColumnUse(self.asset, name)}) if self.asset else NO_USES
        named_columns = self.columns_named(name)
        if len(named_columns) != 1 or named_columns[0].uses is None:
            raise UncertainDerivation
        return named_columns[0].uses


RowSources = Mapping[str, RowSource]
