"""Recorded requests, segments that go, and runs side by side, by a real driver: each is as it is alone."""

import threading
import time

from sparkassets.core.journal.entries import SegmentEntry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.strategies import EveryInstance, SegmentBatches
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.requested_works import BackfillWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import Recorder, World, raising_once

RUNTIME = {"customer": "runtime"}


def test_a_request_of_which_a_removed_segment_alone_is_left_is_over():
    model = asset("a", "s", segments=RUNTIME, retries=0, strategy=SegmentBatches(max_partitions_per_run=1))
    world = World(project(source("s", segments=RUNTIME), model), MemoryStore())
    forced = lambda: world.driver().run_works([BackfillWork(world.project.assets["a"], EVERYTHING, force=True)])  # noqa: E731
    keys = world.project.assets["a"].partitioning.labels
    world.tell("s", "2025-01-01,de", "2025-01-01,nl")
    world.driver().run_works([DueWork()])
    world.engine.hooks["a", "compute"] = raising_once(OSError("the disk is full"))
    assert [(run.status, *keys(run.partitions)) for run in forced().runs] == [
        ("failed", "2025-01-01,de"),
        ("success", "2025-01-01,nl"),
    ]
    ledger = JournalLedger(world.store, project=world.project.name, driver="other", clock=world.clock)
    ledger.open()
    ledger.commit(lambda _: [SegmentEntry("a", "customer", removed=("de",))])
    for _ in range(2):
        summary = forced()
        assert [(run.status, *keys(run.partitions)) for run in summary.runs] == [("success", "2025-01-01,nl")]
        assert summary.notes == ()


def test_of_runs_side_by_side_that_end_together_each_tells_its_own():
    three = {"w": ("x", "y", "z")}
    model = asset("a", "s", by="hour", segments=three, strategy=EveryInstance(), retries=0, unchanged="skip")
    world = World(project(source("s", by="hour", segments=three), model, max_parallel_runs=3), MemoryStore())
    world.tell("s", "2025-01-01T00")
    world.driver().run_works([DueWork()])
    world.tell("s", "2025-01-01T00")
    recorder, release = Recorder(), threading.Event()
    driver = world.driver(progress=recorder)
    keys = model.partitioning.labels
    world.engine.same["a"] = model.partitioning.parse("2025-01-01T00,x")
    world.engine.hooks["a", "compute"] = lambda order: keys(order.partitions)[0].endswith("z") or release.wait(10)

    def the_others_end(_):
        release.set()
        until = time.monotonic() + 10
        while driver._active.mailbox.qsize() < 2 and len(recorder.results) == 1 and time.monotonic() < until:
            time.sleep(0.01)

    recorder.on_finish = the_others_end
    assert driver.run_works([DueWork()]).ok
    told = {keys(run.partitions)[0]: bool(run.unchanged) for run in recorder.results}
    assert told == {"2025-01-01T00,x": True, "2025-01-01T00,y": False, "2025-01-01T00,z": False}
