"""Sinks of the journal: told what this process committed, once and in order; and nothing waits for them for long."""

import asyncio
import gc
import threading
import weakref
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.journal.entries import EventEntry, NumberedEntry
from sparkassets.core.journal.state import State
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.sink_dispatch import SinkDispatcher
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import FakeClock
from tests.runtime.listeners import Blocked, Listener, Raising, gone

PROJECT = project(source("s"), asset("a", "s"), variables={"TOKEN": "s3cr3t-of-the-receiver"})
GOES_ON = "runs continue, and later commits are still sent to it"
AT = datetime(2025, 2, 1, tzinfo=UTC)


def entries(*seqs):
    return [NumberedEntry(EventEntry("x-s", "s"), seq, AT, "d1") for seq in seqs]


def tell(sinks, *commits):
    for commit in commits:
        sinks.dispatch(commit, State(), State())


@pytest.fixture
def notes():
    return []


@pytest.fixture
def make_sinks(notes):
    """Makes `Sinks` that note what there is to note."""
    return lambda *sinks, **options: SinkDispatcher(sinks, project=PROJECT, note=notes.append, **options)


def test_each_sink_is_told_everything_in_order_and_then_the_end(make_sinks, notes):
    first, second = Listener(), Listener()
    sinks = make_sinks(first, second)
    tell(sinks, entries(1, 2), entries(3), entries(4))
    sinks.end_invocation()
    assert [[each.seq for each in commit.entries] for commit in first.commits] == [[1, 2], [3], [4]]
    assert (first.seqs, first.ends, second.seqs, second.ends) == ([1, 2, 3, 4], 1, [1, 2, 3, 4], 1)
    assert notes == []


def test_an_invocation_that_committed_nothing_has_no_end_to_tell(make_sinks):
    idle = Listener()
    make_sinks(idle).end_invocation()
    assert (idle.commits, idle.ends) == ([], 0)


def test_the_threads_end_with_the_invocation_and_come_back_with_the_next(make_sinks):
    listener = Listener()
    sinks = make_sinks(listener)
    for seq in (1, 2):
        tell(sinks, entries(seq))
        sinks.end_invocation()
        assert gone("sink Listener")
    assert (listener.seqs, listener.ends) == ([1, 2], 2)


