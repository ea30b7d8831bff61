"""Random projects on a lake in memory, by real drivers that fail and die: all is as if computed from scratch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.state import EventRef
from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.driver_work import DueWork
from tests.depth import histories
from tests.runtime.lake import Lake, Partition, inside, killed, needed, partitions_of, random_lake, set_of, some_values

MOMENTS = ("compute", "write", "written")


class History:
    """What happens to a lake."""

    def __init__(self, random: Random, *, compares: bool = False) -> None:
        self.random = random
        self.lake = random_lake(random)
        self.lake.compares = compares

    def step(self) -> None:
        what = self.random.choice(["change", "change", "change", "run", "die", "bad", "heal"])
        lake, random = self.lake, self.random
        if what == "change":
            name = random.choice("st")
            lake.change(name, dict(some_values(random, lake.project.assets[name].partitioning)))
        elif what == "run":
            lake.driver().run_works([DueWork()])
        elif what == "die":
            killed(lake, random.choice(["one", "two", "three"]), random.choice(MOMENTS))
        elif what == "bad":
            name = random.choice(["one", "two"])
            lake.bad.add((name, random.choice(partitions_of(lake.project.assets[name].partitioning))))
        else:
            lake.bad.clear()


def covered(lake: Lake, name: str) -> list[object]:
    driver = lake.driver()
    driver.ledger.open()
    return inside(lake.project.assets[name].partitioning, driver.ledger.state.assets[name].coverage)


@histories(40)
@given(random=st.randoms(use_true_random=False), steps=st.integers(3, 12), compares=st.booleans())
def test_every_table_is_as_if_computed_from_scratch(*, random: Random, steps: int, compares: bool):
    history = History(random, compares=compares)
    lake = history.lake
    for _ in range(steps):
        history.step()
    lake.bad.clear()
    while lake.has_news:
        assert lake.driver().run_works([DueWork()]).ok
    assert lake.driver().run_works([DueWork()]).ok
    assert lake.driver().run_works([DueWork()]).runs == (), "idle"
    for name, spec in lake.project.assets.items():
        if spec.source is not None:
            continue
        table, fresh = lake.table(name), lake.from_scratch(name)
        there = covered(lake, name)
        assert sorted(table) == sorted(there)
        assert {partition: fresh[partition] for partition in there} == dict(table)
        assert computable(lake, spec, set(fresh) - set(there)) == [], name
        written, news, refs = lake.written, lake.news, run_events(lake, name)
        for partition in there:
            assert written[name, partition] <= max(1, count_news(lake, news, spec, partition)), (
                f"{name} {partition} too often"
            )
            telling = sum(ref.parts.covers(set_of(spec.partitioning, partition)) for ref in refs)
            assert telling == news[name, partition], f"{name} {partition}"


def run_events(lake: Lake, name: str) -> list[EventRef]:
    """The events of an asset's runs."""
    rows = lake.store.read_history(HistoryQuery(kinds=("success",), asset=name))
    return [ref for ref in map(EventRef.from_entry, map(from_row, rows)) if ref is not None]


def count_news(lake: Lake, news: Mapping[tuple[str, Partition], int], spec: AssetSpec, partition: Partition) -> int:
    """How often something that a partition is computed from was written, and was news."""
    return sum(
        news[inlet.name, each]
        for inlet in spec.inlets.values()
        if inlet.on_update == "rerun"
        for each in needed(spec, lake.project.assets[inlet.name], partition)
    )


def computable(lake: Lake, spec: AssetSpec, partitions: Iterable[Partition]) -> list[Partition]:
    """Those that something tells are wanted, and all that they need is there."""
    ups = [lake.project.assets[name] for name in spec.inlets]
    if spec.partitioning.time is not None and not any(up.partitioning.time for up in ups):
        return []
    there = {up.name: lake.table(up.name) for up in ups}

    def is_enough(up: AssetSpec, partition: Partition) -> bool:
        enough = any if spec.partitioning.time is None and up.partitioning.time is not None else all
        return enough(each in there[up.name] for each in needed(spec, up, partition))

    return [partition for partition in partitions if all(is_enough(up, partition) for up in ups)]
