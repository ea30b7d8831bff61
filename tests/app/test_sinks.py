"""What a sink hears of a project: starts and ends of runs with what they read, events, and nothing of others."""

import threading

import pytest

from sparkassets.core.journal.entries import ClaimEntry, EventEntry, FailureEntry, PauseEntry, SuccessEntry
from sparkassets.runtime.progress import RunFailedError
from sparkassets.runtime.sink_dispatch import SinkDispatcher
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World
from tests.runtime.listeners import Blocked, Listener, Raising


def world(*sinks):
    return World(project(source("s"), asset("a", "s", retries=0)), MemoryStore(), sinks=sinks)


def drive(world):
    return world.opened().run()


def announce(world):
    return world.opened().events.add("s", partition="2025-01-05")


def test_a_run_is_told_from_its_claim_to_its_end_with_what_it_read():
    listener = Listener()
    w = world(listener)
    announce(w)
    drive(w)
    ((claimed, at_claim),) = listener.heard(ClaimEntry)
    ((ended, at_end),) = listener.heard(SuccessEntry)
    assert claimed.seq == ended.entry.token
    assert at_claim.claim(claimed.seq).run == at_end.claim(ended.entry.token).run == ended.entry.run
    assert at_end.claim(ended.entry.token).request.pins == ended.entry.pins
    assert at_end.claim(ended.seq) is None
    assert at_end.project.assets["a"].partitioning.labels(ended.entry.partitions) == ["2025-01-05"]
    assert (at_end.before["a"].last, at_end.after["a"].last.run) == (None, ended.entry.run)
    assert listener.ends == 2
    assert listener.seqs == [row.seq for row in w.store.read_history()]


def test_a_failure_is_told_with_the_claim_that_failed_and_a_recovery_can_be_seen():
    def broken(order):
        raise ValueError("no such day")

    listener = Listener()
    w = world(listener)
    w.engine.hooks["a", "compute"] = broken
    announce(w)
    with pytest.raises(RunFailedError):
        drive(w)
    ((failed, at_failure),) = listener.heard(FailureEntry)
    assert (failed.entry.error, failed.entry.cause) == ("no such day", "error")
    assert [pin.uri for pin in at_failure.claim(failed.entry.token).request.pins.values()] == ["x-s"]
    w.engine.hooks.clear()
    drive(w)
    ((_, at_end),) = listener.heard(SuccessEntry)
    assert [bool(known["a"].failed) for known in (at_end.before, at_end.after)] == [True, False]


def test_what_another_process_committed_is_told_by_it_alone():
    mine, theirs = Listener(), Listener()
    w = world(theirs)
    announce(w)
    w.sinks = (mine,)
    drive(w)
    assert [len(each.heard(EventEntry)) for each in (theirs, mine)] == [1, 0]
    assert sorted(mine.seqs + theirs.seqs) == [row.seq for row in w.store.read_history()]


def test_a_pause_is_told():
    listener = Listener()
    w = world(listener)
    w.opened().assets.pause("a")
    assert [each.entry for each, _ in listener.heard(PauseEntry)] == [PauseEntry("a", paused=True)]
    assert listener.ends == 1


def test_a_sink_that_raises_touches_no_run_and_is_a_warning():
    w = world(Raising(SystemExit("https://u:hunter2@h refused")))
    w.tell("s", "2025-01-05")
    told = r"^the sink Raising raised SystemExit: https://u:\*\*\*@h refused; runs continue, and later"
    with pytest.warns(RuntimeWarning, match=told):
        summary = drive(w)
    assert [result.status for result in summary.runs] == ["success"]


def test_where_warnings_are_errors_a_run_ends_well_too():
    w = world(Raising(OSError("refused")))
    w.tell("s", "2025-01-05")
    assert drive(w).ok  # pytest makes errors of warnings


def test_a_sink_that_never_returns_delays_no_run_and_the_end_by_the_grace_alone(monkeypatch):
    blocked = Blocked()
    w = world(blocked)
    w.tell("s", "2025-01-05")
    monkeypatch.setattr(
        "sparkassets.app.context.SinkDispatcher", lambda *a, **more: SinkDispatcher(*a, **more, grace_seconds=0.2)
    )
    with pytest.warns(RuntimeWarning, match=r"^the sink Blocked is behind by \d+ entries, which are"):
        summary = drive(w)
    assert [result.status for result in summary.runs] == ["success"]
    assert [each.daemon for each in threading.enumerate() if each.name == "sink Blocked"] == [True]
    blocked.go.set()
