"""Keeps back partitions that failed in this invocation, and partitions of which a part was appended before.

After the partitioning of an asset changed, a new partition may hold rows that former partitions appended. Computing it
would append them twice, so it waits for a person. A table that can be computed again waits for a rebuild instead, as no
new partition replaces exactly the rows of former ones.
"""

from __future__ import annotations

from sparkassets.core.journal.asset_records import FailedPartitions
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import UpstreamBlocker
from sparkassets.core.planner.wording import name_partitions
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.frozen import replace


def remove_failed(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that removes what failed in this invocation and has no new cause since."""
    return (
        _remove_failed_runs(case, progress)
        if case.pending is None
        else _remove_failed_partitions(case, progress, case.pending)
    )


def _remove_failed_partitions(
    case: DecisionInput, progress: DecisionProgress, pending: PendingPartitions
) -> DecisionProgress:
    """Removes failed partitions of a partitioned asset; a blocker makes consumers wait for them and name them."""
    failed = pending.failed & progress.due
    if not failed:
        return progress
    name = case.asset.name
    remaining = progress.without_partitions(failed, Waiting(name, f"failed: {pending.error}", None, failed))
    blocker = UpstreamBlocker(failed, f"{name_partitions(name, failed, case.asset.partitioning)}, which failed")
    return replace(remaining, blockers=(*remaining.blockers, blocker))


def _remove_failed_runs(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Removes the runs of an asset without partitions after a failure, unless a new cause came since.

    Under ``every_instance`` with events a failed run keeps no other from running: each answers events of its own. Else
    consumers wait for the asset as a whole.
    """
    name, context = case.asset.name, case.context
    failures = tuple(item for item in case.state.failed if item.invocation == context.invocation)
    if not failures or not progress.due:
        return progress
    reasons = tuple(Waiting(name, f"failed: {item.error}") for item in failures)
    has_own_events = bool(progress.due_runs) and bool(progress.due_runs[0].events)
    if has_own_events and isinstance(case.asset.strategy, EveryInstance):
        return progress.with_waiting((*progress.waiting, *reasons))
    if progress.due_runs and _has_newer_cause(case, progress, failures[-1]):
        return progress
    return DecisionProgress(
        due=progress.due, waiting=reasons, blockers=(UpstreamBlocker(EVERYTHING, f"{name}, which failed"),)
    )


def _has_newer_cause(case: DecisionInput, progress: DecisionProgress, failed: FailedPartitions) -> bool:
    """Whether an update or a tick came since the failed run was claimed."""
    updated = (case.context.state.dataset(uri).seq > failed.token for uri in case.state.spec.listens)
    ticked = (each.newest is not None and each.newest > failed.planned for each in progress.due_runs)
    return any(updated) or any(ticked)


def remove_partly_appended(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that removes partitions of which former partitions appended a part."""
    missing = case.pending.missing & progress.due if case.pending is not None else NOTHING
    partitions = partly_appended_partitions(case.asset, case.state, missing)
    return (
        progress.without_partitions(partitions, explain_partly_appended(case.asset, partitions))
        if partitions
        else progress
    )


def partly_appended_partitions(asset: AssetSpec, state: AssetState, missing: PartitionSet) -> PartitionSet:
    """The ``missing`` partitions of which a part was appended already, so that computing them would append it twice."""
    if not missing or not asset.partitioning.is_partitioned or not asset.appends:
        return NOTHING
    lacking = missing - asset.partitioning.inside(state.coverage)  # what a tick has computed again is there as a whole
    return lacking & asset.partitioning.cover(state.coverage)


def explain_partly_appended(asset: AssetSpec, partitions: PartitionSet) -> Waiting:
    """Reason why partly appended partitions wait for a person, with the command to continue without the rest."""
    reason = (
        f"partly appended under earlier partitions; `sparkassets mark {asset.written_by or asset.name} --partition … "
        "--done` skips the rest"
    )
    return Waiting(asset.name, reason, None, partitions, stuck=True)
