"""Random projects on S3 whose puts are lost, cut off, refused and late: each table is as if computed from scratch.

Without a JVM: rows by pyarrow, staged and committed by the driver's own code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from sparkassets.core.results import Summary
from sparkassets.core.spec.project_spec import ProjectSpec, StoreOptions
from sparkassets.errors import SparkAssetsError
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.state.delta_store import DeltaStore
from sparkassets.wiring.host import SystemClock
from tests.crash.driver import Orders, PlainProject
from tests.crash.lake import PartitionEngine, StoredLake, stored
from tests.crash.processes import Server, Started
from tests.depth import examples
from tests.e2e.projects import stamps
from tests.integration.lossy import LOG_ENTRY, Lossy, What
from tests.runtime.lake import inside, some_values
from tests.runtime.test_lake import computable

FOLDERS = itertools.count()
TARGET = r"PUT .*/tables/[^/]+/_delta_log/\d{20}\.json"
JOURNAL = r"PUT .*/state/journal/_delta_log/\d{20}\.json"
DATA = r"(PUT|POST) .*/tables/.*\.parquet"
PUTS, ALL = r"PUT ", r"."
MOST_AT, STARTS = 6, 4
LEASE_SECONDS = 2
STOPPED_AT = ("fence:ready", "read:done", "write:half", "commit:ready", "commit:in", "record:ready", "record:staged")
SECONDS = {"stall": 1}
"""That a request may take, which is less than a stall; else ten."""


def lake_of(home: str, seed: int, *, seconds: int) -> PlainProject:
    """A random project that is there, whose drivers wait for an answer so long; its claims are held for a second."""
    spec = stored(home, seed)
    assets = {name: replace(each, lease_seconds=LEASE_SECONDS) for name, each in spec.assets.items()}
    options = StoreOptions("lake", timeout_seconds=seconds, retries=2)
    return PlainProject(replace(spec, assets=assets, storage=(options,)), engine=PartitionEngine)


class History:
    """What happens to a lake on S3."""

    def __init__(self, s3: Lossy, seed: int, *, seconds: int) -> None:
        self.random = Random(seed)  # noqa: S311  nothing to keep secret
        self.s3 = s3
        self.project = partial(lake_of, f"s3a://lake/{next(FOLDERS)}", seed, seconds=seconds)
        self.spec: ProjectSpec = self.project().spec
        self.lake = StoredLake(self.spec, None)
        self.told: list[str] = []
        s3.begin()

    def change(self, name: str) -> None:
        self.lake.change(name, dict(some_values(self.random, self.lake.project.assets[name].partitioning)))

    def start(self) -> Summary:
        """What a driver in a new process does."""
        return self.project().run(check=False)

    def harmed(self, what: What, which: str) -> None:
        """A start whose requests do not all go well."""
        at = self.random.randint(1, MOST_AT)
        self.s3.begin(what, which, range(at, at + 60, self.random.choice([1, 7, 60])))
        try:
            self.told += [str(run.error) for run in self.start().runs if run.error]
        except SparkAssetsError as error:
            self.told.append(str(error))
        self.s3.begin()

    def check(self) -> None:
        """Every partition that can be there is, once, and of every run that is recorded one commit."""
        ledger = JournalLedger(DeltaStore(self.spec.state), project=self.spec.name, driver="t", clock=SystemClock())
        ledger.open()
        for name, spec in self.spec.assets.items():
            if spec.source is not None or spec.storage is None:
                continue
            table, fresh = self.lake.table(name), self.lake.from_scratch(name)
            there = inside(spec.partitioning, ledger.state.assets[name].coverage)
            assert sorted(table) == sorted(there)
            assert {partition: fresh[partition] for partition in there} == dict(table)
            writer = self.spec.assets[spec.written_by or name]
            assert computable(self.lake, writer, set(fresh) - set(there)) == [], name
            if table:
                kinds = ("outlet",) if spec.written_by else ("success",)
                recorded = [row.run for row in ledger._store.read_history(HistoryQuery(kinds=kinds, asset=name))]
                assert recorded == [stamp["run"] for stamp in stamps(spec.storage.path)]  # type: ignore[arg-type]
                assert len(recorded) == len(set(recorded))


def healed(s3: Lossy, seed: int, what: What, which: str, *, starts: int) -> list[str]:
    """What was told while requests failed; all is as it must be one start later."""
    history = History(s3, seed, seconds=SECONDS.get(what, 10))
    history.change("s")
    history.change("t")
    for _ in range(starts):
        history.harmed(what, which)
        history.change(history.random.choice("st"))
    for _ in range(2):  # what failed is tried once an invocation
        assert [run.error for run in history.start().runs if run.error] == []
    history.check()
    assert history.start().runs == ()
    for each in history.told:
        assert 1 <= len(each.splitlines()) <= 2, each
        assert "Traceback" not in each
    return history.told


@pytest.mark.deep
def test_nothing_is_lost_and_nothing_doubled_where_answers_are_lost(s3):
    healed(s3, 2, "lose", LOG_ENTRY, starts=1)


@pytest.mark.deep
@pytest.mark.parametrize("which", [TARGET, JOURNAL, DATA, PUTS, ALL])
@pytest.mark.parametrize("what", ["lose", "cut", "busy", "stall", "deny"])
@pytest.mark.parametrize("seed", range(examples(1)))
def test_nor_in_any_history(s3, seed, what, which):
    healed(s3, seed, what, which, starts=STARTS)


# --------------------------------------------------------------------------- drivers that are processes


@pytest.fixture(scope="module")
def processes(s3) -> Iterator[Server]:
    """What starts drivers, with the store's address in their environment."""
    del s3
    server = Server()
    yield server
    server.close()


