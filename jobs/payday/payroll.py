"""What payrolls need of sparkassets besides a timetable: a check of account numbers, and a log of who was paid."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from sparkassets import JournalCommit
from sparkassets.core.journal.entries import SuccessEntry


@dataclass(frozen=True, slots=True)
class Iban:
    """The column holds numbers of bank accounts as they are written in files: an IBAN without spaces; NULL passes."""

    column: str
    per: ClassVar[str] = "row"

    def condition(self) -> str:
        """Of the form alone: the check digits are for the bank to judge."""
        column = self.column.replace("`", "``")
        return f"`{column}` RLIKE '^[A-Z]{{2}}[0-9]{{2}}[A-Z0-9]{{11,30}}$'"


@dataclass(slots=True)
class PaymentLog:
    """A sink that adds a line of JSON to a file for each run that succeeded, when its invocation is over."""

    file: str
    lines: list[str] = field(default_factory=list, init=False)

    def committed(self, commit: JournalCommit) -> None:
        """Keeps the runs."""
        for each in commit.entries:
            if isinstance(each.entry, SuccessEntry):
                run = {"asset": each.entry.asset, "run": each.entry.run, "at": each.at.isoformat()}
                self.lines.append(json.dumps(run))

    def ended(self) -> None:
        """Writes them."""
        with Path(self.file).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in self.lines)
        self.lines.clear()
