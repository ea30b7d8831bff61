"""Assets that wait for a person, of which people are notified once, and once more when the wait is over."""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.journal.notified import PersonWaitEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.batch.budgets import is_budget_wait
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec


def find_person_waits(plan: Plan) -> dict[str, str]:
    """By asset, for what it waits for a person."""
    reasons: dict[str, dict[str, None]] = {}
    for wait in plan.waiting:
        if wait.stuck or is_budget_wait(wait):
            reasons.setdefault(wait.asset, {})[wait.reason] = None
    return {name: "; ".join(each) for name, each in reasons.items()}


def person_wait_changes(context: PlanningContext) -> Iterator[PersonWaitEntry]:
    """Yields the entries to record: one when an asset begins to wait for a person, and one when it no longer does.

    Another reason to wait for a person makes no further entry.
    """
    reasons = find_person_waits(make_plan(context))
    for asset in context.project.assets.values():
        known = context.state.assets.get(asset.name)
        if known is None or _is_quiet(context, asset, known):
            continue
        reason = reasons.get(asset.name, "") if asset.notifies_of("waiting", "recovery") else ""
        if bool(reason) != bool(known.person_wait):
            yield PersonWaitEntry(asset.name, reason)


def _is_quiet(context: PlanningContext, asset: AssetSpec, known: AssetState) -> bool:
    """Whether nobody is notified of the asset now: it is paused or silenced."""
    return known.is_silenced(context.now) or asset.paused or known.paused
