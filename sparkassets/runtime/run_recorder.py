"""Records how runs ended: their entries in one commit to the journal, their results, and what follows from both."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from sparkassets.core.journal.codec import to_row
from sparkassets.core.journal.entries import Entry, NumberedEntry, SuccessEntry
from sparkassets.core.journal.state import State
from sparkassets.core.results import RunResult
from sparkassets.errors import RunError, SourceError, describe_error
from sparkassets.frozen import replace
from sparkassets.ports import TargetObserver
from sparkassets.runtime.active_runs import ActiveRun, EndedRun
from sparkassets.runtime.attempt_threads import INTERRUPTED
from sparkassets.runtime.driver_work import DriverWork
from sparkassets.runtime.invocation import Invocation
from sparkassets.runtime.invocation_observer import InvocationObserver
from sparkassets.runtime.iterations import IterationRemovals
from sparkassets.runtime.outcomes import CommittedRun, FailedRun
from sparkassets.runtime.progress import FailureExplanation
from sparkassets.runtime.run_entries import RunEnding, RunEntryBuilder
from sparkassets.runtime.run_results import build_result, open_result
from sparkassets.runtime.self_written_tables import observe_own_tables

ExplainFailure = Callable[[str, BaseException], FailureExplanation]
"""Takes a run's name and its error; stores the whole error and returns what people are shown. Never raises."""


class RunRecorder:
    """Records the ended runs of one invocation.

    Args:
        targets: Looks at the tables of runs that write their target themselves.
        stopping: Is set once the driver is asked to stop.

    Attributes:
        results: How each run ended, in the order in which they were recorded.
    """

    def __init__(
        self,
        invocation: Invocation,
        *,
        observer: InvocationObserver,
        targets: TargetObserver,
        explain_failure: ExplainFailure,
        stopping: threading.Event,
    ) -> None:
        self.results: list[RunResult] = []
        self._project = invocation.project
        self._ledger = invocation.ledger
        self._active = invocation.active
        self._observer = observer
        self._targets = targets
        self._clock = invocation.clock
        self._progress = invocation.progress
        self._explain = explain_failure
        self._stopping = stopping
        self._removals = IterationRemovals()
        self._entries = RunEntryBuilder(invocation, observer.unsettled)

    def record_ended(self, work: DriverWork | None) -> None:
        """Records every run that ended, in one commit.

        Args:
            work: The work that the runs belong to; None at the end of the invocation, when nothing is planned any more.
        """
        self._active.ended[:] = [self._recordable(self._with_own_tables(end)) for end in self._active.ended]
        ended = tuple(self._active.ended)
        unsettled = self._observer.unsettled
        has_changed = [unsettled.count_change(end.active.run.asset, end.outcome) for end in ended]
        if work is not None and any(has_changed):
            self._observer.observe(work.select)  # nothing may be planned with the source as it was
        failures = {end.active.claim.token: self._explain_failure(end) for end in ended}
        recorded = self._commit_entries(ended, failures)
        for end in ended:
            token = end.active.claim.token
            self._settle(end, failures[token], recorded.get(token), work)
        self._ledger.maintain()

    def _commit_entries(
        self, ended: Sequence[EndedRun], failures: Mapping[int, FailureExplanation]
    ) -> Mapping[int, RunEnding]:
        """Commits the entries of runs whose claim is still the newest; returns the endings by the claim's token."""

        def decide(state: State) -> Sequence[Entry]:
            entries: list[Entry] = []
            for end in ended:
                token = end.active.claim.token
                if state.assets[end.active.run.asset].is_newest(token):
                    entries += self._entries.build_entries(end, state, failures[token])
            return entries

        committed = (numbered.entry for numbered in self._ledger.commit(decide))
        return {_recorder_token(entry): entry for entry in committed if isinstance(entry, RunEnding)}

    def _settle(
        self, end: EndedRun, failure: FailureExplanation, recorded: RunEnding | None, work: DriverWork | None
    ) -> None:
        """Drops a recorded run from the active ones, and reports its result to work and progress."""
        active = end.active
        self._active.remove(end)
        result = build_result(end, failure, recorded, seconds=self._seconds_since_start(active))
        self.results.append(result)
        request = active.claim.entry.request
        is_replanned = self._observer.unsettled.is_change_recorded(end.outcome, request.pins, self._ledger.state)
        if work is not None and not is_replanned:
            work.record_result(active.run, result)
        self._progress.finished(result)
        if isinstance(recorded, SuccessEntry):
            self._removals.start_removal(self._ledger, self._project.assets[result.asset], active.execution)

    def abandon(self, active: ActiveRun) -> None:
        """Reports a run that did not end in time; nothing is recorded, so the next driver finds its open claim."""
        error = f"{INTERRUPTED}; the next start recovers it"
        seconds = self._seconds_since_start(active)
        result = replace(open_result(active, seconds=seconds), status="cancelled", error=error)
        self.results.append(result)
        self._progress.finished(result)

    def finish_removals(self) -> None:
        """Waits for the removal of old iterations, for a while."""
        self._removals.finish()

    def _seconds_since_start(self, active: ActiveRun) -> float:
        return self._clock.monotonic() - active.started_at

    def _with_own_tables(self, end: EndedRun) -> EndedRun:
        """With what a run changed that wrote its target itself; it failed where its table cannot be looked at."""
        asset, outcome = self._project.assets[end.active.run.asset], end.outcome
        if not isinstance(outcome, CommittedRun) or not asset.writes_itself:
            return end
        try:
            observed = observe_own_tables(
                outcome,
                asset,
                self._project.assets,
                partitions=end.active.claim.entry.partitions,
                state=self._ledger.state,
                targets=self._targets,
            )
        except (RunError, SourceError) as error:
            return EndedRun(end.active, FailedRun("error", error, fenced=True, attempts=outcome.attempts))
        return EndedRun(end.active, observed)

    def _recordable(self, end: EndedRun) -> EndedRun:
        """The end as it is, or a failure in its place if the journal cannot store what the run measured.

        Such a run is in its target, so its claim stays in the chain; nothing of it is lost. A failure once the driver
        was asked to stop counts as cancelled: a signal to all processes may reach Spark's first.
        """
        outcome = end.outcome
        if isinstance(outcome, FailedRun) and outcome.cause == "error" and self._stopping.is_set():
            return EndedRun(end.active, replace(outcome, cause="cancelled"))
        if not isinstance(outcome, CommittedRun):
            return end
        try:
            for entry in self._entries.build_entries(end, self._ledger.state, FailureExplanation()):
                to_row(NumberedEntry(entry, 0, self._clock.now(), ""))
        except Exception as error:  # noqa: BLE001  whatever its measures hold
            asset = end.active.run.asset
            lost = RunError(f"{asset}: the run's result cannot be recorded: {describe_error(error)}")
            return EndedRun(end.active, FailedRun("error", lost, fenced=False, attempts=outcome.attempts))
        return end

    def _explain_failure(self, end: EndedRun) -> FailureExplanation:
        """Why a run failed; empty for one that did not."""
        match end.outcome:
            case FailedRun("cancelled"):
                return FailureExplanation(INTERRUPTED)
            case FailedRun(_, error):
                return self._explain(end.active.claim.entry.run, error)
        return FailureExplanation()


def _recorder_token(entry: RunEnding) -> int:
    """The fence token of the claim that an end is recorded for."""
    return entry.recorder if isinstance(entry, SuccessEntry) else entry.token
