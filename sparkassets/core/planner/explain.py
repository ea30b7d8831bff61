"""The whole decision for one asset as a tree: what came, what is missing, what would make it run."""

from __future__ import annotations

from dataclasses import dataclass

from sparkassets.core.conditions import AllOf, Condition, Leaf, Time, Verdict
from sparkassets.core.instants import Duration, instant, unix
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.freshness import stale_inlet, unquiet_until
from sparkassets.core.planner.kept import kept, without
from sparkassets.core.planner.losses import of_table, waits_for_lost
from sparkassets.core.planner.news import passed, ticks_of, verdict_of
from sparkassets.core.planner.pending import pending
from sparkassets.core.planner.planner import plan
from sparkassets.core.planner.readiness import readiness
from sparkassets.core.planner.require import counted, lacking_blocks, required
from sparkassets.core.planner.wording import labels, plural
from sparkassets.core.spec.model import AssetSpec, InletSpec

RUNS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Node:
    """One line of an explanation.

    Attributes:
        holds: Whether it speaks for running; None when it is only a fact.
    """

    text: str
    holds: bool | None = None
    children: tuple[Node, ...] = ()

    def __repr__(self) -> str:
        mark = {True: "+ ", False: "- ", None: ""}[self.holds]
        below = (f"  {line}" for child in self.children for line in repr(child).splitlines())
        return "\n".join([f"{mark}{self.text}", *below])


def explain(context: PlanningContext, asset: AssetSpec, blocks: RangeSet | None = None) -> Node:
    """Why ``asset`` (or these of its ``blocks``) runs or not; plans everything before it."""
    found = plan(context)
    runs = [run for run in found.runs if run.asset == asset.name]
    waiting = [item for item in found.waiting if item.asset == asset.name]
    state = context.state_of(asset)
    children = []
    for run in runs[:RUNS_SHOWN]:
        which = f" {labels(run.blocks, asset.partition)}" if run.blocks and asset.partition else ""
        children.append(Node(f"runs {'now' if run is runs[0] else 'then'}{which}: {run.reason}", holds=True))
    if runs[RUNS_SHOWN:]:
        children.append(Node(f"{plural(len(runs) - RUNS_SHOWN, 'more run')} after that", holds=True))
    for item in waiting:
        which = f"{labels(item.blocks, asset.partition)}: " if item.blocks and asset.partition else ""
        until = f" (until {context.when(item.until)})" if item.until is not None else ""
        children.append(Node(f"{which}{item.reason}{until}", holds=None if item.quiet else False))
    if asset.source is None:
        children += [Node(note, holds=None) for note in of_table(context, asset, state)]
    children.append(_schedule(context, asset, state))
    if asset.source is not None:
        return Node(asset.name, None, (*children, *_source(context, asset, state)))
    if asset.partition is not None:
        children.append(_partitions(context, asset, asset.partition, state, blocks))
    children += [_inlet(context, asset, state, inlet, blocks) for inlet in asset.inlets.values()]
    children.append(_history(context, state))
    return Node(asset.name, bool(runs), tuple(children))


