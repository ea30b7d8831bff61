"""The lookback of a date range: the partitions before each filled gap are computed again, once.

A gap stays one gap when `max_partitions_per_run` cuts it into several runs. Lookback that a run leaves is owed and
recorded in its claim, so the journal says which gaps are being filled (`AssetState.gaps`).
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
    """The lookback of the gaps that a run fills.

    Attributes:
        blocks: Partitions before the gaps that are computed again.
        gaps: The filled gaps; empty without a lookback.
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
    """Returns the lookback of the missing partitions in ``ready``: those with open gates that are not ``barred``."""
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NO_LOOKBACK
    gaps = ready - state.coverage
    behind = partitions_before_gaps(asset, state, gaps) - barred
    return GapLookback(check_gates(context, asset, behind).ready if behind else behind, gaps)


def partitions_before_gaps(asset: AssetSpec, state: AssetState, gaps: PartitionSet) -> PartitionSet:
    """Computed partitions within the lookback before those ``gaps`` whose lookback is not done or owed already."""
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NOTHING
    gap = ((gaps | state.gaps) - state.coverage).heads() - state.gaps
    behind = asset.partitioning.partitions_before(gap, asset.strategy.lookback)
    return (behind & asset.partitioning.inside(state.coverage)) - state.skipped_partitions
