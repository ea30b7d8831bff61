"""Outlets that are published: each run leaves an iteration in all of them or in none, and what is kept of each."""

import pytest

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.iterations import seen
from sparkassets.core.strategies import EveryInstance, FullRefresh
from sparkassets.core.writes import Publish
from sparkassets.runtime.work import Tick
from sparkassets.state.memory import MemoryStore
from tests.builders import asset, multi, project, source
from tests.runtime.fakes import World
from tests.runtime.test_outlets import BOTH, dying


def world(**more) -> World:
    """``a`` publishes two tables whenever ``s`` is updated, and ``model`` reads one of them."""
    plain = {"by": None, "write": Publish(2), "strategy": FullRefresh(), "retries": 0, "schedule": "s", **more}
    made = multi(asset("a", "s", **plain), *BOTH)
    model = asset("model", "train", by=None, schedule="train")
    w = World(project(source("s", by=plain["by"]), *made, model), MemoryStore())
    w.tell("s", *(["2025-01-01"] if plain["by"] else []))
    return w


def known(w: World) -> dict[str, list[str]]:
    """The runs whose iterations each outlet has."""
    assets = w.driver().ledger.open().assets
    return {name: [each.run for each in assets[name].iterations] for name in (*BOTH, "a")}


def test_each_run_is_an_iteration_of_every_outlet_and_older_ones_go_in_all():
    w = world()
    runs = []
    for _ in range(3):
        w.tell("s")
        runs += [each.run for each in w.driver().run([Tick()]).runs if each.asset == "a"]
    assert known(w) == {"train": runs[-2:], "test": runs[-2:], "a": []}
    state = w.driver().ledger.open()
    kept = {name: sorted(each.name for each in state.assets[name].iterations) for name in BOTH}
    assert {name: kept for name, kept, _, _ in w.engine.removals[-2:]} == kept
    restored = decode(encode(state), journal_id=state.journal_id)
    assert restored.assets["test"].iterations == state.assets["test"].iterations


def test_a_reader_pins_the_iteration_of_its_outlet():
    w = world()
    assert w.driver().run([Tick()]).ok
    (train,) = w.driver().ledger.open().assets["train"].iterations
    (reading,) = w.engine.data("model")
    assert reading.order.pins["train"].iteration == train.name


@pytest.mark.parametrize(("name", "moment"), [("train", "written"), ("test", "write")])
def test_whoever_publishes_the_missing_one_it_is_the_same_run(name, moment):
    w = world()
    dying(w, name, moment)
    (result, *_) = w.driver().run([Tick()]).runs
    assert result.adopted == "a-1"
    assert known(w) == {"train": ["a-1"], "test": ["a-1"], "a": []}
    state = w.driver().ledger.open()
    train, test = (state.assets[each].iterations[0] for each in BOTH)
    assert (train.name.split(".")[0], train.name != test.name) == (test.name.split(".")[0], True)


def test_one_of_a_partition_takes_the_place_of_that_partition_alone():
    w = world(by="day", strategy=EveryInstance(), schedule=None)
    w.tell("s", "2025-01-02")
    assert w.driver().run([Tick()]).ok
    state = w.driver().ledger.open()
    assert [len(seen(state.assets[name].iterations)) for name in BOTH] == [2, 2]
