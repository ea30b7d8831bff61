"""Outlets that are published: each run leaves an iteration in all of them or in none, and what is kept of each."""

from dataclasses import replace

import pytest

from sparkassets.core.iterations import visible_iterations
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.planner.batch.iterations import plan_rollback
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.strategies import EveryInstance, FullRefresh
from sparkassets.core.writes import PublishWrite
from sparkassets.errors import InputError
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import RollbackWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, multi, project, source
from tests.runtime.fakes import World, dying
from tests.runtime.test_outlets import BOTH


def world(**more) -> World:
    """``a`` publishes two tables whenever ``s`` is updated, and ``model`` reads one of them."""
    plain = {"by": None, "write": PublishWrite(2), "strategy": FullRefresh(), "retries": 0, "schedule": "s", **more}
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
        runs += [each.run for each in w.driver().run_works([DueWork()]).runs if each.asset == "a"]
    assert known(w) == {"train": runs[-2:], "test": runs[-2:], "a": []}
    state = w.driver().ledger.open()
    kept = {name: sorted(each.name for each in state.assets[name].iterations) for name in BOTH}
    assert {name: kept for name, kept, _, _ in w.engine.removals[-2:]} == kept
    restored = decode(encode(state), journal_id=state.journal_id)
    assert restored.assets["test"].iterations == state.assets["test"].iterations


def test_a_reader_pins_the_iteration_of_its_outlet():
    w = world()
    assert w.driver().run_works([DueWork()]).ok
    (train,) = w.driver().ledger.open().assets["train"].iterations
    (reading,) = w.engine.data("model")
    assert reading.order.pins["train"].iteration == train.name


@pytest.mark.parametrize(("name", "moment"), [("train", "written"), ("test", "write")])
def test_whoever_publishes_the_missing_one_it_is_the_same_run(name, moment):
    w = world()
    dying(w, moment, name)
    (result, *_) = w.driver().run_works([DueWork()]).runs
    assert result.adopted == "a-1"
    assert known(w) == {"train": ["a-1"], "test": ["a-1"], "a": []}
    state = w.driver().ledger.open()
    train, test = (state.assets[each].iterations[0] for each in BOTH)
    assert (train.name.split(".")[0], train.name != test.name) == (test.name.split(".")[0], True)


def test_one_of_a_partition_takes_the_place_of_that_partition_alone():
    w = world(by="day", strategy=EveryInstance(), schedule=None)
    w.tell("s", "2025-01-02")
    assert w.driver().run_works([DueWork()]).ok
    state = w.driver().ledger.open()
    assert [len(visible_iterations(state.assets[name].iterations)) for name in BOTH] == [2, 2]


def published(w: World) -> list[str]:
    """The runs of three iterations, of which the oldest is gone."""
    for _ in range(2):
        w.tell("s")
        assert w.driver().run_works([DueWork()]).ok
    return known(w)["train"]


def back(w: World, run: str):
    return w.driver().run_works([RollbackWork(w.project.assets["a"], run)])


def shown(w: World) -> list[list[str]]:
    """The runs that readers of each outlet see."""
    assets = w.driver().ledger.open().assets
    return [[each.run for each in visible_iterations(assets[name].iterations)] for name in BOTH]


def test_all_outlets_go_back_together_and_what_reads_one_runs():
    w = world()
    older, newer = published(w)
    (result,) = back(w, older).runs
    assert (result.asset, result.status, result.request.restores) == ("a", "success", older)
    assert shown(w) == [[older], [older]]
    state = w.driver().ledger.open()
    assert {name: state.datasets[name].seq > 0 for name in BOTH} == dict.fromkeys(BOTH, True)
    assert [run.asset for run in w.driver().run_works([DueWork()]).runs] == ["model"]
    assert decode(encode(state), journal_id=state.journal_id) == state
    (again,) = back(w, newer).runs
    assert (again.status, shown(w)) == ("success", [[newer], [newer]])


@pytest.mark.parametrize(("name", "moment"), [("train", "write"), ("train", "written"), ("test", "write")])
def test_a_rollback_that_was_killed_is_completed_in_all(name, moment):
    w = world()
    older, _ = published(w)
    dying(w, moment, name, work=RollbackWork(w.project.assets["a"], older))
    assert w.driver().run_works([DueWork()]).ok
    assert shown(w) == [[older], [older]]
    assert w.driver().run_works([DueWork()]).runs == ()


def test_what_is_not_in_every_outlet_is_refused():
    w = world()
    older, newer = published(w)
    context = PlanningContext(w.project, w.driver().ledger.open(), 0, 0)
    (wait,) = plan_rollback(context, w.project.assets["a"], newer).waiting
    assert wait.reason == f"{newer} is already the newest iteration"
    gone = replace(context.state.assets["test"], iterations=())
    state = replace(context.state, assets={**context.state.assets, "test": gone})
    with pytest.raises(InputError, match=f"asset 'test' has no iteration of run '{older}'; it has none yet"):
        plan_rollback(PlanningContext(w.project, state, 0, 0), w.project.assets["a"], older)
