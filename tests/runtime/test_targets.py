"""Assets' own tables are looked at before what writes or reads them is planned."""

from sparkassets.core.journal.table_findings import ForeignCommit, TableFinding
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import SourceError
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.observation import look_at_targets
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, days, project, source
from tests.runtime.fakes import FakeTargets, World

GONE = TableFinding("gone", "its table at /data/a was deleted", EVERYTHING)


def used(*assets):
    """A world in which everything has run once."""
    world = World(project(source("s"), *assets), MemoryStore())
    world.tell("s", "2025-01-01..2025-01-03")
    run(world)
    world.targets.looked.clear()
    return world


def run(world, select=None):
    return [(result.asset, result.partitions) for result in world.driver().run_works([DueWork(select)]).runs]


def test_what_is_gone_is_computed_again_and_then_what_reads_it():
    world = used(asset("a", "s"), asset("b", "a"))
    world.targets.news["a"] = GONE
    partitions = days("2025-01-01..2025-01-03")
    assert run(world) == [("a", partitions), ("b", partitions)]
    (row,) = world.store.read_history(HistoryQuery(kinds=["target"]))
    assert row.asset == "a"
    (claim,) = [
        row for row in world.store.read_history(HistoryQuery(kinds=["claim"], asset="a")) if "was deleted" in row.body
    ]
    assert claim.seq > row.seq
    assert run(world) == []


def test_what_is_lost_and_cannot_come_back_is_no_half_table_for_its_consumers():
    world = used(asset("a", "s"), asset("c", "a", by=None))
    world.targets.news["a"] = GONE
    world.engine.hooks["a", "compute"] = lambda _: (_ for _ in ()).throw(SourceError("no"))
    assert [asset for asset, _ in run(world)] == ["a"]
    assert len(world.engine.data("c")) == 1


def test_only_tables_of_what_may_run_and_of_what_that_reads_are_looked_at():
    world = used(asset("a", "s"), asset("b", "a"), asset("c", "b"), asset("d", "s"))
    run(world, ["b"])
    assert world.targets.looked == ["a", "b"]


def test_a_table_that_was_never_written_is_not_looked_at():
    world = World(project(source("s"), asset("a", "s")), MemoryStore())
    run(world)
    assert world.targets.looked == []


def test_a_table_that_a_live_run_writes_is_left_alone():
    world = used(asset("a", "s"))
    world.tell("s", "2025-01-04")
    seen = []
    world.engine.hooks["a", "compute"] = lambda _: seen.append(looked(world, gone=()))
    run(world)
    assert seen == [[]]
    assert looked(world, gone=()) == ["a"]


def looked(world, *, gone):
    """What is looked at as another driver would."""
    targets, driver = FakeTargets(), world.driver()
    look_at_targets(world.project, driver.ledger.open(), targets, gone_claims=gone, knows_run=driver.ledger.knows_run)
    return targets.looked


def test_a_table_that_cannot_be_read_is_told_and_the_rest_goes_on():
    world = used(asset("a", "s"), asset("b", "a"), asset("c", "s"))
    world.tell("s", "2025-01-04")
    world.targets.news["a"] = SourceError("cannot read it")
    summary = world.driver().run_works([DueWork()])
    assert ("c", "success") in [(result.asset, result.status) for result in summary.runs]


def test_what_another_wrote_is_an_event_of_the_journal():
    world = used(asset("a", "s"), asset("b", "a"))
    commit = ForeignCommit(1, "DELETE", None, days("2025-01-02"))
    world.targets.news["a"] = TableFinding("changed", "", table_id="t", version=1, mark="content:x", commits=(commit,))
    assert run(world) == [("b", days("2025-01-02"))]


def test_a_table_that_vanishes_whenever_it_was_computed_is_not_computed_for_ever():
    world = used(asset("a", "s"))
    world.targets = Answering(GONE)
    summary = world.driver().run_works([DueWork()])
    assert [result.asset for result in summary.runs] == ["a"]
    assert summary.faults == (
        ("a", "its table at /data/a was deleted, again, after it was recomputed; find out who removes it"),
    )


def test_an_appended_table_that_went_back_once_waits_for_a_person_and_was_not_computed_since():
    """Every look finds the same, as nothing was computed since."""
    world = used(asset("a", "s", by=None, write=AppendWrite()))
    world.targets = Answering(TableFinding("restored", "its table went back to version 1", EVERYTHING))
    summary = world.driver().run_works([DueWork(), DueWork()])
    assert len(world.targets.looked) > 1
    assert (summary.faults, summary.runs) == ((), ())


class Answering(FakeTargets):
    """Whose every look finds the same."""

    def __init__(self, found):
        super().__init__()
        self.found = found

    def detect_changes(self, asset, known):
        self.looked.append(asset.name)
        return self.found


AWAY = "the folder /mnt/lake is missing, but had tables: mount its volume, or recompute them after `mkdir -p /mnt/lake`"


def test_tables_whose_folder_is_not_there_are_not_computed_anew():
    world = used(asset("a", "s"), asset("b", "a"), asset("far", "s"))
    world.targets.absent = {"a": "/mnt/lake", "b": "/mnt/lake/b"}
    world.tell("s", "2025-01-04")
    summary = world.driver().run_works([DueWork()])
    assert [run.asset for run in summary.runs] == ["far"]
    assert summary.faults == (("a", AWAY), ("b", AWAY))
    assert "a" not in world.targets.looked
    assert world.store.read_history(HistoryQuery(kinds=["target"])) == []
    world.targets.absent = {}
    world.targets.news["a"] = GONE
    assert [name for name, _ in run(world)] == ["a", "b"]


def test_neither_is_anything_else_written_there():
    world = used(asset("a", "s"))
    grown = World(project(source("s"), asset("a", "s"), asset("new", "s")), world.store)
    grown.targets.absent = {"a": "/mnt/lake", "new": "/mnt/lake"}
    assert run(grown, ["new"]) == []
    assert run(grown, ["a"]) == []


def test_a_folder_that_no_table_was_written_to_yet_is_made_by_the_first_run():
    world = World(project(source("s"), asset("a", "s")), MemoryStore())
    world.tell("s", "2025-01-01")
    world.targets.absent = {"a": "/mnt/lake"}
    world.driver().run_works([DueWork()])
    assert len(world.engine.data("a")) == 1
