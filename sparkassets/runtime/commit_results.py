"""What validations decided of a run, as its commit tells it; and what a run is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import PartitionRowCount, PastRowCounts, qualified_rule_name
from sparkassets.ports import DataCommit
from sparkassets.runtime.execution import CommittedRun
from sparkassets.runtime.ledger import JournalLedger

MOST_RUNS = 1000
"""The newest successes of an asset whose numbers of rows are compared with."""


def judgement_fields(committed: DataCommit, blocks: PartitionSet) -> Mapping[str, Any]:
    """What the record of a run of these blocks says of its validations."""
    found, told = committed.judgement, {"verdicts": committed.verdicts}
    if found is None:
        return told
    return {**told, "withheld": found.withheld & blocks, "counts": found.counts}


def claimed_and_discovered(asset: AssetSpec, outcome: CommittedRun, claimed: PartitionSet) -> PartitionSet:
    """The blocks of a run: those that were claimed, and of segments that nobody knew those that rows came out of.

    A segment that its function added without rows is computed by the next run.
    """
    committed = outcome.first_commit
    return (
        claimed
        | asset.partitioning.restrict_to_segments(committed.discovered_partitions, outcome.keys)
        | (committed.discovered_partitions & committed.withheld)
    )


def learned_segments(asset: AssetSpec, outcome: CommittedRun, blocks: PartitionSet) -> dict[str, tuple[str, ...]]:
    """The segments that a run came to know, by column: those that came out of it, and those that it added."""
    committed = outcome.first_commit
    added = committed.measures.get("keys", {})
    withheld = asset.partitioning.open_segments(committed.discovered_partitions & committed.withheld & blocks)
    every = [outcome.keys, added, withheld]
    columns = sorted({column for some in every for column in some})
    found = {column: tuple(sorted({key for some in every for key in some.get(column, ())})) for column in columns}
    return {column: keys for column, keys in found.items() if keys}


def resolve_discovered(
    asset: AssetSpec, committed: DataCommit, blocks: PartitionSet, keys: Mapping[str, Any]
) -> PartitionSet:
    """The blocks of a run once the segments are known that came out of it; none do of one that publishes nothing."""
    nothing = committed.withheld.covers(blocks) and blocks != NOTHING
    return blocks if nothing else asset.partitioning.resolve_whole(blocks, keys)


def published_counts(ledger: JournalLedger, asset: AssetSpec) -> PastRowCounts:
    """What was published before of an asset or an outlet, for those of its rules that compare with it."""
    outlet = asset.name if asset.maker else ""
    found: dict[str, list[PartitionRowCount]] = {rule.name: [] for rule in asset.rules if rule.history_length}
    for numbered in ledger.newest_entries("success", asset=asset.maker or asset.name, most=MOST_RUNS) if found else ():
        if isinstance(numbered.entry, SuccessEntry):
            for name, counted in found.items():
                counted.extend(numbered.entry.counts.get(qualified_rule_name(outlet, name), ()))
    return found
