"""What is read by its changes is read once, version by version: whatever the ticks, and wherever a driver dies."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import NOTHING
from sparkassets.core.runs import TablePosition
from sparkassets.core.spec.model import InletSpec, ReadChanges
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite, UpsertWrite
from sparkassets.errors import RunError
from sparkassets.ports import Observation
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.depth import histories
from tests.runtime.fakes import FakeEngine, World, raising_once

MOMENTS = ("compute", "write", "written")


class Reading(FakeEngine):
    """Its runs reach the version that they pinned, and refuse what cannot be determined, as the real reader does."""

    def compute(self, order, *, attempt):
        made = super().compute(order, attempt=attempt)
        pin = order.pins["s"]
        since = TablePosition.parse(pin.low or "")
        if since is not None and since.table_id != pin.table_id:
            raise RunError("cannot be determined")
        made.measures["watermarks"] = {"s": str(TablePosition(pin.table_id, pin.version))}
        return made


def world(write) -> World:
    log = asset(
        "a", InletSpec("s", "", None, read=ReadChanges()), by=None, retries=0, strategy=LatestOnly(), write=write
    )
    w = World(project(source("s", by=None), log), MemoryStore())
    w.engine = Reading()
    return w


def update(w, table, version):
    w.source("s").news[:] = [Observation("s", NOTHING, whole=True, table_id=table, version=version)]


def dying(w, moment):
    """A driver that never comes back from a moment of its run; not at all where nothing is due."""
    reached = threading.Event()

    def stuck(_):
        reached.set()
        threading.Event().wait()

    engine = Reading(w.engine.tables)
    engine.hooks["a", moment] = stuck
    driver = w.driver(engine=engine)
    thread = threading.Thread(target=driver.run_works, args=([DueWork()],), daemon=True)
    thread.start()
    while thread.is_alive() and not reached.wait(0.01):
        pass


def failing(w):
    w.engine.hooks["a", "compute"] = raising_once(RunError("boom"))
    w.driver().run_works([DueWork()])
    del w.engine.hooks["a", "compute"]


def read(w):
    """From where to where each run in the table has read, by table and version."""
    pins = [commit.order.pins["s"] for commit in w.engine.data("a")]
    return [(pin.low and str(pin.low), str(TablePosition(pin.table_id, pin.version))) for pin in pins]


STEPS = st.lists(
    st.one_of(st.integers(1, 3), st.sampled_from(["tick", "tick", "fail", "again", *MOMENTS])), min_size=1, max_size=9
)


@histories(60)
@given(STEPS, st.booleans())
def test_every_version_is_read_once_and_in_order(steps, adds):
    """A table that is made again is read again, but not into what only adds, which waits for a person."""
    w = world(AppendWrite() if adds else UpsertWrite(("k",)))
    table, version = 0, 0
    update(w, "0", 0)
    for step in steps:
        match step:
            case int():
                version += step
                update(w, str(table), version)
            case "again":
                table, version = table + 1, 0
                update(w, str(table), version)
            case "tick":
                w.driver().run_works([DueWork()])
            case "fail":
                failing(w)
            case moment:
                dying(w, moment)
    last = w.driver().run_works([DueWork()])
    found = [(low and TablePosition.parse(low), TablePosition.parse(high)) for low, high in read(w)]
    for before, (low, high) in zip([None, *(high for _, high in found)], found, strict=False):
        assert low == (before if before is None or before.table_id == high.table_id else None)
        assert low is None or low.version <= high.version
    if adds and len({high.table_id for _, high in found}) > 1:
        raise AssertionError(found)
    newest = TablePosition(str(table), version)
    if found[-1][1] != newest:
        assert adds
        assert "`sparkassets mark" in last.waiting[0].reason
    assert w.driver().run_works([DueWork()]).runs == ()
