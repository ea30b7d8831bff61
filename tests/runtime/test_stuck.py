"""What does not run again before a person acts is no success: the invocation says so and fails, the status shows it."""

import pytest

from sparkassets.cli.run_loop import LoopSummary
from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.documents.project_status import summarize_status
from sparkassets.core.journal.table_findings import TableFinding
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.query_text import normal_form
from sparkassets.core.runs import ChangeAvailability
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import InletSpec, ReadChanges
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import InputError
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import RebuildWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import HERE, asset, multi, project, source
from tests.runtime.fakes import FakeEngine, World


def run(w: World, *select: str):
    return w.driver().run_works([DueWork(frozenset(select) or None)])


def status(w: World, name: str = "a"):
    (found,) = [each for each in w.opened().status() if each.asset == name]
    return summarize_status(found)


@pytest.fixture
def untold():
    """The changes of ``s`` are not told any more, which ``a`` appends."""
    inlet = InletSpec("s", "", None, read=ReadChanges())
    a = asset("a", inlet, by=None, strategy=LatestOnly(), write=AppendWrite())
    w = World(project(source("s", by=None), a), MemoryStore())
    w.engine.measures["a"] = {"watermarks": {"s": "version 1 of table t"}}
    w.tell("s", table_id="t", version=1)
    assert run(w).ok
    w.tell("s", table_id="t", version=2)
    w.feeds.lost["s"] = (2, ChangeAvailability("lost", "it was vacuumed"))
    return w


@pytest.fixture
def lost():
    """A table that is only appended to, besides another one."""
    a = asset("a", "s", by=None, strategy=LatestOnly(), write=AppendWrite())
    w = World(project(source("s", by=None), a, asset("b", "s", by=None)), MemoryStore())
    w.tell("s")
    assert run(w).ok
    return w


def lose(w: World) -> None:
    w.targets.news["a"] = TableFinding("gone", "its table at /data/a was deleted", EVERYTHING)


def test_a_read_that_is_stuck(untold):
    for _ in range(2):
        summary = run(untold)
        assert not summary.ok
        (said,) = summary.failures
        assert said.startswith("a waits for a person: the changes of s are not available: it was vacuumed")
    assert status(untold) == ("waits for a person", "stuck")


def test_a_loss_that_is_stuck(lost):
    for _ in range(2):
        lose(lost)
        summary = run(lost)
        assert not summary.ok
        (said,) = summary.failures
        assert said.startswith("a waits for a person: its table at /data/a was deleted; appended rows cannot be")
    lose(lost)
    assert status(lost) == ("waits for a person", "stuck")


def test_columns_that_are_stuck_start_nothing_and_a_rebuild_goes_on():
    def with_query(sql: str) -> ProjectSpec:
        body = {"body": SqlBody(sql, HERE), "definition": AssetDefinition.build(text=normal_form(sql))}
        return project(source("s"), asset("a", "s", **body), asset("b", "a"))

    w = World(with_query("SELECT day FROM {{ inlets.s }}"), MemoryStore(), columns={"a": ("day",)})
    w.tell("s", "2025-01-01")
    assert run(w).ok
    w.project = with_query("SELECT day, 1 AS note FROM {{ inlets.s }}")
    w.tell("s", "2025-01-02")
    fresh = FakeEngine()
    for _ in range(2):
        summary = w.driver(engine=fresh).run_works([DueWork()])
        (said,) = summary.failures
        assert said.startswith("a waits for a person: the code adds column 'note', which the table does not have: ")
    assert fresh.started == 0
    assert status(w) == ("waits for a person", "stuck")
    assert w.driver().run_works([RebuildWork(w.project.assets["a"])]).ok
    w.columns["a"] = ("day", "note")
    assert [run.asset for run in run(w).runs] == ["b"]


def test_who_runs_something_else_or_paused_it_has_no_failure(lost):
    lose(lost)
    assert not run(lost).ok
    assert run(lost, "b").ok
    lose(lost)
    lost.opened().assets.pause("a")
    assert run(lost).ok


def test_a_loop_goes_by_its_newest_tick(untold):
    tally = LoopSummary()
    tally.add(run(untold))
    assert not tally.ok
    del untold.feeds.lost["s"]
    tally.add(run(untold))
    assert tally.ok


def outlets() -> World:
    multi_asset, *made = multi(asset("m", "s", by=None), "train", "test")
    return World(project(source("s", by=None), multi_asset, *made), MemoryStore())


def test_runs_of_an_outlet_are_those_that_write_it():
    w = outlets()
    w.tell("s")
    run(w)
    history = w.opened().history
    assert [each.run for each in history.runs(asset="train")] == [each.run for each in history.runs(asset="m")] != []


def test_lineage_of_what_writes_outlets_names_these():
    w = outlets()
    with pytest.raises(
        InputError, match="the runs of 'm' write train and test: ask for the lineage of these"
    ) as refused:
        w.opened().lineage.trace("m")
    assert refused.value.hint == "`sparkassets lineage train`"


def test_lineage_of_what_never_ran_is_that_it_is_not_there():
    w = outlets()
    run(w)
    (origin,) = w.opened().lineage.trace("train").origins
    assert (origin.kind, origin.partitions) == ("missing", EVERYTHING)
