"""Recovers the older claims of a chain, whose drivers are gone: is one of their runs in the target?

The run that finds them fences first, so that none of their writes can land later, then looks. It records an older run
that is in all outlets, completes one that is in some, asks a person where the history cannot say, and else computes its
own partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkassets.core.journal.state import ClaimState
from sparkassets.core.phrases import listing
from sparkassets.errors import RunError
from sparkassets.frozen import replace
from sparkassets.ports import EngineLostError, HistoryGoneError, RunOrder
from sparkassets.runtime.claimed_targets import ClaimedTargets
from sparkassets.runtime.outcomes import CommittedRun, FailedRun, Outcome, ask_person, ask_to_complete


class ChainRecovery:
    """Settles the older claims of one run's chain.

    Args:
        order: Of the run.
        older: The claims before it in the chain, oldest first; no record ends them yet.
        reorder: Builds the order of one of these, as it was claimed.

    Attributes:
        is_settled: Whether no older run is in the target, and none can be committed any more.
        completed_claim: The older claim whose run is in some outlets, so that this run completes it.
    """

    def __init__(
        self,
        order: RunOrder,
        older: Sequence[ClaimState],
        *,
        reorder: Callable[[ClaimState], RunOrder],
        targets: ClaimedTargets,
    ) -> None:
        self.is_settled = not older
        self.completed_claim: ClaimState | None = None
        self._order = order
        self._older = tuple(older)
        self._reorder = reorder
        self._targets = targets

    def recover(self) -> Outcome | RunOrder:
        """Fences the older claims and looks for their runs: the outcome, or the order that is left to compute.

        Raises:
            RunError: A run is to be completed, and the files that it read are not there as they were.
            SupersededError: A newer claim has taken over.
        """
        if not self._older:
            return self._order
        self._targets.fence(2 * self._order.token)
        runs = [claim.entry.run for claim in self._older]
        try:
            committed = self._targets.find_commits(runs)
        except HistoryGoneError as error:
            return ask_person(self._order, self._older, error)
        self._targets.remove_staged(runs)
        if committed is not None:
            return CommittedRun(committed, attempts=0)
        if self._targets.first_commit is not None:
            return self._order_to_complete(self._targets.first_commit.run)
        self.is_settled = True
        if not self._order.partitions:  # the run was planned only to find out about the older ones
            lost = RunError(f"{', '.join(runs)} never ended and committed nothing")
            return FailedRun("lost", lost, fenced=True, attempts=0)
        return self._order

    def _order_to_complete(self, run: str) -> RunOrder:
        """The order of an older run that is in some outlets only; what is missing is written under this claim's token.

        Raises:
            RunError: Files that it read have changed since, so the outlets would differ.
        """
        self.completed_claim = next(claim for claim in self._older if claim.entry.run == run)
        order = replace(self._with_discovered(self._reorder(self.completed_claim)), token=self._order.token)
        if order.changed_file_inlets:
            inlets = listing(order.changed_file_inlets, last="and")
            raise RunError(f"the files of {inlets} changed since {run} read them")
        return order

    def _with_discovered(self, order: RunOrder) -> RunOrder:
        """The order with the partitions that its first commit discovered."""
        commit = self._targets.first_commit
        return order if commit is None else order.with_discovered_partitions(commit.discovered_partitions)

    def order_of(self, committed: CommittedRun) -> RunOrder:
        """The order of the run that is in the target: this claim's own, or an older one's."""
        commit = committed.first_commit
        order = self._order
        if commit.run != order.run:
            order = self._reorder(next(claim for claim in self._older if claim.entry.run == commit.run))
        return order.with_discovered_partitions(commit.discovered_partitions)

    def explain_incomplete(self, failed: FailedRun) -> FailedRun:
        """The failure of a run that could not complete an older one: a question to a person, or just the failure.

        What the older run read may be gone for good. All older runs are fenced, so a person may decide to give it up;
        otherwise the next run tries again.
        """
        is_engine_lost = issubclass(type(failed.error), EngineLostError)
        if self.completed_claim is None or is_engine_lost or failed.cause == "cancelled":
            return failed
        return ask_to_complete(failed, self._order, self._older, self.completed_claim.entry.run, self._targets.commits)
