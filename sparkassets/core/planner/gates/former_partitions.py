"""Assets whose partitions changed after something was computed by the former ones.

A table that can be computed again waits for a rebuild, as no block of the new partitions replaces exactly the rows of
former ones. What was appended stays: a new partition of which a part was appended waits for a person.
"""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.spec.model import AssetSpec


def remove_partly_appended(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """The step: without the partitions of which a part was appended by former partitions."""
    missing = case.pending.missing & course.due if case.pending is not None else NOTHING
    blocks = partly_appended_partitions(case.asset, case.state, missing)
    return course.without_partitions(blocks, explain_partly_appended(case.asset, blocks)) if blocks else course


def partly_appended_partitions(asset: AssetSpec, state: AssetState, missing: PartitionSet) -> PartitionSet:
    """Those of the partitions of which a part alone was appended, so that computing them would append it twice."""
    if not missing or not asset.partitioning.is_partitioned or asset.write is None or asset.write.recomputable:
        return NOTHING
    lacking = missing - asset.partitioning.inside(state.coverage)  # what a tick has computed anew is there as a whole
    return lacking & asset.partitioning.cover(state.coverage)


def explain_partly_appended(asset: AssetSpec, blocks: PartitionSet) -> Waiting:
    """Why partitions of which a part was appended are not computed."""
    reason = (
        f"appended in part, by partitions that the asset had before: `sparkassets mark {asset.maker or asset.name} "
        f"--partition … --done` goes on without the rest"
    )
    return Waiting(asset.name, reason, None, blocks, stuck=True)
