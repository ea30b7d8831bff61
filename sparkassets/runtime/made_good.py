"""Failures that the same invocation made good: what they were to compute was planned anew, and is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkassets.core.partitions import RangeSet
from sparkassets.core.results import RunResult


def settled(results: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """The results, in the order in which the runs ended, with what later ones made good told as planned anew.

    A run that only records an older one (``adopted``) has computed nothing of its own blocks.
    """
    later: dict[str, RangeSet | None] = {}
    """Asset to what the runs after this one computed; None for all of an asset without partitions."""
    told = []
    for result in reversed(results):
        if result.status == "failed" and _within(result, later):
            result = replace(result, status="replanned")  # noqa: PLW2901  the same run
        elif result.status == "success" and result.adopted is None:
            before = later.get(result.asset) or RangeSet()
            later[result.asset] = None if result.blocks is None else before | result.blocks
        told.append(result)
    return tuple(reversed(told))


def _within(result: RunResult, later: dict[str, RangeSet | None]) -> bool:
    if result.asset not in later:
        return False
    computed = later[result.asset]
    return computed is None or (result.blocks is not None and not result.blocks - computed)
