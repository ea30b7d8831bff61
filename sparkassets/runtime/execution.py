"""One claimed run in its outlets: steps 2 to 6 of the run protocol (docs/design/run-protocol.md).

The rules were model-checked; change none without checking again (`make model`). In short: fence what older claims
of the chain may still write, look whether one of them is in, else write exactly one commit an outlet, look again
whatever the write returned, and on failure fence the run itself before the failure is recorded. A run that is in some
of its outlets is completed by whoever finds it, from that run's own pins. What is recorded in the journal is the
driver's matter.

What validations withhold adds no step to that. Rows are staged and judged after the claim and before the first commit,
where nothing can be seen of them, as little as of rows that are being computed; the one commit of each outlet holds
fewer of them then, none at the least, and tells what was decided, for all outlets alike. Whoever finds that commit
records what it tells. Whoever completes a run that is in some of its outlets keeps to what the first of them tells, and
judges nothing anew: so a partition is withheld in all of them or in none, whatever rules or chance would say now.
A driver that dies before the first commit has decided nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce

from sparkassets.core.journal.entries import FailureCause
from sparkassets.core.journal.state import ClaimState
from sparkassets.core.partitions import NOTHING
from sparkassets.core.phrases import listing
from sparkassets.core.validations import RunJudgement
from sparkassets.errors import RunError, RunSkipped, SparkAssetsError
from sparkassets.ports import (
    CommitKind,
    CommitMarker,
    DataCommit,
    Engine,
    EngineLostError,
    FenceConflictError,
    HistoryGoneError,
    NewSegmentsError,
    RunComputation,
    RunOrder,
    Target,
    TargetMissingError,
)
from sparkassets.runtime.file_pins import bad_partitions
from sparkassets.runtime.outcomes import (
    CommittedRun,
    FailedRun,
    Outcome,
    SkippedRun,
    SupersededRun,
    ask_person,
    ask_to_complete,
    division_budget,
    read_discovered_segments,
    with_unchanged,
)

INTERRUPTED = "interrupted before it ended"
"""What a cancelled run says of itself."""
GRACE_SECONDS = 20.0
"""How long a cancelled attempt may take to return before it is left behind; it can no longer land by then."""
MOST_EXTENSIONS = 3
"""How often rows of segments that nobody knew have a run be done with them; a function that makes up keys ends."""
AGAIN_SECONDS = 0.5
"""After which it is interrupted again while it has not returned."""


class _TimedOutError(RunError):
    retryable = True


class _CancelledError(RunError):
    pass


class _SupersededError(Exception):
    pass


class RunExecution:
    """One run, executed in a thread of its own; `cancel` and `supersede` may be called from another.

    Args:
        engine: Computes the rows.
        targets: Where it is written, in the order of ``order.written``.
        order: The run of the claim.
        older: The claims before it in the chain, oldest first; nobody has settled them.
        reorder: The order of one of these, as it was claimed.
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
        self._targets = tuple(targets)
        self._order = order
        self._older = tuple(older)
        self._reorder = reorder
        self._work = order
        self._found: tuple[DataCommit | None, ...] = (None,) * len(self._targets)
        self._interrupted = threading.Event()
        self._ended_or_interrupted = threading.Event()
        self._cancelled = False
        self._superseded = False
        self._write_lock = threading.Lock()
        self._settled = not older
        self._completes: ClaimState | None = None
        self._begun = False
        self._prepared = False
        self._computation: RunComputation | None = None
        self._attempts = 0
        self._extensions = 0

    def cancel(self) -> None:
        """Interrupts the run; it fails with cause ``cancelled``."""
        self._cancelled = True
        self._interrupt()

    def supersede(self) -> None:
        """Another claim is newer: the run stops and leaves everything to it (step 7)."""
        self._superseded = True
        self._interrupt()

    def remove_iterations(self, *, kept: Sequence[tuple[Collection[str], range]], unsettled: Collection[int]) -> None:
        """Removes what the outlets have of iterations that nobody reads any more, where the storage lets it.

        Args:
            kept: Of each outlet the names of those that stay, and the tokens of the claims whose others may go.
            unsettled: Of the chain's claims.
        """
        for target, (keep, tokens) in zip(self._targets, kept, strict=True):
            with suppress(Exception):
                target.remove_iterations(keep=keep, unsettled=unsettled, tokens=tokens)

    def _interrupt(self) -> None:
        self._interrupted.set()
        self._ended_or_interrupted.set()
        self._engine.cancel(self._work.run)

    def execute(self) -> Outcome:
        """Executes the protocol; never raises, whatever the run's code does."""
        try:
            if self._older:
                outcome = self._recover()
                if outcome is not None:
                    return self._describe_outcome(outcome)
            return self._describe_outcome(CommittedRun(self._attempt_until_committed(), self._attempts))
        except _SupersededError:
            return SupersededRun()
        except HistoryGoneError as error:
            return FailedRun("error", error, fenced=False, attempts=self._attempts)
        except BaseException as error:  # noqa: BLE001  the run boundary: `sys.exit` in a run's code is a failure, too
            return self._describe_outcome(self._fail_run(error))

    def _describe_outcome(self, outcome: Outcome) -> Outcome:
        """With what came out: what of it as it was, and of a run of all which segments.

        What cannot be read of these yet, the next claim reads.
        """
        if not isinstance(outcome, CommittedRun):
            return outcome
        run = outcome.first_commit.run
        orders = [self._order, *(self._reorder(link) for link in self._older if link.entry.run == run)]
        order = next(each for each in orders if each.run == run).with_discovered_partitions(
            outcome.first_commit.discovered_partitions
        )
        outcome = with_unchanged(outcome, order, self._targets)
        if not order.discovers_segments and not order.discovered_partitions:
            return outcome
        try:
            return replace(outcome, keys=read_discovered_segments(outcome, order, self._targets))
        except BaseException as error:  # noqa: BLE001  as in `execute`
            return FailedRun("error", error, fenced=False, attempts=self._attempts)

    def _recover(self) -> Outcome | None:
        """Fences the older claims and looks which of their runs is in; None where there is something to write."""
        self._fence(2 * self._order.token)
        runs = [link.entry.run for link in self._older]
        try:
            committed = self._find_commits(runs)
        except HistoryGoneError as error:
            return ask_person(self._order, self._older, error)
        self._remove_staged(runs)
        if committed is not None:
            return CommittedRun(committed, 0)
        begun = next((each for each in self._found if each is not None), None)
        if begun is not None:
            self._completes = next(link for link in self._older if link.entry.run == begun.run)
            self._work = replace(self._reorder(self._completes), token=self._order.token).with_discovered_partitions(
                begun.discovered_partitions
            )
            if self._work.changed_file_inlets:
                gone = listing(self._work.changed_file_inlets, last="and")
                raise RunError(f"the files of {gone} are not those that {begun.run} read")
            return None
        self._settled = True
        if not self._order.partitions:
            lost = RunError(f"{', '.join(link.entry.run for link in self._older)} never ended and left nothing")
            return FailedRun("lost", lost, fenced=True, attempts=0)
        return None

    def _explain_incomplete(self, failed: FailedRun) -> FailedRun:
        """A run that could not complete an older one, which may be for good: what that one read may be gone.

        All are fenced, so that a person can tell, too, to have done with it; or the next run tries it again.
        """
        lost = issubclass(type(failed.error), EngineLostError)
        if self._completes is None or lost or failed.cause == "cancelled":
            return failed
        return ask_to_complete(failed, self._order, self._older, self._completes.entry.run, self._found)

    def _fence(self, version: int) -> None:
        """Keeps every lower version out of every outlet."""
        marker = self._make_marker(self._order, version, "fence")
        for target in self._targets:
            fenced = False
            while not fenced:
                self._check_superseded()
                fenced = self._fence_once(target, marker)

    def _fence_once(self, target: Target, marker: CommitMarker) -> bool:
        """Whether the outlet is seen to be fenced; if not, look again.

        What a fence answers proves nothing, and its version is this claim's alone: a greater one is of a newer claim.
        """
        newest = target.transaction_version()
        if newest is not None and newest >= marker.version:
            if newest > marker.version == 2 * self._order.token:
                raise _SupersededError
            return True
        try:
            target.fence(self._computation, marker=marker)
        except TargetMissingError:
            self._computation = self._compute_columns()
        except FenceConflictError:
            pass
        return False

    def _compute_columns(self) -> RunComputation:
        """A computation whose columns a table is created with that only holds a fence; nothing is held for its rows.

        It runs the author's code, so the run's timeout and its cancellation hold for it.
        """
        computed: list[RunComputation] = []

        def compute(_: threading.Event) -> None:
            computation = self._engine.compute(self._order, attempt=0)
            computation.release()
            computed.append(computation)

        if (error := self._finish_within_timeout(compute, name=f"{self._order.run}-columns")) is not None:
            raise error
        return computed[0]

    def _find_commits(self, runs: Sequence[str]) -> tuple[DataCommit, ...] | None:
        """What is in the outlets of the one of these runs that is in any; None where it is not in all of them."""
        first = self._older[0].token if self._older else self._order.token
        seen = [target.find_commits(runs, above=2 * first) for target in self._targets]
        self._found = tuple(commits[-1] if commits else None for commits in seen)
        committed = tuple(each for each in self._found if each is not None)
        return committed if len(committed) == len(self._targets) else None

    def _remove_staged(self, runs: Sequence[str]) -> None:
        """Removes what these runs staged in vain; what cannot be removed disturbs nobody."""
        for target, found in zip(self._targets, self._found, strict=True):
            with suppress(Exception):
                target.remove_staged(runs, upto=self._order.token, keep=found)

    def _attempt_until_committed(self) -> tuple[DataCommit, ...]:
        from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

        asset = self._order.asset
        delay = float(asset.retry_delay_seconds)
        attempts = Retrying(
            stop=stop_after_attempt(asset.retries + 1),
            wait=wait_exponential(multiplier=delay, min=delay, max=3600),
            retry=retry_if_exception(self._may_retry),
            sleep=self._sleep,
            reraise=True,
        )
        return attempts(self._attempt)

    def _sleep(self, seconds: float) -> None:
        self._interrupted.wait(min(seconds, threading.TIMEOUT_MAX))

    def _may_retry(self, error: BaseException) -> bool:
        kind = type(error)  # `isinstance` would ask the error for its class, and that may raise
        if self._cancelled or self._superseded or issubclass(kind, _SupersededError | HistoryGoneError | RunSkipped):
            return False
        if division_budget(self._order, error):
            return False  # its partitions are tried in parts
        if issubclass(kind, SparkAssetsError) and isinstance(error, SparkAssetsError):
            return error.retryable
        return issubclass(kind, Exception)

    def _attempt(self) -> tuple[DataCommit, ...]:
        self._check_superseded()
        if self._cancelled:
            raise _CancelledError(INTERRUPTED)
        self._attempts += 1
        error = self._compute_and_write(self._attempts)
        committed = self._find_commits([self._work.run]) if self._begun else None
        if committed is not None:
            if self._attempts > 1:
                self._remove_staged([self._work.run])
            return committed
        if isinstance(error, NewSegmentsError) and self._extensions < MOST_EXTENSIONS:
            self._extensions += 1
            self._work = self._work.with_new_segments(error.keys)
            return self._attempt()  # with their rows, which is no retry
        raise error or RunError(
            f"{self._order.asset.name}: the write returned, but its commit is not in the table's history",
            hint="another writer may have taken its place; look at DESCRIBE HISTORY of the target",
        )

    def _compute_and_write(self, attempt: int) -> BaseException | None:
        """One attempt; returns what it raised."""

        def compute_and_write(given_up: threading.Event) -> None:
            computation = self._engine.compute(self._work, attempt=attempt)
            try:
                self._write(computation, attempt, given_up)
            finally:
                computation.release()

        return self._finish_within_timeout(compute_and_write, name=f"{self._order.run}-{attempt}")

    def _finish_within_timeout(self, job: Callable[[threading.Event], None], *, name: str) -> BaseException | None:
        """Does a job in a thread that can be left behind; returns what it raised.

        Args:
            job: Is given the event that is set when the thread is left behind.
            name: Of the thread.
        """
        raised: list[BaseException] = []
        ended, given_up = threading.Event(), threading.Event()
        self._ended_or_interrupted.clear()
        if self._interrupted.is_set():  # by whoever interrupted it just now
            self._ended_or_interrupted.set()

        def work() -> None:
            try:
                job(given_up)
            except BaseException as error:  # noqa: BLE001  handed to the thread that waits
                raised.append(error)
            finally:
                ended.set()
                self._ended_or_interrupted.set()

        threading.Thread(target=work, name=name, daemon=True).start()
        seconds = self._order.asset.timeout_seconds
        self._ended_or_interrupted.wait(min(seconds, threading.TIMEOUT_MAX))
        if ended.is_set():
            return raised[0] if raised else None
        late = not self._interrupted.is_set()
        self._interrupt_until(ended)
        with self._write_lock:
            given_up.set()
        if late:
            return _TimedOutError(f"{self._order.asset.name}: no result within its timeout of {seconds} s")
        return _CancelledError(INTERRUPTED)

    def _interrupt_until(self, ended: threading.Event) -> None:
        """Returns once the attempt has, or is left behind; what it begins only now could not be interrupted before."""
        deadline = time.monotonic() + GRACE_SECONDS
        while not ended.is_set() and (left := deadline - time.monotonic()) > 0:
            self._engine.cancel(self._work.run)
            ended.wait(min(left, AGAIN_SECONDS))

    def _write(self, computation: RunComputation, attempt: int, given_up: threading.Event) -> None:
        """One commit in every outlet that has none; nothing is begun in the next before it is in this one.

        What of a commit can fail for its rows is done for all outlets before the first.
        """
        marker = self._make_marker(self._work, 2 * self._order.token + 1, "data", computation, attempt)
        missing = [target for target, found in zip(self._targets, self._found, strict=True) if found is None]
        if len(self._targets) > 1 or self._work.has_rules:
            marker = self._prepare(computation, marker)
        for written, target in enumerate(missing):
            if written and not missing[written - 1].find_commits([self._work.run]):
                return
            with self._write_lock:
                if given_up.is_set():
                    return  # nothing may begin to write any more
                begun, self._begun = self._begun, True
                self._computation = computation
            try:
                target.write(computation, marker=marker)
            except RunError as error:
                self._begun = begun or not error.wrote_nothing
                raise

    def _prepare(self, computation: RunComputation, marker: CommitMarker) -> CommitMarker:
        """Does what comes before the first commit; returns the marker with what is withheld, if the run is judged.

        A partition that one outlet withholds is withheld in all; what the run has in an outlet already tells it for
        all.
        """
        self._prepared = True
        decided = next((each.judgement for each in self._found if each is not None), None)
        if decided is not None:
            marker = marker.with_judgement(decided, self._work)
        found = []
        for order, target, done in zip(self._order.table_orders, self._targets, self._found, strict=True):
            judged = target.prepare(computation, marker=marker) if done is None else None
            if judged is not None:
                found.append(judged.with_outlet(order.asset.name) if self._order.outlets else judged)
        if decided is not None or not found:
            return marker
        decided = reduce(RunJudgement.merge, found)
        if decided.withheld and self._work.is_atomic:
            decided = decided.with_withheld(self._work.partitions)
        return marker.with_judgement(decided, self._work)

    def _fail_run(self, error: BaseException) -> Outcome:
        """Fences the run, then says how it failed: no write of it can land after its failure is recorded.

        Where no write was begun there is nothing to fence.
        """
        if self._superseded:
            return self._leave_to_newer()
        cause = self._failure_cause(error)
        failed = partial(
            FailedRun,
            cause,
            error,
            attempts=self._attempts,
            divisions=division_budget(self._order, error) if cause == "error" else None,
            bad=bad_partitions(self._order, error) if cause == "error" else NOTHING,
        )
        if not self._begun:
            if self._prepared:
                self._remove_staged([self._work.run])
            return self._skip_outcome(error) or self._explain_incomplete(failed(fenced=self._settled))
        try:
            self._fence(2 * self._order.token + 1)
            committed = self._find_commits([self._work.run])
            self._remove_staged([self._work.run])
        except _SupersededError:
            return self._leave_to_newer()
        except BaseException:  # noqa: BLE001  a target is out of reach: the next claim has to fence
            return failed(fenced=False)
        if committed is not None:
            return CommittedRun(committed, self._attempts)
        outcome = failed(fenced=not any(self._found))
        return (self._skip_outcome(error) or outcome) if outcome.fenced else self._explain_incomplete(outcome)

    def _skip_outcome(self, error: BaseException) -> SkippedRun | None:
        """The end of a run that is skipped; None where it is not, or an older run of its chain is to be settled."""
        if not isinstance(error, RunSkipped) or self._cancelled or not self._settled or self._completes is not None:
            return None
        return SkippedRun(" ".join(str(error.args[0]).split()), self._attempts)

    def _failure_cause(self, error: BaseException) -> FailureCause:
        if self._cancelled:
            return "cancelled"
        return "timeout" if issubclass(type(error), _TimedOutError) else "error"

    def _leave_to_newer(self) -> SupersededRun:
        """Removes what was staged since the newer claim removed the rest: where its fence is in, nothing is to come.

        Where it is not yet, that claim removes all.
        """
        if self._begun or self._prepared:
            with suppress(Exception):
                newest = [target.transaction_version() or 0 for target in self._targets]
                if min(newest) > 2 * self._order.token + 1:
                    self._find_commits([self._work.run])
                    self._remove_staged([self._work.run])
        return SupersededRun()

    def _check_superseded(self) -> None:
        if self._superseded:
            raise _SupersededError

    def _make_marker(
        self,
        order: RunOrder,
        version: int,
        kind: CommitKind,
        computation: RunComputation | None = None,
        attempt: int = 0,
    ) -> CommitMarker:
        partitions = tuple(order.asset.partitioning.labels(order.partitions))
        return CommitMarker(
            app_id=order.app_id,
            version=version,
            token=self._order.token,
            run=order.run,
            attempt=attempt,
            kind=kind,
            partitions=partitions,
            measures=dict(computation.measures) if computation is not None else {},
        )
