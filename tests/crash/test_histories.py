"""Random projects whose drivers are processes, which are killed and stopped: all is as if computed from scratch."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from random import Random

import pytest

from sparkassets.ports import HistoryQuery
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.state.delta_store import DeltaStore
from sparkassets.wiring.host import SystemClock
from tests.crash.driver import Orders
from tests.crash.lake import StoredLake, driven, stored
from tests.crash.processes import Figures, Started
from tests.e2e.projects import stamps
from tests.runtime.lake import inside, some_values
from tests.runtime.test_lake import computable

SAMPLE, ALL = 1, 60
STEPS = 6
LAST_HIT = 70


class History:
    """What happens to a lake."""

    def __init__(self, home: Path, seed: int, figures: Figures) -> None:
        self.random = Random(seed)  # noqa: S311  nothing to keep secret
        self.lake = StoredLake(stored(home, seed), None)
        self.make = partial(driven, home, seed)
        self.home = home
        self.figures = figures

    def start(self, **orders: object) -> Started:
        return Started(Orders(self.home, self.make, **orders))  # type: ignore[arg-type]

    def step(self) -> None:
        random = self.random
        match random.choice(["change", "change", "run", "die", "die", "two", "split"]):
            case "change":
                self.change(random.choice("st"))
            case "run":
                assert self.start().ends() == "exited 0"
            case "die":
                self.figures.killed(self.start(hit=random.randint(1, LAST_HIT)))
            case "split":
                self.split()
            case "two":
                both = [self.start(hit=random.randint(5, LAST_HIT), waits=3.0) for _ in range(2)]
                self.change(random.choice("st"))
                for each in both:
                    self.figures.killed(each)

    def split(self) -> None:
        """Drivers on hosts whose clocks differ share the work in any way; none of them dies."""
        assert self.start().ends() == "exited 0"  # what was killed on this host others would wait for
        names = [name for name, each in self.lake.project.assets.items() if each.source is None and not each.written_by]
        some = [tuple(self.random.sample(names, self.random.randint(1, len(names)))) for _ in range(2)]
        shares = [None, *some] if self.random.random() < 0.5 else some
        ahead = (7 * 60, -7 * 60, 0)
        started = [
            self.start(select=share, host=f"host-{n}", ahead=ahead[n], waits=3.0) for n, share in enumerate(shares)
        ]
        self.change(self.random.choice("st"))
        assert [each.ends() for each in started] == ["exited 0"] * len(shares)

    def change(self, name: str) -> None:
        self.lake.change(name, dict(some_values(self.random, self.lake.project.assets[name].partitioning)))


def journal(lake: StoredLake) -> JournalLedger:
    ledger = JournalLedger(DeltaStore(lake.project.state), project=lake.project.name, driver="t", clock=SystemClock())
    ledger.open()
    return ledger


@pytest.mark.parametrize(
    "seed", [pytest.param(each, marks=[] if each < SAMPLE else [pytest.mark.crash]) for each in range(ALL)]
)
def test_every_table_is_as_if_computed_from_scratch(seed, tmp_path, figures):
    history = History(tmp_path, seed, figures)
    lake = history.lake
    history.change("s")
    history.change("t")
    for _ in range(STEPS):
        history.step()
    began, last = time.monotonic(), history.start()
    assert last.ends() == "exited 0"
    figures.restarts += 1
    figures.longest = max(figures.longest, time.monotonic() - began)
    ledger = journal(lake)
    for name, spec in lake.project.assets.items():
        if spec.source is not None or spec.storage is None:
            continue
        table, fresh = lake.table(name), lake.from_scratch(name)
        there = inside(spec.partitioning, ledger.state.assets[name].coverage)
        assert sorted(table) == sorted(there)
        assert {partition: fresh[partition] for partition in there} == dict(table), last.output
        writer = lake.project.assets[spec.written_by or name]
        assert computable(lake, writer, set(fresh) - set(there)) == [], name
        if table:
            kinds = ("outlet",) if spec.written_by else ("success",)
            recorded = [row.run for row in ledger._store.read_history(HistoryQuery(kinds=kinds, asset=name))]
            assert recorded == [stamp["run"] for stamp in stamps(tmp_path / "tables" / name)]
            assert len(recorded) == len(set(recorded))
    again = history.start()
    assert again.ends() == "exited 0"
    assert again.output == ""
