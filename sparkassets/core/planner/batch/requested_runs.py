"""Plans runs that a person asks for by themselves: rebuilds, rollbacks and attended runs.

Plans a rebuild: one run computes a whole partitioned table and replaces its columns.

It is one commit, however many partitions there are, so readers see either the old table or the new one.

A rollback: an older iteration of an asset becomes the newest again, by a run that computes nothing.

It goes the way of any other run, so it needs no rules of its own: it is claimed in the asset's chain (side by side: in
the slot of its partitions), so no run of the asset is beside it; it settles claims that never ended first; its one
commit is fenced by its token, so a driver that was thought dead cannot undo it later; and its record is an update for
whoever reads the asset. Killed before its commit it is completed by the next driver, unless a run is due, which takes
its place; killed after it, it is recorded. What is due, stale or used up is as it was before.
"""

from __future__ import annotations

from typing import Any

from sparkassets.core.journal.iterations import PublishedIteration, visible_iterations
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.planner.batch.run_batches import partition_limit
from sparkassets.core.planner.due.pending_partitions import find_pending
from sparkassets.core.planner.gates.aligned_inlets import AlignedGroup, group_by_upstream_runs
from sparkassets.core.planner.gates.inlet_gates import check_gates
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import (
    RunSlots,
    build_settling_runs,
    can_run_beside,
    describe_live_runs,
    describe_takeover,
    explain_obstacles,
    find_held_slots,
    has_parallel_runs,
    leftover_slots,
)
from sparkassets.core.planner.wording import label_partitions, listing, plural
from sparkassets.core.runs import FILES, ROWS, RunRequest, iteration_folder
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.suggestions import suggest_close
from sparkassets.errors import InputError


def plan_rebuild(context: PlanningContext, asset: AssetSpec, *, force: bool) -> Plan:
    """Plans the run that computes every stored or wanted partition in one commit, or says why there is none.

    A stored partition that cannot be computed now, because its input is gone or its segment is unlisted, would lose its
    rows: that is refused without ``force``. A partition that was never stored waits as ever.
    """
    state = context.state_of(asset)
    stored = asset.partitioning.inside(stored_time(state))
    if (obstacle := explain_obstacles(context, asset, state, stored, rebuilds=True)) is not None:
        return obstacle
    pending, unlisted = find_pending(context, asset, state), asset.partitioning.unknown_partitions(stored)
    gated = check_gates(context, asset, (stored - unlisted) | (pending.wanted - pending.holes))
    not_computable, partitions = stored - gated.ready, stored | gated.ready
    if not_computable and not force:
        return Plan(context.now, (), (_refuse_lossy_rebuild(asset, not_computable, gated.waiting),))
    if not partitions:
        return Plan(context.now, (), gated.waiting)
    groups = group_by_upstream_runs(context, asset, partitions)
    if waiting := _explain_unaligned(asset, groups, partitions):
        return Plan(context.now, (), waiting)
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=partitions,
        schedule_date=context.now,
        reason=", ".join([_rebuild_reason(asset, partitions, not_computable), *groups[0].inlet_alignment.notes]),
        interval=asset.partitioning.interval(partitions),
        pins={**context.pins(asset, state, partitions), **groups[0].inlet_alignment.pins},
        rebuilds=True,
        accepted=pending.withheld.accepted & partitions,
    )
    remaining_waits = tuple(wait for wait in gated.waiting if wait.partitions - partitions)
    return Plan(context.now, (PlannedRun.from_request(request, asset=asset, state=state),), remaining_waits)


def stored_time(state: AssetState) -> PartitionSet:
    """The stored partitions, and those of an earlier partitioning whose keys can be compared with the present ones."""
    former = state.former
    if former is None or former.coverage.is_everything or not state.spec.partitioning.understands(former.partitioning):
        return state.coverage
    return state.coverage | former.coverage


def _explain_unaligned(
    asset: AssetSpec, groups: tuple[AlignedGroup, ...], partitions: PartitionSet
) -> tuple[Waiting, ...]:
    """Why aligned inlets keep ``partitions`` from being one run; empty where one run can compute all of them.

    A run reads one version of an inlet, so groups that need different upstream runs cannot share one.
    """
    waiting = [wait for group in groups for wait in group.inlet_alignment.waiting]
    if len(groups) > 1:
        reason = f"cannot be rebuilt in one run: its partitions read {len(groups)} different runs of an aligned inlet"
        waiting.append(Waiting(asset.name, reason, None, partitions))
    return tuple(waiting)


