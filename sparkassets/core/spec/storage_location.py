"""Where a table or a folder of files is."""

from __future__ import annotations

from typing import Final

from sparkassets.core.table_names import format_table_name, parse_tables
from sparkassets.frozen import frozen

NAMED: Final = "table://"
"""Prefix of the location of a table that a catalog knows by name; the name follows."""


@frozen
class StorageLocation:
    """Where a table or a folder of files is: at a path, or wherever a catalog has the table of a name.

    Attributes:
        path: Absolute local path or object-store URI; of a table in a catalog ``table://<name>``, which is no place.
        given: The text of the YAML (relative to the project file), or ``<warehouse>/<asset>``; the default identity.
        table: The parts of its name in a catalog, for several tables with fields; empty of what is at a path.
    """

    path: str
    given: str
    table: tuple[str, ...] = ()

    @classmethod
    def of_table(cls, table: tuple[str, ...]) -> StorageLocation:
        """The table of that name, which a catalog knows.

        >>> StorageLocation.of_table(("main", "raw", "events"))
        StorageLocation(path='table://main.raw.events', given='main.raw.events', table=('main', 'raw', 'events'))
        """
        return cls(f"{NAMED}{format_table_name(table)}", format_table_name(table), table)

    @classmethod
    def several(cls, text: str) -> StorageLocation:
        """The tables that a name with fields stands for.

        Raises:
            InputError: It is no name of tables.
        """
        return cls(f"{NAMED}{text}", text, parse_tables(text))

    @property
    def display_text(self) -> str:
        """The path or, for a table of a catalog, the name; for people."""
        return self.given if self.table else self.path

    @property
    def journal_identity(self) -> str:
        """The text by which the journal detects a move; a path never looks like a recorded name."""
        return self.path if self.table else self.given

    @property
    def as_path(self) -> str:
        """The location as a comparable path that may have fields; for a table, the number of name parts and the parts.

        >>> StorageLocation.of_table(("main", "Raw", "events")).as_path, StorageLocation("/lake/a", "a").as_path
        ('table://3/main/raw/events', '/lake/a')
        """
        if not self.table:
            return self.path
        parts = (part if "{" in part else part.lower() for part in self.table)
        return f"{NAMED}{len(self.table)}/{'/'.join(parts)}"

    def at_path(self, path: str) -> StorageLocation:
        """The location with the same name, at another path.

        >>> StorageLocation.of_table(("s", "a")).at_path("/lake/a")
        StorageLocation(path='/lake/a', given='s.a', table=())
        """
        return StorageLocation(path, self.given)

    def with_suffix(self, suffix: str) -> StorageLocation:
        """The location whose path, or name, has a suffix appended.

        >>> StorageLocation("/lake/a/", "a").with_suffix("_b").path, StorageLocation.of_table(("s",
        ...     "a")).with_suffix("_b").given
        ('/lake/a_b', 's.a_b')
        """
        if self.table:
            return StorageLocation.of_table((*self.table[:-1], f"{self.table[-1]}{suffix}"))
        return StorageLocation(f"{self.path.rstrip('/')}{suffix}", f"{self.given.rstrip('/')}{suffix}")
