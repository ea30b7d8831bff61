"""A table that no run may write to is named before anything is claimed, and nothing is recorded of it meanwhile."""

from sparkassets.core.journal.table_findings import ForeignCommit, TableFinding
from sparkassets.errors import SourceError
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, days, project, source
from tests.runtime.fakes import World

AGAINST = SourceError("a has identity columns", hint="write to another")
SAID = "a has identity columns; write to another"


def world_of(*assets) -> World:
    world = World(project(source("s"), *assets), MemoryStore())
    world.tell("s", "2025-01-01..2025-01-03")
    return world


def claimed(world: World) -> list[str]:
    return [row.asset for row in world.store.read_history(HistoryQuery(kinds=["claim"]))]


def test_a_table_that_was_there_before_any_run():
    world = world_of(asset("a", "s"), asset("b", "a"), asset("c", "s"))
    world.targets.against["a"] = AGAINST
    summary = world.driver().run_works([DueWork()])
    assert summary.faults == (("a", SAID),)
    assert {each.asset: each.reason for each in summary.waiting}["a"] == SAID
    assert claimed(world) == ["c"]
    world.targets.against = {}
    assert [run.asset for run in world.driver().run_works([DueWork()]).runs] == ["a", "b"]


def test_a_table_that_others_changed_since_is_looked_at_again_until_it_is_as_it_should_be():
    world = world_of(asset("a", "s"))
    world.driver().run_works([DueWork()])
    world.tell("s", "2025-01-04")
    changed = TableFinding(
        "changed",
        "",
        table_id="t",
        version=9,
        mark="content:x",
        commits=(ForeignCommit(9, "WRITE", None, days("2025-01-02")),),
    )
    world.targets.against["a"] = AGAINST
    for _ in range(2):
        world.targets.news["a"] = changed
        assert world.driver().run_works([DueWork()]).faults == (("a", SAID),)
    assert claimed(world) == ["a"]
    assert world.store.read_history(HistoryQuery(kinds=["target"])) == []
    world.targets.against, world.targets.news["a"] = {}, changed
    assert [run.asset for run in world.driver().run_works([DueWork()]).runs] == ["a"]
    assert [row.asset for row in world.store.read_history(HistoryQuery(kinds=["target"]))] == ["a"]


def test_a_table_that_is_only_read_may_be_as_it_is():
    world = world_of(asset("a", "s"), asset("b", "a"))
    world.driver().run_works([DueWork(["a"])])
    world.targets.against["a"] = AGAINST
    world.targets.news["a"] = TableFinding("moved", "", table_id="t", version=9, mark="content:x")
    assert [run.asset for run in world.driver().run_works([DueWork(["b"])]).runs] == ["b"]
