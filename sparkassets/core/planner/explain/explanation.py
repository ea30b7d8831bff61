"""Explains the decision for one asset as a tree: its updates, its missing inputs, and what would make it run."""

from __future__ import annotations

from sparkassets.core.conditions import AllOf, Condition, ConditionResult, TimeLeaf, UpdateLeaf
from sparkassets.core.instants import Duration, from_unix, to_unix
from sparkassets.core.journal.asset_records import LastRun
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import describe_other_outcomes
from sparkassets.core.partitions import EVERYTHING, NOTHING, NamedMapping, NewestMapping, PartitionSet, WholeMapping
from sparkassets.core.phrases import few
from sparkassets.core.planner.due.condition_causes import (
    evaluate_now,
    find_passed_tick,
    find_passed_ticks,
    leaf_timetable,
)
from sparkassets.core.planner.due.instance_marks import describe_instance_mark
from sparkassets.core.planner.due.outdated_code import outputs_of_other_code, own_definition_id, partitions_made_by
from sparkassets.core.planner.due.pending_partitions import find_pending, resolve_partitions
from sparkassets.core.planner.due.ready_partitions import evaluate_readiness
from sparkassets.core.planner.due.withheld_partitions import quarantine_path
from sparkassets.core.planner.explain.explanation_nodes import (
    ExplanationNode,
    describe_failure,
    explain_partitions,
    explain_withheld_runs,
)
from sparkassets.core.planner.explain.lateness import read_watermark
from sparkassets.core.planner.gates.inlet_gates import explain_stale_inlet, unquiet_until
from sparkassets.core.planner.gates.table_losses import describe_table, explain_lost_input
from sparkassets.core.planner.gates.upstream_waits import find_upstream_waits
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import countable_partitions, lacking_partitions, required_partitions
from sparkassets.core.planner.wording import label_partitions, label_prefix, name_partitions, plural
from sparkassets.core.spec.model import AssetSpec, InletSpec

RUNS_SHOWN = 10


def explain_asset(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet = EVERYTHING) -> ExplanationNode:
    """Explains why ``asset``, or its partitions ``partitions``, runs or does not run; makes a plan first."""
    return explain_planned_asset(context, make_plan(context), asset, partitions)


def explain_planned_asset(
    context: PlanningContext, plan: Plan, asset: AssetSpec, partitions: PartitionSet = EVERYTHING
) -> ExplanationNode:
    """Explains an asset, or some of its partitions, by the plan ``plan`` that was made with the same context.

    Returns a tree whose root tells whether some of the partitions run now.
    """
    if asset.written_by:
        return _explain_outlet(context, plan, asset, partitions)
    state = context.state_of(asset)
    partitions = resolve_partitions(context, asset, state, partitions)
    runs, children = _explain_planned(context, plan, asset, partitions)
    if asset.source is not None:
        return ExplanationNode(
            asset.name,
            None,
            (*children, _explain_schedule(context, asset, state), *_explain_source(context, asset, state, partitions)),
        )
    children += [ExplanationNode(note, holds=None) for note in describe_table(context, asset, state)]
    children.append(_explain_schedule(context, asset, state))
    if asset.writes_itself:
        children.append(ExplanationNode(_describe_guarantee(asset)))
    if asset.partitioning.is_partitioned:
        children.append(explain_partitions(context, asset, state, partitions))
    if marks := tuple(
        ExplanationNode(describe_instance_mark(context, mark)) for mark in state.instance_marks[-RUNS_SHOWN:]
    ):
        children.append(ExplanationNode("instances", None, marks))
    children += [_explain_inlet(context, asset, inlet, partitions) for inlet in asset.inlets.values()]
    children += [
        *_explain_code(context, asset, state),
        *_explain_failures(context, state),
        *_explain_skip(context, asset, state),
        *explain_withheld_runs(context, asset, state),
    ]
    children.append(_explain_last_run(context, asset, state))
    return ExplanationNode(asset.name, runs, tuple(children))


def _describe_guarantee(asset: AssetSpec) -> str:
    """The guarantee for an asset whose own code writes its target."""
    if asset.runs_elsewhere:
        return "write: self without code here: its own job records each run by `project.run_of`, at least once"
    return "write: self: its code may write more than once, because a failed or killed run is repeated"


