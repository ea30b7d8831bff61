"""A partition stands once in a plan: in a run, or with the one reason for which it waits."""

from __future__ import annotations

from itertools import combinations

import pytest

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.spec.model import InletSpec, PartitionRequirement
from sparkassets.core.validations import RuleVerdict
from tests.builders import Story, asset, at, days, project, source


def told_twice(story: Story) -> list[tuple[str, str]]:
    """Pairs of what is said of the same partition of an asset."""
    plan = story.plan()
    rows = [(each.asset, each.partitions, each.reason) for each in (*plan.runs, *plan.waiting)]
    found = [row for row in rows if not row[1].is_everything]
    return [(one[2], two[2]) for one, two in combinations(found, 2) if one[0] == two[0] and one[1].overlaps(two[1])]


def chain(**more) -> Story:
    up = asset("up", "s", start=at("2025-01-01"))
    down = asset("down", InletSpec("up", "", None, **more), start=at("2025-01-01"))
    return Story(project(source("s"), up, down, asset("last", "down")))


def test_what_comes_first_is_not_missing_besides():
    story = chain()
    story.observed("s", "2025-01-01..2025-01-02")
    assert story.waits("down") == ["waits for up 2025-01-01..2025-01-02, which runs first"]
    assert told_twice(story) == []
    story.run("up")
    story.observed("s", "2025-01-03")
    assert told_twice(story) == []


def test_a_hole_that_comes_first_is_not_missing_besides():
    story = chain()
    story.observed("s", "2025-01-01", "2025-01-03")
    story.run_all()
    story.observed("s", "2025-01-02")
    assert story.waits("down") == ["waits for up 2025-01-02, which runs first"]
    assert told_twice(story) == []


@pytest.mark.parametrize("day", ["2025-01-02", "2025-01-03"])
@pytest.mark.parametrize("kind", ["all", "any"])
def test_what_is_withheld_is_not_missing_besides(kind, day):
    story = chain(require=PartitionRequirement(kind))
    story.observed("s", "2025-01-01..2025-01-03")
    (run,) = story.plan().runs
    held: PartitionSet = days(day)
    verdict = RuleVerdict("not_null(n)", "fail", "withheld", held, 900, 12)
    story.succeed("up", story.claim(run), withheld=held, verdicts=(verdict,))
    assert told_twice(story) == []
    story.run_all()
    assert told_twice(story) == []
