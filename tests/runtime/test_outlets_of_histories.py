"""Random histories of a multi-asset, by drivers that fail and die, over tables that vanish: no outlet is behind."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import OutletEntry, SuccessEntry
from sparkassets.core.journal.table_findings import TableFinding
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.driver_work import DueWork
from tests.depth import histories
from tests.runtime.lake import Lake, inside, killed, partitions_of, random_outlets, set_of, some_values

OUTLETS = ("train", "test")
MOMENTS = (
    ("one", "compute"),
    ("train", "prepare"),
    ("test", "prepare"),
    ("train", "write"),
    ("train", "written"),
    ("test", "write"),
    ("test", "written"),
    ("train", "fence"),
    ("test", "fence"),
    ("two", "written"),
)


class History:
    """What happens to a lake."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lake = random_outlets(random)
        for name in "st" if random.random() < 0.7 else "":
            partitions = partitions_of(self.lake.project.assets[name].partitioning)
            self.lake.change(name, dict.fromkeys(partitions, 0))

    def step(self) -> None:
        lake, random = self.lake, self.random
        match random.choice(["change", "change", "run", "die", "die", "bad", "heal", "lose"]):
            case "change":
                name = random.choice("st")
                lake.change(name, dict(some_values(random, lake.project.assets[name].partitioning)))
            case "run":
                lake.driver().run_works([DueWork()])
            case "die":
                killed(lake, *random.choice(MOMENTS))
            case "bad":
                lake.bad.add(("one", random.choice(partitions_of(lake.project.assets["one"].partitioning))))
            case "heal":
                lake.bad.clear()
            case "lose":
                self.lose(random.choice(OUTLETS))

    def lose(self, name: str) -> None:
        """The table of an outlet is gone; or it is as it was some commits ago, as far as the last that was recorded."""
        lake, random = self.lake, self.random
        lake.driver().run_works([DueWork()])
        state, table = self.state(name), lake.engine.tables.get(name, [])
        if state is None or state.table_id is None or name in lake.targets.news:
            return
        if random.random() < 0.5:
            table.clear()
            lake.targets.news[name] = TableFinding("gone", f"its table at /data/{name} was deleted", EVERYTHING)
            return
        kept = random.randrange(1, len(table) + 1)
        dropped = [commit.order.partitions for commit in table[kept:] if commit.order is not None]
        del table[kept:]
        lost = PartitionSet.union(dropped)
        found = TableFinding("restored", "its table was restored", lost, "t", kept - 1, "m")
        lake.targets.news[name] = found

    def states(self):
        driver = self.lake.driver()
        self.lake.store.create(project="test")
        driver.ledger.open()
        return driver.ledger.state.assets.values()

    def state(self, name: str):
        return next((each for each in self.states() if each.name == name), None)


def entries(lake: Lake) -> list[SuccessEntry | OutletEntry]:
    found = (from_row(row).entry for row in lake.store.read_history(HistoryQuery(kinds=("success", "outlet"))))
    return [each for each in found if isinstance(each, OutletEntry) or each.asset == "one"]


@histories(20)
@given(random=st.randoms(use_true_random=False), steps=st.integers(3, 10))
def test_every_outlet_is_as_if_computed_from_scratch_and_of_the_same_runs(*, random: Random, steps: int):
    history = History(random)
    lake = history.lake
    for _ in range(steps):
        history.step()
    lake.bad.clear()
    while lake.has_news or lake.targets.news:
        assert lake.driver().run_works([DueWork()]).ok
    assert lake.driver().run_works([DueWork()]).ok
    assert lake.driver().run_works([DueWork()]).runs == (), "idle"
    states = {each.name: each for each in history.states()}
    for name in ("train", "test", "two", "three"):
        there = inside(lake.project.assets[name].partitioning, states[name].coverage)
        fresh = lake.from_scratch(name)
        assert sorted(lake.table(name)) == sorted(there), name
        assert {partition: fresh[partition] for partition in there} == dict(lake.table(name)), name
    assert lake.table("train") == lake.table("test")
    assert states["train"].coverage == states["test"].coverage == states["one"].coverage
    assert all(not states[name].chain for name in states)


@histories(8)
@given(random=st.randoms(use_true_random=False), steps=st.integers(3, 10))
def test_what_is_recorded_of_a_run_is_recorded_of_all_its_outlets_in_one_commit(*, random: Random, steps: int):
    history = History(random)
    lake = history.lake
    for _ in range(steps):
        history.step()
    lake.driver().run_works([DueWork()])
    told = entries(lake)
    for first, second, own in zip(told[::3], told[1::3], told[2::3], strict=True):
        assert (first.asset, second.asset, own.asset) == ("train", "test", "one")
        assert first.run == second.run == own.run
        assert first.partitions == second.partitions == own.partitions
        assert first.pins == second.pins == own.pins
    partitioning = lake.project.assets["one"].partitioning
    runs = [{commit.stamp.run for commit in lake.engine.data(name)} for name in OUTLETS]
    recorded = {each.run for each in told}
    assert runs[0] | runs[1] <= recorded | {link.entry.run for each in history.states() for link in each.chain}
    assert all(set_of(partitioning, partition) for partition in lake.table("train"))
