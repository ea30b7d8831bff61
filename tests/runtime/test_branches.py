"""Branches of a lake in memory, by real drivers that die: what is promoted is what the new code makes from scratch."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from threading import Event, Thread
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.entries import EventEntry
from sparkassets.core.results import Summary
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.validations import NotNullCheck, ValidationRule
from sparkassets.errors import InputError
from sparkassets.features.branches.branch_project import base_uri
from sparkassets.features.branches.branch_state import Branch, JournalReader
from sparkassets.features.branches.branch_work import BranchWork, PromotionWork
from sparkassets.ports import RunOrder
from sparkassets.runtime.driver_work import DriverWork, DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.depth import histories
from tests.runtime.fakes import Result
from tests.runtime.lake import (
    Lake,
    LakeEngine,
    Table,
    inside,
    needed,
    number,
    partitions_of,
    random_lake,
    random_outlets,
    some_values,
)

MOMENTS = ("compute", "write", "written")
COMPUTED = ("one", "two", "three")
OUTLETS = ("train", "test")


@dataclass
class Beside(Lake):
    """The tables of a branch, beside those of its base."""

    base: Lake | None = None

    def table(self, name: str, version: int | None = None) -> Table:
        assert self.base is not None
        if self.project.assets[name].source is None:
            return super().table(name, version)
        return self.base.table(name, version)


class BaseEngine(LakeEngine):
    """Computes; and takes over what is promoted, of which any driver of the base may come to complete a run."""

    def __init__(self, lake: Lake, branch: Lake) -> None:
        super().__init__(lake)
        self.branch = branch
        self.promoted: list[RunOrder] = []

    def compute(self, order: RunOrder, *, attempt: int) -> Result:
        if order.promotes is None:
            return super().compute(order, attempt=attempt)
        self.hook(order.asset.name, "compute", order)
        first = order.table_orders[0].asset.name
        there = self.branch.table(first, order.promotes.tables[first][1])
        self.lake.rows[order.run, attempt] = {
            partition: there[partition] for partition in inside(order.asset.partitioning, order.partitions)
        }
        self.promoted.append(order)
        return Result(order)


class PromotingEngine(BaseEngine):
    """Has nothing to compute."""

    def compute(self, order: RunOrder, *, attempt: int) -> Result:
        assert order.promotes is not None
        return super().compute(order, attempt=attempt)


def coding(name: str, codes: dict[str, int]) -> AssetDefinition:
    return AssetDefinition(f"{name}-{codes.get(name, 0)}")


def coded(project: ProjectSpec, codes: dict[str, int]) -> ProjectSpec:
    """The project with that code."""
    assets = {
        name: each if each.source or each.written_by else replace(each, definition=coding(name, codes))
        for name, each in project.assets.items()
    }
    return replace(project, assets=assets)


def judged(project: ProjectSpec) -> ProjectSpec:
    """The project with a rule for each table that it writes."""
    rule = ValidationRule("unfit", NotNullCheck(("n",)))
    assets = {
        name: each if each.source or each.outlets else replace(each, rules=(rule,))
        for name, each in project.assets.items()
    }
    return replace(project, assets=assets)


class History:
    """What happens to a lake and a branch of it.

    Attributes:
        codes: Of the branch; the base's are all 0.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lake = random.choice([random_lake, random_outlets])(random)
        self.plain = judged(self.lake.project)
        self.codes = dict.fromkeys(random.sample(COMPUTED, random.randint(1, 2)), 1)
        self.stores: dict[str, MemoryStore] = {self.plain.state: self.lake.store}
        self.beside = Beside(self.plain, MemoryStore(), base=self.lake)
        self.promoted: list[RunOrder] = []
        self.suspended: list[tuple[Event, Thread]] = []

    def base_is_idle(self) -> None:
        """Whoever promotes looks at the sources, too, and leaves what is made of their news to the next run."""
        self.base_runs()
        while self.lake.has_news:
            self.base_runs()

    def base_runs(self) -> None:
        self.lake.project = coded(self.plain, {})
        self.lake.codes = {}
        assert is_as_told(self.lake.driver(engine=BaseEngine(self.lake, self.beside)).run_works([DueWork()]))

    def branch(self) -> Branch:
        base = JournalReader(self.lake.store, coded(self.plain, self.codes), self.lake.clock)
        return Branch("b", base, self.adapters, clock=self.lake.clock)

    def adapters(self, project: ProjectSpec) -> Any:
        from sparkassets.testing.time_tests import ProjectRehearsal

        found = ProjectRehearsal(project).adapters
        store = self.stores.setdefault(project.state, MemoryStore())
        return replace(found, store=store)

    def in_branch(self, work: DriverWork | None = None) -> tuple[Lake, DriverWork]:
        branch = self.branch()
        lake = self.beside
        lake.project, lake.store, lake.codes = branch.branch_project.spec, branch.adapters.store, self.codes
        lake.observer = branch.adapters.find_observer  # type: ignore[method-assign, assignment]
        return lake, BranchWork(work or DueWork(), branch.branch_project, branch.base.state())

    def promoting(self) -> DriverWork:
        branch = self.branch()
        self.lake.project = coded(self.plain, self.codes)
        self.lake.codes = self.codes
        return PromotionWork(tuple(branch.branch_project.assets_to_compute), branch.offer)

    def run_branch(self, moment: str | None = None) -> None:
        lake, work = self.in_branch()
        drive(lake, LakeEngine(lake), work, self.random, moment)

    def promote(self, moment: str | None = None) -> None:
        """As `BranchCommands.promote`: code that the branch has not run is refused before the base hears of it."""
        if self.branch().assets_not_run():
            return
        engine = PromotingEngine(self.lake, self.beside)
        if (stuck := drive(self.lake, engine, self.promoting(), self.random, moment)) is not None:
            self.suspended.append(stuck)
        self.promoted += engine.promoted
        for order in engine.promoted if moment is None else ():
            self.is_as_if_computed(order)

    def is_as_if_computed(self, order: RunOrder) -> None:
        """What was promoted is what a run of the base would have made of its tables, and of sources as it knew them."""
        spec = order.asset
        sources = {name: pin.version for name, pin in order.pins.items() if self.plain.assets[name].source}
        tables = {name: self.lake.table(name, sources.get(name)) for name in spec.inlets}
        ups = {name: self.lake.project.assets[name] for name in tables}
        unfit = {
            partition for name, partition in self.lake.unfit if name in {each.asset.name for each in order.table_orders}
        }
        for partition in set(inside(spec.partitioning, order.partitions)) - unfit:
            values = {
                name: [table.get(each) for each in needed(spec, ups[name], partition)] for name, table in tables.items()
            }
            wanted = number(spec, partition, values, code=self.codes.get(spec.name, 0))
            assert {self.lake.table(each.asset.name)[partition] for each in order.table_orders} == {wanted}, (
                f"{order.run} {partition}"
            )

    def wake(self) -> None:
        """Promotions that were taken for dead go on where they were, whatever others have done meanwhile."""
        for go_on, driver in self.suspended:
            go_on.set()
            driver.join(60)
            assert not driver.is_alive()
        self.suspended.clear()

    def fill(self) -> None:
        """The sources are nearly full; of few rows little is made."""
        for name in "st":
            partitions = partitions_of(self.plain.assets[name].partitioning)
            self.lake.change(
                name, {each: self.random.randrange(1, 9) for each in partitions if self.random.random() < 0.9}
            )

    def change(self) -> None:
        name = self.random.choice("st")
        self.lake.change(name, dict(some_values(self.random, self.plain.assets[name].partitioning)))

    def code(self) -> None:
        self.codes[self.random.choice(COMPUTED)] = self.random.randint(1, 3)

    def there_and_back(self) -> None:
        """Other code is tried, and taken back."""
        before = dict(self.codes)
        self.code()
        self.run_branch()
        self.codes = before

    def spoil(self) -> None:
        """Some partitions cannot be computed in the branch, until this is called the next time; the others are."""
        name = self.random.choice(COMPUTED)
        partitions = partitions_of(self.plain.assets[name].partitioning)
        self.beside.bad = {(name, partition) for partition in self.random.sample(partitions, min(2, len(partitions)))}

    def withhold(self) -> None:
        """The rules find some partitions of a table unfit, in base or branch, until this is called the next time."""
        lake, name = self.random.choice([self.lake, self.beside]), self.random.choice(tables(self.plain))
        partitions = partitions_of(self.plain.assets[name].partitioning)
        lake.unfit = {
            (name, partition)
            for partition in self.random.sample(partitions, self.random.randint(1, min(4, len(partitions))))
        }

    def accept(self) -> None:
        """Somebody has all published that is withheld, in the base and in the branch."""
        self.lake.project = coded(self.plain, {})
        lakes = [self.lake, self.in_branch()[0]] if self.stores.get("/s/branches/b") else [self.lake]
        for lake in lakes:
            for name in {each.written_by or name for name, each in lake.project.assets.items() if each.source is None}:
                with suppress(InputError):  # of what is not withheld, or runs
                    lake.opened().assets.accept(name, reason="looked at")

    def both(self) -> None:
        """Two drivers at once, which know of one another that they live: in the branch, or for its promotion."""
        self.lake.alive = self.beside.alive = True
        drivers = [self.random.choice([self.a_run, self.a_run, self.a_promotion])() for _ in range(2)]
        with ThreadPoolExecutor(2) as threads:
            for told in [threads.submit(each) for each in drivers]:
                assert is_as_told(told.result(60))
        self.lake.alive = self.beside.alive = False
        own = {base_uri(name) for name in self.plain.assets}
        events = [each.entry for each in self.branch().journal.entries_after(0, kinds=("event",))]
        begun = [each.uri for each in events if isinstance(each, EventEntry) and each.uri in own]
        assert len(begun) == len(set(begun))

    def a_run(self) -> Callable[[], Summary]:
        lake, work = self.in_branch()
        driver = lake.driver(engine=LakeEngine(lake))
        return lambda: driver.run_works([work])

    def a_promotion(self) -> Callable[[], Summary]:
        if self.branch().assets_not_run():
            return self.a_run()
        work, engine = self.promoting(), PromotingEngine(self.lake, self.beside)
        driver = self.lake.driver(engine=engine)

        def promote() -> Summary:
            summary = driver.run_works([work])
            self.promoted += engine.promoted
            return summary

        return promote

    def step(self) -> None:
        moment = self.random.choice(MOMENTS)
        steps: list[Callable[[], None]] = [
            self.change,
            self.base_runs,
            self.code,
            self.there_and_back,
            self.spoil,
            self.withhold,
            self.accept,
            self.both,
            self.run_branch,
            lambda: self.run_branch(moment),
            self.promote,
            lambda: self.promote(moment),
            self.wake,
        ]
        if not self.stores.get("/s/branches/b"):
            steps = [self.change, self.base_runs, self.run_branch]
        self.random.choice(steps)()


