"""Publishing with a driver: what is recorded, removed and rolled back, whoever dies when."""

from dataclasses import replace

import pytest

from sparkassets.core.planner.batch.iterations import plan_rollback, retire_iterations
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.strategies import FullRefresh
from sparkassets.core.writes import PublishWrite
from sparkassets.errors import InputError
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.iterations import iteration_order_fields
from sparkassets.runtime.requested_works import RollbackWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
def world():
    model = asset("model", "s", by=None, schedule="s", write=PublishWrite(2), strategy=FullRefresh(), retries=0)
    scores = asset("scores", "model", by=None, schedule="model")
    return World(project(source("s", by=None), model, scores), MemoryStore())


def publish(world, times=1):
    """The summaries of as many ticks, each with news; the runs of `model`."""
    runs = []
    for _ in range(times):
        world.tell("s")
        summary = world.driver().run_works([DueWork()])
        assert summary.ok
        runs += [each.run for each in summary.runs if each.asset == "model"]
    return runs


def iterations(world):
    driver = world.driver()
    return driver.ledger.open().assets["model"]


def test_each_run_is_recorded_as_an_iteration_and_older_ones_are_removed_after_that(world):
    first, second, third = publish(world, 3)
    known = iterations(world)
    assert [each.run for each in known.iterations] == [second, third]
    assert [each.name.rpartition(".")[2] for each in known.iterations] == ["1", "1"]
    name, kept, unsettled, tokens = world.engine.removals[-1]
    assert (name, kept, unsettled) == ("model", sorted(each.name for each in known.iterations), [])
    assert tokens == range(known.newest_token + 1)
    assert first not in {each.run for each in known.iterations}


def test_the_event_says_where_it_is(world):
    (run,) = publish(world)
    dataset = world.driver().ledger.open().datasets["model"]
    extra = list(dataset.recent)[-1].extra
    assert (extra["key"], extra["run"]) == (run, run)
    assert extra["path"].startswith("/data/model/_iterations/")
    assert extra["path"].endswith(".1/rows")


def test_readers_pin_the_iteration_that_is_the_newest(world):
    publish(world)
    (name,) = {each.name for each in iterations(world).iterations}
    (read,) = [commit.order.pins["model"] for commit in world.engine.data("scores")]
    assert read.iteration == name


def test_a_rollback_runs_what_reads_it_and_nothing_else(world):
    first, second = publish(world, 2)
    summary = world.driver().run_works([RollbackWork(world.project.assets["model"], first)])
    (result,) = summary.runs
    assert (result.status, result.request.restores) == ("success", first)
    shown = {each.run: each.shown for each in iterations(world).iterations}
    assert shown[first][-1] > shown[second][-1]
    assert [each.asset for each in world.driver().run_works([DueWork()]).runs] == ["scores"]
    assert world.driver().run_works([DueWork()]).runs == ()


@pytest.mark.parametrize("moment", ["write", "written"])
def test_a_rollback_that_was_killed_is_completed_by_the_next_driver(world, moment):
    first, _ = publish(world, 2)
    kill(world, moment, [RollbackWork(world.project.assets["model"], first)])
    assert retire_iterations(iterations_state(world), "model", keep=1) is None  # it is about to be the newest
    summary = world.driver().run_works([DueWork()])
    assert summary.ok
    state = iterations(world)
    assert state.chain == ()
    assert max(state.iterations, key=lambda each: each.shown[-1]).run == first
    assert len(world.engine.data("model")) == 3


@pytest.mark.parametrize("moment", ["compute", "write", "written"])
def test_a_run_that_was_killed_is_an_iteration_once(world, moment):
    publish(world)
    world.tell("s")
    kill(world, moment, [DueWork()])
    assert world.driver().run_works([DueWork()]).ok
    state = iterations(world)
    assert len(state.iterations) == 2
    assert [each.shown for each in state.iterations] == [(each.version,) for each in state.iterations]
    assert {each.version for each in state.iterations} == {
        version for version, commit in enumerate(world.engine.tables["model"]) if commit.stamp.kind == "data"
    }


def test_a_rollback_that_failed_says_nothing_about_the_asset(world):
    first, _ = publish(world, 2)

    def fail(_):
        raise RuntimeError("read-only")

    world.engine.hooks["model", "write"] = fail
    summary = world.driver().run_works([RollbackWork(world.project.assets["model"], first)])
    assert [each.status for each in summary.runs] == ["failed"]
    del world.engine.hooks["model", "write"]
    assert iterations(world).failed == ()
    assert world.driver().run_works([DueWork()]).runs == ()


def test_what_cannot_be_removed_disturbs_nobody(world):
    def fail(_):
        raise OSError("read-only file system")

    world.engine.hooks["model", "remove"] = fail
    assert len(publish(world, 4)) == 4
    assert len(iterations(world).iterations) == 2


def test_what_is_not_there_any_more_is_refused_with_what_is(world):
    first, second, third = publish(world, 3)
    expected = rf"^asset 'model' has no iteration of run '{first}'; its iterations are {third} and "
    with pytest.raises(InputError, match=expected):
        world.driver().run_works([RollbackWork(world.project.assets["model"], first)])
    assert second in {each.run for each in iterations(world).iterations}


def test_beside_a_run_that_lives_there_is_no_rollback(world):
    first, _ = publish(world, 2)
    world.tell("s")
    kill(world, "write", [DueWork()])
    world.alive = True
    state = world.driver().ledger.open()
    at = PlanningContext(world.project, state, 1_740_000_000, 1_740_000_000)
    plan = plan_rollback(at, world.project.assets["model"], first)
    assert plan.runs == ()
    assert plan.waiting[0].reason.startswith("running: model-")


def test_a_rollback_to_what_was_lost_meanwhile_computes_nothing(world):
    first, _ = publish(world, 2)
    kill(world, "write", [RollbackWork(world.project.assets["model"], first)])
    state = world.driver().ledger.open()
    known = replace(state.assets["model"], iterations=())
    lost = replace(state, assets={**state.assets, "model": known})
    request = known.chain[-1].entry.request
    assert iteration_order_fields(world.project.assets["model"], lost, request) == {
        "restores": first,
        "keeps_newest_iteration": False,
    }


def iterations_state(world):
    return world.driver().ledger.open()


def kill(world, moment, works):
    """The driver's process ends at that moment of a run of `model`."""
    store, hooks = world.store, world.engine.hooks

    class Gone:
        def __getattr__(self, name):
            raise Killed

    def die(_):
        hooks.clear()
        driver.ledger._store = Gone()
        raise Killed

    hooks["model", moment] = die
    driver = world.driver()
    with pytest.raises(Killed):
        driver.run_works(works)
    world.store = store
