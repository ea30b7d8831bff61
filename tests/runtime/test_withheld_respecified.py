"""An asset that withholds something gets partitions, or has none from now on."""

from dataclasses import replace

from sparkassets.core.partitions import EVERYTHING, NOTHING
from tests.builders import asset, project, source
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
