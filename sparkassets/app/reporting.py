"""The report: all that is known of a project at one moment, for its site; records nothing, starts no Spark."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.looking import Looking
from sparkassets.core.journal.codec import from_row
from sparkassets.core.planner.planner import plan

if TYPE_CHECKING:
    from sparkassets.core.documents.report import Report


class Reporting(Looking):
    """What a report shows of a project."""

    def report(self, *, at: datetime | str | None = None) -> Report:
        """The documents of its report, as of now or of ``at``; sources and tables are looked at.

        Raises:
            StateError: The state cannot be used.
        """
        from sparkassets.core.documents.report import KINDS, MOST_ENTRIES, Past, report_of

        context = self._context(at=at)
        found = plan(context)
        rows = self._adapters.store.history(kinds=KINDS, last=MOST_ENTRIES) if self._adapters.store.exists() else ()
        past = Past.of([*map(from_row, rows)], whole=len(rows) < MOST_ENTRIES, gone=context.gone)
        return report_of(context, found, past)

    def moved(self) -> int:
        """The number of the journal's newest entry, which is another one whenever something happened."""
        return self._state("report").seq
