"""The lookback of a date range: for every gap that is filled, what lies before it is computed again, once.

A gap is one gap also where `max_partitions_per_run` cuts it into several runs. What a run leaves of the lookback is
owed, and told by its claim, so that it follows from the journal which gaps are being filled (`AssetState.gaps`).
"""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.gates import gate
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange
from sparkassets.frozen import frozen


@frozen
class Lookback:
    """What filling gaps asks for beside them.

    Attributes:
        blocks: What is computed again.
        gaps: The gaps for which that is so; empty where nothing looks back.
    """

    blocks: PartitionSet
    gaps: PartitionSet


NONE = Lookback(NOTHING, NOTHING)


def lookback(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    ready: PartitionSet,
    *,
    barred: PartitionSet,
) -> Lookback:
    """What is computed again with the missing ones of ``ready``: what has its gates open and is not ``barred``."""
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NONE
    gaps = ready - state.coverage
    behind = before(asset, state, gaps) - barred
    return Lookback(gate(context, asset, behind).ready if behind else behind, gaps)


def before(asset: AssetSpec, state: AssetState, gaps: PartitionSet) -> PartitionSet:
    """The computed blocks so far before those of ``gaps`` of which the lookback is not done or owed already."""
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NOTHING
    gap = ((gaps | state.gaps) - state.coverage).heads() - state.gaps
    behind = asset.partitioning.before(gap, asset.strategy.lookback)
    return (behind & asset.partitioning.inside(state.coverage)) - state.skipped


def owed(asset: AssetSpec, state: AssetState) -> PartitionSet:
    """What an earlier run left of its lookback."""
    if not state.owed or not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NOTHING
    listed = asset.partitioning.cover(state.owed) & asset.partitioning.known
    return listed & asset.partitioning.inside(state.coverage)