def tables(project: ProjectSpec) -> list[str]:
    """What is computed and holds rows."""
    return [name for name, each in project.assets.items() if each.source is None and not each.outlets]


def is_as_told(summary: Summary) -> bool:
    """Whether nothing failed but what had to."""
    return not summary.faults and all(run.error == "a bad partition" for run in summary.runs if run.status == "failed")


def drive(
    lake: Lake, engine: LakeEngine, work: DriverWork, random: Random, moment: str | None
) -> tuple[Event, Thread] | None:
    """Does the work, by a driver that stops at that moment of some table, if it comes to it; what has it go on."""
    if moment is None:
        summary = lake.driver(engine=engine).run_works([work])
        assert is_as_told(summary)
        return None
    reached, go_on = Event(), Event()

    def stuck(_: RunOrder | None) -> None:
        reached.set()
        go_on.wait()

    engine.hooks[random.choice([*COMPUTED, *OUTLETS]), moment] = stuck
    driver = lake.driver(engine=engine)

    def run() -> None:
        driver.run_works([work])
        reached.set()

    thread = Thread(target=run, daemon=True)
    thread.start()
    assert reached.wait(60)
    return go_on, thread


def is_promoted(history: History) -> None:
    """Whether the base's tables are as the branch's code makes them from scratch."""
    own, lake = set(history.branch().branch_project.assets_to_compute), history.lake
    lake.project = coded(history.plain, history.codes)
    lake.codes = {name: history.codes.get(each.written_by or name, 0) for name, each in lake.project.assets.items()}
    for name in tables(history.plain):
        there, wanted = lake.table(name), lake.from_scratch(name)
        for partition in there:
            assert there[partition] == wanted[partition], f"{name} {partition}"
        if name in own:
            assert there.keys() == history.beside.table(name).keys()


