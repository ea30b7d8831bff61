"""The whole decision for one asset as a tree: what came, what is missing, what would make it run."""

from __future__ import annotations

from dataclasses import dataclass

from sparkassets.core.journal.specs import fold_spec
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.gates import lacking_blocks
from sparkassets.core.planner.look import Look
from sparkassets.core.planner.news import news_of
from sparkassets.core.planner.partitioned import pending
from sparkassets.core.planner.planner import plan
from sparkassets.core.planner.wording import labels, plural, when
from sparkassets.core.spec.model import AssetSpec, InletSpec


@dataclass(frozen=True, slots=True)
class Node:
    """One line of an explanation.

    Attributes:
        holds: Whether it speaks for running; None when it is only a fact.
    """

    text: str
    holds: bool | None = None
    children: tuple[Node, ...] = ()


def explain(look: Look, asset: AssetSpec, blocks: RangeSet | None = None) -> Node:
    """Why ``asset`` (or these of its ``blocks``) runs or not; plans everything before it."""
    found = plan(look)
    run = next((run for run in found.runs if run.asset == asset.name), None)
    waiting = [item for item in found.waiting if item.asset == asset.name]
    state = look.state.assets.get(asset.name) or AssetState(asset.name, fold_spec(asset, look.project))
    children = []
    if run is not None:
        which = f" {labels(run.blocks, asset.partition)}" if run.blocks and asset.partition else ""
        children.append(Node(f"runs now{which}: {run.reason}", holds=True))
    for item in waiting:
        which = f"{labels(item.blocks, asset.partition)}: " if item.blocks and asset.partition else ""
        until = f" (until {when(item.until)})" if item.until is not None else ""
        children.append(Node(f"{which}{item.reason}{until}", holds=None if item.quiet else False))
    children.append(_schedule(look, asset, state))
    if asset.partition is not None and asset.source is None:
        children.append(_partitions(look, asset, asset.partition, state, blocks))
    children += [_inlet(look, asset, state, inlet, blocks) for inlet in asset.inlets.values()]
    children.append(_history(state))
    return Node(asset.name, run is not None, tuple(children))


def _schedule(look: Look, asset: AssetSpec, state: AssetState) -> Node:
    schedule = asset.schedule
    if schedule.timetable is not None:
        cursor = f"; ran last for the interval that ended {when(state.cursor)}" if state.cursor is not None else ""
        return Node(f"schedule {schedule.text}: {schedule.timetable.describe()}{cursor}")
    if schedule.condition is None:
        return Node("schedule: observed" if asset.source else "schedule: manual")
    leaves = tuple(
        Node(f"{leaf.ref}: {_newest(look, look.uri(leaf), state)}", news_of(look, leaf, state))
        for leaf in schedule.condition.leaves()
    )
    kind = " (the default: any update of an inlet)" if schedule.default else ""
    return Node(f"schedule: {schedule.text}{kind}", None, leaves)


def _newest(look: Look, uri: str, state: AssetState) -> str:
    dataset = look.state.dataset(uri)
    if not dataset.seq:
        return "nothing came yet"
    used = state.consumed.get(uri, 0)
    said = f"event {dataset.seq} at {when(dataset.at)}"
    return said + (", used" if used >= dataset.seq else ", not used yet")


def _partitions(
    look: Look, asset: AssetSpec, partition: TimePartition, state: AssetState, blocks: RangeSet | None
) -> Node:
    found, have = pending(look, asset, partition, state), partition.inside(state.coverage)
    within = blocks if blocks is not None else found.wanted | have
    rows = [
        ("current", (have - found.all_stale) & within, True),
        ("missing", found.missing & within, False),
        *((f"stale, {name} changed", ranges & within, False) for name, ranges in found.stale.items()),
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


def _inlet(look: Look, asset: AssetSpec, state: AssetState, inlet: InletSpec, blocks: RangeSet | None) -> Node:
    up = look.project.assets[inlet.name].partition
    children = [Node(_newest(look, inlet.uri, state))]
    holds: bool | None = look.dataset(inlet).seq > 0
    if asset.partition is not None and inlet.mapping is not None and up is not None:
        wanted = blocks if blocks is not None else pending(look, asset, asset.partition, state).missing
        mapped = inlet.mapping.up(wanted, down=asset.partition, up=up)
        there = mapped & look.dataset(inlet).coverage.clip(None, look.over(up))
        if wanted:
            holds = not lacking_blocks(look, asset, inlet, wanted)
            children.append(Node(f"{up.count(there):,} of {plural(up.count(mapped), 'partition')} are there", holds))
            if mapped - there:
                children.append(Node(f"missing {labels(mapped - there, up)}", holds=False))
    needs = inlet.require.kind + (f" {inlet.require.count}" if inlet.require.count else "")
    return Node(f"inlet {inlet.name} (require: {needs}, on_update: {inlet.on_update})", holds, tuple(children))


def _history(state: AssetState) -> Node:
    if state.last is None:
        return Node("never ran")
    rows = f", {state.last.rows:,} rows" if state.last.rows is not None else ""
    return Node(f"ran last: {state.last.run} at {when(state.last.at)}{rows}")
