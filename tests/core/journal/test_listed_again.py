"""Segments that leave the list of an asset and come back: what happened to its inlets meanwhile is not missed."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.planner.batch.backfill import plan_backfill
from sparkassets.core.spec.model import AssetSpec, InletSpec, OnRemoved, OnUpdate
from tests.builders import Story, asset, project, source

DAYS = ("2025-01-01", "2025-01-02")
REGIONS = ("de", "nl", "us")


def by_day(
    regions: Sequence[str], *, on_update: OnUpdate = "rerun", on_removed: OnRemoved = "rerun"
) -> tuple[AssetSpec, AssetSpec]:
    """A source by day and what is computed from it by day and region."""
    inlet = InletSpec("up", "", None, on_update=on_update, on_removed=on_removed)
    return source("up", by="day"), asset("out", inlet, by="day", segments={"region": regions})


def by_model(models: Sequence[str]) -> tuple[AssetSpec, AssetSpec]:
    """A source by day and region and what is computed from it by model too."""
    regions = ["de", "nl"]
    up = source("up", by="day", segments={"region": regions})
    return up, asset("out", "up", by="day", segments={"region": regions, "model": models})


def test_what_its_inlet_was_told_meanwhile_makes_it_stale():
    story = Story(project(*by_day(["de", "nl"])))
    story.observed("up", "2025-01-01")
    story.run_all()
    story.change(*by_day(["nl"]))
    story.observed("up", "2025-01-01")
    assert story.due() == {"out": ["2025-01-01,nl"]}
    story.run_all()
    story.change(*by_day(["de", "nl"]))
    assert story.due() == {"out": ["2025-01-01,de"]}
    assert story.run("out").reason == "1 stale: up changed"
    assert story.due() == {}


def test_a_dimension_that_its_inlet_does_not_have():
    story = Story(project(*by_model(["a", "b"])))
    story.observed("up", "2025-01-01,nl")
    story.run_all()
    story.change(*by_model(["a"]))
    story.observed("up", "2025-01-01,nl")
    story.run_all()
    story.change(*by_model(["a", "b"]))
    assert story.due() == {"out": ["2025-01-01,nl,b"]}


def test_a_run_that_was_under_way_when_it_left():
    story = Story(project(*by_day(["de", "nl"])))
    story.observed("up", "2025-01-01")
    claim = story.claim(story.plan().runs[0])
    story.change(*by_day(["nl"]))
    story.observed("up", "2025-01-01")
    story.change(*by_day(["de", "nl"]))
    story.succeed("out", claim)
    assert story.due() == {"out": ["2025-01-01,de", "2025-01-01,nl"]}


def test_an_inlet_whose_updates_are_ignored():
    story = Story(project(*by_day(["de", "nl"], on_update="ignore")))
    story.observed("up", "2025-01-01")
    out = story.project.assets["out"]
    (run,) = plan_backfill(story.context(), out, out.partitioning.parse("2025-01-01"), force=False).runs
    story.succeed("out", story.claim(run))
    for regions in (["nl"], ["de", "nl"]):
        story.change(*by_day(regions, on_update="ignore"))
        story.observed("up", "2025-01-01")
    there = out.partitioning.labels(story.state.assets["out"].coverage)
    assert there == ["2025-01-01,nl"], "nothing could make it stale, so it is missing"


def test_what_keeps_its_rows_keeps_them():
    story = Story(project(*by_day(["de", "nl"], on_removed="keep")))
    story.observed("up", *DAYS)
    story.run_all()
    story.change(*by_day(["nl"], on_removed="keep"))
    removed = story.project.assets["up"].partitioning.parse("2025-01-01")
    story.observed("up", removed=removed)
    story.change(*by_day(["de", "nl"], on_removed="keep"))
    assert story.due() == {"out": ["2025-01-02,de"]}
    kept = story.state.assets["out"].kept["up"].stamped_partitions()
    assert story.keys("out", kept) == ["2025-01-01,de", "2025-01-01,nl"]


happenings = st.one_of(
    st.tuples(st.just("list"), st.sets(st.sampled_from(REGIONS), min_size=1)),
    st.tuples(st.just("observe"), st.sampled_from(DAYS)),
    st.tuples(st.just("run"), st.just("")),
)


@given(st.lists(happenings, max_size=12))
def test_in_the_end_all_that_is_listed_is_computed_from_the_newest(drawn):
    story = Story(project(*by_day(REGIONS)))
    newest: dict[str, int] = {}
    computed: dict[str, int] = {}

    def run() -> None:
        for each in story.run_all():
            for key in story.project.assets["out"].partitioning.keys(each.partitions):
                computed[key] = story.state.seq

    for what, value in [*drawn, ("list", REGIONS)]:
        if what == "list":
            story.change(*by_day(sorted(value)))
        elif what == "observe":
            newest[value] = story.observed("up", value)
        else:
            run()
    assert decode(encode(story.state), journal_id="journal") == story.state
    run()
    assert set(computed) == {f"{day},{region}" for day in newest for region in REGIONS}
    assert all(newest[key.partition(",")[0]] < at for key, at in computed.items())
