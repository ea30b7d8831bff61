"""Makes the `Plan` of a project: each asset passes the `STEPS`, which remove what cannot run and record why.

Planning is a pure function, so a plan can be printed, compared in a test and simulated for any time.

The schedule yields the due partitions of an asset. The steps then remove partitions that failed in this invocation,
that wait for an upstream run, or that a gate or an aligned inlet holds back. The last steps make runs. A new gate is a
new step.
"""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.due import outdated_code, withheld_partitions
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DecisionStep
from sparkassets.core.planner.due.due_partitions import find_due_partitions
from sparkassets.core.planner.due.due_ticks import find_due_ticks, next_tick_of
from sparkassets.core.planner.due.pending_partitions import explain_skipped, find_pending
from sparkassets.core.planner.due.wanted_partitions import explain_beyond_newest, explain_left_out, mapped_inlets
from sparkassets.core.planner.gates import table_losses
from sparkassets.core.planner.gates.inlet_gates import apply_gates, describe_removed_input, find_kept_partitions
from sparkassets.core.planner.gates.partition_gates import remove_failed, remove_partly_appended
from sparkassets.core.planner.gates.upstream_waits import apply_upstream_waits
from sparkassets.core.planner.plan import AssetNote, Plan, Waiting
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext, UpstreamBlocker
from sparkassets.core.planner.run_slots import (
    allows_parallel_runs,
    build_settling_runs,
    claims_whole_table,
    describe_live_runs,
    leftover_slots,
)
from sparkassets.core.planner.wording import listing, plural
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import replace


def decide_outlet(context: PlanningContext, asset: AssetSpec) -> AssetDecision:
    """Returns the decision for an outlet: the partitions that its multi-asset's runs will bring, and no run of its own.

    The multi-asset must be decided before. Its runs stay in the decision until the notes on lost rows are added, as
    these say which runs compute the rows again.
    """
    writer = context.decisions.get(asset.written_by, AssetDecision())
    decision = replace(writer, waiting=(), notes=())
    return replace(table_losses.add_loss_notes(context, asset, context.state_of(asset), decision), runs=())


