"""Outlets whose segments come to be known: what came out of any of them is known of the run, and of all of them."""

import pytest

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.known_segments import with_known_segments
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, multi, project, source
from tests.runtime.fakes import World, dying

RUNTIME = {"customer": "runtime"}
BOTH = ("left", "right")


def world() -> World:
    made = multi(asset("a", "s", by=None, segments=RUNTIME, retries=0), *BOTH)
    w = World(project(source("s"), *made, asset("each", "right", by=None, segments=RUNTIME)), MemoryStore())
    w.engine.segments = {"customer": ["x", "y"]}
    return w


def known(w: World) -> dict[str, tuple[str, ...]]:
    assets = with_known_segments(w.project, w.driver().ledger.open()).assets
    return {name: assets[name].partitioning.segments[0].keys for name in ("a", *BOTH, "each")}


def computed(w: World, name: str) -> list[list[str]]:
    return [commit.order.asset.partitioning.labels(commit.order.partitions) for commit in w.engine.data(name)]


def test_what_came_out_is_known_of_all_and_read_by_key():
    w = world()
    w.tell("s", "2025-01-01")
    assert w.driver().run_works([DueWork()]).ok
    assert [computed(w, name) for name in (*BOTH, "each")] == [[["*"]], [["*"]], [["x", "y"]]]
    assert set(known(w).values()) == {("x", "y")}
    state = w.driver().ledger.open()
    assert {name: state.dataset(name).coverage for name in BOTH} == dict.fromkeys(BOTH, state.assets["a"].coverage)
    assert decode(encode(state), journal_id=state.journal_id) == state
    assert w.driver().run_works([DueWork()]).runs == ()


def test_what_a_run_of_some_adds_is_computed_next_in_all():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    w.engine.measures["a"] = {"keys": {"customer": ["z"]}}
    w.tell("s", "2025-01-02")
    assert w.driver().run_works([DueWork()]).ok
    assert [computed(w, name) for name in BOTH] == [[["*"], ["x", "y"], ["z"]]] * 2
    assert set(known(w).values()) == {("x", "y", "z")}


@pytest.mark.parametrize("moment", ["written", "segments"])
@pytest.mark.parametrize("name", BOTH)
def test_the_next_driver_records_what_came_out_of_a_run_that_died(name, moment):
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, moment, name)
    summary = w.driver().run_works([DueWork()])
    assert summary.ok
    assert summary.runs[0].adopted is not None
    assert set(known(w).values()) == {("x", "y")}
    assert w.driver().run_works([DueWork()]).runs == ()
