"""A rollback: an older iteration of an asset becomes the newest again, by a run that computes nothing.

It goes the way of any other run, so it needs no rules of its own: it is claimed in the asset's chain (side by side: in
the slot of its partitions), so no run of the asset is beside it; it settles claims that never ended first; its one
commit is fenced by its token, so a driver that was thought dead cannot undo it later; and its record is an update for
whoever reads the asset. Killed before its commit it is completed by the next driver, unless a run is due, which takes
its place; killed after it, it is recorded. What is due, stale or used up is as it was before.
"""

from __future__ import annotations

from sparkassets.core.journal.iterations import PublishedIteration, visible_iterations
from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.batch.published_iterations import find_iteration
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import (
    RunSlots,
    build_settling_runs,
    can_run_beside,
    describe_live_runs,
    describe_takeover,
    find_held_slots,
    has_parallel_runs,
    leftover_slots,
)
from sparkassets.core.planner.wording import listing
from sparkassets.core.runs import RunRequest
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.writes import PublishWrite
from sparkassets.errors import InputError

MOST_NAMED = 10


def plan_rollback(context: PlanningContext, asset: AssetSpec, run: str) -> Plan:
    """The run that makes the iteration of ``run`` the newest again, or why there is none.

    Raises:
        InputError: There is no such iteration.
    """
    state = context.state_of(asset)
    found, newest = _find_in_all_outlets(context, asset, run)
    if newest:
        return Plan(context.now, (), (Waiting(asset.name, f"{run} is the newest already", None, found.blocks),))
    live = describe_live_runs(context, asset, state)
    if live and not can_run_beside(context, asset, state):
        return Plan(context.now, (), tuple(live))
    if slots := leftover_slots(context, asset, state):
        return Plan(context.now, tuple(build_settling_runs(context, asset, state, slots)))
    slot = (
        RunSlots(asset.partitioning, state, find_held_slots(context, state)).assign_slot(found.blocks)
        if has_parallel_runs(asset)
        else 0
    )
    if slot is None:
        return Plan(context.now, (), tuple(live) or (Waiting(asset.name, "waits for what is not settled yet"),))
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        blocks=found.blocks,
        schedule_date=context.now,
        reason=", ".join(filter(None, [describe_takeover(state.chains.get(slot, ())), f"rollback to {run}"])),
        interval=found.interval,
        slot=slot,
        restores=run,
    )
    return Plan(context.now, (PlannedRun.from_request(request, asset=asset, state=state),))


def _find_in_all_outlets(context: PlanningContext, asset: AssetSpec, run: str) -> tuple[PublishedIteration, bool]:
    """The iteration of ``run``, and whether it is the newest: of all outlets where the asset has some.

    Raises:
        InputError: One has none.
    """
    written = [context.asset(name) for name in asset.written_assets]
    states = [context.state_of(each) for each in written]
    found = [find_kept_iteration(each, known, run) for each, known in zip(written, states, strict=True)]
    return found[0], all(map(is_newest, states, found))


def find_kept_iteration(asset: AssetSpec, state: AssetState, run: str) -> PublishedIteration:
    """The iteration of ``run``.

    Raises:
        InputError: The asset keeps none, or has none of that run any more.
    """
    if not isinstance(asset.write, PublishWrite):
        raise InputError(f"asset {asset.name!r} has no iterations", hint="write: {publish: {keep: 10}} makes one a run")
    found = find_iteration(state, run)
    if found is not None:
        return found
    known = [each.run for each in state.iterations][: -MOST_NAMED - 1 : -1]
    there = f"there are {listing(known)}" if known else "there is none yet"
    message = f"asset {asset.name!r} has no iteration of run {run!r}; {there}"
    raise InputError(message, hint=suggest_close(run, known))


def is_newest(state: AssetState, iteration: PublishedIteration) -> bool:
    """Whether readers see it, in all of its partitions."""
    first = next(
        (
            each
            for each in visible_iterations(state.iterations)
            if each.visible_partitions.overlaps(iteration.visible_partitions)
        ),
        None,
    )
    return first is iteration