@histories(40)
@given(random=st.randoms(use_true_random=False), steps=st.integers(2, 12))
def test_what_is_promoted_is_what_the_new_code_makes_from_scratch(*, random: Random, steps: int) -> None:
    history = History(random)
    lake = history.lake
    history.fill()
    history.base_runs()
    for _ in range(steps):
        history.step()
    if history.stores.get("/s/branches/b") and random.random() < 0.5:
        history.there_and_back()
    history.base_is_idle()
    for each in (lake, history.beside):
        each.bad.clear()
        each.unfit.clear()
    history.accept()
    history.base_is_idle()
    history.run_branch()
    history.accept()
    history.run_branch()
    history.promote()
    history.wake()
    history.promote()
    is_promoted(history)
    count = len(history.promoted)
    history.promote()
    assert len(history.promoted) == count


@histories(20)
@given(random=st.randoms(use_true_random=False))
def test_a_branch_leaves_its_base_as_it_is(*, random: Random) -> None:
    history = History(random)
    history.fill()
    history.base_runs()
    before, tables = (
        history.lake.store.read_image(project="test"),
        {k: len(v) for k, v in history.lake.engine.tables.items()},
    )
    history.run_branch()
    assert history.lake.store.read_image(project="test") == before
    assert {k: len(v) for k, v in history.lake.engine.tables.items()} == tables
    computed = set(history.beside.engine.tables)
    assert computed <= set(history.branch().branch_project.assets_to_compute)
    assert set(history.codes) <= set(history.branch().branch_project.assets_to_compute)


