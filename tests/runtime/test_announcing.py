"""Announced events: one commit, and an id is recorded once whoever else writes meanwhile."""

from sparkassets.app.events import record_events
from sparkassets.core.journal.entries import EventEntry
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.state.memory_store import MemoryStore
from tests.runtime.fakes import FakeClock


def opened(store):
    store.create(project="p")
    ledger = JournalLedger(store, project="p", driver="d", clock=FakeClock())
    ledger.open()
    return ledger


def added(ledger, store, *entries):
    return [each.recorded.seq for each in record_events(ledger, store, entries, before=lambda _: [])]


def test_events_without_an_id_are_all_recorded_in_one_commit():
    store = MemoryStore()
    assert added(opened(store), store, EventEntry("a"), EventEntry("a")) == [1, 2]
    assert store.read_image(project="p").commit == 1


def test_an_id_is_recorded_once_for_each_dataset():
    store = MemoryStore()
    ledger = opened(store)
    one, other = EventEntry("a", id="1"), EventEntry("b", id="1")
    assert added(ledger, store, one, other, one) == [1, 2, 1]
    assert added(ledger, store, EventEntry("a", extra={"again": True}, id="1")) == [1]
    assert added(opened(store), store, EventEntry("b", id="1"), EventEntry("b", id="2")) == [2, 3]
    assert len(store.read_history()) == 3


def test_two_at_once_record_an_id_once():
    store = MemoryStore()
    late, early = opened(store), opened(store)
    again = []

    def meanwhile(_):
        if not again:
            again.append(added(early, store, EventEntry("a"), EventEntry("a", id="1")))
        return []

    found = record_events(late, store, [EventEntry("a", id="2"), EventEntry("a", id="1")], before=meanwhile)
    assert [(each.recorded.seq, each.known) for each in found] == [(3, False), (2, True)]
    assert again == [[1, 2]]
    assert [row.seq for row in store.read_history()] == [1, 2, 3]


def test_a_conflict_reads_only_what_is_new():
    store = MemoryStore()
    late, early = opened(store), opened(store)
    looks = []
    history = store.read_history
    store.read_history = lambda query: looks.append(query.after_seq) or history(query)
    pending = [EventEntry("a", id="1")]

    def meanwhile(_):
        if pending:
            early.commit(lambda _: [pending.pop()])
        return []

    assert [each.recorded.seq for each in record_events(late, store, [EventEntry("a", id="2")], before=meanwhile)] == [
        2
    ]
    assert looks == [0, 0]


def test_an_id_is_sought_among_the_events_and_not_by_reading_all_of_them():
    store = MemoryStore()
    ledger, brought = opened(store), []
    added(ledger, store, *(EventEntry("a", id=str(number)) for number in range(300)))
    history = store.read_history
    store.read_history = lambda query: brought.extend(history(query)) or history(query)
    assert added(ledger, store, EventEntry("a", id="7"), EventEntry("b", id="8"), EventEntry("a")) == [8, 301, 302]
    assert [row.seq for row in brought] == [8, 9]
