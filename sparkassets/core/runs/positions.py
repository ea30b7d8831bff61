"""The position up to which an inlet's changes were read, and whether later changes are still available."""

from __future__ import annotations

import re
from typing import Final, Literal

from sparkassets.frozen import frozen

_TEXT: Final = r"version (\d+) of table (\S+)"


@frozen
class TablePosition:
    """A version of a Delta table up to which all changes were read; its text is the inlet's watermark.

    >>> str(TablePosition("8f3c", 7))
    'version 7 of table 8f3c'
    >>> TablePosition.parse("version 7 of table 8f3c"), TablePosition.parse("2025-01-02")
    (TablePosition(table_id='8f3c', version=7), None)
    """

    table_id: str
    version: int

    @classmethod
    def parse(cls, text: str) -> TablePosition | None:
        """Parses a watermark; None where it is the high value of a column."""
        found = re.fullmatch(_TEXT, text)
        return cls(found[2], int(found[1])) if found else None

    def __str__(self) -> str:
        return f"version {self.version} of table {self.table_id}"


@frozen
class ChangeAvailability:
    """Whether the log of a table holds the changes of some of its versions.

    Attributes:
        kind: ``told``: all of them are available; ``lost``: removed since, or never kept; ``untold``: rows were changed
            or deleted and the table has no change feed; ``unread``: the log cannot be read now.
        reason: Why not all are available, as a clause for people.
    """

    kind: Literal["told", "lost", "untold", "unread"] = "told"
    reason: str = ""