def add_idle_reasons(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Last step: adds reasons for the asset and the partitions about which no earlier step said anything.

    These are partitions that the bounds leave out, that are not over yet or that are skipped, and present ones that
    keep rows of removed input. Without runs and reasons, the asset is up to date. An asset without partitions is left
    as it is.
    """
    pending = case.pending
    if pending is None:
        return progress
    waiting = [*progress.waiting, *explain_left_out(case.context, case.asset, pending.wanted | pending.later)]
    waiting += _explain_unfinished(case, pending.later | progress.later)
    if not progress.runs and not waiting:
        waiting.append(_explain_idle(case))
    explained = PartitionSet.union(each.partitions for each in waiting if not each.partitions.is_everything)
    waiting += explain_beyond_newest(case.context, case.asset, pending.beyond_newest - explained)
    waiting += explain_skipped(case.context, case.asset, case.state)
    for inlet, kept, removed_inputs in find_kept_partitions(case.context, case.asset, case.state.coverage):
        if (
            unexplained := kept
            - (progress.due - pending.failed)
            - PartitionSet.union(run.partitions for run in progress.runs)
        ):
            waiting.append(
                Waiting(
                    case.asset.name,
                    describe_removed_input(case.context, inlet, removed_inputs),
                    None,
                    unexplained,
                    quiet=True,
                )
            )
    return progress.with_waiting(tuple(waiting))


def _explain_unfinished(case: DecisionInput, unfinished: PartitionSet) -> list[Waiting]:
    """One quiet reason for the partitions ``unfinished``, whose interval is not over yet; empty without any."""
    if not unfinished:
        return []
    partitioning = case.asset.partitioning
    first_key, finish_time = next(partitioning.keys(unfinished)), partitioning.first_finish_time(unfinished)
    reason = f"{first_key} is not over before {case.context.format_instant(finish_time or case.context.now)}"
    return [Waiting(case.asset.name, reason, finish_time, unfinished, quiet=True)]


def _explain_idle(case: DecisionInput) -> Waiting:
    """The reason of an asset with partitions that has no run and no other reason: up to date, or nothing yet."""
    state = case.state
    since = f" since {state.last.run}" if state.last else ""
    if not state.coverage:
        return Waiting(case.asset.name, _explain_no_partitions(case) + since)
    return Waiting(
        case.asset.name,
        f"up to date{since}{_describe_passed_tick(case)}",
        next_tick_of(case.context, case.asset),
        quiet=True,
    )


def _describe_passed_tick(case: DecisionInput) -> str:
    """For an asset with a timetable: the tick that passed without anything to do, and the next tick; else empty.

    A clause to follow "up to date".
    """
    next_tick, timetable = next_tick_of(case.context, case.asset), case.asset.schedule.timetable
    if next_tick is None or timetable is None:
        return ""
    ticks = find_due_ticks(case.context, case.asset, timetable, case.state)
    next_text = case.context.format_instant(next_tick)
    if isinstance(ticks, Waiting):
        return f"; {case.asset.schedule.text} next at {next_text}"
    passed_text = case.context.format_instant(ticks[-1].run_after)
    return f"; {case.asset.schedule.text} had nothing to do at {passed_text}, next at {next_text}"


def _explain_no_partitions(case: DecisionInput) -> str:
    """Why an asset with partitions has none yet: an inlet cannot be observed or is empty, or no interval is over."""
    names = [inlet.name for inlet in mapped_inlets(case.context, case.asset)]
    unobservable = next((name for name in names if name in case.context.faults), None)
    if unobservable is not None:
        return f"waits for {unobservable}: {case.context.faults[unobservable]}"
    return f"waits for the first partition of {listing(names)}" if names else "no partition is over yet"


def _remove_reserved(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that removes the partitions that a backfill of this invocation computes."""
    reserved = case.context.reserved_partitions.get(case.asset.name)
    removed = progress.partitions & reserved if reserved is not None and case.pending is not None else NOTHING
    if not removed:
        return progress
    return progress.without_partitions(removed, Waiting(case.asset.name, "computed by the backfill", None, removed))


def _report_withheld(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that adds the reasons of withheld partitions without a new cause, which are not due anyway.

    Those of an asset without partitions are added where its due runs are found.
    """
    if not case.state.withheld or case.pending is None:
        return progress
    return replace(
        progress,
        waiting=(*progress.waiting, *withheld_partitions.explain_withheld(case.context, case.asset, case.state)),
    )


def _align_due_runs(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that pins due runs to their aligned inlets' runs of the same tick.

    Due runs without such an upstream run yet are removed and wait for it.
    """
    if not any(inlet.aligned for inlet in case.asset.inlets.values()):
        return progress
    from sparkassets.core.planner.gates.aligned_inlets import align_due_runs  # few projects have any

    return align_due_runs(case, progress)


def _apply_increments(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that limits each due run to the new rows of its incrementally read inlets."""
    if not progress.due_runs or all(inlet.read is None for inlet in case.asset.inlets.values()):
        return progress
    from sparkassets.core.planner.gates.incremental_reads import apply_increments  # few projects have any

    return apply_increments(case, progress)


def _batch_due_runs(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that makes planned runs of the due runs.

    It is needed without due partitions too: an unfinished run (``chain``) has to be settled, and for parallel runs the
    step also reports live runs.
    """
    has_work = progress.due_runs if case.pending is None else progress.partitions or case.state.chain
    if not has_work and not allows_parallel_runs(case.asset):
        return progress
    from sparkassets.core.planner.batch.run_batches import batch_due_runs  # where something is due

    return batch_due_runs(case, progress)


def _hold_schema_conflicts(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step after the runs: holds back those that would give a ``strict`` table other columns.

    Runs that wait for an inlet's run count too. Nothing is held before the table has rows of any recorded code.
    """
    if not (progress.runs or progress.awaited) or not case.state.definition_outputs:
        return progress
    from sparkassets.core.planner.batch.schema_conflicts import hold_schema_conflicts

    return hold_schema_conflicts(case, progress)


def _hold_over_budget(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that holds back runs over the asset's budget."""
    if case.asset.budget is None:
        return progress
    from sparkassets.core.planner.batch.budgets import hold_over_budget  # few have one

    return hold_over_budget(case, progress)


def _hold_in_full_pool(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Holds back runs while others hold all places of the asset's pool."""
    if not case.asset.pool:
        return progress
    from sparkassets.core.planner.batch.run_pools import hold_in_full_pool  # few are in one

    return hold_in_full_pool(case, progress)


STEPS: tuple[DecisionStep, ...] = (
    _remove_reserved,
    _report_withheld,
    remove_failed,
    remove_partly_appended,
    apply_upstream_waits,
    apply_gates,
    _align_due_runs,
    _apply_increments,
    _batch_due_runs,
    _hold_schema_conflicts,
    _hold_over_budget,
    _hold_in_full_pool,
)
"""The steps from the due partitions to runs, in order."""


def decide_asset(context: PlanningContext, asset: AssetSpec) -> AssetDecision:
    """Returns the decision for one asset; its upstream assets must be decided before."""
    if asset.written_by:
        return decide_outlet(context, asset)
    if asset.source is not None:
        problem = context.faults.get(asset.name) or context.notes.get(asset.name)
        return AssetDecision((), (Waiting(asset.name, problem),)) if problem else AssetDecision()
    state = context.state_of(asset)
    blocked = (
        _wait_for_live_runs(context, asset, state)
        or _decide_held_back(context, asset, state)
        or _settle_former_runs(context, asset, state)
    )
    decision = blocked or _run_steps(context, asset, state)
    decision = table_losses.add_loss_notes(context, asset, state, decision)
    decision = outdated_code.add_code_notes(context, asset, state, decision)
    decision = withheld_partitions.add_withheld_blockers(context, asset, state, decision)
    note = context.notes.get(asset.name)
    return replace(decision, notes=(*decision.notes, AssetNote(asset.name, note))) if note else decision


def _run_steps(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetDecision:
    """The decision by the schedule and the `STEPS`; partitions of open backfill requests pass the steps once more.

    Which consumers a run brings nothing new is asked only if several definitions are recorded: else no code changed.
    """
    pending = find_pending(context, asset, state) if asset.partitioning.is_partitioned else None
    case = DecisionInput(context, asset, state, pending)
    progress = start_from_schedule(case)
    for step in STEPS:
        progress = step(case, progress)
    if state.redo_requests and pending is not None:
        from sparkassets.core.planner.due.redo_requests import add_redo_runs

        progress = add_redo_runs(case, progress, STEPS)
    progress = add_idle_reasons(case, progress)
    unread = _unread_partitions(case, progress) if len(state.definition_outputs) > 1 else {}
    return AssetDecision(progress.runs, progress.waiting, progress.expected, progress.blockers, unread_by=unread)


def _unread_partitions(case: DecisionInput, progress: DecisionProgress) -> dict[str, PartitionSet]:
    """By consumer, the partitions that runs compute again by other code that touches nothing the consumer reads."""
    from sparkassets.core.planner.due.unaffected_readers import find_unaffected_readers  # where code has changed

    run_partitions = [run.partitions for run in progress.runs]
    # what later runs of this invocation compute; partitions that wait for an inlet's run read other input than before
    expected_later = progress.expected - PartitionSet.union(
        [*run_partitions, *(each.partitions for each in progress.awaited)]
    )
    unread: dict[str, PartitionSet] = {}
    for partitions in filter(None, (*run_partitions, expected_later)):
        for name in find_unaffected_readers(case.context, case.asset, partitions):
            unread[name] = unread.get(name, NOTHING) | partitions
    return unread


def start_from_schedule(case: DecisionInput) -> DecisionProgress:
    """First step: finds missing and stale partitions, or, for an asset without partitions, unused events and ticks."""
    if case.pending is not None:
        return find_due_partitions(case, case.pending)
    from sparkassets.core.planner.due.due_runs import find_due_runs  # for assets without partitions

    return find_due_runs(case)


def _wait_for_live_runs(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetDecision | None:
    """The decision for an asset with a live run that excludes others: it waits; None where another run may start.

    Consumers wait for the partitions of the live runs, but for those that, by the runs' claims, bring them nothing new
    (``unread_by``).
    Runs of a parallel asset exclude each other only where one claims the whole table.
    """
    live = context.live_claims(state)
    if not live or (allows_parallel_runs(asset) and not any(claims_whole_table(link, state) for link in live)):
        return None
    waiting = describe_live_runs(context, asset, state)
    unread: dict[str, PartitionSet] = {}
    for request in (link.entry.request for link in live):
        unread |= {name: unread.get(name, NOTHING) | request.partitions for name in request.unread_by}
    expected = PartitionSet.union(each.partitions for each in waiting)
    return AssetDecision((), tuple(waiting), expected=expected, unread_by=unread)


def _settle_former_runs(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetDecision | None:
    """Decision for an asset that no longer has parallel runs, while former ones are unfinished; None without any.

    The runs that it plans only settle these: they find out what became of them and record it.
    """
    slots = leftover_slots(context, asset, state)
    if not slots:
        return None
    count = plural(len(slots), "unfinished parallel run")
    waiting = Waiting(asset.name, f"waits for the recovery of {count}")
    return AssetDecision(tuple(build_settling_runs(context, asset, state, slots)), (waiting,))


def _decide_held_back(context: PlanningContext, asset: AssetSpec, state: AssetState) -> AssetDecision | None:
    """Decision for an asset that may not run, whatever is due; None where it may.

    It may not run after a loss of its table, while a failed run of it is not fenced, while paused, or when not
    selected.
    """
    if (lost := table_losses.decide_held_back(context, asset, state)) is not None:
        return lost
    if (unfenced := _explain_unfenced(context, asset, state)) is not None:
        failure = f"{asset.name}, which failed"
        return AssetDecision((), (Waiting(asset.name, unfenced),), blockers=(UpstreamBlocker(EVERYTHING, failure),))
    if asset.paused or state.paused:
        reason = f"paused by {state.pause_reason}" if state.pause_reason else "paused"
        return _decide_not_running(context, asset, state, reason)
    if context.select is not None and asset.name not in context.select:
        return _decide_not_running(context, asset, state, "not selected")
    return None


def _decide_not_running(context: PlanningContext, asset: AssetSpec, state: AssetState, reason: str) -> AssetDecision:
    """Decision for a paused or unselected asset, with ``reason`` as the reason.

    It passes the blockers of its inlets on, so that its consumers wait for the failed partitions further up.
    """
    blockers: tuple[UpstreamBlocker, ...] = ()
    if any(context.decisions[name].blockers for name in asset.inlets if name in context.decisions):
        pending = find_pending(context, asset, state) if asset.partitioning.is_partitioned else None
        blockers = apply_upstream_waits(DecisionInput(context, asset, state, pending), DecisionProgress()).blockers
    return AssetDecision((), (Waiting(asset.name, reason, quiet=True),), blockers=blockers)


def _explain_unfenced(context: PlanningContext, asset: AssetSpec, state: AssetState) -> str | None:
    """Why the asset's last run, which failed without a fence in this invocation, blocks it; None without such a run.

    Its commit may still land, so a second run now could write the same rows twice.
    """
    if not state.chain or allows_parallel_runs(asset) or state.chain[-1].status != "unfenced" or not state.failed:
        return None
    last_failure = state.failed[-1]
    if last_failure.invocation != context.invocation or last_failure.token != state.chain[-1].token:
        return None
    return f"{last_failure.run} failed, and may still have committed: {last_failure.error}"


def make_plan(context: PlanningContext) -> Plan:
    """Returns the due runs and the reason why everything else does not run; fills ``context.decisions``.

    Assets are decided upstream first: each decision reads which partitions its inlets will bring or fail to bring.
    """
    for asset in context.project.assets.values():
        context.decisions[asset.name] = decide_asset(context, asset)
    return assemble_plan(context, context.project)


def find_decision(context: PlanningContext, asset: AssetSpec) -> AssetDecision:
    """Returns the decision for one asset; decides it and its ancestors where ``context.decisions`` lacks them."""
    if asset.name not in context.decisions:
        from sparkassets.core.spec.asset_graph import find_ancestors

        undecided = {asset.name, *find_ancestors(context.project.assets, asset.name)} - context.decisions.keys()
        for each in context.project.assets.values():
            if each.name in undecided:
                context.decisions[each.name] = decide_asset(context, each)
    return context.decisions[asset.name]


def assemble_plan(context: PlanningContext, project: ProjectSpec) -> Plan:
    """Joins the decisions of all assets into one plan, upstream first."""
    decisions = [context.decisions[name] for name in project.assets]
    runs = tuple([run for decision in decisions for run in decision.runs])
    waiting = tuple([item for decision in decisions for item in decision.waiting])
    notes = tuple([note for decision in decisions for note in decision.notes])
    return Plan(context.now, runs, waiting, notes, context.unseen)


def find_upcoming_partitions(context: PlanningContext, asset: AssetSpec) -> PartitionSet:
    """Absent partitions that runs of this invocation will bring; none where it is unknown which ones come."""
    expected = find_decision(context, asset).expected
    present = asset.partitioning.inside(context.state_of(asset).coverage)
    return NOTHING if expected.is_everything else asset.partitioning.inside(expected) - present