def _explain_outlet(
    context: PlanningContext, plan: Plan, asset: AssetSpec, partitions: PartitionSet
) -> ExplanationNode:
    """Explains an outlet: its table, and why its multi-asset runs or not."""
    writer = explain_planned_asset(context, plan, context.asset(asset.written_by), partitions)
    state = context.state_of(asset)
    notes = [ExplanationNode(note, holds=None) for note in describe_table(context, asset, state)]
    return ExplanationNode(
        asset.name,
        writer.holds,
        (ExplanationNode(f"the runs of {writer.text} write it", writer.holds, writer.children), *notes),
    )


def _explain_planned(
    context: PlanningContext, plan: Plan, asset: AssetSpec, partitions: PartitionSet
) -> tuple[bool, list[ExplanationNode]]:
    """Whether some of the partitions run, and the nodes for planned runs, waiting reasons and unfinished intervals."""
    names_partitions = asset.source is None and not partitions.is_everything
    unfinished = partitions - context.finished_partitions(asset.partitioning) if names_partitions else NOTHING
    nodes = _explain_runs(asset, [run for run in plan.runs if run.asset == asset.name], partitions - unfinished)
    waiting = [
        item for item in plan.waiting if item.asset == asset.name and item.partitions.overlaps(partitions - unfinished)
    ]
    return bool(nodes), [
        *nodes,
        *(_explain_wait(context, asset, item) for item in waiting),
        *_explain_unfinished(context, asset, unfinished),
    ]


def _explain_runs(asset: AssetSpec, runs: list[PlannedRun], partitions: PartitionSet) -> list[ExplanationNode]:
    """Nodes for the first `RUNS_SHOWN` runs that compute some of the partitions, and one that counts the others."""
    nodes, shown = [], [run for run in runs if _is_about(run, partitions)]
    for run in shown[:RUNS_SHOWN]:
        # parallel runs, which have a run slot, start together with the first
        run_text = name_partitions(
            "runs now" if run is runs[0] or run.run_slot else "runs then", run.partitions, asset.partitioning
        )
        nodes.append(ExplanationNode(f"{run_text}: {run.reason}", holds=True))
    if shown[RUNS_SHOWN:]:
        nodes.append(ExplanationNode(f"{plural(len(shown) - RUNS_SHOWN, 'more run')} after that", holds=True))
    return nodes


def _is_about(run: PlannedRun, partitions: PartitionSet) -> bool:
    """Whether a run computes some of ``partitions``.

    A run that only settles an unfinished one computes none, so it is shown only if all partitions are asked for.
    """
    return partitions.is_everything or run.partitions.overlaps(partitions)


def _explain_unfinished(context: PlanningContext, asset: AssetSpec, unfinished: PartitionSet) -> list[ExplanationNode]:
    """Node for the requested partitions that are not over."""
    if not unfinished:
        return []
    finish_text = context.format_instant(asset.partitioning.first_finish_time(unfinished) or context.now)
    return [
        ExplanationNode(f"{label_prefix(unfinished, asset.partitioning)}not over before {finish_text}", holds=False)
    ]


def _explain_wait(context: PlanningContext, asset: AssetSpec, item: Waiting) -> ExplanationNode:
    """Node for a waiting reason; a quiet one is a mere fact, as nothing is wanted."""
    until = f" (until {context.format_instant(item.until)})" if item.until is not None else ""
    text = f"{label_prefix(item.partitions, asset.partitioning)}{item.reason}{until}"
    return ExplanationNode(text, holds=None if item.quiet else False)


def _explain_source(
    context: PlanningContext, asset: AssetSpec, state: AssetState, partitions: PartitionSet
) -> list[ExplanationNode]:
    """Nodes for a source: its newest event and which of the partitions are present."""
    dataset = context.state.dataset(asset.uri)
    nodes = [ExplanationNode(_describe_newest_event(context, asset.uri, state))]
    if present := dataset.coverage & partitions:
        count = plural(asset.partitioning.count(present), "partition")
        nodes.append(ExplanationNode(f"{count}: {label_partitions(present, asset.partitioning)}"))
    names_partitions = not partitions.is_everything and asset.partitioning.can_list(partitions)
    if names_partitions and (lacking := partitions - dataset.coverage):
        nodes.append(ExplanationNode(f"no data: {label_partitions(lacking, asset.partitioning)}", holds=False))
    return nodes


