"""What every target promises the run protocol, whoever commits; each kind gives a table and inherits the tests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import pytest

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.validations import RunJudgement
from sparkassets.errors import RunError
from sparkassets.ports import CommitStamp, FenceConflictError, RunComputation, RunOrder, Target, TargetMissingError


class Table(Protocol):
    """A table to which every run of its asset adds one row; it is not there before the first commit."""

    def order(self) -> RunOrder:
        """The next run, with a higher token than any before."""

    def target(self, order: RunOrder) -> Target:
        """The table as an outlet of the run; made again for every call, as drivers do."""

    def compute(self, order: RunOrder) -> RunComputation:
        """The run's row."""

    def rows(self) -> int:
        """How many there are for a reader of today."""


def data(order: RunOrder, **more: Any) -> CommitStamp:
    given = {"token": order.token, "run": order.run, "attempt": 1, "kind": "data", **more}
    return CommitStamp(order.app_id, 2 * order.token + 1, **given)


def fence(order: RunOrder, *, own: bool = False) -> CommitStamp:
    return CommitStamp(order.app_id, 2 * order.token + own, token=order.token, run=order.run, attempt=0, kind="fence")


class TargetContract:
    """The tests; a subclass has a fixture ``table``."""

    def write(self, table: Table, order: RunOrder, **more: Any) -> None:
        table.target(order).write(table.compute(order), stamp=data(order, **more))

    def fence(self, table: Table, order: RunOrder, *, own: bool = False) -> None:
        table.target(order).fence(table.compute(order), stamp=fence(order, own=own))

    def found(self, table: Table, *orders: RunOrder) -> list[str]:
        """The runs that are in, as the newest of them sees it."""
        return [each.run for each in table.target(orders[-1]).find_commits([order.run for order in orders])]

    def test_what_is_prepared_shows_when_it_is_written_and_is_computed_once(self, table):
        order = table.order()
        target, made = table.target(order), table.compute(order)
        target.prepare(made, stamp=data(order))
        assert (target.transaction_version(), self.found(table, order)) == (None, [])
        target.write(made, stamp=data(order))
        assert (self.found(table, order), table.rows()) == ([order.run], 1)
        target.write(made, stamp=data(order))
        assert table.rows() == 1

    def test_what_an_older_claim_has_prepared_lands_no_more_after_a_fence(self, table):
        first = table.order()
        self.write(table, first)
        older, newer = table.order(), table.order()
        target, made = table.target(older), table.compute(older)
        target.prepare(made, stamp=data(older))
        self.fence(table, newer)
        table.target(newer).remove_staged([older.run], upto=newer.token, keep=None)
        with suppress(RunError):
            target.write(made, stamp=data(older))
        assert (self.found(table, first, older), table.rows()) == ([first.run], 1)
        self.write(table, newer)
        assert table.rows() == 2

    @pytest.mark.parametrize("runs_before", [0, 1])
    def test_of_a_run_that_is_withheld_there_is_a_commit_without_rows(self, table, runs_before):
        for _ in range(runs_before):
            self.write(table, table.order())
        order = table.order()
        self.withhold(table, order, order.partitions)
        (committed,) = table.target(order).find_commits([order.run])
        assert (committed.withheld, table.rows()) == (order.partitions, runs_before)
        assert table.target(order).transaction_version() == 2 * order.token + 1
        self.write(table, order, attempt=2)
        assert table.rows() == runs_before
        self.write(table, table.order())
        assert table.rows() == runs_before + 1

    def test_what_is_judged_and_withheld_of_an_older_claim_lands_no_more_after_a_fence(self, table):
        self.write(table, table.order())
        older, newer = table.order(), table.order()
        target, made = table.target(older), table.compute(older)
        target.prepare(made, stamp=data(older))
        self.fence(table, newer)
        with suppress(RunError):
            target.write(made, stamp=data(older).with_judgement(RunJudgement(older.partitions), older))
        assert (self.found(table, older), table.rows()) == ([], 1)

    def withhold(self, table: Table, order: RunOrder, parts: PartitionSet) -> None:
        """A run of which some was withheld, as the protocol has it."""
        target, made = table.target(order), table.compute(order)
        target.prepare(made, stamp=data(order))
        target.write(made, stamp=data(order).with_judgement(RunJudgement(parts), order))

    def test_nothing_is_in_a_table_that_is_not_there(self, table):
        order = table.order()
        assert table.target(order).transaction_version() is None
        assert self.found(table, order) == []

    def test_a_fence_of_a_table_that_is_not_there_needs_a_computation(self, table):
        order = table.order()
        with pytest.raises(TargetMissingError):
            table.target(order).fence(None, stamp=fence(order))
        assert table.target(order).transaction_version() is None

    def test_a_fence_makes_the_table_and_lets_its_own_run_write(self, table):
        order = table.order()
        self.fence(table, order)
        assert table.target(order).transaction_version() == 2 * order.token
        assert (self.found(table, order), table.rows()) == ([], 0)
        self.write(table, order)
        assert (self.found(table, order), table.rows()) == ([order.run], 1)

    def test_a_table_that_is_there_is_fenced_without_a_computation(self, table):
        first, second = table.order(), table.order()
        self.write(table, first)
        table.target(second).fence(None, stamp=fence(second))
        assert table.target(second).transaction_version() == 2 * second.token
        assert (self.found(table, first, second), table.rows()) == ([first.run], 1)

    def test_a_commit_tells_what_was_stamped_on_it(self, table):
        order = table.order()
        measures = {"watermarks": {"s": "7"}, "extra": {"note": "ü"}}
        self.write(table, order, attempt=3, partitions=("2025-01-01",), measures=measures)
        (committed,) = table.target(order).find_commits([order.run])
        assert (committed.run, committed.token, committed.attempt) == (order.run, order.token, 3)
        assert committed.measures == measures
        assert committed.metrics["numOutputRows"] >= 1

    def test_a_version_lands_once(self, table):
        order = table.order()
        self.write(table, order)
        self.write(table, order, attempt=2)
        self.fence(table, order, own=True)
        (committed,) = table.target(order).find_commits([order.run])
        assert (committed.attempt, table.rows()) == (1, 1)

    def test_the_same_fence_again_changes_nothing(self, table):
        order = table.order()
        self.fence(table, order)
        self.fence(table, order)
        assert table.target(order).transaction_version() == 2 * order.token
        self.write(table, order)
        assert table.rows() == 1

    def test_a_lower_version_is_skipped_in_silence(self, table):
        first, zombie, newer = table.order(), table.order(), table.order()
        self.write(table, first)
        late = table.compute(zombie)
        self.fence(table, newer)
        table.target(zombie).write(late, stamp=data(zombie))
        self.fence(table, zombie)
        assert table.target(zombie).transaction_version() == 2 * newer.token
        assert (self.found(table, zombie, newer), table.rows()) == ([], 1)
        self.write(table, newer)
        assert (self.found(table, zombie, newer), table.rows()) == ([newer.run], 2)

    def test_nothing_that_is_in_goes_with_what_was_staged(self, table):
        nowhere, first, dead, newer = table.order(), table.order(), table.order(), table.order()
        table.target(nowhere).remove_staged([nowhere.run], upto=nowhere.token, keep=None)
        self.write(table, first)
        self.write(table, dead, attempt=3)
        self.fence(table, newer)
        (committed,) = table.target(newer).find_commits([dead.run])
        table.target(newer).remove_staged([dead.run, nowhere.run], upto=newer.token, keep=committed)
        table.target(newer).remove_staged([newer.run], upto=newer.token, keep=None)
        assert (self.found(table, dead, newer), table.rows()) == ([dead.run], 2)

    def test_a_run_that_fenced_itself_lands_no_more(self, table):
        order = table.order()
        late = table.compute(order)
        self.fence(table, order, own=True)
        table.target(order).write(late, stamp=data(order))
        assert (self.found(table, order), table.rows()) == ([], 0)

    def test_a_run_is_found_behind_the_fence_of_the_next(self, table):
        first, dead, newer = table.order(), table.order(), table.order()
        self.write(table, first)
        self.write(table, dead)
        self.fence(table, newer)
        assert self.found(table, dead, newer) == [dead.run]

    def test_a_run_is_found_behind_those_of_newer_claims(self, table):
        zombie, *newer = table.order(), table.order(), table.order()
        self.write(table, zombie)
        for order in newer:
            self.write(table, order)
        (found,) = table.target(zombie).find_commits([zombie.run], above=2 * zombie.token)
        assert found.run == zombie.run

    def test_what_another_application_commits_is_its_own(self, table):
        ours, theirs = table.order(), replace(table.order(), app_id="another/log")
        self.write(table, ours)
        self.write(table, theirs)
        assert table.rows() == 2
        assert self.found(table, ours) == [ours.run]
        assert table.target(ours).transaction_version() == 2 * ours.token + 1
        assert not table.target(replace(ours, app_id=theirs.app_id)).find_commits([ours.run])

    def test_of_two_fences_at_once_the_table_holds_the_higher_after_a_second_look(self, table):
        self.write(table, table.order())
        orders = [table.order(), table.order()]
        errors: list[BaseException] = []
        threads = [threading.Thread(target=self._fence_until, args=(table, order, errors)) for order in orders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert errors == []
        assert table.target(orders[0]).transaction_version() == 2 * orders[1].token
        self.write(table, orders[0])
        assert table.rows() == 1

    def _fence_until(self, table: Table, order: RunOrder, errors: list[BaseException]) -> None:
        """As the protocol does: a conflict means to look again, and a higher version that nothing is left to do."""
        target = table.target(order)
        try:
            while (target.transaction_version() or 0) < 2 * order.token:
                try:
                    target.fence(None, stamp=fence(order))
                except FenceConflictError:
                    continue
        except BaseException as error:  # noqa: BLE001  handed to the test
            errors.append(error)


class PartitionTable(Protocol):
    """A table by day, region and store, in which every run writes one row a partition, with its own id."""

    def order(self, *keys: str) -> RunOrder:
        """The next run, over these partitions."""

    def target(self, order: RunOrder) -> Target:
        """The table as an outlet of the run."""

    def compute(self, order: RunOrder) -> RunComputation:
        """The run's rows."""

    def partitions(self) -> Sequence[tuple[str, str]]:
        """Of every row for a reader of today its partition's key and its run, ascending."""


class PartitionsContract:
    """The tests of runs over partitions; a subclass has a fixture ``by_partitions``."""

    @pytest.mark.parametrize(
        "runs",
        [
            [["2025-01-01..2025-01-02,*,*"], ["2025-01-02,nl,a", "2025-01-02,nl,b", "2025-01-03,de,*"]],
            [["2025-01-01,de,a"], ["2025-01-01,de,b", "2025-01-02,nl,a"], ["2025-01-01..2025-01-02,*,a"]],
        ],
    )
    def test_a_run_takes_the_place_of_exactly_its_partitions(self, by_partitions, runs):
        expected: dict[str, str] = {}
        for keys in runs:
            order = by_partitions.order(*keys)
            by_partitions.target(order).write(by_partitions.compute(order), stamp=data(order))
            expected |= dict.fromkeys(order.asset.partitioning.keys(order.partitions), order.run)
            assert by_partitions.partitions() == sorted(expected.items())

    @pytest.mark.parametrize("before", [[], ["2025-01-01..2025-01-03,*,*"]])
    @pytest.mark.parametrize(
        ("run", "withheld"),
        [
            (["2025-01-01..2025-01-02,*,*"], ["2025-01-02,*,*"]),
            (["2025-01-01..2025-01-02,*,*"], ["2025-01-01,de,a", "2025-01-02,nl,b"]),
            (["2025-01-02,nl,a", "2025-01-02,nl,b", "2025-01-03,de,*"], ["2025-01-02,nl,a"]),
        ],
    )
    def test_withheld_partitions_stay_what_they_were(self, by_partitions, before, run, withheld):
        expected: dict[str, str] = {}
        parts = PartitionSet.union(map(by_partitions.order().asset.partitioning.parse, withheld))
        for keys, held in ((before, NOTHING), (run, parts)) if before else ((run, parts),):
            order = by_partitions.order(*keys)
            target, made, stamp = by_partitions.target(order), by_partitions.compute(order), data(order)
            target.prepare(made, stamp=stamp)
            target.write(made, stamp=stamp.with_judgement(RunJudgement(held), order))
            (committed,) = target.find_commits([order.run])
            assert committed.withheld == held
            expected |= dict.fromkeys(order.asset.partitioning.keys(order.partitions - held), order.run)
            assert by_partitions.partitions() == sorted(expected.items())
