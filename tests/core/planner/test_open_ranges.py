"""Time that has no end: what is asked of sets that are open at a side is answered, whatever the grains.

An event of a whole dataset, partitions of segments alone and bounds that name a start only are open ranges of time. No
calendar reaches there.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.documents.plan import plan_document
from sparkassets.core.documents.status import status_document
from sparkassets.core.instants import Duration
from sparkassets.core.journal.entries import EventEntry, ObservedEntry
from sparkassets.core.partitions import EVERYTHING, NewestMapping, OverlapMapping, PartitionSet, WindowMapping
from sparkassets.core.planner.explain.explanation import explain_planned_asset
from sparkassets.core.planner.explain.impact import trace_impact
from sparkassets.core.planner.explain.status import asset_status, status_stretches
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.model import InletSpec, PartitionRequirement
from tests.builders import Story, asset, at, project, source
from tests.depth import histories

GRAINS = st.sampled_from([None, "hour", "day", "month", "0 */6 * * *", "0 0 */3 * *", "0 0 * * SUN"])
SEGMENTS = st.sampled_from([{}, {"store": ("a", "b")}, {"store": "runtime"}])
REQUIRE = st.sampled_from(
    [
        PartitionRequirement(),
        PartitionRequirement("any"),
        PartitionRequirement("none"),
        PartitionRequirement("at_least", 3),
    ]
)
MAPPINGS = st.sampled_from([None, OverlapMapping(), NewestMapping(), WindowMapping.trailing(Duration.parse("7d"))])
STARTS = st.sampled_from([None, at("2025-01-05")])
SEEN = PartitionSet.span(at("2025-01-06"), at("2025-01-12"))


@st.composite
def stories(draw: Any) -> Story:
    """A source, what reads it, and what reads that; each with or without time, segments and a start."""

    def placed(make: Any, *args: Any) -> Any:
        by, segments = draw(GRAINS), draw(SEGMENTS)
        return make(*args, by=by, segments=segments, start=draw(STARTS) if by else None)

    up = placed(source, "up")
    down = placed(asset, "down", InletSpec("up", "", draw(MAPPINGS), require=draw(REQUIRE)))
    below = placed(asset, "below", InletSpec("down", "", draw(MAPPINGS), require=draw(REQUIRE)))
    return Story(project(up, down, below), now="2025-01-20")


def looked_at(story: Story) -> Any:
    """Everything that is shown of a project; the plan."""
    context = story.context()
    found = make_plan(context)
    plan_document(found, context.project)
    for each in context.project.assets.values():
        explain_planned_asset(context, found, each)
        status_document(asset_status(context, each), context.project)
        list(status_stretches(context, each))
        trace_impact(context, each, EVERYTHING)
    return found


@histories(500)
@given(stories(), st.booleans())
def test_whatever_is_open_is_planned_and_shown(story, whole):
    looked_at(story)
    up = story.project.assets["up"]
    if whole:
        story.add(EventEntry(up.uri, "up", EVERYTHING))
    else:
        parts = up.partitioning.cover(SEEN) if up.partitioning.time else EVERYTHING
        if up.partitioning.segments:
            parts = PartitionSet.by_segment({("a",): parts.time})
        story.add(ObservedEntry("up", up.uri, parts, whole=not up.partitioning.is_partitioned))
    for _ in range(4):
        found = looked_at(story)
        if not found.runs:
            break
        story.run(found.runs[0].asset)


@pytest.mark.parametrize("by", ["day", "0 0 */3 * *"])
@pytest.mark.parametrize("require", [PartitionRequirement("any"), PartitionRequirement("at_least", 2)])
def test_all_time_of_a_segment_from_a_start_on_has_no_number(by, require):
    stores = {"store": ("a", "b")}
    raw = source("raw", by=by, segments=stores, start=at("2025-01-01"))
    story = Story(
        project(raw, asset("of_store", InletSpec("raw", "", None, require=require), by=None, segments=stores))
    )
    first, second = ("2025-01-01", "2025-01-02") if by == "day" else ("2025-01-01", "2025-01-04")
    story.observed("raw", f"{first},a", f"{second},a", f"{first},b")
    assert story.due() == {"of_store": ["a", "b"] if require.kind == "any" else ["a"]}


def test_days_of_segments_that_are_not_known_yet_are_not_wanted():
    """The inlet tells the segments, none so far; nothing tells the first day."""
    segments = {"store": "runtime"}
    story = Story(project(source("stores", by=None, segments=segments), asset("daily", "stores", segments=segments)))
    assert story.due() == {}
    story.observed("stores", "a")
    assert story.due() == {"daily": ["2025-01-31,a"]}
