"""Real processes announce while a driver ticks: each event is there once, and each consumer uses it exactly once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import ClaimEntry, EventEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.state import State
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.delta_store import DeltaStore
from tests.builders import days
from tests.runtime.adder import PROJECT
from tests.runtime.fakes import World

ADDERS, EACH = 4, 28


def test_all_events_of_four_processes_are_accounted_for(tmp_path):
    state = str(tmp_path / "state")
    w = World(PROJECT, DeltaStore(state))
    w.store.create(project=PROJECT.name)
    w.driver().run_works([DueWork()])
    adders = [
        subprocess.Popen([sys.executable, "-m", "tests.runtime.adder", state, f"adder{number}", str(EACH)])
        for number in range(ADDERS)
    ]
    runs = 0
    while any(adder.poll() is None for adder in adders):
        runs += len(w.driver().run_works([DueWork()]).runs)
    assert [adder.wait() for adder in adders] == [0] * ADDERS
    w.driver().run_works([DueWork()])
    rows = DeltaStore(state).read_history()
    events = [row.seq for row in rows if row.kind == "event"]
    entries = list(map(from_row, rows))
    ids = {each.entry.id for each in entries if isinstance(each.entry, EventEntry)}
    assert (len(events), len(ids)) == (ADDERS * EACH, ADDERS * EACH)
    assert runs > 2, "it ran while they wrote"
    succeeded = {row.run for row in rows if row.kind == "success"}
    claims = [each.entry for each in entries if isinstance(each.entry, ClaimEntry)]
    for name in ("all", "days"):
        used = Counter(
            seq for claim in claims if claim.asset == name and claim.run in succeeded for seq in claim.request.events
        )
        assert sorted(used) == events, name
        assert set(used.values()) == {1}, name
    whole = fold(State(w.store.read_image(project=PROJECT.name).journal_id), entries, commit=0)
    assert whole.assets["days"].coverage == days("2025-01-01..2025-01-28")
    assert [ref.seq for ref in whole.dataset("x-s").recent] == [events[-1]], "the newest only"
    assert w.driver().run_works([DueWork()]).runs == ()
