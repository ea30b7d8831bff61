"""The failed partitions of an asset as runs fail and succeed, and the search for the bad ones among them.

A run that failed because of its data is divided: its partitions are tried in parts by a limited number of further runs
(``division``), until the bad ones are known (docs/design/planning.md#failures-and-retries).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sparkassets.core.journal.state import FailedBlocks
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs.division import PartFinding

Failures = tuple[FailedBlocks, ...]


def add_failure(
    before: Failures, item: FailedBlocks, *, settled: PartitionSet, bad: PartitionSet = NOTHING
) -> Failures:
    """The failures after ``item``, without partitions that a person has ``settled`` since its run was claimed.

    Partitions that are known to be ``bad`` become a failure of their own at once; the others stay undecided.
    """
    if item.blocks.is_everything:
        instead = (*(each for each in before if not set(each.events) <= set(item.events)), item)
        return before if settled.is_everything else instead
    after = _add_partition_failure(before, item, bad)
    return forget_failed(after, settled) if settled else after


def _add_partition_failure(before: Failures, item: FailedBlocks, bad: PartitionSet) -> Failures:
    """The failures after ``item``, which replaces earlier ones of the same partitions."""
    whole = next((each for each in before if _is_divided(each, item.blocks, item.invocation)), None)
    if whole is not None and whole.division is not None and item.division is not None:
        item = replace(item, division=replace(item.division, first=whole.division.first, left=whole.division.left - 1))
    others = _failures_outside(_count_division_run(before, item.blocks, item.invocation), item.blocks, known="unknown")
    return (*others, *_split_off_bad(item, item.blocks & bad))


def _split_off_bad(item: FailedBlocks, bad: PartitionSet) -> Failures:
    """The failure as one; or split into its bad partitions, which no further run tries, and the rest."""
    division = item.division
    if division is None or not bad or bad == item.blocks:
        return (item,)
    rest = replace(item, blocks=item.blocks - bad, division=replace(division, known="unknown"))
    return replace(item, blocks=bad, division=replace(division, left=0)), rest


def clear_failures(before: Failures, blocks: PartitionSet, *, invocation: str = "") -> Failures:
    """The failures after a run of that invocation has computed ``blocks``."""
    return _failures_outside(_count_division_run(before, blocks, invocation), blocks, known="bad")


def forget_failed(before: Failures, blocks: PartitionSet) -> Failures:
    """The failures without ``blocks``, which a person settled and no run has tried."""
    return _failures_outside(before, blocks, known="unknown")


def failures_without_events(before: Failures, events: Collection[int]) -> Failures:
    """The failures without those whose events are all among ``events``."""
    return tuple(item for item in before if not item.events or not set(item.events) <= set(events))


def _is_divided(item: FailedBlocks, blocks: PartitionSet, invocation: str) -> bool:
    """Whether a run of ``blocks`` is one of the further runs of the failure's division."""
    is_open = item.division is not None and item.division.left > 0 and item.invocation == invocation
    return is_open and item.blocks.overlaps(blocks)


def _count_division_run(before: Failures, blocks: PartitionSet, invocation: str) -> Failures:
    """Counts a run of ``blocks`` against every part of its division: each has one run less left."""
    taken = {item.division.first for item in before if item.division and _is_divided(item, blocks, invocation)}
    return tuple(
        replace(item, division=replace(item.division, left=item.division.left - 1))
        if item.division is not None and item.division.left and item.division.first in taken
        else item
        for item in before
    )


def _failures_outside(before: Failures, blocks: PartitionSet, *, known: PartFinding) -> Failures:
    """The failures without ``blocks``; ``known`` is the new finding for the rest of each that was divided."""
    return tuple(
        left
        for item in before
        if not item.blocks.is_everything and (left := _failure_outside(item, blocks, known)).blocks
    )


def _failure_outside(item: FailedBlocks, blocks: PartitionSet, known: PartFinding) -> FailedBlocks:
    if not item.blocks.overlaps(blocks):
        return item
    division = item.division
    if division is not None and (known == "unknown" or division.known == "failed"):
        division = replace(division, known=known)
    return replace(item, blocks=item.blocks - blocks, division=division)
