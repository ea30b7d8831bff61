"""Decides one asset in a pipeline: each step removes partitions that cannot run now and records the reason.

The schedule yields the due partitions. The steps then remove what failed in this invocation, what waits for an upstream
run, what gates of inlets hold back and what aligned inlets lack. The last steps make runs. A new gate is a new step.
"""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner import outlet_decisions
from sparkassets.core.planner.batch.run_batches import batch_candidates
from sparkassets.core.planner.due import outdated_code, withheld_partitions
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DecisionStep
from sparkassets.core.planner.due.due_partitions import find_due_partitions
from sparkassets.core.planner.due.due_runs import find_due_runs
from sparkassets.core.planner.due.pending_partitions import find_pending
from sparkassets.core.planner.gates import table_losses
from sparkassets.core.planner.gates.failed_partitions import remove_failed
from sparkassets.core.planner.gates.former_partitions import remove_partly_appended
from sparkassets.core.planner.gates.idle_reasons import add_idle_reasons
from sparkassets.core.planner.gates.inlet_gates import apply_gates
from sparkassets.core.planner.gates.upstream_waits import apply_upstream_waits
from sparkassets.core.planner.plan import AssetNote, Waiting
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext, UpstreamBarrier
from sparkassets.core.planner.run_slots import (
    build_settling_runs,
    claims_whole_table,
    describe_live_runs,
    has_parallel_runs,
    leftover_slots,
)
from sparkassets.core.spec.model import AssetSpec


