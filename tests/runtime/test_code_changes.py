"""Drivers with different code: what each computed is told apart, whoever records it, and whoever comes next."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.state import State
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World, dying

OLD, NEW = AssetDefinition.build(text="SELECT 1"), AssetDefinition.build(text="SELECT 2")


def coded(definition: AssetDefinition):
    made = asset("a", "s", retries=0, definition=definition, on_code_change="backfill")
    return project(source("s"), made)


def made_by(state: State) -> dict[str, list[str]]:
    a = state.assets["a"]
    return {
        each.definition.id: a.spec.partitioning.labels(each.partitions)
        for each in a.definition_outputs
        if each.partitions
    }


def opened(w: World) -> State:
    return w.driver().ledger.open()


def test_a_run_that_a_newer_driver_records_is_of_the_older_code_and_computed_again():
    w = World(coded(OLD), MemoryStore())
    w.tell("s", "2025-01-01")
    dying(w, "written")
    newer = replace(w, project=coded(NEW))
    summary = newer.driver().run_works([DueWork()])
    assert [(run.adopted is not None, run.reason.rpartition(", ")[2]) for run in summary.runs][-1] == (
        False,
        "1 stale: its code changed",
    )
    assert summary.runs[0].adopted is not None
    assert made_by(opened(w)) == {NEW.id: ["2025-01-01"]}
    assert newer.driver().run_works([DueWork()]).runs == ()


def test_drivers_that_take_turns_come_to_rest():
    old = World(coded(OLD), MemoryStore())
    new = replace(old, project=coded(NEW))
    old.tell("s", "2025-01-01")
    old.driver().run_works([DueWork()])
    assert len(new.driver().run_works([DueWork()]).runs) == 1
    for _ in range(3):
        assert old.driver().run_works([DueWork()]).runs == ()
        assert new.driver().run_works([DueWork()]).runs == ()
    old.tell("s", "2025-01-02")
    (note,) = old.driver().run_works([DueWork()]).notes
    assert note.text.startswith("computed by newer code in")
    assert made_by(opened(old)) == {OLD.id: ["2025-01-02"], NEW.id: ["2025-01-01"]}
    assert len(new.driver().run_works([DueWork()]).runs) == 1
    assert made_by(opened(new)) == {NEW.id: ["2025-01-01..2025-01-02"]}
