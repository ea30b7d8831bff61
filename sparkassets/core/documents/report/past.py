"""What a report knows of the past: the newest entries of the journal, read once, as runs, events and origins."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sparkassets.core.journal import events
from sparkassets.core.journal import lineage as origins
from sparkassets.core.journal.announce import partition_of
from sparkassets.core.journal.entries import Numbered
from sparkassets.core.journal.runs import RUN_KINDS, RunRecord, of_entries
from sparkassets.core.journal.state import EventRef
from sparkassets.core.partitions import Partitioning
from sparkassets.core.phrases import few
from sparkassets.core.planner.wording import labels
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.frozen import frozen

KINDS = tuple(dict.fromkeys([*RUN_KINDS, *events.EVENT_KINDS, *events.USING_KINDS, *origins.KINDS]))
"""The kinds of entries that tell of runs, events, or where data came from."""
MOST_ENTRIES = 12_000
"""So many of the newest of them are read."""


@frozen
class Past:
    """The newest entries of the journal, ascending.

    Attributes:
        entries: Of `KINDS`, of which nothing is left out since the first of them.
        whole: Whether these are all that there are.
        by_dataset: The same, the newest first.
        runs: In the order of their claims.
    """

    entries: Sequence[Numbered]
    whole: bool
    by_dataset: dict[str, list[Numbered]]
    runs: tuple[RunRecord, ...]

    @classmethod
    def of(cls, entries: Sequence[Numbered], *, whole: bool, gone: Collection[int] = ()) -> Past:
        """The past that these entries tell of; ``gone`` are the fence tokens of open claims without a driver."""
        found: dict[str, list[Numbered]] = {}
        for numbered in reversed(entries):
            if (uri := getattr(numbered.entry, "uri", None)) is not None:
                found.setdefault(uri, []).append(numbered)
        return cls(entries, whole, found, tuple(of_entries(entries, gone)))

    def told(self, uri: str) -> Iterator[Numbered]:
        """The entries of one dataset, the newest first."""
        return iter(self.by_dataset.get(uri, ()))

    def events(self, project: ProjectSpec, *, last: int) -> list[dict[str, Any]]:
        """The newest ``last`` dataset events, oldest first, with the runs that used them."""
        found = [(each, ref) for each in self.entries if (ref := EventRef.of(each)) is not None][-last:]
        if not found:
            return []
        first = found[0][1].seq
        later = (each for each in self.entries if each.seq >= first)
        uses = events.Uses([ref for _, ref in found], later)
        return [
            {
                **_told(each, ref, partition_of(project, asset=ref.asset, uri=ref.uri)),
                "triggered": uses.triggered[ref.seq],
                "included_in": uses.included_in[ref.seq],
            }
            for each, ref in found
        ]


def _told(entry: Numbered, ref: EventRef, partitioning: Partitioning) -> dict[str, Any]:
    """One event, and its partitions by the first of their keys."""
    listed = partitioning.is_partitioned and partitioning.can_list(ref.parts)
    told = events.of_entry(entry, ref, partitioning)
    return {**told, "slices": labels(ref.parts, partitioning) if listed else few(told["partitions"])}
