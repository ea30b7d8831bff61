"""Assets are found by their states, and only states that changed are looked at again."""

from sparkassets.core.journal.state import StateSearch
from sparkassets.core.planner.planner import make_plan
from tests.builders import Story, asset, project, source


def test_only_changed_states_are_looked_at_again():
    looked_at = []

    def is_claimed(state):
        looked_at.append(state.name)
        return bool(state.chain)

    story, search = Story(project(source("s"), asset("a", "s"), asset("b", "s"))), StateSearch(is_claimed)
    story.observed("s", "2025-01-01")
    assert find(search, story) == []
    assert sorted(looked_at) == ["a", "b", "s"]
    looked_at.clear()
    run = next(run for run in make_plan(story.context()).runs if run.asset == "a")
    token = story.claim(run)
    assert find(search, story) == find(search, story) == ["a"]
    assert looked_at == ["a"]
    story.succeed("a", token)
    assert find(search, story) == []


def find(search, story):
    return sorted(each.name for each in search.find(story.state))
