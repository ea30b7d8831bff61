"""Pools: how many runs of a project's assets may share a thing at once, such as an API or a small cluster.

The claims in the journal say who holds a place, so that the bound is for all drivers together: a claim is decided on
the newest state, and made only if no other was made meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from sparkassets.core.partitions.segment_functions import IdentityKey
from sparkassets.core.planner.batch.held_runs import HeldRun, plan_without_held_runs
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import listing
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import replace


def find_pool_members(project: ProjectSpec) -> Mapping[str, tuple[str, ...]]:
    """The assets of each pool."""
    return _cached_members(IdentityKey(project))


@lru_cache(maxsize=4)
def _cached_members(project_key: IdentityKey[ProjectSpec]) -> Mapping[str, tuple[str, ...]]:
    """The assets of each pool; cached by the identity of the project, as each plan asks anew."""
    members: dict[str, list[str]] = {}
    for asset in project_key.value.assets.values():
        if asset.pool:
            members.setdefault(asset.pool, []).append(asset.name)
    return {pool: tuple(names) for pool, names in members.items()}


def count_free_places(context: PlanningContext, pool: str) -> int:
    """How many more runs may be claimed in a pool."""
    return context.project.pools[pool] - sum(1 for _ in _find_holders(context, pool))


def _find_holders(context: PlanningContext, pool: str) -> Iterator[str]:
    """The asset of each run that holds a place: its claim is open, and its driver is not known to be gone."""
    for name in find_pool_members(context.project).get(pool, ()):
        known = context.state.assets.get(name)
        for chain in known.chains.values() if known is not None else ():
            if chain[-1].status == "open" and chain[-1].token not in context.gone_claims:
                yield name


def hold_in_full_pool(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step after the runs: holds them back while others hold all places of the asset's pool."""
    if not progress.runs or count_free_places(case.context, case.asset.pool) > 0:
        return progress
    waiting = tuple(each.wait for each in _hold(case.context, case.asset, progress.runs))
    return replace(progress, runs=(), waiting=(*progress.waiting, *waiting))


def plan_within_pool(context: PlanningContext, asset: AssetSpec, plan: Plan) -> Plan:
    """The plan of one asset without its runs if others hold all places of its pool."""
    if not asset.pool or not plan.runs or count_free_places(context, asset.pool) > 0:
        return plan
    return plan_without_held_runs(plan, _hold(context, asset, plan.runs))


def _hold(context: PlanningContext, asset: AssetSpec, runs: tuple[PlannedRun, ...]) -> list[HeldRun]:
    """The runs, each held with a waiting reason that names the assets whose runs fill the pool."""
    size, holders = context.project.pools[asset.pool], sorted({*_find_holders(context, asset.pool)})
    reason = f"waits for the pool {asset.pool!r} of {size}, which runs of {listing(holders)} hold"
    return [HeldRun(run, Waiting(asset.name, reason, None, run.partitions)) for run in runs]
