"""One claimed run in its targets: steps 2 to 6 of the run protocol (docs/design/run-protocol.md).

The rules were model-checked; change none without checking again (`make model`). In short: fence what older claims
of the chain may still write, look whether one of them is in, else write exactly one commit an outlet, look again
whatever the write returned, and on failure fence the run itself before the failure is recorded. A run that is in some
of its outlets is completed by whoever finds it, from that run's own pins. What is recorded in the journal is the
driver's matter.

What validations withhold adds no step to that. Rows are staged and judged after the claim and before the first commit,
where nothing can be seen of them, as little as of rows that are being computed; the one commit of each outlet holds
fewer of them then, none at the least, and carries what was decided, for all outlets alike. Whoever finds that commit
records it. Whoever completes a run that is in some of its outlets keeps to what the first of them carries, and
judges nothing again: so a partition is withheld in all of them or in none, whatever rules or chance would say now.
A driver that dies before the first commit has decided nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce

from sparkassets.core.journal.entries import FailureCause
from sparkassets.core.journal.state import ClaimState
from sparkassets.core.partitions import NOTHING
from sparkassets.core.validations import RunJudgement
from sparkassets.errors import RunError, RunSkipped, SparkAssetsError
from sparkassets.frozen import replace
from sparkassets.ports import (
    CommitStamp,
    DataCommit,
    Engine,
    HistoryGoneError,
    NewSegmentsError,
    RunComputation,
    RunOrder,
    Target,
)
from sparkassets.runtime.attempt_threads import (
    INTERRUPTED,
    AttemptCancelledError,
    AttemptThreads,
    AttemptTimedOutError,
)
from sparkassets.runtime.claimed_targets import ClaimedTargets, SupersededError, make_stamp
from sparkassets.runtime.file_pins import bad_partitions
from sparkassets.runtime.outcomes import (
    CommittedRun,
    FailedRun,
    Outcome,
    SkippedRun,
    SupersededRun,
    division_budget,
    read_discovered_segments,
    with_unchanged,
)
from sparkassets.runtime.recovery import ChainRecovery

MOST_EXTENSIONS = 3
"""How often rows of unknown segments let a run be repeated with them; a function that makes up keys ends."""


class RunExecution:
    """One run, executed in a thread of its own; `cancel` and `supersede` may be called from another.

    Args:
        engine: Computes the rows.
        targets: Where it is written, in the order of ``order.table_orders``.
        order: The run of the claim.
        older: The claims before it in the chain, oldest first; no record ends them yet.
        reorder: Builds the order of one of these, as it was claimed.
    """

    def __init__(
        self,
        engine: Engine,
        targets: Sequence[Target],
        order: RunOrder,
        *,
        older: Sequence[ClaimState] = (),
        reorder: Callable[[ClaimState], RunOrder],
    ) -> None:
        self._engine = engine
        self._order = order
        self._targets = ClaimedTargets(
            targets,
            order,
            first_token=older[0].token if older else order.token,
            check_superseded=self._check_superseded,
            compute_columns=self._compute_columns,
        )
        self._recovery = ChainRecovery(order, older, reorder=reorder, targets=self._targets)
        # the order that is computed: the run's own, or that of an older run which it completes
        self._computed_order = order
        self._threads = AttemptThreads(
            order.asset.name, timeout_seconds=order.asset.timeout_seconds, cancel=self._cancel_engine
        )
        self._is_cancelled = False
        self._is_superseded = False
        self._has_begun_to_write = False
        self._has_staged = False
        self._attempts = 0
        self._extensions = 0

    def cancel(self) -> None:
        """Interrupts the run; it fails with cause ``cancelled``."""
        self._is_cancelled = True
        self._threads.interrupt()

    def supersede(self) -> None:
        """Another claim is newer: the run stops and leaves everything to it (step 7)."""
        self._is_superseded = True
        self._threads.interrupt()

    def _cancel_engine(self) -> None:
        self._engine.cancel(self._computed_order.run)

    @property
    def targets(self) -> Sequence[Target]:
        """The targets that the run writes, one a table."""
        return self._targets.targets

    def execute(self) -> Outcome:
        """Executes the protocol; never raises, whatever the run's code does."""
        try:
            recovered = self._recovery.recover()
            if not isinstance(recovered, RunOrder):
                return self._complete_outcome(recovered)
            self._computed_order = recovered
            return self._complete_outcome(CommittedRun(self._attempt_until_committed(), self._attempts))
        except SupersededError:
            return SupersededRun()
        except HistoryGoneError as error:
            return FailedRun("error", error, fenced=False, attempts=self._attempts)
        except BaseException as error:  # noqa: BLE001  the run boundary: `sys.exit` in a run's code is a failure, too
            return self._complete_outcome(self._conclude_failure(error))

    def _complete_outcome(self, outcome: Outcome) -> Outcome:
        """Adds to a committed run which partitions are unchanged and which unknown segments were written.

        If the segments cannot be read yet, the run fails unfenced, and the next claim finds its commit.
        """
        if not isinstance(outcome, CommittedRun):
            return outcome
        order = self._recovery.order_of(outcome)
        outcome = with_unchanged(outcome, order, self._targets.targets)
        if not order.discovers_segments and not order.discovered_partitions:
            return outcome
        try:
            return replace(outcome, keys=read_discovered_segments(outcome, order, self._targets.targets))
        except BaseException as error:  # noqa: BLE001  as in `execute`
            return FailedRun("error", error, fenced=False, attempts=self._attempts)

    def _compute_columns(self) -> RunComputation:
        """Computes only to learn the columns of a table that is missing, so that it can be created to hold a fence.

        It runs the author's code, so the run's timeout and its cancellation hold for it. Its rows are released.
        """
        computations: list[RunComputation] = []

        def compute(_: threading.Event) -> None:
            computation = self._engine.compute(self._order, attempt=0)
            computation.release()
            computations.append(computation)

        if (error := self._threads.run_job(compute, name=f"{self._order.run}-columns")) is not None:
            raise error
        return computations[0]

    def _attempt_until_committed(self) -> tuple[DataCommit, ...]:
        """Attempts the run up to ``retries`` + 1 times; returns the commit in each outlet, or raises the last error.

        The delay doubles from ``retry_delay`` up to an hour.
        """
        from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

        asset = self._order.asset
        delay = float(asset.retry_delay_seconds)
        attempts = Retrying(
            stop=stop_after_attempt(asset.retries + 1),
            wait=wait_exponential(multiplier=delay, min=delay, max=3600),
            retry=retry_if_exception(self._may_retry),
            sleep=self._threads.sleep,
            reraise=True,
        )
        return attempts(self._attempt)

    def _may_retry(self, error: BaseException) -> bool:
        """Whether another attempt may succeed: errors of this package say so, and any other `Exception` may pass."""
        kind = type(error)  # `isinstance` would ask the error for its class, and that may raise
        if (
            self._is_cancelled
            or self._is_superseded
            or issubclass(kind, SupersededError | HistoryGoneError | RunSkipped)
        ):
            return False
        if division_budget(self._order, error):
            return False  # the data is at fault: runs of fewer partitions follow, to find the bad ones
        if issubclass(kind, SparkAssetsError) and isinstance(error, SparkAssetsError):
            return error.retryable
        return issubclass(kind, Exception)

    def _attempt(self) -> tuple[DataCommit, ...]:
        """Computes and writes once; returns the commits that are found, whatever the write returned or raised."""
        self._check_superseded()
        if self._is_cancelled:
            raise AttemptCancelledError(INTERRUPTED)
        self._attempts += 1
        error = self._compute_and_write(self._attempts)
        run = self._computed_order.run
        committed = self._targets.find_commits([run]) if self._has_begun_to_write else None
        if committed is not None:
            if self._attempts > 1:
                self._targets.remove_staged([run])
            return committed
        if isinstance(error, NewSegmentsError) and self._extensions < MOST_EXTENSIONS:
            self._extensions += 1
            self._computed_order = self._computed_order.with_new_segments(error.keys)
            return self._attempt()  # with their rows, which is no retry
        raise error or RunError(
            f"{self._order.asset.name}: the write finished, but its commit is missing from the table's history",
            hint="another writer may have replaced it; see DESCRIBE HISTORY of the target",
        )

    def _compute_and_write(self, attempt: int) -> BaseException | None:
        """One attempt; returns what it raised."""

        def compute_and_write(left_behind: threading.Event) -> None:
            computation = self._engine.compute(self._computed_order, attempt=attempt)
            try:
                self._write(computation, attempt, left_behind)
            finally:
                computation.release()

        return self._threads.run_job(compute_and_write, name=f"{self._order.run}-{attempt}")

    def _write(self, computation: RunComputation, attempt: int, left_behind: threading.Event) -> None:
        """Commits to each outlet that lacks the run's commit; begins the next only once the last is seen in its table.

        With several outlets, or rules, everything that can fail because of the rows is done before the first commit.
        """
        order, token = self._computed_order, self._order.token
        stamp = make_stamp(order, 2 * token + 1, "data", token=token, computation=computation, attempt=attempt)
        missing = self._targets.missing
        if len(self._targets.targets) > 1 or order.has_rules:
            stamp = self._prepare(computation, stamp)
        for index, target in enumerate(missing):
            if index and not missing[index - 1].find_commits([order.run]):
                return  # `_attempt` looks as well, and raises for the missing commit
            with self._threads.write_lock:
                if left_behind.is_set():
                    return  # nothing may begin to write any more
                had_begun, self._has_begun_to_write = self._has_begun_to_write, True
                self._targets.computation = computation
            try:
                target.write(computation, stamp=stamp)
            except RunError as error:
                # an error that proves that nothing was written leaves nothing to fence
                self._has_begun_to_write = had_begun or not error.wrote_nothing
                raise

    def _prepare(self, computation: RunComputation, stamp: CommitStamp) -> CommitStamp:
        """Stages and judges the rows of all outlets; returns the stamp, with what is withheld if the run has rules.

        A partition that one outlet withholds is withheld in all. A commit that the run has in an outlet already
        carries the decision for all of them.
        """
        self._has_staged = True
        order, decided = self._computed_order, self._targets.judgement
        if decided is not None:
            stamp = stamp.with_judgement(decided, order)
        judgements = []
        outlets = zip(self._order.table_orders, self._targets.targets, self._targets.commits, strict=True)
        for outlet, target, commit in outlets:
            judgement = target.prepare(computation, stamp=stamp) if commit is None else None
            if judgement is not None:
                judgements.append(judgement.with_outlet(outlet.asset.name) if self._order.outlets else judgement)
        if decided is not None or not judgements:
            return stamp
        decided = reduce(RunJudgement.merge, judgements)
        if decided.withheld and order.is_atomic:
            decided = decided.with_withheld(order.partitions)
        return stamp.with_judgement(decided, order)

    def _conclude_failure(self, error: BaseException) -> Outcome:
        """Fences the run, then says how it failed: no write of it can land after its failure is recorded.

        Where no write was begun there is nothing to fence.
        """
        if self._is_superseded:
            return self._leave_to_newer()
        run = self._computed_order.run
        if not self._has_begun_to_write:
            if self._has_staged:
                self._targets.remove_staged([run])
            return self._skip_outcome(error) or self._recovery.explain_incomplete(
                self._describe_failure(error, fenced=self._recovery.is_settled)
            )
        try:
            self._targets.fence(2 * self._order.token + 1)
            committed = self._targets.find_commits([run])
            self._targets.remove_staged([run])
        except SupersededError:
            return self._leave_to_newer()
        except BaseException:  # noqa: BLE001  a target is out of reach: the next claim has to fence
            return self._describe_failure(error, fenced=False)
        if committed is not None:
            return CommittedRun(committed, self._attempts)
        # a commit in some outlet keeps the claim open: the next claim completes the others
        failed = self._describe_failure(error, fenced=self._targets.first_commit is None)
        return (self._skip_outcome(error) or failed) if failed.fenced else self._recovery.explain_incomplete(failed)

    def _describe_failure(self, error: BaseException, *, fenced: bool) -> FailedRun:
        """The outcome of a failure: its cause, how often the run may still be divided, and its bad partitions."""
        cause = self._failure_cause(error)
        return FailedRun(
            cause,
            error,
            fenced=fenced,
            attempts=self._attempts,
            divisions=division_budget(self._order, error) if cause == "error" else None,
            bad_partitions=bad_partitions(self._order, error) if cause == "error" else NOTHING,
        )

    def _skip_outcome(self, error: BaseException) -> SkippedRun | None:
        """The end of a skipped run; None if it is not skipped, or may not be: it has an older run to recover first."""
        if not isinstance(error, RunSkipped) or self._is_cancelled:
            return None
        if not self._recovery.is_settled or self._recovery.completed_claim is not None:
            return None
        return SkippedRun(" ".join(str(error.args[0]).split()), self._attempts)

    def _failure_cause(self, error: BaseException) -> FailureCause:
        """The cause to record; after a cancellation any error is its consequence."""
        if self._is_cancelled:
            return "cancelled"
        return "timeout" if issubclass(type(error), AttemptTimedOutError) else "error"

    def _leave_to_newer(self) -> SupersededRun:
        """Ends the run in favour of a newer claim; removes what it staged, if that claim has fenced already.

        A newer claim that has not fenced yet removes the files itself, once nothing more can come.
        """
        if self._has_begun_to_write or self._has_staged:
            with suppress(Exception):
                if self._targets.is_fenced_by_newer():
                    self._targets.find_commits([self._computed_order.run])  # the files of a found commit are kept
                    self._targets.remove_staged([self._computed_order.run])
        return SupersededRun()

    def _check_superseded(self) -> None:
        if self._is_superseded:
            raise SupersededError
