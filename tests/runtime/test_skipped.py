"""A run whose code has nothing to do ends as skipped: nothing is written or announced, and its trigger is used up."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.results import Summary
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter
from sparkassets.core.strategies import EveryInstance, LatestOnly, SegmentBatches
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import RunSkipped
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import BackfillWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, days, multi, project, source, timed
from tests.runtime.fakes import World, dying, raising

BOTH = days("2025-01-01..2025-01-02")
REASON = "the bureau published nothing"


def world(*assets: AssetSpec, by: str | None = "day") -> World:
    return World(project(source("s", by=by), *assets), MemoryStore())


def skipping(w: World, name: str) -> None:
    w.engine.hooks[name, "compute"] = raising(RunSkipped(REASON))


def run(w: World) -> Summary:
    return w.driver().run_works([DueWork()])


def ended(summary: Summary) -> list[tuple[str, str, str]]:
    return [(result.asset, result.status, result.skipped) for result in summary.runs]


def state(w: World, name: str):
    return w.driver().ledger.open().assets[name]


def planned(w: World) -> Plan:
    driver = w.driver()
    driver.ledger.open()
    return make_plan(driver._context(DueWork(), driver.ledger.state))


def test_a_skipped_run_is_no_failure_no_event_and_is_not_tried_again():
    w = world(asset("a", "s", by=None, retries=3), asset("b", "a", by=None), by=None)
    skipping(w, "a")
    w.tell("s")
    summary = run(w)
    assert ended(summary) == [("a", "skipped", REASON)]
    assert (summary.ok, summary.runs[0].attempts, summary.failures) == (True, 1, ())
    assert w.engine.data("a") == []
    assert run(w).runs == ()
    known = state(w, "a")
    assert (known.chain, known.failed, known.last, known.last_skip.reason) == ((), (), None, REASON)
    assert [(each.status, each.skipped) for each in w.opened().history.runs(asset="a")] == [("skipped", REASON)]
    explanation = repr(w.opened().explain("a"))
    assert re.search(f"skipped last in a-1 at [^ ]+: {REASON}\n.*never succeeded", explanation)
    w.engine.hooks.clear()
    w.tell("s")
    assert ended(run(w)) == [("a", "success", ""), ("b", "success", "")]
    assert state(w, "a").last_skip is None


@pytest.mark.parametrize("moment", ["prepare", "write"])
def test_a_run_may_be_skipped_as_long_as_nothing_of_it_is_in_an_outlet(moment):
    """What writes its target itself runs when it is to be written."""
    w = world(*multi(asset("m", "s", by=None, retries=0), "x", "y"), by=None)
    w.engine.hooks["x", moment] = raising(RunSkipped(REASON))
    w.tell("s")
    assert ended(run(w)) == [("m", "skipped", REASON)]
    assert state(w, "m").chain == ()
    assert run(w).runs == ()


def test_partitions_that_are_not_there_rest_until_there_is_a_new_cause():
    w = world(asset("a", "s"), asset("b", "a"), asset("r", "a", by=None))
    skipping(w, "a")
    w.tell("s", "2025-01-01..2025-01-02")
    assert ended(run(w)) == [("a", "skipped", REASON)]
    assert run(w).runs == ()
    said = {(item.asset, item.reason) for item in planned(w).waiting}
    assert ("a", f"skipped by a-1: {REASON}") in said
    assert ("b", "not wanted: its input is skipped in a") in said
    status = next(each for each in w.opened().status() if each.asset == "a")
    assert (status.skipped, status.withheld, status.withheld_runs) == (2, 0, ())
    assert f"skipped 2025-01-01..2025-01-02 by a-1: {REASON}" in repr(w.opened().explain("a"))
    w.engine.hooks.clear()
    w.tell("s", "2025-01-02")
    runs = {each.asset: each for each in run(w).runs}
    assert {name: each.partitions for name, each in runs.items()} == {
        "a": days("2025-01-02"),
        "b": days("2025-01-02"),
        "r": EVERYTHING,
    }
    assert runs["a"].reason == "1 partition missing, 1 skipped before"


def test_partitions_that_are_there_count_as_current_with_the_rows_that_they_have():
    w = world(asset("a", "s"), asset("b", "a"))
    w.tell("s", "2025-01-01..2025-01-02")
    run(w)
    skipping(w, "a")
    w.tell("s", "2025-01-01")
    assert ended(run(w)) == [("a", "skipped", REASON)]
    assert run(w).runs == ()
    assert state(w, "a").coverage == BOTH
    assert not state(w, "a").stale
    status = next(each for each in w.opened().status() if each.asset == "a")
    assert (status.current, status.skipped) == (2, 0)


@pytest.mark.parametrize("text", ["@once", "@continuous", "@daily"])
def test_a_tick_is_used_up(text):
    w = world(asset("a", by=None, schedule=timed(text)), by=None)
    skipping(w, "a")
    assert ended(run(w)) == [("a", "skipped", REASON)]
    assert len(run(w).runs) == (text == "@continuous")


def test_a_tick_of_segments_is_used_up():
    segments = {"k": ["x", "y"]}
    made = asset("a", by=None, segments=segments, schedule=timed("@daily"), strategy=SegmentBatches())
    w = world(made, by=None)
    run(w)
    skipping(w, "a")
    w.clock.instant += timedelta(days=1)
    assert ended(run(w)) == [("a", "skipped", REASON)]
    assert run(w).runs == ()
    w.engine.hooks.clear()
    w.clock.instant += timedelta(days=1)
    assert ended(run(w)) == [("a", "success", "")]


def test_no_row_is_passed_over_and_instances_stand_for_themselves():
    inlet = InletSpec("s", "", None, read=ReadAfter("n"))
    w = world(asset("a", inlet, by=None, strategy=LatestOnly(), write=AppendWrite()), by=None)
    skipping(w, "a")
    w.engine.measures["a"] = {"watermarks": {"s": "9"}}
    w.tell("s")
    assert ended(run(w)) == [("a", "skipped", REASON)]
    assert state(w, "a").watermarks == {}
    w = world(asset("a", "s", by=None, strategy=EveryInstance(), write=AppendWrite()), by=None)
    skipping(w, "a")
    for _ in range(3):
        w.tell("s")
    assert [status for _, status, _ in ended(run(w))] == ["skipped"] * 3
    assert run(w).runs == ()
    assert state(w, "a").withheld == ()


def test_a_backfill_ends_although_its_runs_are_skipped():
    w = world(asset("a", "s"))
    w.tell("s", "2025-01-01..2025-01-02")
    run(w)
    skipping(w, "a")
    driver = w.driver()
    assert ended(driver.run_works([BackfillWork(w.project.assets["a"], BOTH, force=True)])) == [
        ("a", "skipped", REASON)
    ]
    assert not state(w, "a").redo_requests
    assert run(w).runs == ()


@pytest.mark.parametrize(("moment", "status"), [("compute", "skipped"), ("write", "skipped"), ("written", "success")])
def test_what_a_dead_driver_left_is_settled_before_a_run_may_be_skipped(moment, status):
    w = world(asset("a", "s", by=None), by=None)
    w.tell("s")
    run(w)
    w.tell("s")
    dying(w, moment)
    skipping(w, "a")
    assert [each for _, each, _ in ended(run(w))] == [status]
    assert len(w.engine.data("a")) == 1 + (moment == "written")
    assert state(w, "a").chain == ()
    assert run(w).runs == ()


def test_a_run_that_is_in_one_outlet_already_cannot_be_skipped():
    w = world(*multi(asset("m", "s", by=None, retries=0), "x", "y"), by=None)
    w.tell("s")
    dying(w, "write", "y")
    skipping(w, "m")
    (result,) = run(w).runs
    assert (result.status, REASON in result.error) == ("failed", True)
    w.engine.hooks.clear()
    assert [result.status for result in run(w).runs] == ["success"]


def test_the_journal_tells_skipped_runs_as_they_were():
    w = world(asset("a", "s"))
    skipping(w, "a")
    w.tell("s", "2025-01-01..2025-01-02")
    run(w)
    known = w.driver().ledger.open()
    assert decode(encode(known), journal_id=known.journal_id).assets["a"] == known.assets["a"]
