"""What validations decided of a run, as its commit tells it; and what a run is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.validations import Counted, Past
from sparkassets.ports import Committed
from sparkassets.runtime.ledger import Ledger

MOST_RUNS = 1000
"""The newest successes of an asset whose numbers of rows are compared with."""


def judged(committed: Committed, blocks: PartitionSet) -> Mapping[str, Any]:
    """What the record of a run of these blocks says of its validations; nothing of one that none judged."""
    found = committed.judgement
    if found is None:
        return {}
    return {"withheld": found.withheld & blocks, "verdicts": found.verdicts, "counts": found.counts}


def came_out(asset: AssetSpec, committed: Committed, blocks: PartitionSet, keys: Mapping[str, Any]) -> PartitionSet:
    """The blocks of a run once the segments are known that came out of it; none do of one that publishes nothing."""
    nothing = committed.withheld.covers(blocks) and blocks != NOTHING
    return blocks if nothing else asset.partitioning.came_out(blocks, keys)


def past_of(ledger: Ledger, project: ProjectSpec, asset: AssetSpec) -> Past:
    """What was published before, for the rules of the asset and its outlets that compare with it."""
    names = {rule.name for each in asset.written for rule in project.assets[each].rules if rule.over}
    found: dict[str, list[Counted]] = {name: [] for name in names}
    for numbered in ledger.newest("success", asset=asset.name, most=MOST_RUNS) if names else ():
        if isinstance(numbered.entry, SuccessEntry):
            for name in names & numbered.entry.counts.keys():
                found[name] += numbered.entry.counts[name]
    return found
