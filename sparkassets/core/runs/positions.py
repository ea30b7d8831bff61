"""How far an inlet's changes were read: up to which version of which table; and what is told of what came since."""

from __future__ import annotations

import re
from typing import Final, Literal

from sparkassets.frozen import frozen

_TEXT: Final = r"version (\d+) of table (\S+)"


@frozen
class TablePosition:
    """A version of a Delta table, up to which everything was read; as text it is the inlet's watermark.

    >>> str(TablePosition("8f3c", 7))
    'version 7 of table 8f3c'
    >>> TablePosition.parse("version 7 of table 8f3c"), TablePosition.parse("2025-01-02")
    (TablePosition(table_id='8f3c', version=7), None)
    """

    table_id: str
    version: int

    @classmethod
    def parse(cls, text: str) -> TablePosition | None:
        """The position of a text; None where it is the high value of a column."""
        found = re.fullmatch(_TEXT, text)
        return cls(found[2], int(found[1])) if found else None

    def __str__(self) -> str:
        return f"version {self.version} of table {self.table_id}"


@frozen
class ChangeAvailability:
    """What the log of a table tells of the changes of some of its versions.

    Attributes:
        kind: ``told``: all of them; ``lost``: they were there once, or never were kept; ``untold``: the table keeps no
            change feed and rows did not only come; ``unread``: its log cannot be read now.
        reason: Why not all of them, as a clause for people.
    """

    kind: Literal["told", "lost", "untold", "unread"] = "told"
    reason: str = ""
