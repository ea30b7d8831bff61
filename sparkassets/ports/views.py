"""The views by which catalogs show a branch."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.frozen import frozen


@frozen
class ShownTable:
    """The table that a view shows.

    Attributes:
        location: Where it is.
        version: Identifies the table and its version; another one may have other columns.
    """

    location: StorageLocation
    version: str


@frozen
class BranchViews:
    """The views that catalogs should have of a branch.

    Attributes:
        branch: Name of the branch.
        mark: Marks what was made for the branch, so that nothing of other people is replaced or removed.
        tables: Name of a table of the base, in its parts, to the table that the branch shows under that name; None if
            it shows none.
    """

    branch: str
    mark: str
    tables: Mapping[tuple[str, ...], ShownTable | None]

    def schema_beside(self, schema: tuple[str, ...]) -> tuple[str, ...]:
        """The branch's schema beside a schema of the base.

        >>> BranchViews("new-rate", "", {}).schema_beside(("main", "gold"))
        ('main', 'gold__new_rate')
        """
        return (*schema[:-1], f"{schema[-1]}__{self.branch.replace('-', '_')}")
