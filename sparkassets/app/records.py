"""What the journal tells: the newest of its rows, and events with the runs that used them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sparkassets.core.journal import event_documents
from sparkassets.core.journal.announcements import event_partitioning
from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.codec.rows import JournalRow
from sparkassets.core.journal.entries import NumberedEntry
from sparkassets.core.journal.state import EventRef
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.ports import JournalStore

T = TypeVar("T")


def newest(
    rows: Callable[[int | None], Sequence[JournalRow]],
    parse: Callable[[Sequence[JournalRow]], list[T]],
    *,
    last: int | None,
) -> list[T]:
    """The newest ``last`` (None: all) of what ``parse`` makes of rows: some rows come to nothing.

    ``rows`` gives the newest so many of the journal, oldest first.
    """
    if last is None:
        return parse(rows(None))
    limit = max(64, 4 * last)
    while True:
        read = rows(limit)
        found = parse(read)
        if len(read) < limit or len(found) >= last:
            return found[-last:]
        limit *= 4


def describe_events(spec: ProjectSpec, store: JournalStore, entries: Sequence[NumberedEntry]) -> list[dict[str, Any]]:
    """The events of these entries, with the runs that used them."""
    found = [(each, ref) for each in entries if (ref := EventRef.from_entry(each)) is not None]
    if not found:
        return []
    refs = {ref.seq: ref for _, ref in found}
    later = store.read_history(kinds=event_documents.USING_KINDS, after_seq=min(refs))
    uses = event_documents.EventUsage([refs[seq] for seq in sorted(refs)], map(from_row, later))
    return [
        {
            **event_documents.recorded_event_values(each, ref, event_partitioning(spec, asset=ref.asset, uri=ref.uri)),
            "triggered": uses.triggered[ref.seq],
            "included_in": uses.included_in[ref.seq],
        }
        for each, ref in found
    ]
