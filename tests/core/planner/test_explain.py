"""The tree that explains a decision: conditions part by part."""

from collections.abc import Iterator

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import WindowMapping
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode
from sparkassets.core.spec.model import InletSpec, Schedule
from tests.builders import Story, asset, at, clock, project, source


def schedule_lines(story: Story, name: str, **more: object) -> list[str]:
    """The lines of the schedule's part, indented, each with + or - where it speaks for or against."""

    def lines(node: ExplanationNode, indent: str = "") -> Iterator[str]:
        mark = {True: "+ ", False: "- ", None: ""}[node.holds]
        yield indent + mark + node.text
        for child in node.children:
            yield from lines(child, indent + "  ")

    tree = explain_asset(story.context(**more), story.project.assets[name])
    return next(list(lines(child)) for child in tree.children if child.text.startswith("schedule"))


def test_a_condition_part_by_part():
    spec = project(
        source("a", by=None),
        source("b", by=None),
        asset("r", by=None, schedule="a & (b | x-drop://inbox) & '0 6 * * *'"),
    )
    story = Story(spec, now="2025-02-01T05:00")
    story.observed("a")
    story.observed("a")
    at = "at 2025-01-01T00:00Z"
    assert schedule_lines(story, "r") == [
        "- schedule: a & (b | x-drop://inbox) & '0 6 * * *': all of these, 2 of 3 hold",
        f"  + a: event 5 {at}, not used yet, like 1 before it",
        "  - any of these, 0 of 2 hold",
        "    - b: no event yet",
        "    - x-drop://inbox: no event yet",
        "  + '0 6 * * *': a tick at 2025-01-31T06:00Z, the next at 2025-02-01T06:00Z",
    ]
    story.event("x-drop://inbox")
    story.run("r")
    assert schedule_lines(story, "r")[1:] == [
        f"  - a: event 5 {at}, used",
        "  - any of these, 0 of 2 hold",
        "    - b: no event yet",
        f"    - x-drop://inbox: event 6 {at}, used",
        "  - '0 6 * * *': the last tick, at 2025-01-31T06:00Z, was used, the next at 2025-02-01T06:00Z",
    ]


def test_partitions_that_each_part_makes_ready():
    story = Story(project(source("a"), source("b"), asset("r", "a", "b", schedule="a & b")))
    story.observed("a", "2025-01-01..2025-01-03")
    story.observed("b", "2025-01-01..2025-01-02")
    assert schedule_lines(story, "r") == [
        "+ schedule: a & b: all of these, 2 of 2 hold; ready: 2025-01-01..2025-01-02",
        "  + a: event 4 at 2025-01-01T00:00Z, not used yet; ready: 2025-01-01..2025-01-03",
        "  + b: event 5 at 2025-01-01T00:00Z, not used yet; ready: 2025-01-01..2025-01-02",
    ]


def test_an_event_names_its_run():
    story = Story(project(source("s", by=None), asset("a", "s", by=None), asset("r", "a", by=None)))
    story.observed("s")
    story.run("a")
    assert schedule_lines(story, "r") == [
        "schedule: a (the default: any update of an inlet)",
        "  + a: event 6 at 2025-01-01T00:00Z of a-5, not used yet",
    ]


def test_a_timetable_is_told_once_with_the_interval_that_ran_last():
    daily = Schedule(clock("@daily"), text="@daily")
    story = Story(project(asset("r", by=None, schedule=daily)), now="2025-02-01T05:00")
    assert schedule_lines(story, "r") == ["schedule: @daily (UTC)"]
    story.run("r")
    assert schedule_lines(story, "r") == ["schedule: @daily (UTC); done up to 2025-02-01T00:00Z"]


def test_the_gates_of_an_inlet():
    gated = InletSpec(
        "d",
        "",
        None,
        fresh_within=Duration.parse("1d"),
        tolerance=Duration.parse("6h"),
        settle_seconds=900,
    )
    story = Story(project(source("d", by=None), asset("r", gated, by=None, schedule="d")), now="2025-02-01")
    story.observed("d")
    tree = explain_asset(story.context(), story.project.assets["r"])
    closed = "waits for d: its last update, at 2025-01-01T00:00Z, is older than 1d (fresh_within)"
    assert tree.children[0] == ExplanationNode(closed, holds=False)
    assert tree.children[2] == ExplanationNode(
        "inlet d (require: all, on_update: rerun, fresh_within: 1d, tolerance: 6h, settle: 15m)",
        holds=False,
        children=(ExplanationNode("event 3 at 2025-01-01T00:00Z, not used yet"), ExplanationNode(closed, holds=False)),
    )
    story.clock = "2025-01-31T23:55"
    story.observed("d")
    story.clock = None
    tree = explain_asset(story.context(), story.project.assets["r"])
    assert tree.children[0].text == "waits until d has been quiet for 15m (until 2025-02-01T00:10Z)"


def test_sentences_tell_the_time_on_the_clock_of_the_project():
    spec = project(source("a", by=None), asset("r", by=None, schedule="a & '0 6 * * *'"), timezone="Europe/Berlin")
    story = Story(spec, now="2025-03-30T00:30")
    story.observed("a")
    said = "  + '0 6 * * *': a tick at 2025-03-29T07:00+01:00, the next at 2025-03-30T08:00+02:00"
    assert said in schedule_lines(story, "r")


def test_an_inlet_is_counted_as_its_gates_count():
    window = InletSpec("s", "", WindowMapping.trailing(Duration.parse("3d")))
    story = Story(project(source("s", start=at("2025-01-03")), asset("d", window)))
    story.observed("s", "2025-01-03", "2025-01-04", "2025-01-06")
    assert counts(story, "d") == ["3 of 4 partitions present", "missing 2025-01-05"]
    assert "waits for s: 3 of 4 partitions, missing 2025-01-05" in story.waits("d")
    open_ended = Story(project(source("s"), asset("d", window)))
    open_ended.observed("s", "2025-01-03", "2025-01-04", "2025-01-06")
    assert counts(open_ended, "d") == ["3 of 6 partitions present", "missing 2025-01-01..2025-01-02, 2025-01-05"]


def counts(story: Story, name: str) -> list[str]:
    """What the first inlet says besides its newest event."""
    tree = explain_asset(story.context(), story.project.assets[name])
    inlet = next(child for child in tree.children if child.text.startswith("inlet "))
    return [child.text for child in inlet.children[1:]]
