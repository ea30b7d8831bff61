"""A condition over partitions: for which blocks each leaf holds, and what the others still wait for.

A leaf holds for a block when its dataset was updated for that block: an inlet partition that the block needs is there
and the block is missing, or changed since it was computed. Where the dataset can never have anything for a block, by
the declared bounds, the leaf counts neither way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkassets.core.conditions import Condition, Leaf, Time, Verdict, evaluate
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.news import Passed, news_of, next_tick
from sparkassets.core.planner.pending import Pending
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.refusals import refusals
from sparkassets.core.planner.require import ever_fed, refused_blocks, updated
from sparkassets.core.planner.wording import lacking
from sparkassets.core.spec.model import AssetSpec, InletSpec


def readiness(
    context: PlanningContext,
    asset: AssetSpec,
    condition: Condition,
    state: AssetState,
    found: Pending,
    ticks: Mapping[Time, Passed | None],
) -> Verdict[PartitionSet]:
    """The blocks that an update of each leaf, or a tick of it, makes ready."""
    due = found.due | found.by_trigger

    def ready(leaf: Leaf | Time) -> PartitionSet:
        if isinstance(leaf, Time):
            return due if ticks[leaf] is not None else _unanswered(asset, state, leaf.written, due)
        return _ready(context, asset, state, found, leaf)

    return evaluate(condition, ready, lambda leaf: _never(context, asset, leaf, due))


def unready(
    context: PlanningContext, asset: AssetSpec, verdict: Verdict[PartitionSet], blocks: PartitionSet, found: Pending
) -> tuple[Waiting, ...]:
    """What ``blocks``, for which the condition does not hold, wait for; quietly where that never was there."""
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values():
        refused = NOTHING
        if context.dependency(asset, inlet).is_mapped:
            refused = refused_blocks(context, asset, inlet, blocks & (found.missing - found.holes))[0]
        quiet = [said for said in refusals(context, asset, inlet, refused) if said.quiet] if refused else []
        waiting += quiet
        blocks = blocks - PartitionSet.union(said.blocks for said in quiet)
    return (*waiting, *_lacking(context, asset, verdict, blocks))


def _lacking(
    context: PlanningContext, asset: AssetSpec, verdict: Verdict[PartitionSet], blocks: PartitionSet
) -> tuple[Waiting, ...]:
    """What the condition wants for ``blocks``, together those that lack the same."""
    parts: list[tuple[PartitionSet, tuple[Leaf | Time, ...]]] = [(blocks, ())]
    for leaf, ready in _leaves(verdict):
        split = [(part & ready, wanted) for part, wanted in parts]
        parts = split + [(part - ready, (*wanted, leaf)) for part, wanted in parts]
        parts = [(part, wanted) for part, wanted in parts if part]
    waiting = []
    for part, wanted in sorted(parts, key=lambda each: each[0].first):
        until = next_tick(context, context.state_of(asset), [leaf for leaf in wanted if isinstance(leaf, Time)])
        said = lacking(verdict.node, set(wanted).__contains__)
        waiting.append(Waiting(asset.name, f"waits for {said} ({asset.schedule.text})", until, part))
    return tuple(waiting)


def _leaves(verdict: Verdict[PartitionSet]) -> Iterator[tuple[Leaf | Time, PartitionSet]]:
    """The leaves with the blocks that need not wait for them."""
    if isinstance(verdict.node, Leaf | Time):
        yield verdict.node, verdict.value | (verdict.void or NOTHING)
    for child in verdict.children:
        yield from _leaves(child)


def _mapped(context: PlanningContext, asset: AssetSpec, leaf: Leaf) -> list[InletSpec]:
    """The inlets of the leaf's dataset that tell for which blocks it is updated; of time only those that have time."""
    uri = context.uri(asset.name, leaf)
    own = (inlet for inlet in asset.inlets.values() if inlet.uri == uri)
    needs = ((inlet, context.dependency(asset, inlet)) for inlet in own)
    return [inlet for inlet, need in needs if need.is_mapped and need.tells_time]


def _ready(context: PlanningContext, asset: AssetSpec, state: AssetState, found: Pending, leaf: Leaf) -> PartitionSet:
    due, mapped = found.due | found.by_trigger, _mapped(context, asset, leaf)
    if not mapped:
        return due if news_of(context, leaf, state) else _unanswered(asset, state, context.uri(asset.name, leaf), due)
    ready = NOTHING
    for inlet in mapped:
        there = updated(context, asset, inlet, found.missing)
        there = there - refused_blocks(context, asset, inlet, there)[0]
        ready = ready | there | found.stale.get(inlet.name, NOTHING)
    return ready


def _never(context: PlanningContext, asset: AssetSpec, leaf: Leaf | Time, due: PartitionSet) -> PartitionSet:
    """Those of the blocks ``due`` for which a leaf's dataset can never have anything."""
    mapped = _mapped(context, asset, leaf) if isinstance(leaf, Leaf) else []
    never = due if mapped else NOTHING
    for inlet in mapped:
        never = never - ever_fed(context, asset, inlet, never)
    return never


def _unanswered(asset: AssetSpec, state: AssetState, key: str, due: PartitionSet) -> PartitionSet:
    """Those of the blocks ``due`` that have still to answer an event or a tick."""
    return asset.partitioning.cover(due & state.unanswered(key)) & due
