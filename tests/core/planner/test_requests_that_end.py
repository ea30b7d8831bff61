"""Requests of backfills that nothing is left of, that a budget holds, and of which one run is not counted twice."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import SegmentEntry
from sparkassets.core.results import RunResult
from sparkassets.core.run_costs import InletVolume
from sparkassets.core.spec.asset_services import RunBudget
from sparkassets.core.strategies import DateRange, EveryInstance
from sparkassets.runtime.requested_works import BackfillWork
from tests.builders import Story, asset, project, source

RUNTIME = {"customer": "runtime"}


def customers(**more: object) -> Story:
    """Two customers, computed."""
    made = Story(project(source("s", by=None, segments=RUNTIME), asset("a", "s", by=None, segments=RUNTIME, **more)))
    made.observed("s", "x", "y")
    made.run_all()
    return made


def make_backfill(story: Story, keys: str, **more: object) -> BackfillWork:
    spec = story.context().asset("a")
    work = BackfillWork(spec, spec.partitioning.parse(keys), force=True, **more)  # type: ignore[arg-type]
    if entries := work.begin(story.context()):
        story.add(*entries)
    return work


def left(story: Story) -> list[list[str]]:
    return [story.keys("a", each.left) for each in story.state.assets["a"].redo_requests]


def removed(story: Story, *keys: str) -> None:
    story.add(SegmentEntry("s", "customer", removed=keys))


def test_the_last_segment_of_a_request_takes_it_along():
    story = customers()
    make_backfill(story, "y")
    assert left(story) == [["y"]]
    removed(story, "y")
    assert left(story) == []
    assert decode(encode(story.state), journal_id="journal") == story.state


def test_a_request_of_which_some_segments_are_left_stays():
    story = customers()
    make_backfill(story, "*")
    removed(story, "y")
    assert [run.kind for run in story.run_all()] == ["backfill"]
    assert left(story) == []


def test_a_segment_that_leaves_the_list_takes_its_request_along():
    source_of, two = source("s"), {"customer": ("x", "y")}
    story = Story(project(source_of, asset("a", "s", segments=two)), now="2025-01-03")
    story.observed("s", "2025-01-01")
    story.run_all()
    make_backfill(story, "2025-01-01,y")
    story.change(source_of, asset("a", "s", segments={"customer": ("x",)}))
    assert left(story) == []


def test_a_request_that_the_budget_holds_is_not_recorded():
    story = Story(project(source("s"), asset("a", "s", budget=RunBudget(bytes=25), strategy=DateRange())))
    story.observed("s", "2025-01-01..2025-01-04")
    story.run_all()
    spec = story.project.assets["a"]

    def weigh(_asset: object, pin: object, _state: object) -> InletVolume:
        return InletVolume(10 * spec.partitioning.count(pin.parts), 1)  # type: ignore[attr-defined]

    work = BackfillWork(spec, spec.partitioning.parse("2025-01-01..2025-01-03"), force=True)
    assert work.begin(story.context(estimate_volume=weigh)) == ()
    found = work.plan(story.context(estimate_volume=weigh))
    assert found.runs == ()
    assert [each.reason for each in found.waiting] == [
        "over budget: reads 30 B, budget 25 B; --over-budget runs it anyway"
    ]
    again = BackfillWork(spec, spec.partitioning.parse("2025-01-01..2025-01-03"), force=True)
    assert len(again.begin(story.context())) == 1
    few = BackfillWork(spec, spec.partitioning.parse("2025-01-01..2025-01-02"), force=True)
    assert len(few.begin(story.context(estimate_volume=weigh))) == 1


def test_a_run_that_may_still_land_counts_once():
    story = Story(project(source("s"), asset("a", "s", strategy=EveryInstance())), now="2025-01-09")
    story.observed("s", "2025-01-01..2025-01-04")
    story.run_all()
    work = make_backfill(story, "2025-01-01..2025-01-04", max_runs=3)
    first = work.plan(story.context(invocation="i")).runs[0]
    story.fail("a", story.claim(first), fenced=False)
    work.record_result(first, RunResult(first.request, run="r", status="failed", seconds=1.0))
    assert len(work.plan(story.context(invocation="i")).runs) == 2


def test_what_made_it_is_the_same_whoever_reads_the_state_back():
    """Also where a run of all segments ends after some came to be known: what is counted goes by values alone."""
    for through_the_snapshot in (False, True):
        model = asset("a", "s", segments=RUNTIME, strategy=DateRange())
        story = Story(project(source("s"), _defined(model)), now="2025-01-04")
        story.observed("s", "2025-01-01..2025-01-02")
        token = story.claim(story.plan().runs[0])
        story.add(SegmentEntry("a", "customer", ("x",)))
        if through_the_snapshot:
            story.state = decode(encode(story.state), journal_id="journal")
        story.succeed("a", token)
        state = story.state.assets["a"]
        assert state.coverage == state.definition_outputs[-1].partitions
        assert not state.coverage


def _defined(spec):
    from sparkassets.core.definitions import AssetDefinition

    return replace(spec, definition=AssetDefinition("d1"))