def _rebuild_reason(asset: AssetSpec, partitions: PartitionSet, not_computable: PartitionSet) -> str:
    """The sentence for a rebuild's run; ``not_computable`` partitions come from what is left of the inlets."""
    count = asset.partitioning.count(partitions)
    reason = f"rebuild of {plural(count, 'partition')} in one commit"
    if count > partition_limit(asset):
        reason += f", whatever max_partitions_per_run ({partition_limit(asset)})"
    if not_computable:
        reason += f"; {label_partitions(not_computable, asset.partitioning)} from what is left of the inlets"
    return reason


def _refuse_lossy_rebuild(asset: AssetSpec, lost: PartitionSet, waiting: tuple[Waiting, ...]) -> Waiting:
    """The waiting reason of a rebuild that would lose the rows of the partitions ``lost``."""
    cause = next((wait.reason for wait in waiting if wait.partitions.overlaps(lost)), "it is not listed any more")
    lost_text = label_partitions(lost, asset.partitioning)
    reason = f"a rebuild would lose {lost_text}, which cannot be computed again: {cause}"
    return Waiting(asset.name, f"{reason} (--force computes them from what is left)", None, lost)


def keeps_newest_iteration(asset: AssetSpec, state: AssetState, request: RunRequest) -> bool:
    """Whether the run publishes an older interval than readers see, so that the newest iteration stays the same.

    Only a backfill, or a run for each interval, can be older; a run of everything due now is always the newest. With
    partitions readers see the newest iteration of each; where no column identifies partitions in rows, that of the
    newest one.
    """
    if not asset.publishes or request.restores:
        return False
    if asset.partitioning.is_partitioned:
        return _replaces_newer_partitions(asset.partitioning, state, request.partitions)
    newest = next(iter(visible_iterations(state.iterations)), None)
    if newest is None or newest.interval is None or request.interval is None:
        return False
    has_own_interval = request.kind == "backfill" or isinstance(asset.strategy, EveryInstance)
    return has_own_interval and request.interval[1] < newest.interval[1]


def _replaces_newer_partitions(partitioning: Partitioning, state: AssetState, partitions: PartitionSet) -> bool:
    """Whether the run's partitions would replace newer ones for readers, because rows do not tell their time."""
    if partitioning.has_columns or partitioning.time is None or not partitions:
        return False
    row_partitions = partitioning.widen_to_rows(partitions)
    return any(
        each.visible_partitions.overlaps(row_partitions) and each.partitions.last > partitions.last
        for each in visible_iterations(state.iterations)
    )


def find_iteration(state: AssetState, run: str) -> PublishedIteration | None:
    """The iteration that a run published; None if it was not kept."""
    return next((each for each in state.iterations if each.run == run), None)


def iteration_key(asset: AssetSpec, run: str, partitions: PartitionSet) -> str:
    """What identifies an iteration for readers: its partition keys, or the run for an asset without partitions."""
    return ",".join(asset.partitioning.labels(partitions)) if asset.partitioning.is_partitioned else run


def iteration_event_extra(
    asset: AssetSpec, name: str, *, run: str, partitions: PartitionSet, files: bool
) -> dict[str, Any]:
    """The ``extra`` of an iteration's event: its path, its key and its run.

    Args:
        asset: The asset that published it.
        name: Name of the iteration, and of its folder.
        run: The run that published it.
        partitions: Its partitions.
        files: Whether it consists of files rather than rows, which have another folder.
    """
    folder = iteration_folder(name, FILES if files else ROWS)
    root = asset.storage.path.rstrip("/") if asset.storage is not None else ""
    return {"path": f"{root}/{folder}", "key": iteration_key(asset, run, partitions), "run": run}


MOST_NAMED = 10
"""Number of iterations that a refusal names, the newest."""


