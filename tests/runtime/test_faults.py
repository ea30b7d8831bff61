"""Whatever call to the journal or to a table fails: one error, and the next start goes on as if there had been none."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from random import Random
from typing import Any

import pytest

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import StateError
from sparkassets.ports import Enlist, HistoryQuery, LastLook, Observation, RunOrder
from sparkassets.runtime import ledger
from sparkassets.runtime.driver import Driver
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.depth import COUNT, USUAL
from tests.runtime.fakes import FakeEngine, FakeOutlets, FakeSource, Recorder, World
from tests.runtime.faulty import Faults, Faulty, When, out_of_state
from tests.runtime.lake import Lake, random_lake, some_values

THIS_PROCESS = (7, 0.0)
"""One that outlives its drivers, as a notebook does."""
MOST = 400
"""Calls of one history; more would mean that drivers never come to an end."""
CARE = ("maintain", "save_snapshot")
"""Calls without which runs that are under way go on."""
SEEDS = (22,) if COUNT <= USUAL else (7, 22, 26)
STEP = max(1, 4 * USUAL // COUNT)
"""A usual run has every fourth call fail in each of its ways, by turns; one that looks further every one."""


@dataclass
class FaultyOutlets:
    """Tables whose calls fail as told."""

    engine: FakeEngine
    faults: Faults

    def open_target(self, spec: Any, *, app_id: str, enlist: Enlist) -> Any:
        return Faulty(FakeOutlets(self.engine).open_target(spec, app_id=app_id, enlist=enlist), self.faults)


class LastingSource(FakeSource):
    """One whose news are there at every look, until the position is past them."""

    def observe(self, asset: AssetSpec, last: LastLook, *, now: datetime) -> Observation | None:
        """All that came after the last look."""
        new = [each for each in self.news if (each.version or 0) > (last.version or 0)]
        changed = PartitionSet.union(each.changed for each in new)
        return replace(new[-1], changed=changed) if new else None


@dataclass
class History:
    """Sources that change twice, and drivers that meet faults between.

    Attributes:
        same: Whether all drivers are of one process.
        state, tables: What fails.
        told: What drivers raised.
    """

    seed: int
    same: bool = False
    state: Faults = field(default_factory=partial(Faults, error=out_of_state))
    tables: Faults = field(default_factory=Faults)
    told: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        random = Random(self.seed)  # noqa: S311  the same history for the same seed
        self.lake: Lake = random_lake(random)
        self.changes = [
            (name, dict(some_values(random, self.lake.project.assets[name].partitioning))) for name in ("s", "t", "s")
        ]
        self.lake.sources = {"s": LastingSource(), "t": LastingSource()}
        if self.same:
            self.lake.process, self.lake.alive = THIS_PROCESS, True

    def driver(self) -> Driver:
        """One that meets the faults."""
        made = self.lake.driver()
        made.ledger._store = Faulty(self.lake.store, self.state)
        outlets = FaultyOutlets(self.lake.engine, self.tables)
        return replace(made, open_engine=lambda: (self.lake.engine, outlets))

    def go(self) -> History:
        """All of it; what raised is started again, for as long as it is not done."""
        for name, values in self.changes:
            self.lake.change(name, values)
            self.start()
        while self.start():
            pass
        return self

    def start(self) -> bool:
        """One more; whether there may be more to do."""
        before = len(self.state.calls), len(self.tables.calls)
        assert max(before) < MOST
        try:
            summary = self.driver().run_works([DueWork()])
        except StateError as error:
            self.told.append(error)
            return True
        return bool(summary.runs)

    def outcome(self) -> dict[str, Any]:
        """What every table holds, and what is recorded of it."""
        lake = self.lake
        names = [name for name, each in lake.project.assets.items() if each.source is None]
        found = [from_row(row).entry for row in lake.store.read_history(HistoryQuery(kinds=["success"]))]
        recorded = [each.run for each in found if isinstance(each, SuccessEntry)]
        committed = [each.stamp.run for name in names for each in lake.engine.data(name)]
        assert Counter(recorded) == Counter(committed), "a run is recorded once for each commit of its"
        driver = lake.driver()
        state = driver.ledger.open()
        assert all(not each.chains for name in names if (each := state.assets.get(name)) is not None)
        assert driver.run_works([DueWork()]).runs == ()
        return {name: (dict(lake.table(name)), state.assets[name].coverage) for name in names}


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("seed", SEEDS)
def test_any_call_to_the_journal(*, seed: int, when: When, same: bool):
    plain = History(seed).go()
    expected, calls = plain.outcome(), len(plain.state.calls)
    assert 0 < calls < MOST
    for number in range(1 + (2 * same + (when == "after")) % STEP, calls + 1, STEP):
        history = History(seed, same, Faults(range(number, number + 1), when, out_of_state)).go()
        assert history.outcome() == expected, f"call {number}: {plain.state.calls[number - 1]}"
        hints = [str(each).partition("\n")[2] for each in history.told]
        told = number <= len(history.state.calls) and not (hints == [] and history.state.calls[number - 1] in CARE)
        assert hints == ["  hint: make room, and start again"] * told


def two() -> World:
    """Two assets of one source."""
    return World(project(source("s"), asset("a", "s"), asset("b", "s"), max_parallel_runs=2), MemoryStore())


def test_care_for_the_journal_that_fails_ends_no_run_that_is_under_way(monkeypatch):
    monkeypatch.setattr(ledger, "SNAPSHOT_EVERY", 1)
    w = two()
    w.tell("s", "2025-01-01")
    first = threading.Event()
    w.engine.hooks["b", "compute"] = lambda _: first.wait(10) and None
    heard = Recorder()
    heard.on_finish = lambda _: first.set()
    driver = w.driver(progress=heard)
    failing = Faulty(w.store, Faults(range(1, MOST), error=out_of_state, counts=CARE))
    driver.ledger._store = failing
    with pytest.raises(StateError, match="cannot save_snapshot"):
        driver.run_works([DueWork()])
    assert [each.status for each in heard.results] == ["success", "success"]
    assert w.driver().run_works([DueWork()]).runs == ()


def test_a_lease_that_cannot_be_renewed_for_a_while_ends_no_run():
    w = two()
    w.tell("s", "2025-01-01")
    faults = Faults(error=out_of_state, counts=("read_after",))

    def slow(_: RunOrder | None) -> None:
        faults.at = range(len(faults.calls) + 1, MOST)
        w.clock.seconds = 250
        time.sleep(1)
        faults.at = range(0)

    w.engine.hooks["a", "compute"] = slow
    driver = w.driver()
    driver.ledger._store = Faulty(w.store, faults)
    assert driver.run_works([DueWork()]).ok
    assert len(faults.calls) > len(set(faults.calls)), "the lease was to be renewed meanwhile"


@pytest.mark.parametrize("lasting", [2, 3, 7])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_journal_that_is_away_for_a_while(seed: int, lasting: int):
    plain = History(seed).go()
    expected = plain.outcome()
    for number in range(1 + lasting % STEP, len(plain.state.calls) + 1, STEP):
        when: When = "before" if number % 2 else "after"
        history = History(seed, bool(number % 3), Faults(range(number, number + lasting), when, out_of_state)).go()
        assert history.outcome() == expected, f"call {number}: {plain.state.calls[number - 1]}"
        assert (number <= len(history.state.calls)) <= len(history.told) <= lasting


@pytest.mark.parametrize("lasting", [1, 2, 9])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("seed", SEEDS)
def test_any_calls_to_a_table(seed: int, when: When, lasting: int):
    plain = History(seed).go()
    expected, calls = plain.outcome(), len(plain.tables.calls)
    assert 0 < calls < MOST
    for number in range(1 + lasting % STEP, calls + 1, STEP):
        history = History(seed, tables=Faults(range(number, number + lasting), when)).go()
        assert history.outcome() == expected, f"call {number}: {plain.tables.calls[number - 1]}"
        assert history.told == []