def settled(history: History) -> None:
    """All is as it must be, once nobody else is at work and what failed is tried again."""
    for _ in range(2):
        assert [run.error for run in history.start().runs if run.error] == []
    history.check()
    assert history.start().runs == ()


def beside_one_another(
    s3: Lossy, processes: Server, home: Path, seed: int, what: What, which: str, *, rounds: int = 2
) -> None:
    """Two drivers at a time whose requests do not all go well."""
    history = History(s3, seed, seconds=SECONDS.get(what, 10))
    for _ in range(rounds):
        history.change("s")
        history.change("t")
        at = history.random.randint(1, MOST_AT)
        s3.begin(what, which, range(at, at + 60, history.random.choice([3, 7])))
        orders = Orders(home, history.project, waits=20.0, hurry=False)
        for driver in [Started(orders, by=processes) for _ in range(2)]:
            driver.ends(also="exited 1")
            assert "panicked" not in driver.output
        s3.begin()
    settled(history)


def test_two_drivers_whose_answers_are_lost_write_everything_once(s3, processes, tmp_path):
    beside_one_another(s3, processes, tmp_path, 2, "lose", LOG_ENTRY, rounds=1)


@pytest.mark.deep
@pytest.mark.parametrize("which", [TARGET, JOURNAL, PUTS])
@pytest.mark.parametrize("what", ["lose", "cut", "busy", "stall"])
@pytest.mark.parametrize("seed", range(3, 3 + examples(1)))
def test_two_drivers_in_any_history(s3, processes, tmp_path, seed, what, which):
    beside_one_another(s3, processes, tmp_path, seed, what, which)


def stopped_at(s3: Lossy, processes: Server, home: Path, seed: int, point: str) -> None:
    """A driver of another host is stopped beyond its lease, is taken over, and goes on."""
    history = History(s3, seed, seconds=10)
    history.change("s")
    history.change("t")
    orders = Orders(home, history.project, point=point, act="stop", host="elsewhere", hurry=False)
    zombie = Started(orders, by=processes)
    how = zombie.ends()
    assert how == "stopped" or point.startswith("fence"), zombie.output
    taking = Orders(home, history.project, host="here", waits=30.0, hurry=False)
    assert Started(taking, by=processes).ends() == "exited 0"
    history.change("s")
    if how == "stopped":
        zombie.go_on()
        zombie.ends(also="exited 1")
    settled(history)


@pytest.mark.deep
def test_a_driver_that_is_stopped_before_its_put_and_goes_on_after_its_lease_writes_nothing(s3, processes, tmp_path):
    stopped_at(s3, processes, tmp_path, 2, "commit:ready")


@pytest.mark.deep
@pytest.mark.parametrize("point", STOPPED_AT)
@pytest.mark.parametrize("seed", range(3, 3 + examples(1)))
def test_nor_wherever_it_is_stopped(s3, processes, tmp_path, seed, point):
    stopped_at(s3, processes, tmp_path, seed, point)
