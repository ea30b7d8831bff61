"""What a report knows of the past: the newest entries of the journal, read once, as runs, events and origins."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sparkassets.core.journal import event_documents
from sparkassets.core.journal import lineage as origins
from sparkassets.core.journal.announcements import event_partitioning
from sparkassets.core.journal.entries import NumberedEntry
from sparkassets.core.journal.run_records import RUN_KINDS, RunRecord, run_records
from sparkassets.core.journal.state import EventRef
from sparkassets.core.partitions import Partitioning
from sparkassets.core.phrases import few
from sparkassets.core.planner.wording import label_partitions
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.frozen import frozen

KINDS = tuple(dict.fromkeys([*RUN_KINDS, *event_documents.EVENT_KINDS, *event_documents.USING_KINDS, *origins.KINDS]))
"""The kinds of entries that tell of runs, events, or where data came from."""
MOST_ENTRIES = 12_000
"""So many of the newest of them are read."""


@frozen
class ReportHistory:
    """The newest entries of the journal, ascending.

    Attributes:
        entries: Of `KINDS`, of which nothing is left out since the first of them.
        whole: Whether these are all that there are.
        by_dataset: The same, the newest first.
        runs: In the order of their claims.
    """

    entries: Sequence[NumberedEntry]
    whole: bool
    by_dataset: dict[str, list[NumberedEntry]]
    runs: tuple[RunRecord, ...]

    @classmethod
    def from_entries(
        cls, entries: Sequence[NumberedEntry], *, whole: bool, gone: Collection[int] = ()
    ) -> ReportHistory:
        """The past that these entries tell of; ``gone`` are the fence tokens of open claims without a driver."""
        found: dict[str, list[NumberedEntry]] = {}
        for numbered in reversed(entries):
            if (uri := getattr(numbered.entry, "uri", None)) is not None:
                found.setdefault(uri, []).append(numbered)
        return cls(entries, whole, found, tuple(run_records(entries, gone)))

    def dataset_entries(self, uri: str) -> Iterator[NumberedEntry]:
        """The entries of one dataset, the newest first."""
        return iter(self.by_dataset.get(uri, ()))

    def events(self, project: ProjectSpec, *, last: int) -> list[dict[str, Any]]:
        """The newest ``last`` dataset events, oldest first, with the runs that used them."""
        found = [(each, ref) for each in self.entries if (ref := EventRef.from_entry(each)) is not None][-last:]
        if not found:
            return []
        first = found[0][1].seq
        later = (each for each in self.entries if each.seq >= first)
        uses = event_documents.EventUsage([ref for _, ref in found], later)
        return [
            {
                **_event_values(each, ref, event_partitioning(project, asset=ref.asset, uri=ref.uri)),
                "triggered": uses.triggered[ref.seq],
                "included_in": uses.included_in[ref.seq],
            }
            for each, ref in found
        ]


def _event_values(entry: NumberedEntry, ref: EventRef, partitioning: Partitioning) -> dict[str, Any]:
    """One event, and its partitions by the first of their keys."""
    listed = partitioning.is_partitioned and partitioning.can_list(ref.parts)
    told = event_documents.recorded_event_values(entry, ref, partitioning)
    return {**told, "slices": label_partitions(ref.parts, partitioning) if listed else few(told["partitions"])}