def plan_rollback(context: PlanningContext, asset: AssetSpec, run: str) -> Plan:
    """Plans the run that makes the iteration of ``run`` the newest again; or a plan that says why there is none.

    Raises:
        InputError: There is no such iteration.
    """
    state = context.state_of(asset)
    iteration, is_newest_already = _find_in_all_outlets(context, asset, run)
    if is_newest_already:
        return Plan(context.now, (), (Waiting(asset.name, f"{run} is the newest already", None, iteration.partitions),))
    live_waits = describe_live_runs(context, asset, state)
    if live_waits and not can_run_beside(context, asset, state):
        return Plan(context.now, (), tuple(live_waits))
    if slots := leftover_slots(context, asset, state):
        return Plan(context.now, tuple(build_settling_runs(context, asset, state, slots)))
    slot = (
        RunSlots(asset.partitioning, state, find_held_slots(context, state)).assign_slot(iteration.partitions)
        if has_parallel_runs(asset)
        else 0
    )
    if slot is None:
        return Plan(context.now, (), tuple(live_waits) or (Waiting(asset.name, "waits for what is not settled yet"),))
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=iteration.partitions,
        schedule_date=context.now,
        reason=", ".join(filter(None, [describe_takeover(state.chains.get(slot, ())), f"rollback to {run}"])),
        interval=iteration.interval,
        slot=slot,
        restores=run,
    )
    return Plan(context.now, (PlannedRun.from_request(request, asset=asset, state=state),))


def _find_in_all_outlets(context: PlanningContext, asset: AssetSpec, run: str) -> tuple[PublishedIteration, bool]:
    """The iteration of ``run``, and whether it is the newest already.

    A multi-asset needs the iteration in each of its outlets, and it is the newest only if it is so in all of them.

    Raises:
        InputError: An outlet keeps no such iteration.
    """
    written = [context.asset(name) for name in asset.written_assets]
    states = [context.state_of(each) for each in written]
    iterations = [find_kept_iteration(each, known, run) for each, known in zip(written, states, strict=True)]
    return iterations[0], all(map(is_newest, states, iterations))


def find_kept_iteration(asset: AssetSpec, state: AssetState, run: str) -> PublishedIteration:
    """The iteration that ``run`` published.

    Raises:
        InputError: The asset publishes no iterations, or keeps none of that run any more.
    """
    if not asset.publishes:
        raise InputError(f"asset {asset.name!r} has no iterations", hint="write: {publish: {keep: 10}} makes one a run")
    iteration = find_iteration(state, run)
    if iteration is not None:
        return iteration
    known_runs = [each.run for each in state.iterations][: -MOST_NAMED - 1 : -1]
    known_text = f"there are {listing(known_runs)}" if known_runs else "there is none yet"
    message = f"asset {asset.name!r} has no iteration of run {run!r}; {known_text}"
    raise InputError(message, hint=suggest_close(run, known_runs))


def is_newest(state: AssetState, iteration: PublishedIteration) -> bool:
    """Whether readers see this iteration in all of its partitions, so that no newer one hides a part of it."""
    newest_overlapping = next(
        (
            each
            for each in visible_iterations(state.iterations)
            if each.visible_partitions.overlaps(iteration.visible_partitions)
        ),
        None,
    )
    return newest_overlapping is iteration


def plan_attended(
    context: PlanningContext, asset: AssetSpec, partitions: PartitionSet, interval: tuple[int, int] | None
) -> Plan:
    """Plans a run that the asset's own job executes and that reads the inlets as they are now.

    Where a live run or an unfinished one keeps it from being claimed, the plan says so instead.

    Args:
        context: The view of the moment.
        asset: The asset of the run.
        partitions: Partitions that it computes; everything for an asset without partitions.
        interval: Its data interval, Unix seconds; by default that of its partitions.
    """
    state = context.state_of(asset)
    if (obstacle := explain_obstacles(context, asset, state, partitions)) is not None:
        return obstacle
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=partitions,
        schedule_date=context.now,
        reason="its own job runs it",
        interval=interval or (asset.partitioning.interval(partitions) if asset.partitioning.is_partitioned else None),
        pins=context.pins(asset, state, partitions),
    )
    return Plan(context.now, (PlannedRun.from_request(request, asset=asset, state=state),), ())
