"""What payrolls need of sparkassets besides a timetable: a check of account numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Iban:
    """The column holds numbers of bank accounts as they are written in files: an IBAN without spaces; NULL passes."""

    column: str
    per: ClassVar[str] = "row"

    def condition(self) -> str:
        """Of the form alone: the check digits are for the bank to judge."""
        column = self.column.replace("`", "``")
        return f"`{column}` RLIKE '^[A-Z]{{2}}[0-9]{{2}}[A-Z0-9]{{11,30}}$'"
