"""Branches of a base that lets go of its history: what a branch did not read in time is new to it, and no more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.retention import RetentionPolicy
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.features.branches.branch_state import MISSED
from sparkassets.runtime.ledger import JournalLedger
from tests.depth import histories
from tests.runtime.lake import Table, partitions_of
from tests.runtime.test_branches import History, PromotingEngine, coded, tables


class Later:
    """A clock that is far ahead of all that was recorded."""

    def __init__(self, now: datetime) -> None:
        self.at = now + timedelta(days=400)

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0.0


class Forgetful(History):
    """A history whose base lets go of all that may go, now and then."""

    def forget(self) -> None:
        """Beyond what any clock would let go of."""
        lake = self.lake
        ledger = JournalLedger(
            lake.store, project="test", driver="d", clock=Later(lake.clock.now()), retention=RetentionPolicy(86_400)
        )
        ledger.open()
        ledger.compact()

    def go(self, *, forgets: bool) -> None:
        if self.random.random() < 0.4 and forgets:
            self.forget()
        self.random.choice([self.change, self.change, self.base_runs, self.run_branch, self.promote])()


def end(history: History) -> dict[str, Table]:
    """What the base has in the end, when all is run and promoted that can be."""
    while history.lake.has_news:
        history.base_runs()
    history.run_branch()
    history.promote()
    history.lake.project = coded(history.plain, history.codes)
    return {name: dict(history.lake.table(name)) for name in tables(history.plain)}


@histories(15)
@given(seed=st.integers(0, 2**32), steps=st.integers(2, 10))
def test_the_base_ends_with_the_same_rows_whatever_it_lets_go_of(*, seed: int, steps: int) -> None:
    def ended(*, forgets: bool) -> dict[str, Table]:
        history = Forgetful(Random(seed))  # noqa: S311  a history
        history.fill()
        history.base_runs()
        history.run_branch()
        for _ in range(steps):
            history.go(forgets=forgets)
        if forgets:
            history.forget()
        return end(history)

    assert ended(forgets=True) == ended(forgets=False)


@histories(8)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 6))
def test_a_branch_that_reads_in_time_computes_nothing_more(*, seed: int, steps: int) -> None:
    random = Random(seed)  # noqa: S311  a history
    history = Forgetful(random)

    def computed() -> dict[str, int]:
        return {name: len(history.beside.engine.data(name)) for name in tables(history.plain)}

    history.fill()
    history.base_runs()
    for _ in range(steps):
        history.run_branch()
        before = computed()
        for _ in range(2):
            history.forget()
            history.run_branch()
        assert computed() == before
        chosen: list[Callable[[], None]] = [history.change, history.base_runs]
        random.choice(chosen)()


def begun() -> Forgetful:
    """A branch that has computed `one` again, on a base that has run."""
    history = Forgetful(Random(1))  # noqa: S311  a history
    history.codes = {"one": 1}
    for name in "st":
        history.lake.change(name, dict.fromkeys(partitions_of(history.plain.assets[name].partitioning), 1))
    history.base_runs()
    history.run_branch()
    return history


def notes(history: History) -> dict[str, str]:
    branch = history.branch()
    context = PlanningContext(branch.branch_project.spec, branch.journal.state(), history.lake.clock.now(), 0)
    return {note.asset: note.text for note in branch.notes(context)}


def test_what_counts_as_new_is_said() -> None:
    history = begun()
    history.forget()
    assert not any(text.endswith(MISSED) for text in notes(history).values())
    history.lake.change("s", {next(iter(partitions_of(history.plain.assets["s"].partitioning))): 2})
    history.lake.change("t", {next(iter(partitions_of(history.plain.assets["t"].partitioning))): 2})
    history.base_runs()
    history.forget()
    assert any(text.endswith(MISSED) for text in notes(history).values())
    history.run_branch()
    assert not any(text.endswith(MISSED) for text in notes(history).values())


def test_before_it_has_run_again_nothing_that_may_be_stale_is_promoted() -> None:
    history = begun()
    history.lake.change("s", dict.fromkeys(partitions_of(history.plain.assets["s"].partitioning), 2))
    history.lake.change("t", dict.fromkeys(partitions_of(history.plain.assets["t"].partitioning), 2))
    history.base_runs()
    history.forget()
    engine = PromotingEngine(history.lake, history.beside)
    summary = history.lake.driver(engine=engine).run_works([history.promoting()])
    assert not summary.runs
    assert any(wait.reason.startswith("stale in the branch") for wait in summary.waiting)


def test_what_a_branch_did_is_kept_as_long_as_it_is_there() -> None:
    history = begun()
    assert history.branch().branch_project.spec.retention is None
