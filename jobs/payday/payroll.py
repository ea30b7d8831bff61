"""What payrolls need of sparkassets besides a timetable: a check of account numbers, files of banks, and more."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from sparkassets import JournalCommit
from sparkassets.core.journal.entries import SuccessEntry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Iban:
    """The column holds numbers of bank accounts as they are written in files: an IBAN without spaces; NULL passes."""

    column: str
    per: ClassVar[str] = "row"

    def condition(self) -> str:
        """Of the form alone: the check digits are for the bank to judge."""
        column = self.column.replace("`", "``")
        return f"`{column}` RLIKE '^[A-Z]{{2}}[0-9]{{2}}[A-Z0-9]{{11,30}}$'"


@dataclass(frozen=True, slots=True)
class FixedWidth:
    """A source format: lines of text whose columns have fixed places, as banks write them.

    Attributes:
        places: The first and the last character of each column, from 1 on, such as ``account:1-18 amount:19-30``.
    """

    places: str
    reader: ClassVar[str] = "text"

    def expressions(self, columns: Mapping[str, str]) -> Sequence[str]:
        """A column for each place, in its declared type; else it is text."""
        found = re.findall(r"(\w+):(\d+)-(\d+)", self.places)
        if not found:
            raise ValueError(f"'places' is {self.places!r}; expected such as account:1-18 amount:19-30")
        texts = {name: f"trim(substring(value, {first}, {int(last) - int(first) + 1}))" for name, first, last in found}
        return [f"CAST({text} AS {columns.get(name, 'string')}) AS `{name}`" for name, text in texts.items()]


@dataclass(frozen=True, slots=True)
class Supplement:
    """A write mode: a value that a run does not know stays as it is, and so does a row that it does not have.

    Attributes:
        keys: Columns whose values no two rows share.
    """

    keys: list[str]
    repeatable: ClassVar[bool] = True

    def combine(self, rows: DataFrame, there: DataFrame) -> DataFrame:
        """The rows of both, joined by their keys."""
        from pyspark.sql import functions as sql

        new, old = rows.alias("new"), there.alias("old")
        same = [sql.col(f"new.`{key}`") == sql.col(f"old.`{key}`") for key in self.keys]
        known = [sql.coalesce(f"new.`{name}`", f"old.`{name}`").alias(name) for name in rows.columns]
        return new.join(old, same, "full").select(*known)


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