def _explain_schedule(context: PlanningContext, asset: AssetSpec, state: AssetState) -> ExplanationNode:
    """Node for the schedule: a timetable with how far it is done, or a condition with the truth of its parts."""
    schedule = asset.schedule
    if schedule.timetable is not None:
        cursor = "" if state.cursor is None else f"; done up to {context.format_instant(state.cursor[1])}"
        return ExplanationNode(f"schedule: {schedule.timetable.describe()}{cursor}")
    if schedule.condition is None:
        return ExplanationNode("schedule: observed" if asset.source else "schedule: manual")
    kind = " (the default: any update of an inlet)" if schedule.default else ""
    condition_node = _explain_condition(context, asset, state, schedule.condition)
    if not condition_node.children:
        return ExplanationNode(f"schedule: {schedule.text}{kind}", None, (condition_node,))
    return ExplanationNode(
        f"schedule: {schedule.text}{kind}: {condition_node.text}", condition_node.holds, condition_node.children
    )


def _explain_condition(
    context: PlanningContext, asset: AssetSpec, state: AssetState, condition: Condition
) -> ExplanationNode:
    """A condition with the truth of each part; of a partitioned asset, with the partitions that each makes ready."""
    ticks = find_passed_ticks(context, condition, state)
    if not asset.partitioning.is_partitioned or asset.schedule.default:
        return _explain_condition_part(context, asset, state, evaluate_now(context, condition, state, ticks))
    pending = find_pending(context, asset, state)
    return _explain_condition_part(
        context, asset, state, evaluate_readiness(context, asset, condition, state, pending, ticks)
    )


def _explain_condition_part(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    verdict: ConditionResult[bool] | ConditionResult[PartitionSet],
) -> ExplanationNode:
    """Node for a part of an evaluated condition, with its children.

    For a partitioned asset a part is true for a set of partitions: an "all" can be false although each part is true, if
    no partition is in all of them.
    """
    node, value, ready_text = verdict.node, verdict.value, ""
    if isinstance(value, PartitionSet) and value:
        ready_text = f"; ready: {label_partitions(value, asset.partitioning)}"
    match node:
        case UpdateLeaf():
            return ExplanationNode(
                f"{node.text()}: {_describe_newest_event(context, context.uri(asset.name, node), state)}{ready_text}",
                bool(value),
            )
        case TimeLeaf():
            return ExplanationNode(f"{node.text()}: {_describe_tick(context, node, state)}{ready_text}", bool(value))
    children = tuple(_explain_condition_part(context, asset, state, child) for child in verdict.children)
    holding = sum(bool(child.holds) for child in children)
    kind = "all" if isinstance(node, AllOf) else "any"
    apart_text = ", but not for the same partition" if not value and holding == len(children) else ""
    return ExplanationNode(
        f"{kind} of these, {holding} of {len(children)} hold{apart_text}{ready_text}", bool(value), children
    )


def _describe_tick(context: PlanningContext, leaf: TimeLeaf, state: AssetState) -> str:
    """The state of a time leaf: the tick that passed and is not used yet, or the last one, and the next."""
    timetable = leaf_timetable(context, leaf, state)
    if timetable is None:
        return "it counts from the first update"
    slot = timetable.first_after(from_unix(context.now))
    next_text = (
        f"the next at {context.format_instant(to_unix(slot.run_after))}" if slot is not None else "and no further tick"
    )
    tick = find_passed_tick(context, leaf, state)
    if tick is not None:
        return f"a tick at {context.format_instant(tick[0])}, {next_text}"
    last = timetable.last_at(from_unix(context.now))
    last_text = (
        f"the last tick, at {context.format_instant(to_unix(last.run_after))}, was used"
        if last is not None
        else "no tick yet"
    )
    return f"{last_text}, {next_text}"


