"""A source that a session alone sees starts Spark before it is looked at; others never do."""

from sparkassets.core.partitions import NOTHING
from sparkassets.ports import Observation
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World


def test_spark_is_started_for_what_it_alone_sees_and_what_came_is_computed_at_once():
    world = World(project(source("s"), asset("a", "s")), MemoryStore())
    world.source("s").news.append(Observation("s", NOTHING, session_needed_reason="it has teleportation"))
    world.tell("s", "2025-01-01")
    assert [run.asset for run in world.driver().run_works([DueWork()]).runs] == ["a"]
    assert world.engine.started == 1


def test_it_is_started_once_also_where_nothing_came():
    world = World(project(source("s"), asset("a", "s")), MemoryStore())
    world.source("s").news += [Observation("s", NOTHING, session_needed_reason="it has teleportation")] * 2
    assert world.driver().run_works([DueWork()]).runs == ()
    assert world.engine.started == 1


def test_nothing_is_started_for_what_is_seen_without():
    world = World(project(source("s"), asset("a", "s")), MemoryStore())
    world.driver().run_works([DueWork()])
    assert world.engine.started == 0
