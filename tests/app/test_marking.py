"""A mark is about what a run would find: it looks at the sources and at the tables first."""

import pytest

from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World


@pytest.fixture
def world():
    return World(project(source("s", by=None), asset("a", "s", by=None), asset("b", "a", by=None)), MemoryStore())


def due(world):
    return [run.asset for run in world.opened().plan().runs]


@pytest.mark.parametrize("kind", ["done", "skip"])
def test_what_no_run_has_recorded_yet_is_used_up(world, kind):
    for _ in range(2):
        world.tell("s")
        marked = world.opened().assets.mark("a", kind, reason="as it stands")
        assert marked.partitions.is_everything
        assert due(world) == (["b"] if kind == "done" else [])


def test_what_comes_after_the_mark_is_news(world):
    world.tell("s")
    world.opened().assets.mark("a", "skip", reason="not this one")
    world.tell("s")
    assert due(world) == ["a"]