def _describe_newest_event(context: PlanningContext, uri: str, state: AssetState) -> str:
    """The newest event of a dataset as a clause: when it came, from which run, and whether the asset has used it.

    Use is left out where the asset does not listen to the dataset.
    """
    dataset = context.state.dataset(uri)
    if not dataset.seq:
        return "no event yet"
    newest = dataset.recent.newest
    run = newest.run if newest is not None and newest.seq == dataset.seq else None
    event_text = f"event {dataset.seq} at {context.format_instant(dataset.at)}" + (f" of {run}" if run else "")
    if uri not in state.spec.listens:
        return event_text
    unused = context.unused_events(state, [uri])
    if state.consumed.get(uri, 0) >= dataset.seq:
        not_for_all = (
            ", but not for all partitions"
            if state.spec.partitioning.is_partitioned and state.unanswered_partitions(uri)
            else ""
        )
        return f"{event_text}, used{not_for_all}"
    return f"{event_text}, not used yet" + (f", like {len(unused) - 1:,} before it" if len(unused) > 1 else "")


def _explain_code(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[ExplanationNode]:
    """Nodes for the code by which present partitions were computed; none if all are of the asset's own code."""
    if not outputs_of_other_code(asset, state):
        return []
    nodes = []
    for made in state.definition_outputs:
        partitions = partitions_made_by(asset, state, made)
        if partitions:
            last = f", last in {made.run} at {context.format_instant(made.at)}" if made.run else ""
            now = " (as it is now)" if made.definition.id == own_definition_id(asset) else ""
            nodes.append(
                ExplanationNode(
                    f"{label_prefix(partitions, asset.partitioning)}code {made.definition.id[:8]}{now}{last}"
                )
            )
    return [ExplanationNode(f"computed by different code (on_code_change: {asset.on_code_change})", None, tuple(nodes))]


def _explain_inlet(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> ExplanationNode:
    """Node for an inlet: whether its needed partitions are present, its closed gates, and how far it was read."""
    needed_nodes = _explain_needed(context, asset, inlet, partitions)
    loss = explain_lost_input(context, asset, inlet)
    closed_reasons = [
        loss.reason if loss else None,
        explain_stale_inlet(context, asset, inlet),
        _explain_unquiet(context, inlet),
    ]
    blocked_reasons = _explain_blockers(context, asset, inlet, partitions)
    gates = [
        ExplanationNode(reason, holds=False) for reason in (*closed_reasons, *blocked_reasons) if reason is not None
    ]
    has_input = needed_nodes[0].holds if needed_nodes else context.dataset(inlet).seq > 0
    state = context.state_of(asset)
    watermark_nodes = [ExplanationNode(read_watermark(context, state, inlet).text)] if inlet.read is not None else []
    children = (
        ExplanationNode(_describe_newest_event(context, inlet.uri, state)),
        *watermark_nodes,
        *needed_nodes,
        *gates,
    )
    return ExplanationNode(f"inlet {inlet.name} ({_describe_gates(context, inlet)})", has_input and not gates, children)


def _explain_blockers(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> list[str]:
    """Reasons why failed and withheld inlet partitions hold some partitions back, whatever ``require`` demands.

    The inlet's blockers name its own partitions, so for a partitioned asset they are mapped to the asset's first.
    """
    decision = context.decisions.get(inlet.name)
    if decision is None or not decision.blockers or inlet.on_update == "ignore":
        return []
    blockers = decision.blockers
    if asset.partitioning.is_partitioned:
        blockers = find_upstream_waits(
            context, asset, find_pending(context, asset, context.state_of(asset)).wanted
        ).blockers
    reasons = {each.reason for each in decision.blockers}
    return [each.reason for each in blockers if each.reason in reasons and each.partitions.overlaps(partitions)]


def _explain_needed(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> list[ExplanationNode]:
    """Nodes that count the needed inlet partitions that are present, and name the missing ones.

    Where all partitions are asked for, what the missing ones need. Empty where the inlet is read as a whole.
    """
    if not context.dependency(asset, inlet).is_mapped:
        return []
    state, partitioning = context.state_of(asset), context.partitioning(inlet)
    by_partitions = asset.partitioning.is_partitioned and partitions.is_everything
    counted = find_pending(context, asset, state).missing if by_partitions else partitions
    if not counted:
        return []
    required = required_partitions(context, asset, inlet, counted)
    present = required & countable_partitions(context, inlet)
    is_enough = not lacking_partitions(context, asset, inlet, counted)
    nodes = [
        ExplanationNode(
            f"{partitioning.count(present):,} of {plural(partitioning.count(required), 'partition')} present", is_enough
        )
    ]
    return (
        [*nodes, ExplanationNode(f"missing {label_partitions(required - present, partitioning)}", holds=False)]
        if required - present
        else nodes
    )


def _explain_unquiet(context: PlanningContext, inlet: InletSpec) -> str | None:
    """Why ``settle`` still holds the inlet back; None once it was quiet long enough."""
    until = unquiet_until(context, inlet)
    return f"updated recently; settles at {context.format_instant(until)} (settle)" if until is not None else None


def _describe_gates(context: PlanningContext, inlet: InletSpec) -> str:
    """The gates of an inlet, written as in YAML."""
    count = f" {inlet.require.count}" if inlet.require.count else ""
    gates = [f"require: {inlet.require.kind}{count}", f"on_update: {inlet.on_update}"]
    gates += ["on_removed: keep"] if inlet.on_removed == "keep" and inlet.mapping is not None else []
    gates += [f"partitions: {mapping}"] if (mapping := _mapping_text(context, inlet)) else []
    gates += [f"fresh_within: {inlet.fresh_within.text}"] if inlet.fresh_within is not None else []
    gates += [f"tolerance: {inlet.tolerance.text}"] if inlet.tolerance is not None else []
    gates += [f"settle: {Duration(seconds=inlet.settle_seconds).text}"] if inlet.settle_seconds else []
    return ", ".join(gates)


def _mapping_text(context: PlanningContext, inlet: InletSpec) -> str:
    """The mapping of an inlet as in YAML; empty for overlap or a map."""
    match inlet.mapping:
        case NamedMapping(parts):
            return f"[{few(context.partitioning(inlet).display_labels(parts))}]"
        case WholeMapping():
            return "all"
        case NewestMapping():
            return "latest"
    if inlet.by_values is not None:
        return f"{{from: {inlet.by_values}}}"
    return "aligned" if inlet.aligned else ""


def _explain_failures(context: PlanningContext, state: AssetState) -> list[ExplanationNode]:
    """Nodes for unresolved failures of the whole asset; failures of partitions are shown with the partitions."""
    whole = (item for item in state.failed if item.partitions.is_everything)
    return [ExplanationNode(f"failed last in {describe_failure(context, item)}", holds=False) for item in whole]


def _explain_skip(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[ExplanationNode]:
    """Node for a skipped run since the last success of the whole asset; skips of partitions are shown with these."""
    skip = None if asset.partitioning.is_partitioned else state.last_skip
    if skip is None:
        return []
    return [ExplanationNode(f"skipped last in {skip.run} at {context.format_instant(skip.at)}: {skip.reason}")]


def _explain_last_run(context: PlanningContext, asset: AssetSpec, state: AssetState) -> ExplanationNode:
    """Node for the newest success: when it was, its rows, and warnings of its validations; or why there is none.

    Without one, the asset never ran or never succeeded, or its output was deleted, after which no earlier run counts.
    """
    if state.last is None:
        never_text = "never succeeded" if state.failed or state.last_skip else "never ran"
        return ExplanationNode(never_text if state.loss is None else "its output was deleted")
    rows_text = f", {plural(state.last.rows, 'row')}" if state.last.rows is not None else ""
    outcomes = tuple(
        ExplanationNode(each)
        for each in describe_other_outcomes(state.last.verdicts, quarantine=quarantine_path(asset))
    )
    text = (
        f"ran last: {state.last.run} at {context.format_instant(state.last.at)}{rows_text}{_note_unchanged(state.last)}"
    )
    return ExplanationNode(text, None, outcomes)


def _note_unchanged(last: LastRun) -> str:
    """Clause that says how much of the last run came out unchanged; empty if nothing did."""
    if last.unchanged is None:
        return ""
    unchanged, count = last.unchanged
    what = "output" if unchanged == count else f"{unchanged:,} of {plural(count, 'partition')}"
    return f"; {what} unchanged"