def test_what_others_made_of_an_asset_since_the_branch_began_is_not_overwritten() -> None:
    history = History(Random(1))  # noqa: S311  a history
    history.codes = {"one": 1}
    lake = history.lake
    for name in "st":
        lake.change(name, dict.fromkeys(partitions_of(history.plain.assets[name].partitioning), 1))
    history.base_runs()
    history.run_branch()
    lake.project, lake.codes = coded(history.plain, {"one": 2}), {"one": 2}
    for name in "st":
        lake.change(name, dict.fromkeys(partitions_of(history.plain.assets[name].partitioning), 2))
    assert lake.driver().run_works([DueWork()]).ok
    history.run_branch()
    work = history.promoting()
    summary = lake.driver(engine=PromotingEngine(lake, history.beside)).run_works([work])
    assert not summary.runs
    reason = next(wait.reason for wait in summary.waiting if wait.asset == "one")
    assert reason.startswith("other code computed it in one-")
    assert {wait.asset for wait in summary.waiting if wait.stuck} == {"one"}


def test_code_that_comes_back_in_a_branch_is_computed_again() -> None:
    for seed in range(6):
        history = History(Random(seed))  # noqa: S311  a history
        for name in "st":
            history.lake.change(name, dict.fromkeys(partitions_of(history.plain.assets[name].partitioning), 1))
        history.base_is_idle()
        for code in (1, 2, 1):
            history.codes = {"one": code}
            history.run_branch()
            assert not history.branch().assets_not_run()
        history.promote()
        assert {order.asset.name for order in history.promoted} >= {"one"}
        is_promoted(history)


def test_what_a_branch_withholds_is_not_promoted_until_somebody_accepts_it() -> None:
    history = History(Random(1))  # noqa: S311  a history
    history.codes = {"one": 1}
    name = history.plain.assets["one"].written_assets[0]
    partitions = partitions_of(history.plain.assets["one"].partitioning)

    def changed(value: int) -> None:
        for each in "st":
            history.lake.change(each, dict.fromkeys(partitions_of(history.plain.assets[each].partitioning), value))
        history.base_runs()
        history.run_branch()

    changed(1)
    history.beside.unfit = {(name, partition) for partition in partitions}
    changed(2)
    history.promote()
    assert "one" not in {order.asset.name for order in history.promoted}
    history.accept()
    history.base_runs()
    history.run_branch()
    history.promote()
    assert "one" in {order.asset.name for order in history.promoted}
