"""Decides on published iterations: what a run makes of the newest one, what its event says, which may go; rollbacks.

A rollback makes an older iteration of an asset the newest again, by a run that computes nothing. It goes the way of any
other run, so it needs no rules of its own: it is claimed in the asset's chain (side by side: in the slot of its
partitions), so no run of the asset is beside it; it settles claims that never ended first; its one commit is fenced by
its token, so a driver that was thought dead cannot undo it later; and its record is an update for whoever reads the
asset. Killed before its commit it is completed by the next driver, unless a run is due, which takes its place; killed
after it, it is recorded. What is due, stale or used up is as it was before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sparkassets.core.iterations import (
    FILES,
    ROWS,
    PublishedIteration,
    RetiredEntry,
    find_superseded,
    iteration_folder,
    visible_iterations,
)
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import (
    RunSlotAssigner,
    allows_parallel_runs,
    build_settling_runs,
    can_run_beside,
    describe_live_runs,
    describe_takeover,
    find_held_slots,
    leftover_slots,
)
from sparkassets.core.planner.wording import listing
from sparkassets.core.runs import InletPin, RunRequest, TablePosition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.suggestions import suggest_close
from sparkassets.errors import InputError


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
    """Whether the run's partitions would replace newer ones for readers.

    That can be only where no column tells the time of a row: then one iteration replaces the other as a whole.
    """
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
        return Plan(
            context.now,
            (),
            (Waiting(asset.name, f"{run} is already the newest iteration", None, iteration.partitions),),
        )
    live_waits = describe_live_runs(context, asset, state)
    if live_waits and not can_run_beside(context, asset, state):
        return Plan(context.now, (), tuple(live_waits))
    if slots := leftover_slots(context, asset, state):
        return Plan(context.now, tuple(build_settling_runs(context, asset, state, slots)))
    slot = (
        RunSlotAssigner(asset.partitioning, state, find_held_slots(context, state)).assign_slot(iteration.partitions)
        if allows_parallel_runs(asset)
        else 0
    )
    if slot is None:
        return Plan(
            context.now, (), tuple(live_waits) or (Waiting(asset.name, "waits for unfinished runs to be recovered"),)
        )
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=iteration.partitions,
        schedule_date=context.now,
        reason=", ".join(filter(None, [describe_takeover(state.chains.get(slot, ())), f"rollback to {run}"])),
        interval=iteration.interval,
        run_slot=slot,
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
        raise InputError(
            f"asset {asset.name!r} has no iterations", hint="write: {publish: {keep: 10}} keeps one for each run"
        )
    iteration = find_iteration(state, run)
    if iteration is not None:
        return iteration
    known_runs = [each.run for each in state.iterations][: -MOST_NAMED - 1 : -1]  # the newest first
    known_text = f"its iterations are {listing(known_runs)}" if known_runs else "it has none yet"
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


def retire_iterations(state: State, asset: str, *, keep: int) -> RetiredEntry | None:
    """The entry that retires the asset's superseded iterations; None where all stay.

    Iterations that a claim pins stay, because a driver that takes the claim over reads them again. A later claim reads
    only iterations that are visible by then.
    """
    asset_state = state.assets[asset]
    runs = find_superseded(
        asset_state.iterations, keep=keep, pinned={each.run for each in _pinned_iterations(state, asset_state)}
    )
    return RetiredEntry(asset, runs) if runs else None


def _pinned_iterations(state: State, asset_state: AssetState) -> Iterator[PublishedIteration]:
    """Yields the iterations that unsettled claims read, and those that the asset's own claims roll back to."""
    writer = state.assets.get(asset_state.spec.written_by, asset_state)
    restoring = {claim.entry.request.restores for claim in writer.chain}
    yield from (each for each in asset_state.iterations if each.run in restoring)
    for reader in state.assets.values():
        for claim in reader.chain:
            if (pin := claim.entry.request.pins.get(asset_state.name)) is not None:
                yield from _iterations_read(asset_state.iterations, pin)


def _iterations_read(iterations: Sequence[PublishedIteration], pin: InletPin) -> Sequence[PublishedIteration]:
    """The iterations that a run with that pin reads: the named one, those visible at its version, or its changes.

    Changes since a version are found by comparing all iterations shown since with those that they replaced.
    """
    low_position = TablePosition.parse(pin.low) if pin.low is not None else None
    if low_position is not None and pin.version is not None:
        versions = range(low_position.version + 1, pin.version + 1)
        shown_since = [each for each in iterations if _became_visible(each, versions)]
        return [*shown_since, *visible_iterations(iterations, low_position.version)]
    if pin.iteration:
        return [each for each in iterations if each.name == pin.iteration]
    return visible_iterations(iterations, pin.version) if pin.version is not None else ()


def _became_visible(iteration: PublishedIteration, versions: range) -> bool:
    """Whether one of these table versions made the iteration visible to readers."""
    return any(version in versions for version in iteration.shown)
