"""Marks of assets without partitions: the newest one counts, and what waits says what was said of it."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.planner.explain.explanation import explain_asset
from tests.builders import Story, asset, project, source, timed
from tests.core.planner.test_marks import say
from tests.depth import histories


def make_story(**more) -> Story:
    """A source that came, and what is made of it at each update."""
    story = Story(project(source("s", by=None), asset("a", "s", by=None, **more), asset("b", "a", by=None)))
    story.observed("s")
    return story


def test_what_is_to_run_again_can_be_skipped():
    story = make_story()
    story.run_all()
    assert say(story, "a", "missing")
    assert say(story, "a", "skip", reason="not after all")
    assert story.due() == {}
    assert story.waits("a") == ["waits for the next s; marked as skipped by ann: not after all"]
    assert not say(story, "a", "skip")


def test_what_never_succeeded_and_was_skipped_can_be_wanted_again():
    for first in ("skip", "done"):
        story = make_story()
        assert say(story, "a", first)
        assert say(story, "a", "missing", reason="after all")
        assert story.due()["a"] == []
        assert not say(story, "a", "missing")


def test_what_waits_says_that_it_was_skipped():
    story = make_story()
    say(story, "a", "skip", reason="no need")
    said = "waits for the next s; marked as skipped by ann: no need"
    assert story.waits("a") == [said]
    assert said in repr(explain_asset(story.context(), story.project.assets["a"]))
    faulty = story.waits("a", faults={"s": "s is unreadable"})
    assert faulty == ["waits for s: s is unreadable; marked as skipped by ann: no need"]
    story.observed("s")
    assert story.due() == {"a": []}
    story.run_all()
    assert "ann" not in story.waits("a")[0]


def test_what_was_marked_as_done_is_up_to_date():
    story = make_story()
    say(story, "a", "done", reason="by hand")
    assert story.waits("a") == ["up to date; marked as done by ann: by hand"]
    story.observed("s")
    story.run("a")
    story.observed("s")
    say(story, "a", "done", reason="by hand")
    assert story.waits("a") == ["up to date since a-7; marked as done by ann: by hand"]


def test_what_runs_at_times_says_that_it_was_skipped():
    story = make_story(schedule=timed("@daily"))
    say(story, "a", "skip", reason="no need")
    (said,) = story.waits("a")
    assert said.endswith("; marked as skipped by ann: no need")


@given(steps=st.lists(st.sampled_from(["skip", "missing", "observed", "run"]), max_size=8))
@histories(100)
def test_it_is_due_as_a_plain_model_has_it(steps):
    story, due = make_story(), True
    for step in steps:
        match step:
            case "observed":
                story.observed("s")
                due = True
            case "run" if due:
                story.run("a")
                due = False
            case "skip" | "missing":
                assert say(story, "a", step) or due == (step == "missing")
                due = step == "missing"
        assert ("a" in story.due()) == due, steps
