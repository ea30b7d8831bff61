"""The lookback of a date range: for every gap that is filled, what lies before it is computed again, once.

A gap is one gap also where `max_partitions_per_run` cuts it into several runs. What a run leaves of the lookback is
owed, and told by its claim, so that it follows from the journal which gaps are being filled (`AssetState.gaps`).
"""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.gates.inlet_gates import check_gates
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange
from sparkassets.frozen import frozen


@frozen
class GapLookback:
    """What filling gaps asks for beside them.

    Attributes:
        blocks: What is computed again.
        gaps: The gaps for which that is so; empty where nothing looks back.
    """

    blocks: PartitionSet
    gaps: PartitionSet


NO_LOOKBACK = GapLookback(NOTHING, NOTHING)


def plan_lookback(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    ready: PartitionSet,
    *,
    barred: PartitionSet,
) -> GapLookback:
    """What is computed again with the missing ones of ``ready``: what has its gates open and is not ``barred``."""
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NO_LOOKBACK
    gaps = ready - state.coverage
    behind = partitions_before_gaps(asset, state, gaps) - barred
    return GapLookback(check_gates(context, asset, behind).ready if behind else behind, gaps)


def partitions_before_gaps(asset: AssetSpec, state: AssetState, gaps: PartitionSet) -> PartitionSet:
    """The computed blocks so far before those of ``gaps`` of which the lookback is not done or owed already."""
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NOTHING
    gap = ((gaps | state.gaps) - state.coverage).heads() - state.gaps
    behind = asset.partitioning.partitions_before(gap, asset.strategy.lookback)
    return (behind & asset.partitioning.inside(state.coverage)) - state.skipped_partitions


def owed_partitions(asset: AssetSpec, state: AssetState) -> PartitionSet:
    """What an earlier run left of its lookback."""
    if not state.owed or not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NOTHING
    listed = asset.partitioning.cover(state.owed) & asset.partitioning.known_partitions
    return listed & asset.partitioning.inside(state.coverage)
