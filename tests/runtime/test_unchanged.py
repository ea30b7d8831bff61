"""What a driver records, and runs next, where a run came out as it was."""

from dataclasses import replace

from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, days, multi, project, source
from tests.runtime.fakes import World, raising

BOTH = days("2025-01-01..2025-01-02")


def world(*assets: AssetSpec) -> World:
    """All have computed two days, which are to be computed again; by default of `a`, which `b` reads."""
    known = assets or skipping(asset("a", "s"), asset("b", "a"), asset("r", "b", by=None))
    w = World(project(source("s"), *known), MemoryStore())
    w.tell("s", "2025-01-01..2025-01-02")
    w.driver().run_works([DueWork()])
    w.tell("s", "2025-01-01..2025-01-02")
    return w


def skipping(*assets: AssetSpec) -> tuple[AssetSpec, ...]:
    """The same with `unchanged: skip`."""
    return tuple(replace(each, unchanged="skip") for each in assets)


def ran(w: World) -> list[tuple[str, object, object]]:
    """The runs of one invocation: the asset, its partitions, and those of them that came out as they were."""
    summary = w.driver().run_works([DueWork()])
    assert w.driver().run_works([DueWork()]).runs == (), "idle"
    return [(result.asset, result.partitions, result.unchanged) for result in summary.runs]


def test_where_nothing_changed_nothing_follows():
    w = world()
    w.engine.same["a"] = BOTH
    assert ran(w) == [("a", BOTH, BOTH)]


def test_by_default_every_success_is_an_update():
    w = world(asset("a", "s"), asset("b", "a"))
    w.engine.same["a"] = BOTH
    assert ran(w) == [("a", BOTH, NOTHING), ("b", BOTH, NOTHING)]


def test_only_what_changed_is_followed():
    w = world()
    w.engine.same["a"], w.engine.same["b"] = days("2025-01-01"), days("2025-01-02")
    assert ran(w) == [("a", BOTH, days("2025-01-01")), ("b", days("2025-01-02"), days("2025-01-02"))]


def test_of_several_outlets_all_must_be_as_they_were():
    made = skipping(*multi(asset("split", "s"), "a", "other"))
    w = world(*made, asset("b", "a"), asset("c", "other"))
    w.engine.same["a"], w.engine.same["other"] = BOTH, days("2025-01-02", "2025-01-05")
    assert ran(w) == [("split", BOTH, days("2025-01-02")), ("c", days("2025-01-01"), NOTHING)]


def test_what_cannot_be_compared_is_news():
    w = world()
    w.engine.same["a"] = BOTH
    w.engine.hooks["a", "compared"] = raising(RunError("the files are gone"))
    assert [name for name, _, _ in ran(w)] == ["a", "b", "r"]


def test_what_was_never_there_is_news_whatever_is_found():
    w = World(project(source("s"), *skipping(asset("a", "s"), asset("r", "a", by=None))), MemoryStore())
    w.engine.same |= {"a": BOTH, "r": EVERYTHING}
    w.tell("s", "2025-01-01..2025-01-02")
    assert ran(w) == [("a", BOTH, NOTHING), ("r", EVERYTHING, NOTHING)]