def _remove_reserved(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """The step: without what a backfill in this very invocation computes."""
    taken = case.context.reserved_partitions.get(case.asset.name)
    both = course.blocks & taken if taken is not None and case.pending is not None else NOTHING
    if not both:
        return course
    return course.without_partitions(both, Waiting(case.asset.name, "computed by the backfill", None, both))


def _remove_withheld(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """Step that reports withheld partitions, which are not due."""
    if not case.state.withheld or case.pending is None:
        return course
    return replace(
        course, waiting=(*course.waiting, *withheld_partitions.explain_withheld(case.context, case.asset, case.state))
    )


def _align_candidates(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """The step: each candidate reads the upstream runs of its tick; those that wait for one are taken out."""
    if not any(inlet.aligned for inlet in case.asset.inlets.values()):
        return course
    from sparkassets.core.planner.gates.aligned_inlets import align_candidates  # few projects have any

    return align_candidates(case, course)


def _apply_increments(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """The step: of an inlet that is read incrementally, each run reads the new rows alone."""
    if not course.candidates or all(inlet.read is None for inlet in case.asset.inlets.values()):
        return course
    from sparkassets.core.planner.gates.incremental_reads import apply_increments  # few projects have any

    return apply_increments(case, course)


def _hold_schema_conflicts(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """The step after the runs: what returns other columns than a ``strict`` table has waits."""
    if not course.runs or not case.state.made:
        return course
    from sparkassets.core.planner.batch.schema_conflicts import hold_schema_conflicts

    return hold_schema_conflicts(case, course)


def _hold_over_budget(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """Step that holds back runs over the asset's budget."""
    if case.asset.budget is None:
        return course
    from sparkassets.core.planner.batch.budget import hold_over_budget  # few have one

    return hold_over_budget(case, course)


STEPS: tuple[DecisionStep, ...] = (
    _remove_reserved,
    _remove_withheld,
    remove_failed,
    remove_partly_appended,
    apply_upstream_waits,
    apply_gates,
    _align_candidates,
    _apply_increments,
    batch_candidates,
    _hold_schema_conflicts,
    _hold_over_budget,
)
"""The steps from the due partitions to runs, in order."""


def decide_asset(context: PlanningContext, asset: AssetSpec) -> AssetDecision:
    """Returns the decision for one asset; its upstream assets must be decided before."""
    if asset.maker:
        return outlet_decisions.decide_outlet(context, asset)
    if asset.source is not None:
        problem = context.faults.get(asset.name) or context.notes.get(asset.name)
        return AssetDecision((), (Waiting(asset.name, problem),)) if problem else AssetDecision()
    state = context.state_of(asset)
    obstacle = (
        _decide_running(context, asset, state)
        or _decide_held_back(context, asset, state)
        or _decide_unsettled(context, asset, state)
    )
    decision = obstacle or _run_steps(context, asset, state)
    decision = table_losses.add_loss_notes(context, asset, state, decision)
    decision = outdated_code.add_code_notes(context, asset, state, decision)
    decision = withheld_partitions.add_withheld_barriers(context, asset, state, decision)
    note = context.notes.get(asset.name)
    return replace(decision, notes=(*decision.notes, AssetNote(asset.name, note))) if note else decision


def _run_steps(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetDecision:
    pending = find_pending(context, asset, state) if asset.partitioning.is_partitioned else None
    case = DecisionInput(context, asset, state, pending)
    course = start_from_schedule(case)
    for step in STEPS:
        course = step(case, course)
    if state.redo and pending is not None:
        from sparkassets.core.planner.due.redo_requests import add_redo_runs

        course = add_redo_runs(case, course, STEPS)
    course = add_idle_reasons(case, course)
    return AssetDecision(course.runs, course.waiting, course.coming, course.barriers)


def start_from_schedule(case: DecisionInput) -> DecisionProgress:
    """First step: finds missing and stale partitions, or, for an asset without partitions, unused events and ticks."""
    return find_due_runs(case) if case.pending is None else find_due_partitions(case, case.pending)


def _decide_running(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetDecision | None:
    """The decision for an asset that runs, beside which nothing else may."""
    live = context.live_claims(state)
    if not live or (has_parallel_runs(asset) and not any(claims_whole_table(link, state) for link in live)):
        return None
    waiting = describe_live_runs(context, asset, state)
    return AssetDecision((), tuple(waiting), coming=PartitionSet.union(each.blocks for each in waiting))


def _decide_unsettled(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetDecision | None:
    """Decision for an asset that had parallel runs of which some never ended; None without any."""
    slots = leftover_slots(context, asset, state)
    if not slots:
        return None
    waiting = Waiting(asset.name, "waits until what never ended side by side is settled")
    return AssetDecision(tuple(build_settling_runs(context, asset, state, slots)), (waiting,))


def _decide_held_back(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetDecision | None:
    """Decision for an asset that does not run whatever is due: lost, unfenced, paused or not selected; else None."""
    if (lost := table_losses.decide_held_back(context, asset, state)) is not None:
        return lost
    if (unfenced := _unfenced_reason(context, asset, state)) is not None:
        failure = f"{asset.name}, which failed"
        return AssetDecision((), (Waiting(asset.name, unfenced),), barriers=(UpstreamBarrier(EVERYTHING, failure),))
    if asset.paused or state.paused:
        return _decide_at_rest(context, asset, state, "paused")
    if context.select is not None and asset.name not in context.select:
        return _decide_at_rest(context, asset, state, "not selected")
    return None


def _decide_at_rest(context: PlanningContext, asset: AssetSpec, state: AssetState, why: str) -> AssetDecision:
    """Decision for a paused or unselected asset; it passes on the barriers of its inlets to its consumers."""
    barriers: tuple[UpstreamBarrier, ...] = ()
    if any(context.decisions[name].barriers for name in asset.inlets if name in context.decisions):
        found = find_pending(context, asset, state) if asset.partitioning.is_partitioned else None
        barriers = apply_upstream_waits(DecisionInput(context, asset, state, found), DecisionProgress()).barriers
    return AssetDecision((), (Waiting(asset.name, why, quiet=True),), barriers=barriers)


def _unfenced_reason(context: PlanningContext, asset: AssetSpec, state: AssetState) -> str | None:
    """Why an unfenced failure of this invocation blocks the asset: its commit may still land; None without one."""
    if not state.chain or has_parallel_runs(asset) or state.chain[-1].status != "unfenced" or not state.failed:
        return None
    last = state.failed[-1]
    if last.invocation != context.invocation or last.token != state.chain[-1].token:
        return None
    return f"failed, and what may have landed of {last.run} is not known: {last.error}"