class UnsayableError(Exception):
    def __str__(self):
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("connection refused"), "OSError: connection refused"),
        (SystemExit(1), "SystemExit: 1"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "CancelledError"),
        (BaseExceptionGroup("two", [SystemExit(2)]), "BaseExceptionGroup: two (1 sub-exception): SystemExit: 2"),
        (UnsayableError(), "UnsayableError, whose text is not available"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_whatever_a_sink_raises_is_noted_once_and_it_is_told_what_follows(make_sinks, notes, error, said):
    broken, healthy = Raising(error), Listener()
    sinks = make_sinks(broken, healthy)
    for seq in (1, 2, 3):
        tell(sinks, entries(seq))
        sinks.end_invocation()
    assert (broken.seqs, broken.ends, healthy.seqs) == ([1, 2, 3], 3, [1, 2, 3])
    assert notes == [f"the sink Raising raised {said}; {GOES_ON}"]


def test_a_note_holds_no_credentials(make_sinks, notes):
    sinks = make_sinks(Raising(OSError("no answer of https://u:hunter2@h/hook with s3cr3t-of-the-receiver")))
    tell(sinks, entries(1))
    sinks.end_invocation()
    assert notes == [f"the sink Raising raised OSError: no answer of https://u:***@h/hook with ${{TOKEN}}; {GOES_ON}"]


def test_one_that_blocks_holds_up_nobody_and_is_left_behind(make_sinks, notes):
    blocked, healthy = Blocked(), Listener()
    sinks = make_sinks(blocked, healthy, grace_seconds=0.5)
    tell(sinks, entries(1, 2), entries(3))
    assert blocked.entered.wait(10)
    sinks.end_invocation()
    assert healthy.seqs == [1, 2, 3]
    assert notes == ["the sink Blocked is behind by 3 entries, which are dropped"]

    tell(sinks, entries(4))
    sinks.end_invocation()  # not waited for again, and said once
    assert (blocked.commits, len(notes)) == ([], 1)

    blocked.go.set()
    assert gone("sink Blocked")
    assert (blocked.seqs, blocked.ends) == ([1, 2, 3, 4], 2)
    tell(sinks, entries(5))
    sinks.end_invocation()  # it has caught up
    assert (blocked.seqs, blocked.ends, len(notes)) == ([1, 2, 3, 4, 5], 3, 1)
    assert healthy.seqs == [1, 2, 3, 4, 5]


def test_one_that_is_slow_is_waited_for_as_long_as_the_grace(make_sinks, notes):
    class Slow(Listener):
        def committed(self, commit):
            threading.Event().wait(0.02)
            super().committed(commit)

    slow = Slow()
    sinks = make_sinks(slow, grace_seconds=60)
    tell(sinks, *(entries(seq) for seq in range(1, 21)))
    sinks.end_invocation()
    assert (slow.seqs, slow.ends, notes) == (list(range(1, 21)), 1, [])


def test_what_does_not_fit_is_dropped_and_counted(make_sinks, notes):
    blocked = Blocked()
    sinks = make_sinks(blocked, most_waiting=4, grace_seconds=0.5)
    tell(sinks, entries(*range(1, 11)))  # a commit of its own is never too large
    assert blocked.entered.wait(10)
    tell(sinks, entries(11), entries(12, 13))
    sinks.end_invocation()
    assert notes == [
        "the sink Blocked is too slow: 3 entries of the journal dropped",
        "the sink Blocked is behind by 10 entries, which are dropped",
    ]
    blocked.go.set()
    assert gone("sink Blocked")
    tell(sinks, entries(14))
    sinks.end_invocation()
    assert blocked.seqs == [*range(1, 11), 14]


def test_what_waits_for_one_that_blocks_is_bounded(make_sinks):
    blocked, told = Blocked(), []
    sinks = make_sinks(blocked, most_waiting=50, grace_seconds=0.01)
    for seq in range(1, 1001):
        commit = [Forgettable(EventEntry("x-s", "s"), seq, AT, "d1")]
        told.append(weakref.ref(commit[0]))
        tell(sinks, commit)
        sinks.end_invocation()
    del commit
    gc.collect()
    assert sum(each() is not None for each in told) == 50
    assert [each.name for each in threading.enumerate()].count("sink Blocked") == 1
    blocked.go.set()
    assert gone("sink Blocked")
    assert (blocked.seqs, blocked.ends) == (list(range(1, 51)), 50)


class Forgettable(NumberedEntry, weakref=True):
    """One whose end can be seen."""


def test_what_was_told_is_kept_by_nobody(make_sinks):
    class Forgetting(Listener):
        def committed(self, commit):
            self.last = weakref.ref(commit.entries[0])

    forgetting = Forgetting()
    sinks = make_sinks(forgetting)
    tell(sinks, [Forgettable(EventEntry("x-s", "s"), 1, AT, "d1")])
    sinks.end_invocation()
    assert gone("sink Forgetting")
    gc.collect()
    assert forgetting.last() is None


def test_where_no_thread_can_be_had_nothing_is_told(make_sinks, notes, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    listener = Listener()
    sinks = make_sinks(listener)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        tell(sinks, entries(1))
    sinks.end_invocation()
    assert notes == [
        f"the sink Listener raised RuntimeError: can't start new thread; {GOES_ON}",
        "the sink Listener is too slow: 1 entry of the journal dropped",
    ]
    tell(sinks, entries(2))
    sinks.end_invocation()
    assert listener.seqs == [2]


@settings(deadline=None)
@given(
    turns=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), max_size=30),
    errors=st.sets(st.integers(1, 30)),
)
def test_a_sink_is_told_exactly_what_its_driver_committed_in_order(turns, errors):
    """Drivers take turns at one journal without a look at each other, so most commits are decided again."""

    class Shaky(Listener):
        def committed(self, commit):
            super().committed(commit)
            if len(self.commits) in errors:
                raise SystemExit("no")

    store, listeners = MemoryStore(), [Shaky() for _ in range(3)]
    store.create(project="test")
    sinks = [SinkDispatcher([listener], project=PROJECT, note=lambda _: None) for listener in listeners]
    ledgers = []
    for number, each in enumerate(sinks):
        ledgers.append(
            JournalLedger(store, project="test", driver=f"d{number}", clock=FakeClock(), on_commit=each.dispatch)
        )
        ledgers[-1].open()
    for number, count in turns:
        ledgers[number].commit(lambda _, count=count: [EventEntry("x-s", "s")] * count)
    for each in sinks:
        each.end_invocation()
    for number, listener in enumerate(listeners):
        mine = [(row.seq, row.at, row.driver) for row in store.read_history() if row.driver == f"d{number}"]
        assert [(e.seq, e.at, e.driver) for commit in listener.commits for e in commit.entries] == mine


def test_what_a_ledger_only_assumes_is_told_to_nobody(make_sinks):
    store, listener = MemoryStore(), Listener()
    store.create(project="test")
    sinks = make_sinks(listener)
    ledger = JournalLedger(store, project="test", driver="d", clock=FakeClock(), on_commit=sinks.dispatch)
    ledger.open()
    ledger.assume([EventEntry("x-s", "s")])
    ledger.commit(lambda _: [])
    sinks.end_invocation()
    assert listener.commits == []
