"""Failures that the same invocation made good: what they were to compute was planned anew, and is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.results import RunResult


def settled(results: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """The results, in the order in which the runs ended, with what later ones made good told as planned anew.

    A run that only records an older one (``adopted``) has computed nothing of its own blocks.
    """
    later: dict[str, PartitionSet] = {}
    """Asset to what the runs after this one computed."""
    told = []
    for result in reversed(results):
        if result.status == "failed" and _within(result, later):
            result = replace(result, status="replanned")  # noqa: PLW2901  the same run
        elif result.status == "success" and result.adopted is None:
            later[result.asset] = later.get(result.asset, NOTHING) | result.blocks
        told.append(result)
    return tuple(reversed(told))


def _within(result: RunResult, later: dict[str, PartitionSet]) -> bool:
    return result.asset in later and later[result.asset].covers(result.blocks)
