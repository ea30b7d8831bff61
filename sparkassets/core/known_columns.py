"""The columns that an asset is known to have before anything runs, and the message for a missing one."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.suggestions import did_you_mean
from sparkassets.frozen import frozen


@frozen
class KnownColumns:
    """All columns of an asset.

    Attributes:
        names: As they are written, in order.
        lacks: The beginning of a sentence that ends with the name of a column, such as ``the table has no column``.
        hint: The advice where no name is similar.
    """

    names: Sequence[str]
    lacks: str
    hint: str | None = None

    @classmethod
    def of_declaration(cls, asset: str, names: Sequence[str]) -> KnownColumns:
        """The columns that the asset declares."""
        return cls(names, f"asset {asset!r} declares no column", "add it to the 'columns' of that asset")

    @classmethod
    def of_select(cls, asset: str, names: Sequence[str]) -> KnownColumns:
        """The columns that its SELECT yields."""
        return cls(names, f"the SELECT of asset {asset!r} yields no column")

    @classmethod
    def of_table(cls, asset: str, names: Sequence[str]) -> KnownColumns:
        """The columns of its stored table."""
        return cls(names, f"the table of asset {asset!r} has no column")

    def refuse(self, column: str) -> tuple[str, str | None] | None:
        """The problem with naming that column, and a hint; None where it exists, in any case of letters.

        >>> KnownColumns.of_select("flights", ["day", "dep_delay"]).refuse("dep_dely")
        ("the SELECT of asset 'flights' yields no column 'dep_dely'", "did you mean 'dep_delay'?")
        """
        if column.lower() in map(str.lower, self.names):
            return None
        return f"{self.lacks} {column!r}", did_you_mean(column, self.names) or self.hint
