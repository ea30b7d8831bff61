"""Announced events on their way into the journal: all of them in one commit, and none that is known already."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import Entry, EventEntry, NumberedEntry
from sparkassets.core.journal.state import State
from sparkassets.frozen import frozen
from sparkassets.ports import JournalStore
from sparkassets.runtime.ledger import JournalLedger

EventIdentity = tuple[str, str]
"""Dataset and id: what tells an event from others."""

_AT_ONCE = 1000
"""How many ids one look at the journal asks for."""


@frozen
class EventReceipt:
    """What became of an event.

    Attributes:
        recorded: Its own entry, or the first one of its id.
        known: Its id was known already, so it was not recorded again.
    """

    recorded: NumberedEntry
    known: bool


def record_events(
    ledger: JournalLedger,
    store: JournalStore,
    entries: Sequence[EventEntry],
    *,
    before: Callable[[State], Sequence[Entry]],
) -> list[EventReceipt]:
    """Records the events, in one commit; returns what became of each, in their order.

    An event with an id that the dataset's events know already is not recorded again: its entry is the first one's. This
    is decided against exactly the journal before the commit, so it holds for any number of processes.

    Args:
        ledger: Open.
        store: The ledger's own, whose history knows the ids.
        entries: What to record.
        before: Entries that belong before them, such as changed specs.
    """
    known = _KnownEvents(store, {entry.id for entry in entries if entry.id is not None})
    fresh: list[EventEntry] = []

    def decide(state: State) -> Sequence[Entry]:
        fresh.clear()
        seen = known.read_through(state.seq)
        taken = set(seen)
        for entry in entries:
            if entry.id is None or (entry.uri, entry.id) not in taken:
                fresh.append(entry)
            if entry.id is not None:
                taken.add((entry.uri, entry.id))
        return [*before(state), *fresh]

    recorded = [each for each in ledger.commit(decide) if isinstance(each.entry, EventEntry)]
    own = dict(zip(map(id, fresh), recorded, strict=True))
    first = known.first | {identity: each for each in recorded if (identity := _identity(each)) is not None}
    return [
        EventReceipt(own[id(entry)], known=False)
        if id(entry) in own
        else EventReceipt(first[entry.uri, entry.id or ""], known=True)
        for entry in entries
    ]


class _KnownEvents:
    """The events with one of some ids; every look reads on where the last one ended."""

    def __init__(self, store: JournalStore, ids: Collection[str]) -> None:
        self.first: dict[EventIdentity, NumberedEntry] = {}
        self._store = store
        self._ids = sorted(ids)
        self._read = 0

    def read_through(self, seq: int) -> dict[EventIdentity, NumberedEntry]:
        """Those up to the entry ``seq`` at least."""
        for at in range(0, len(self._ids), _AT_ONCE):
            ids = self._ids[at : at + _AT_ONCE]
            for row in self._store.read_history(kinds=("event",), ids=ids, after_seq=self._read):
                self.first.setdefault((row.uri or "", row.id or ""), from_row(row))
        self._read = seq
        return self.first


def _identity(numbered: NumberedEntry) -> EventIdentity | None:
    entry = numbered.entry
    return (entry.uri, entry.id) if isinstance(entry, EventEntry) and entry.id is not None else None
