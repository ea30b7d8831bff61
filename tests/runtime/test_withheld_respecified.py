"""An asset that withholds something gets partitions, or has none from now on."""

from dataclasses import replace

import pytest

from sparkassets.core.partitions import EVERYTHING, NOTHING
from tests.builders import Story, asset, project, source
from tests.runtime.fakes import World
from tests.runtime.test_withheld import FIRST, RULE, SECOND, judging, planned, published, run, state, whole, world


def become(w: World, by: str | None) -> None:
    """The asset and its consumer have these partitions from now on."""
    rest = {"by": by, "retries": 0}
    w.project = project(w.project.assets["s"], asset("a", "s", rules=(RULE,), **rest), asset("b", "a", **rest))


def good(w: World) -> None:
    """Nothing is wrong with the rows any more."""
    w.engine.hooks.clear()
    w.engine.judged.clear()


def test_what_was_withheld_as_one_is_missing_by_partition():
    w = whole()
    judging(w, "a", EVERYTHING)
    run(w)
    good(w)
    w.project = replace(w.project, assets={**w.project.assets, "s": source("s")})
    become(w, "day")
    w.tell("s", "2025-01-01", "2025-01-02")
    assert run(w).ok
    assert (published(w, "a"), published(w, "b")) == ([NOTHING, FIRST | SECOND], [FIRST | SECOND])
    assert state(w, "a").withheld == ()
    assert not planned(w).runs


def test_what_was_withheld_by_partition_is_tried_again_as_one():
    w = world()
    judging(w, "a", SECOND)
    run(w)
    good(w)
    become(w, None)
    assert run(w).ok
    assert (published(w, "a")[1:], published(w, "b")[1:]) == ([EVERYTHING], [EVERYTHING])
    assert state(w, "a").withheld == ()
    assert not planned(w).runs


def test_a_run_from_before_the_change_withholds_nothing_of_partitions():
    before = source("s", by=None), asset("a", "s", by=None, rules=(RULE,))
    after = source("s"), asset("a", "s", rules=(RULE,))
    story = Story(project(*before))
    story.observed("s")
    claim = story.claim(story.plan().runs[0])
    story.change(*after)
    story.observed("s", "2025-01-01")
    story.succeed("a", claim, withheld=EVERYTHING)
    assert story.state.assets["a"].withheld == ()
    assert story.due() == {"a": ["2025-01-01"]}


@pytest.mark.parametrize("kind", ["done", "skip"])
def test_what_a_person_tells_of_while_it_runs_is_not_withheld(kind):
    w = world()
    judging(w, "a", SECOND)
    judge = w.engine.hooks["a", "prepare"]

    def mark_day(order):
        judge(order)
        w.opened().assets.mark("a", kind, "2025-01-02", reason="as it is")

    w.engine.hooks["a", "prepare"] = mark_day
    run(w)
    assert state(w, "a").withheld == ()
    assert [each.asset for each in planned(w).runs] == []
    assert published(w, "b") == [FIRST | SECOND if kind == "done" else FIRST]
