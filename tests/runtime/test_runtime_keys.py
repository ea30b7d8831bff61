"""Runs of segments that come to be known: what comes out of a run of all is recorded with it, also by who finds it."""

from itertools import count

import pytest

from sparkassets.core.journal.learned import knowing
from sparkassets.core.partitions import Partitioning, PartitionSet, SegmentPartition
from sparkassets.core.partitions.plain import parts_to
from sparkassets.errors import RunError
from sparkassets.ports import NewSegmentsError
from sparkassets.runtime.work import Tick
from sparkassets.state.memory import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World, dying, raising, raising_once

RUNTIME = {"customer": "runtime"}


def world() -> World:
    """A whole of which customers come out, and what is computed of each."""
    model = asset("a", "s", by=None, segments=RUNTIME, retries=0)
    w = World(project(source("s"), model, asset("each", "a", by=None, segments=RUNTIME)), MemoryStore())
    w.engine.segments = {"customer": ["x", "y"]}
    return w


def known(w: World, name: str) -> tuple[str, ...]:
    driver = w.driver()
    return knowing(w.project, driver.ledger.open()).assets[name].partitioning.segments[0].keys


def computed(w: World, name: str) -> list[list[str]]:
    return [commit.order.asset.partitioning.labels(commit.order.blocks) for commit in w.engine.data(name)]


def test_what_came_out_is_known_and_read_by_key():
    w = world()
    w.tell("s", "2025-01-01")
    assert w.driver().run([Tick()]).ok
    assert (computed(w, "a"), computed(w, "each")) == ([["*"]], [["x", "y"]])
    assert known(w, "a") == known(w, "each") == ("x", "y")
    assert w.driver().run([Tick()]).runs == ()


def test_what_a_run_of_some_adds_is_computed_next():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run([Tick()])
    w.engine.measures["a"] = {"keys": {"customer": ["z"]}}
    w.tell("s", "2025-01-02")
    assert w.driver().run([Tick()]).ok
    assert computed(w, "a") == [["*"], ["x", "y"], ["z"]]


def finding(*keys: str) -> dict[str, object]:
    """What a run measures whose function adds these, all of which may have rows."""
    found = Partitioning(None, (SegmentPartition("customer", (), is_open=True),))
    parts = PartitionSet.union(found.parse(key, recorded=True) for key in keys)
    return {"keys": {"customer": list(keys)}, "found": parts_to(parts)}


def test_what_a_run_of_some_adds_with_rows_is_computed_by_it():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run([Tick()])
    w.engine.measures["a"], w.engine.segments = finding("z"), {"customer": ["z"]}
    w.tell("s", "2025-01-02")
    summary = w.driver().run([Tick()])
    assert (known(w, "a"), known(w, "each")) == (("x", "y", "z"), ("x", "y", "z"))
    assert (computed(w, "a"), computed(w, "each")) == ([["*"], ["x", "y"]], [["x", "y"], ["x", "y", "z"]])
    assert [w.project.assets["a"].partitioning.labels(run.blocks) for run in summary.runs] == [["x", "y", "z"]] * 2


def test_what_came_while_a_run_computed_what_nobody_knew_makes_that_stale():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run([Tick()])
    w.engine.measures["a"], w.engine.segments = finding("z"), {"customer": ["z"]}
    w.tell("s", "2025-01-02")
    told = iter([lambda: w.tell("s", "2025-01-03")])
    w.engine.hooks["a", "write"] = lambda _: next(told, lambda: None)()
    assert w.driver().run([Tick()]).ok
    assert computed(w, "a") == [["*"], ["x", "y"], ["x", "y", "z"]]


@pytest.mark.parametrize("moment", ["write", "written", "segments"])
def test_the_next_driver_records_what_nobody_knew_of_a_run_that_died(moment):
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run([Tick()])
    w.engine.measures["a"], w.engine.segments = finding("z"), {"customer": ["z"]}
    w.tell("s", "2025-01-02")
    dying(w, moment)
    assert w.driver().run([Tick()]).ok
    assert (computed(w, "a"), known(w, "a")) == ([["*"], ["x", "y"]], ("x", "y", "z"))


def test_rows_of_what_nobody_knew_have_the_run_done_with_them_and_that_is_no_retry():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run([Tick()])
    unknown = NewSegmentsError("rows outside", keys={"customer": ("z",)})
    w.engine.hooks["a", "write"] = raising_once(unknown)
    w.tell("s", "2025-01-02")
    assert w.driver().run([Tick()]).ok
    assert computed(w, "a") == [["*"], ["x", "y", "z"]]


def test_a_function_that_makes_up_segments_fails_in_the_end():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run([Tick()])
    made_up = count()

    def another(_: object) -> None:
        raise NewSegmentsError("rows outside", keys={"customer": (f"z{next(made_up)}",)})

    w.engine.hooks["a", "write"] = another
    w.tell("s", "2025-01-02")
    (result,) = (run for run in w.driver().run([Tick()]).runs if run.asset == "a")
    assert (result.status, result.error, next(made_up)) == ("failed", "rows outside", 4)


def test_what_a_run_of_all_adds_is_computed_by_it():
    w = world()
    w.engine.segments = {}
    w.engine.measures["a"] = {"keys": {"customer": ["z"]}}
    w.tell("s", "2025-01-01")
    assert w.driver().run([Tick()]).ok
    assert (computed(w, "a"), known(w, "a")) == ([["*"]], ("z",))


@pytest.mark.parametrize("moment", ["compute", "write", "written", "segments"])
def test_the_next_driver_records_what_came_out_of_a_run_that_died(moment):
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, moment)
    summary = w.driver().run([Tick()])
    assert summary.ok
    assert (summary.runs[0].adopted is not None) == (moment in ("written", "segments"))
    assert (computed(w, "a"), known(w, "a")) == ([["*"]], ("x", "y"))


def test_what_cannot_be_read_yet_is_read_by_the_next_claim():
    w = world()
    w.engine.hooks["a", "segments"] = raising_once(RunError("out of reach"))
    w.tell("s", "2025-01-01")
    assert not w.driver().run([Tick()]).ok
    assert w.driver().run([Tick()]).ok
    assert (computed(w, "a"), known(w, "a")) == ([["*"]], ("x", "y"))


def test_a_failed_run_makes_nothing_known():
    w = world()
    w.engine.hooks["a", "write"] = raising(RunError("boom"))
    w.engine.measures["a"] = {"keys": {"customer": ["z"]}}
    w.tell("s", "2025-01-01")
    assert not w.driver().run([Tick()]).ok
    assert known(w, "a") == ("\x00",)
