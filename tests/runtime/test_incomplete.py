"""A run that is in some of its outlets, and what it read is gone: the next one says so, and how to go on."""

from dataclasses import replace

import pytest

from sparkassets.core.spec.model import SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import RunError
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, at, multi, project, source
from tests.runtime.fakes import World, dying

DAY = "2025-01-01"
KEY = str(at(DAY))


def files(kind: str):
    path = "/data/s/{day:%Y-%m-%d}.csv"
    return replace(source("s"), source=SourceSpec(kind), storage=StorageLocation(path, path))


def gone(text: str):
    """Fails what is computed for the run that died."""

    def hook(order):
        if order is not None and order.run == "m-1":
            raise RunError(text)

    return hook


def half(*, kind: str = "delta", **more) -> World:
    """A world whose run is in ``train`` and not in ``test``."""
    landing = files(kind)
    multi_asset, *outlets = multi(asset("m", "s", retries=0, **more), "train", "test")
    w = World(project(landing, multi_asset, *outlets), MemoryStore())
    w.tell("s", DAY, cursor={KEY: "first"})
    dying(w, "write", table="test")
    assert [len(w.engine.data(name)) for name in ("train", "test")] == [1, 0]
    return w


def run(w: World):
    return w.driver().run_works([DueWork()])


def mark(w: World, kind: str):
    return w.opened().assets.mark("m", kind, DAY, reason="it is gone")


def test_it_is_completed_where_what_it_read_is_there():
    w = half(kind="csv")
    (completed,) = run(w).runs
    assert (completed.status, completed.adopted) == ("success", "m-1")
    assert [len(w.engine.data(name)) for name in ("train", "test")] == [1, 1]


@pytest.mark.parametrize(("kind", "rows"), [("missing", [2, 1]), ("done", [1, 0])])
def test_what_cannot_be_completed_a_person_has_done_with(kind, rows):
    w = half()
    w.engine.hooks["m", "compute"] = gone("m: version 3 of s was vacuumed")
    for _ in range(2):
        (failed,) = run(w).runs
        assert failed.error == (
            "m: m-1 committed only to train; the rest is written from the same inputs: m: version 3 of s was vacuumed"
        )
        assert failed.hint == (
            f"the next run tries again; if its inputs are gone for good, `sparkassets mark m --partition {DAY} "
            "--missing --reason …` recomputes all of it, and `--done` keeps the table as it is"
        )
    del w.engine.hooks["m", "compute"]
    assert mark(w, kind).settled == ("m-1",)
    assert run(w).ok
    assert [len(w.engine.data(name)) for name in ("train", "test")] == rows
    assert run(w).runs == ()


def test_what_may_be_there_again_is_tried_again():
    w = half()
    w.engine.hooks["m", "compute"] = gone("out of reach")
    assert not run(w).ok
    del w.engine.hooks["m", "compute"]
    (completed,) = run(w).runs
    assert completed.adopted == "m-1"
    assert [len(w.engine.data(name)) for name in ("train", "test")] == [1, 1]


def test_what_was_appended_is_deleted_first():
    w = half(write=AppendWrite(), strategy=EveryInstance())
    w.engine.hooks["m", "compute"] = gone("it is gone")
    assert "delete the rows of m-1, then `sparkassets mark m" in run(w).runs[0].hint


def test_other_files_are_not_what_it_read():
    """They would be half of what one outlet was made of and half of what the other was."""
    w = half(kind="csv")
    w.tell("s", DAY, cursor={KEY: "second"})
    (failed,) = run(w).runs
    assert failed.error.endswith("the files of s changed since m-1 read them")
    assert mark(w, "missing").settled == ("m-1",)
    (again,) = run(w).runs
    assert (again.status, again.adopted) == ("success", None)
    orders = [commit.order for name in ("train", "test") for commit in w.engine.data(name)[-1:]]
    assert {each.pins["s"].files for each in orders} == {orders[0].pins["s"].files}


def test_a_run_over_files_that_left_nothing_is_planned_anew():
    landing = files("csv")
    w = World(project(landing, asset("a", "s", retries=0)), MemoryStore())
    w.tell("s", DAY, cursor={KEY: "first"})
    dying(w, "compute")
    w.tell("s", DAY, cursor={KEY: "second"})
    assert run(w).ok
    (commit,) = w.engine.data("a")
    assert commit.order.files == {"s": {KEY: "second"}}
    assert commit.order.changed_file_inlets == ()
