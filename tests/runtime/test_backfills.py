"""A backfill of many runs by a real driver: taking turns with the schedule, limited, broken off and gone on with."""

import pytest

from sparkassets.core.journal.entries import ObservedEntry
from sparkassets.core.strategies import DateRange
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.requested_works import BackfillWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, days, project, source
from tests.runtime.fakes import World, raising_once

WEEK = "2025-01-01..2025-01-06"


@pytest.fixture
def world():
    """Six days, computed."""
    strategy = DateRange(max_partitions_per_run=2)
    made = World(project(source("s"), asset("a", "s", strategy=strategy, retries=0)), MemoryStore())
    made.tell("s", WEEK)
    made.driver().run_works([DueWork()])
    return made


def forced(world, **more):
    return BackfillWork(world.project.assets["a"], days(WEEK), force=True, **more)


def run_outcomes(world, summary):
    keys = world.project.assets["a"].partitioning.labels
    return [(run.kind, run.status, *keys(run.partitions)) for run in summary.runs]


def test_what_arrives_meanwhile_gets_its_turn(world):
    coming = ["2025-01-07", "2025-01-08"]

    def arrives(order):
        if coming:  # as another driver that looks at the source records it
            day = days(coming.pop(0))
            ledger = JournalLedger(world.store, project=world.project.name, driver="other", clock=world.clock)
            ledger.open()
            ledger.commit(lambda _: [ObservedEntry("s", world.project.assets["s"].uri, day)])

    world.engine.hooks["a", "compute"] = arrives
    assert run_outcomes(world, world.driver().run_works([forced(world)])) == [
        ("backfill", "success", "2025-01-01..2025-01-02"),
        ("scheduled", "success", "2025-01-07"),
        ("backfill", "success", "2025-01-03..2025-01-04"),
        ("scheduled", "success", "2025-01-08"),
        ("backfill", "success", "2025-01-05..2025-01-06"),
    ]


def test_what_fails_is_left_and_tried_again_by_the_next_tick(world):
    world.engine.hooks["a", "compute"] = raising_once(OSError("the disk is full"))
    first = run_outcomes(world, world.driver().run_works([forced(world)]))
    assert first == [
        ("backfill", "failed", "2025-01-01..2025-01-02"),
        ("backfill", "success", "2025-01-03..2025-01-04"),
        ("backfill", "success", "2025-01-05..2025-01-06"),
    ]
    assert run_outcomes(world, world.driver().run_works([DueWork()])) == [
        ("backfill", "success", "2025-01-01..2025-01-02")
    ]
    assert run_outcomes(world, world.driver().run_works([DueWork()])) == []


def test_so_many_runs_and_no_more(world):
    assert run_outcomes(world, world.driver().run_works([forced(world, newest_first=True, max_runs=1)])) == [
        ("backfill", "success", "2025-01-05..2025-01-06")
    ]
    assert run_outcomes(world, world.driver().run_works([DueWork()])) == []
    assert run_outcomes(world, world.driver().run_works([forced(world, newest_first=True)])) == [
        ("backfill", "success", "2025-01-03..2025-01-04"),
        ("backfill", "success", "2025-01-01..2025-01-02"),
    ]
