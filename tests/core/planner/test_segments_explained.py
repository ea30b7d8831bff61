"""What is told of segments that left a list, that never had anything, and that came where there was time alone."""

from sparkassets.core.planner.batch.requested_runs import plan_rebuild
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.status import asset_status
from tests.builders import Story, asset, project, source

BOTH, ONE = {"region": ("de", "nl")}, {"region": ("nl",)}


def lines(node):
    return [node.text, *(line for child in node.children for line in lines(child))]


def test_what_left_the_list_is_not_counted_as_current():
    up, out = source("up", segments=BOTH), asset("out", "up", segments=BOTH)
    story = Story(project(up, out), now="2025-01-03")
    story.observed("up", "2025-01-01,*")
    story.run_all()
    story.change(source("up", segments=ONE), asset("out", "up", segments=ONE))
    context = story.context()
    status = asset_status(context, context.asset("out"))
    assert (status.current, status.covered_text) == (1, "2025-01-01,nl")
    told = lines(explain_asset(context, context.asset("out")))
    assert "1 partition current: 2025-01-01,nl" in told
    assert "1 partition no longer listed: 2025-01-01,de" in told
    (note,) = story.plan().notes
    assert note.text == "no longer a segment of the list; its rows stay, and nothing recomputes them"


def test_all_segments_of_a_time_are_told_together():
    story = Story(project(source("up", segments=BOTH), asset("out", "up", segments=BOTH)), now="2025-01-03")
    story.observed("up", "2025-01-01,*")
    story.run_all()
    context = story.context()
    assert [asset_status(context, context.asset(name)).covered_text for name in ("up", "out")] == ["2025-01-01,*"] * 2


def test_a_segment_that_never_had_anything_is_named():
    story = Story(project(source("up", segments=BOTH), asset("out", "up")), now="2025-01-03")
    story.observed("up", "2025-01-01,nl")
    (wait,) = [each for each in story.plan().waiting if each.asset == "out"]
    assert wait.reason == "waits for up: 1 of 2 partitions, missing 2025-01-01,de; de never had data"
    assert not wait.quiet


def test_time_alone_becomes_a_product_that_is_rebuilt():
    story = Story(project(source("up", segments=BOTH), asset("out", "up")), now="2025-01-03")
    story.observed("up", "2025-01-01,*")
    story.run_all()
    story.change(source("up", segments=BOTH), asset("out", "up", segments=BOTH))
    assert story.due() == {}
    context = story.context()
    [rebuild] = plan_rebuild(context, context.asset("out"), force=False).runs
    assert story.keys("out", rebuild.partitions) == ["2025-01-01,de", "2025-01-01,nl"]
    story.succeed("out", story.claim(rebuild))
    assert story.due() == {}
