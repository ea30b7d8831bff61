"""Why a slice stands as it does: for each of an asset's slices the first sentence that is about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.explain.status import PartitionStatus, partition_statuses
from sparkassets.core.planner.gates.kept_rows import describe_removed_input, find_kept_partitions
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen

Cause = tuple[PartitionSet, str]
"""Some partitions, and why these stand as they do."""

_SETTLED: frozenset[PartitionStatus] = frozenset({"current", "there", "unlisted", "open"})
"""Of what nothing is wanted."""


@frozen
class StatusPiece:
    """Partitions that stand alike for one reason.

    Attributes:
        cause: A clause for people; empty where there is none to tell.
    """

    parts: PartitionSet
    status: PartitionStatus
    cause: str


def status_pieces(
    context: PlanningContext, asset: AssetSpec, runs: Sequence[PlannedRun], waiting: Sequence[Waiting]
) -> Iterator[StatusPiece]:
    """Every partition of an asset that is wanted or there, each once.

    Args:
        context: Of a plan.
        asset: Partitioned; of an outlet its own.
        runs: What is planned of it, or of the asset whose runs write it.
        waiting: What of it waits, likewise.
    """
    maker = context.asset(asset.maker) if asset.maker else asset
    causes: list[Cause] | None = None
    for parts, status in partition_statuses(context, asset):
        if not parts:
            continue
        if status in _SETTLED:
            yield StatusPiece(parts, status, "")
            continue
        if causes is None:
            causes = [*_causes(context, maker, runs, waiting)]
        yield from _split_by_cause(parts, status, causes if status != "kept" else _kept_causes(context, maker, parts))


def _split_by_cause(parts: PartitionSet, status: PartitionStatus, causes: Iterable[Cause]) -> Iterator[StatusPiece]:
    """The parts by the first cause that is about them."""
    for blocks, cause in causes:
        if own := parts & blocks:
            yield StatusPiece(own, status, cause)
            parts = parts - own
            if not parts:
                return
    yield StatusPiece(parts, status, "not computed yet" if status == "missing" else "")


def _causes(
    context: PlanningContext, asset: AssetSpec, runs: Sequence[PlannedRun], waiting: Sequence[Waiting]
) -> Iterator[Cause]:
    """What is to be told of blocks, what counts most first."""
    state = context.state_of(asset)
    for link in context.live_claims(state):
        yield link.entry.blocks, f"{link.entry.run} runs since {context.format_instant(link.at)}"
    for failed in state.failed:
        yield failed.blocks, f"{failed.run} failed: {failed.error}"
    for mark in state.skip_marks:
        yield mark.blocks, mark.text
    for run in runs:
        yield run.blocks, f"runs with the next tick: {run.reason}"
    some = sorted(waiting, key=lambda each: each.blocks.is_everything)
    for item in some:
        yield item.blocks, f"{item.reason}{_until_text(context, item)}"
    yield from _stale(state)


def _until_text(context: PlanningContext, item: Waiting) -> str:
    return f" (until {context.format_instant(item.until)})" if item.until is not None else ""


def _stale(state: AssetState) -> Iterator[Cause]:
    """What changed in inlets since blocks were computed."""
    for inlet, stamped in state.stale.items():
        for parts, seq in stamped.items():
            yield parts, f"{inlet} changed since (event {seq})" if inlet else f"out of date since event {seq}"


def _kept_causes(context: PlanningContext, asset: AssetSpec, parts: PartitionSet) -> Iterator[Cause]:
    for inlet, lost, gone in find_kept_partitions(context, asset, parts):
        yield lost, describe_removed_input(context, inlet, gone)