def _source(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[Node]:
    """What came of an asset that others write."""
    dataset, found = context.state.dataset(asset.uri), [Node(_newest(context, asset.uri, state))]
    if asset.partition is not None and dataset.coverage:
        count = plural(asset.partition.count(dataset.coverage), "partition")
        found.append(Node(f"{count}: {labels(dataset.coverage, asset.partition)}"))
    return found


def _schedule(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Node:
    schedule = asset.schedule
    if schedule.timetable is not None:
        cursor = (
            "" if state.cursor is None else f"; ran last for the interval that ended {context.when(state.cursor[1])}"
        )
        return Node(f"schedule: {schedule.timetable.describe()}{cursor}")
    if schedule.condition is None:
        return Node("schedule: observed" if asset.source else "schedule: manual")
    kind = " (the default: any update of an inlet)" if schedule.default else ""
    found = _condition(context, asset, state, schedule.condition)
    if not found.children:
        return Node(f"schedule: {schedule.text}{kind}", None, (found,))
    return Node(f"schedule: {schedule.text}{kind}: {found.text}", found.holds, found.children)


def _condition(context: PlanningContext, asset: AssetSpec, state: AssetState, condition: Condition) -> Node:
    """A condition with the truth of each part; of a partitioned asset, with the partitions that each makes ready."""
    ticks = ticks_of(context, condition, state)
    if asset.partition is None or asset.schedule.default:
        return _part(context, asset, state, verdict_of(context, condition, state, ticks))
    due = pending(context, asset, asset.partition, state)
    return _part(context, asset, state, readiness(context, asset, condition, state, due, ticks))


def _part(
    context: PlanningContext, asset: AssetSpec, state: AssetState, verdict: Verdict[bool] | Verdict[RangeSet]
) -> Node:
    node, value, ready = verdict.node, verdict.value, ""
    if isinstance(value, RangeSet) and asset.partition is not None and value:
        ready = f"; ready: {labels(value, asset.partition)}"
    match node:
        case Leaf():
            return Node(f"{node.text()}: {_newest(context, context.uri(node), state)}{ready}", bool(value))
        case Time():
            return Node(f"{node.text()}: {_ticked(context, node, state)}{ready}", bool(value))
    children = tuple(_part(context, asset, state, child) for child in verdict.children)
    holding = sum(bool(child.holds) for child in children)
    kind = "all" if isinstance(node, AllOf) else "any"
    apart = ", but for no partition together" if not value and holding == len(children) else ""
    return Node(f"{kind} of these, {holding} of {len(children)} hold{apart}{ready}", bool(value), children)


def _ticked(context: PlanningContext, leaf: Time, state: AssetState) -> str:
    slot = leaf.timetable.first_after(instant(context.now))
    coming = f"the next at {context.when(unix(slot.run_after))}" if slot is not None else "and none will come"
    tick = passed(context, leaf, state)
    if tick is not None:
        return f"a tick at {context.when(tick[0])}, {coming}"
    last = leaf.timetable.last_at(instant(context.now))
    before = f"the last tick, at {context.when(unix(last.run_after))}, is used" if last is not None else "no tick yet"
    return f"{before}, {coming}"


def _newest(context: PlanningContext, uri: str, state: AssetState) -> str:
    """The newest event of a dataset: when, from which run, and whether the asset has used it."""
    dataset = context.state.dataset(uri)
    if not dataset.seq:
        return "nothing came yet"
    run = next((ref.run for ref in dataset.recent if ref.seq == dataset.seq and ref.run is not None), None)
    said = f"event {dataset.seq} at {context.when(dataset.at)}" + (f" of {run}" if run else "")
    if uri not in state.spec.listens:
        return said
    unused = context.unused(state, [uri])
    if state.consumed.get(uri, 0) >= dataset.seq:
        rest = ", but not for all partitions" if state.unanswered(uri) else ""
        return f"{said}, used{rest}"
    return f"{said}, not used yet" + (f", like {len(unused) - 1:,} before it" if len(unused) > 1 else "")


def _partitions(
    context: PlanningContext, asset: AssetSpec, partition: TimePartition, state: AssetState, blocks: RangeSet | None
) -> Node:
    found, have = pending(context, asset, partition, state), partition.inside(state.coverage)
    within = blocks if blocks is not None else found.wanted | have
    rows = [
        ("current", (have - found.all_stale) & within, None),
        *(
            (f"of these {without(context, inlet, gone)}", lost & within, None)
            for inlet, lost, gone in kept(context, asset, have - found.all_stale)
        ),
        ("missing", found.missing & within, True),
        *((f"stale, {name} changed", ranges & within, True) for name, ranges in found.stale.items()),
        ("not over yet", found.later & (blocks if blocks is not None else found.later), None),
    ]
    children = [
        Node(f"{plural(partition.count(ranges), 'partition')} {what}: {labels(ranges, partition)}", holds)
        for what, ranges, holds in rows
        if ranges
    ]
    children += [
        Node(f"failed {labels(item.ranges & within, partition)} in {item.run}: {item.error}", holds=False)
        for item in state.failed
        if item.ranges is not None and item.ranges & within
    ]
    return Node("partitions", None, tuple(children) or (Node("none is wanted yet"),))


def _inlet(
    context: PlanningContext, asset: AssetSpec, state: AssetState, inlet: InletSpec, blocks: RangeSet | None
) -> Node:
    up = context.project.assets[inlet.name].partition
    children = [Node(_newest(context, inlet.uri, state))]
    holds: bool | None = context.dataset(inlet).seq > 0
    if asset.partition is not None and inlet.mapping is not None and up is not None:
        wanted = blocks if blocks is not None else pending(context, asset, asset.partition, state).missing
        mapped = required(context, asset, inlet, wanted)
        there = mapped & counted(context, inlet, up)
        if wanted:
            holds = not lacking_blocks(context, asset, inlet, wanted)
            children.append(Node(f"{up.count(there):,} of {plural(up.count(mapped), 'partition')} there", holds))
            if mapped - there:
                children.append(Node(f"missing {labels(mapped - there, up)}", holds=False))
    lost = waits_for_lost(context, asset, inlet)
    closed = [lost.reason if lost else None, stale_inlet(context, asset, inlet), _unquiet(context, inlet)]
    for reason in closed:
        if reason is not None:
            holds = False
            children.append(Node(reason, holds=False))
    return Node(f"inlet {inlet.name} ({_gates(inlet)})", holds, tuple(children))


def _unquiet(context: PlanningContext, inlet: InletSpec) -> str | None:
    until = unquiet_until(context, inlet)
    return f"was updated lately: quiet enough at {context.when(until)} (settle)" if until is not None else None


def _gates(inlet: InletSpec) -> str:
    """What must hold of an inlet, as the YAML has it."""
    count = f" {inlet.require.count}" if inlet.require.count else ""
    gates = [f"require: {inlet.require.kind}{count}", f"on_update: {inlet.on_update}"]
    gates += ["on_removed: keep"] if inlet.on_removed == "keep" and inlet.mapping is not None else []
    gates += ["partitions: aligned"] if inlet.aligned else []
    gates += [f"fresh_within: {inlet.fresh_within.text}"] if inlet.fresh_within is not None else []
    gates += [f"tolerance: {inlet.tolerance.text}"] if inlet.tolerance is not None else []
    gates += [f"settle: {Duration(seconds=inlet.settle_seconds).text}"] if inlet.settle_seconds else []
    return ", ".join(gates)


def _history(context: PlanningContext, state: AssetState) -> Node:
    if state.last is None:
        return Node("never ran" if state.loss is None else "what it wrote is gone")
    rows = f", {state.last.rows:,} rows" if state.last.rows is not None else ""
    return Node(f"ran last: {state.last.run} at {context.when(state.last.at)}{rows}")
