"""Failures that the same invocation made good, or narrowed down: what they were to compute was planned anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.results import RunResult


def settle_results(results: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """The results, in the order in which the runs ended, with what later ones tried again told as planned anew.

    Later runs have computed all of it, but for what failed by itself again, or among fewer. A run that only records an
    older one (``adopted``) has computed nothing of its own blocks.
    """
    computed: defaultdict[str, PartitionSet] = defaultdict(lambda: NOTHING)
    failed: defaultdict[str, list[PartitionSet]] = defaultdict(list)
    told = []
    for result in reversed(results):
        if result.status == "failed":
            among = [
                computed[result.asset],
                *(each for each in failed[result.asset] if _is_narrower(each, result.blocks)),
            ]
            if PartitionSet.union(among).covers(result.blocks) and any(among):
                told.append(replace(result, status="replanned"))
                continue
            failed[result.asset].append(result.blocks)
        elif result.status in ("success", "withheld", "skipped") and result.adopted is None:
            computed[result.asset] |= result.blocks
        told.append(result)
    return tuple(reversed(told))


def _is_narrower(blocks: PartitionSet, than: PartitionSet) -> bool:
    return blocks != than and than.covers(blocks)
