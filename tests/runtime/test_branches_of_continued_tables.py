"""Branches of tables whose rows continue earlier ones: the base goes on where the branch has read, whoever dies.

A row here is a version of the source. An append that reads changes holds each version once, an upsert at least once.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.partitions import NOTHING
from sparkassets.core.results import Summary
from sparkassets.core.runs import TablePosition
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadChanges
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.strategies import EveryInstance, FullRefresh, LatestOnly
from sparkassets.core.writes import AppendWrite, HistoryColumns, PublishWrite, UpsertWrite, WriteMode
from sparkassets.features.branches.branch_state import Branch, JournalReader
from sparkassets.features.branches.branch_work import BranchWork, PromotionWork
from sparkassets.ports import Observation, RunOrder
from sparkassets.runtime.driver_work import DriverWork, DueWork
from sparkassets.state.memory_store import MemoryStore
from sparkassets.testing.time_tests import ProjectRehearsal
from tests.builders import asset, project, source
from tests.depth import histories
from tests.runtime.fakes import FakeEngine, Result, World

MOMENTS = ("compute", "write", "written")
HISTORY = UpsertWrite(("k",), ("t",), history=HistoryColumns("valid_from", "valid_to", "current"))
WRITES = (AppendWrite(), UpsertWrite(("k",)), HISTORY)


class Reading(FakeEngine):
    """Its runs reach the version that they pinned, unless they promote."""

    def compute(self, order: RunOrder, *, attempt: int) -> Result:
        result = super().compute(order, attempt=attempt)
        reads = {name: pin for name, pin in order.pins.items() if order.asset.inlets[name].read and not order.promotes}
        reached = {name: str(TablePosition(pin.table_id or "", pin.version or 0)) for name, pin in reads.items()}
        result.measures["watermarks"] = reached  # type: ignore[index]
        return result

    def held(self, *, branch: FakeEngine | None = None, upto: int | None = None) -> list[int]:
        """The versions of the source that the table of ``a`` holds after its commit ``upto``."""
        rows: list[int] = []
        for commit in self.tables.get("a", [])[: None if upto is None else upto + 1]:
            order = commit.order
            if order is None:
                continue
            pin = order.pins["s"]
            if order.promotes is not None:
                assert isinstance(branch, Reading)
                rows = branch.held(upto=order.promotes.tables["a"][1])
                continue
            low = TablePosition.parse(pin.low or "")
            rows = [] if order.rebuilds or order.asset.publishes else rows
            rows += range(0 if low is None else low.version + 1, (pin.version or 0) + 1)
        return rows


class Continued:
    """A source, a table that continues in the base by code 0 or 1, and a branch with code 1."""

    def __init__(self, write: WriteMode) -> None:
        read = None if isinstance(write, PublishWrite) else ReadChanges()
        strategy = FullRefresh() if isinstance(write, PublishWrite) else LatestOnly()
        self.made = asset("a", InletSpec("s", "", None, read=read), by=None, strategy=strategy, write=write, retries=0)
        self.base = World(self.project(0), MemoryStore())
        self.base.engine = Reading()
        self.beside = World(self.project(1), MemoryStore())
        self.beside.engine = Reading()
        self.version = -1
        self.update(1)
        self.run(0)

    def project(self, code: int) -> ProjectSpec:
        coded: AssetSpec = replace(self.made, definition=AssetDefinition(f"a{code}"))
        return project(source("s", by=None), coded)

    def update(self, versions: int) -> None:
        self.version += versions
        news = Observation("s", NOTHING, whole=True, table_id="s", version=self.version)
        self.base.source("s").news[:] = [news]

    def run(self, code: int) -> Summary:
        self.base.project = self.project(code)
        return self.base.driver().run_works([DueWork()])

    def look(self) -> None:
        """The base records what is new in the source, and runs nothing."""
        assert self.base.driver().run_works([DueWork(())]).runs == ()

    def branch(self) -> Branch:
        stores = {"/s/branches/b": self.beside.store}

        def adapters(spec: ProjectSpec) -> Any:
            return replace(ProjectRehearsal(spec).adapters, store=stores.get(spec.state, self.base.store))

        reader = JournalReader(self.base.store, self.project(1), self.base.clock)
        return Branch("b", reader, adapters, clock=self.base.clock)

    def run_branch(self) -> None:
        branch = self.branch()
        self.beside.project = branch.branch_project.spec
        self.beside.observer = branch.adapters.find_observer  # type: ignore[method-assign]
        assert self.beside.driver().run_works([BranchWork(DueWork(), branch.branch_project, branch.base.state())]).ok

    def promotion(self, *, rebuild: bool) -> DriverWork | None:
        branch = self.branch()
        if not self.beside.store.exists() or branch.assets_not_run():
            return None
        self.base.project = self.project(1)
        return PromotionWork(tuple(branch.branch_project.assets_to_compute), branch.offer, rebuild=rebuild)

    def promote(self, moment: str = "", *, rebuild: bool = True) -> Summary | None:
        """Promotes, by a driver that never comes back from that moment."""
        work = self.promotion(rebuild=rebuild)
        if work is None:
            return None
        if not moment:
            return self.base.driver().run_works([work])
        reached = threading.Event()

        def stuck(_: RunOrder | None) -> None:
            reached.set()
            threading.Event().wait()

        engine = Reading(self.base.engine.tables)
        engine.hooks["a", moment] = stuck
        driver = self.base.driver(engine=engine)
        thread = threading.Thread(target=driver.run_works, args=([work],), daemon=True)
        thread.start()
        while thread.is_alive() and not reached.wait(0.01):
            pass
        return None

    def held(self) -> list[int]:
        engine = self.base.engine
        assert isinstance(engine, Reading)
        return engine.held(branch=self.beside.engine)


STEPS = st.lists(
    st.one_of(st.integers(1, 3), st.sampled_from(["look", "base", "branch", "branch", "promote", "promote", *MOMENTS])),
    max_size=10,
)


@histories(60)
@given(STEPS, st.sampled_from([*WRITES, PublishWrite(3)]))
def test_no_version_is_lost_or_doubled_whatever_is_promoted_and_wherever_drivers_die(steps, write):
    """In the end the table holds what it would if the new code had run in the base alone."""
    made = Continued(write)
    for step in steps:
        match step:
            case int():
                made.update(step)
            case "look":
                made.look()
            case "base":
                assert made.run(0).ok
            case "branch":
                made.run_branch()
            case "promote":
                made.promote()
            case moment:
                made.promote(moment)
        held = made.held()
        assert sorted(set(held)) == list(range(max(held, default=-1) + 1))
    made.update(1)
    made.look()
    made.run_branch()
    made.promote()
    made.update(1)
    assert made.run(1).ok
    held = made.held() if isinstance(write, AppendWrite | PublishWrite) else sorted(set(made.held()))
    assert held == list(range(made.version + 1))
    assert made.run(1).runs == ()


@pytest.mark.parametrize("write", WRITES, ids=["append", "upsert", "history"])
def test_the_table_is_replaced_only_where_somebody_says_so(write):
    made = Continued(write)
    made.run_branch()
    summary = made.promote(rebuild=False)
    assert summary is not None
    (wait,) = [each for each in summary.waiting if each.stuck]
    command = "`sparkassets promote b --rebuild` replaces it by the branch's"
    assert wait.reason == f"its rows continue those in the table of the base; {command}"
    summary = made.promote()
    assert summary is not None
    assert [(run.asset, run.request.rebuilds) for run in summary.runs] == [("a", True)]


def test_an_iteration_is_published_of_what_the_branch_has():
    made = Continued(PublishWrite(3))
    made.run_branch()
    summary = made.promote(rebuild=False)
    assert summary is not None
    assert [(run.asset, run.request.rebuilds) for run in summary.runs] == [("a", False)]


def test_an_iteration_of_changes_alone_is_not_promoted():
    made = Continued(PublishWrite(3))
    made.made = replace(made.made, inlets={"s": InletSpec("s", "", None, read=ReadChanges())}, strategy=LatestOnly())
    made.run_branch()
    summary = made.promote()
    assert summary is not None
    (wait,) = [each for each in summary.waiting if each.stuck]
    assert wait.reason.startswith("each iteration holds only new rows of its inlets")


def test_rows_that_a_branch_appended_by_older_code_are_not_promoted():
    made = Continued(AppendWrite())
    made.run_branch()
    made.project = lambda code: Continued.project(made, 2 * code)  # type: ignore[method-assign]
    made.update(1)
    made.look()
    made.run_branch()
    summary = made.promote()
    assert summary is not None
    assert [wait.reason for wait in summary.waiting if wait.stuck] == [
        "the branch appended some of its rows with older code: drop the branch and run it again"
    ]


def test_what_runs_for_every_instance_is_not_promoted():
    made = Continued(AppendWrite())
    made.made = replace(made.made, strategy=EveryInstance())
    made.run_branch()
    summary = made.promote()
    assert summary is not None
    assert [wait.reason for wait in summary.waiting if wait.stuck] == [
        "rows cannot be promoted with strategy 'every_instance'; backfill it in the base"
    ]


def test_a_position_in_a_table_of_the_branch_becomes_the_one_of_the_base():
    made = Continued(AppendWrite())
    inner = asset("c", "s", by=None, definition=AssetDefinition("c0"))
    made.made = replace(made.made, inlets={"c": InletSpec("c", "c", None, read=ReadChanges())})
    made.project = lambda code: project(  # type: ignore[method-assign]
        source("s", by=None), replace(inner, definition=AssetDefinition(f"c{code}")), made.made
    )
    for versions in (1, 1, 1):
        made.update(versions)
        assert made.run(0).ok
    made.run_branch()
    summary = made.promote()
    assert summary is not None
    assert [run.asset for run in summary.runs] == ["c", "a"]
    state = JournalReader(made.base.store, made.project(1), made.base.clock).state()
    here = JournalReader(made.beside.store, made.project(1), made.base.clock).state()
    assert here.assets["c"].version != state.assets["c"].version
    assert state.assets["a"].watermarks["c"] == str(TablePosition("t", state.assets["c"].version or 0))
    assert made.run(1).runs == ()
