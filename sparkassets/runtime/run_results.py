"""From the end of a run to its result in the summary of the invocation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.results import RunResult, Status
from sparkassets.frozen import replace
from sparkassets.runtime.active_runs import ActiveRun, EndedRun
from sparkassets.runtime.outcomes import CommittedRun, FailedRun, SkippedRun
from sparkassets.runtime.progress import FailureExplanation
from sparkassets.runtime.run_entries import RunEnding, total_row_counts

_STATUSES: Mapping[str, Status] = {"cancelled": "cancelled", "lost": "replanned"}
"""Failure cause to the status of the result, where it is not ``failed``; a lost run had nothing to compute."""


def build_result(
    end: EndedRun, failure: FailureExplanation, recorded: RunEnding | None, *, seconds: float
) -> RunResult:
    """The result of an ended run; ``superseded`` where nothing was recorded because a newer claim had taken over."""
    result = open_result(end.active, seconds=seconds)
    if recorded is None:
        return result
    match end.outcome:
        case CommittedRun() as committed if isinstance(recorded, SuccessEntry):
            return _committed_result(result, committed, recorded)
        case SkippedRun(reason, attempts):
            return replace(result, status="skipped", attempts=attempts, skipped=reason)
        case FailedRun(cause=cause, attempts=attempts):
            return replace(
                result,
                status=_STATUSES.get(cause, "failed"),
                attempts=attempts,
                error=failure.error,
                hint=failure.hint,
                details=failure.details,
                topic=failure.topic,
            )
    return result


def open_result(active: ActiveRun, *, seconds: float) -> RunResult:
    """The result of a run as far as it is known before its outcome."""
    entry = active.claim.entry
    return RunResult(entry.request, run=entry.run, status="superseded", seconds=seconds)


def _committed_result(result: RunResult, outcome: CommittedRun, recorded: SuccessEntry) -> RunResult:
    """The result of a run that is in its target; an older run that was found there is ``adopted``."""
    committed, counts = outcome.first_commit, total_row_counts(outcome.commits)
    discovered = recorded.partitions & committed.discovered_partitions
    return replace(
        result,
        request=replace(result.request, partitions=result.request.partitions | discovered),
        status="withheld" if recorded.publishes_nothing else "success",
        attempts=outcome.attempts,
        rows=counts.get("rows"),
        # only a merge counts inserted rows; a replacement removes rows that it writes again
        deleted=counts.get("deleted", 0) if "inserted" in counts else 0,
        version=recorded.version,
        adopted=committed.run if committed.run != result.run else None,
        unchanged=recorded.unchanged,
        withheld=recorded.withheld,
        verdicts=recorded.verdicts,
    )


def settle_results(results: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """The results in the order in which the runs ended, with repaired failures turned into status ``replanned``.

    A failure is repaired when later runs computed its partitions, or failed for fewer of them: those failures are
    results of their own. A result with ``adopted`` only records an older run, so it computed none of its own
    partitions.
    """
    computed: defaultdict[str, PartitionSet] = defaultdict(lambda: NOTHING)
    failed: defaultdict[str, list[PartitionSet]] = defaultdict(list)
    settled = []
    for result in reversed(results):
        if result.status == "failed":
            among = [
                computed[result.asset],
                *(each for each in failed[result.asset] if _is_narrower(each, result.partitions)),
            ]
            if PartitionSet.union(among).covers(result.partitions) and any(among):
                settled.append(replace(result, status="replanned"))
                continue
            failed[result.asset].append(result.partitions)
        elif result.status in ("success", "withheld", "skipped") and result.adopted is None:
            computed[result.asset] |= result.partitions
        settled.append(result)
    return tuple(reversed(settled))


def _is_narrower(partitions: PartitionSet, than: PartitionSet) -> bool:
    """Whether ``partitions`` is a proper part of ``than``."""
    return partitions != than and than.covers(partitions)
