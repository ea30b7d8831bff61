"""The partition grid of one asset: each partition with its status, its cause and its origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from sparkassets.core.journal.lineage import PartitionOrigin
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import Partitioning, PartitionSet, TimePartition
from sparkassets.core.partitions.partition_grid import NO_WORD, PartitionGrid, build_partition_grid
from sparkassets.core.planner.explain.status import PartitionStatus, partition_statuses
from sparkassets.core.planner.gates.inlet_gates import describe_removed_input, find_kept_partitions
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen

Cause = tuple[PartitionSet, str]
"""Some partitions, and the reason for their status as a clause."""

_SETTLED: frozenset[PartitionStatus] = frozenset({"current", "there", "unlisted", "open"})
"""Statuses that need no reason, as nothing is wanted."""


@frozen
class StatusPiece:
    """Partitions with the same status for the same reason.

    Attributes:
        cause: The reason as a clause; empty where there is none to show.
    """

    parts: PartitionSet
    status: PartitionStatus
    cause: str


def status_pieces(
    context: PlanningContext, asset: AssetSpec, runs: Sequence[PlannedRun], waiting: Sequence[Waiting]
) -> Iterator[StatusPiece]:
    """Yields every wanted or present partition of an asset once, with its status and cause.

    Args:
        context: The view of the plan.
        asset: A partitioned asset; may be an outlet.
        runs: Planned runs of the asset, or of an outlet's maker.
        waiting: Waiting reasons of the asset, or of an outlet's maker.
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
    """Splits ``parts`` by the first of the causes that concerns each partition."""
    for partitions, cause in causes:
        if own := parts & partitions:
            yield StatusPiece(own, status, cause)
            parts = parts - own
            if not parts:
                return
    yield StatusPiece(parts, status, "not computed yet" if status == "missing" else "")


def _causes(
    context: PlanningContext, asset: AssetSpec, runs: Sequence[PlannedRun], waiting: Sequence[Waiting]
) -> Iterator[Cause]:
    """Yields the causes of partitions' statuses; the most important first, as the first one counts."""
    state = context.state_of(asset)
    for link in context.live_claims(state):
        yield link.entry.partitions, f"{link.entry.run} runs since {context.format_instant(link.at)}"
    for failed in state.failed:
        yield failed.partitions, f"{failed.run} failed: {failed.error}"
    for mark in state.skip_marks:
        yield mark.partitions, mark.text
    for run in runs:
        yield run.partitions, f"runs with the next tick: {run.reason}"
    some = sorted(waiting, key=lambda each: each.partitions.is_everything)
    for item in some:
        yield item.partitions, f"{item.reason}{_until_text(context, item)}"
    yield from _stale(state)


def _until_text(context: PlanningContext, item: Waiting) -> str:
    return f" (until {context.format_instant(item.until)})" if item.until is not None else ""


def _stale(state: AssetState) -> Iterator[Cause]:
    """Yields which inlet changed since partitions were computed."""
    for inlet, stamped in state.stale.items():
        for parts, seq in stamped.items():
            yield parts, f"{inlet} changed since (event {seq})" if inlet else f"out of date since event {seq}"


def _kept_causes(context: PlanningContext, asset: AssetSpec, parts: PartitionSet) -> Iterator[Cause]:
    """Yields why present partitions keep rows whose input was removed."""
    for inlet, lost, gone in find_kept_partitions(context, asset, parts):
        yield lost, describe_removed_input(context, inlet, gone)


MOST_TUPLES = 2_000
"""Number of tuples of segments in a grid; the others are only counted."""
MOST_TIMES_OF_MANY = 60
"""Number of times that are shown at least, however many segments there are."""
MOST_ORIGINS = 2_000
"""Number of origins of an asset's partitions that are shown, the newest."""


def cells_document(
    partitioning: Partitioning, pieces: Iterable[StatusPiece], origins: Iterable[PartitionOrigin], *, most: int
) -> dict[str, Any]:
    """The grid of an asset's partitions (*slices*): at most about ``most`` of the newest, each as a code.

    ``codes`` has ``[status, cause, origin]``, the last two as positions in ``causes`` and ``origins``, or -1.
    ``groups`` has tuples of segments with equal rows; its ``cells`` are pairs (number of consecutive ``times``, code),
    where -1 is a partition without a code. ``earlier`` counts times that are left out, ``others`` tuples.
    """
    found = list(pieces)
    since, earlier = _shown_since(partitioning, found, most)
    if since is not None:
        found = [StatusPiece(left, each.status, each.cause) for each in found if (left := each.parts.clip(since, None))]
    codes = _CellCodes()
    grid = build_partition_grid(
        partitioning, [(parts, str(code)) for parts, code in codes.assign_codes(found, origins)]
    )
    groups = [*_groups(grid)]
    shown = sum(len(group["segments"]) for group in groups)
    return {
        "columns": list(partitioning.segment_columns),
        "time_at": partitioning.time_at if partitioning.time is not None else -1,
        "grain": partitioning.time.grain if partitioning.time is not None else "",
        "times": [*_times(partitioning, grid)],
        "groups": groups,
        "codes": codes.codes,
        "causes": codes.causes,
        "origins": codes.origins,
        "earlier": earlier,
        "others": sum(map(len, grid.columns)) - shown,
    }


def _shown_since(partitioning: Partitioning, found: Sequence[StatusPiece], most: int) -> tuple[int | None, int]:
    """The instant from which slices are shown, None for all, and the number of times before it."""
    time = partitioning.time
    if time is None:
        return None, 0
    all_time = PartitionSet.union(each.parts for each in found)
    together = time.inside(all_time.any_time())
    tuples = 1
    for each in partitioning.segments:
        tuples *= max(1, min(len(each.keys), MOST_TUPLES))
    left = time.count(together) - max(most // min(tuples, MOST_TUPLES), MOST_TIMES_OF_MANY)
    if left <= 0:
        return None, 0
    return time.oldest(together, left).last, left


class _CellCodes:
    """Numbers each combination of status, cause and origin once, so that a cell is a single number."""

    def __init__(self) -> None:
        self.codes: list[tuple[str, int, int]] = []
        self.causes: list[str] = []
        self.origins: list[dict[str, Any]] = []
        self._known: dict[tuple[str, int, int], int] = {}  # combination to its position in codes
        self._of_cause: dict[str, int] = {"": -1}  # cause to its position in causes

    def assign_codes(
        self, pieces: Sequence[StatusPiece], origins: Iterable[PartitionOrigin]
    ) -> Iterator[tuple[PartitionSet, int]]:
        """Yields the pieces, split by origin, each with its code; a partition has the first origin that holds it."""
        rest = [(each.parts, each.status, self._cause(each.cause)) for each in pieces]
        shown = PartitionSet.union(parts for parts, _, _ in rest)
        for origin in islice(origins, MOST_ORIGINS):
            if not origin.partitions.overlaps(shown):
                continue
            place = len(self.origins)
            self.origins.append(_origin(origin))
            for parts, status, cause in rest:
                if own := parts & origin.partitions:
                    yield own, self._code(status, cause, place)
            rest = [(parts - origin.partitions, status, cause) for parts, status, cause in rest]
        for parts, status, cause in rest:
            if parts:
                yield parts, self._code(status, cause, -1)

    def _cause(self, text: str) -> int:
        """The position of a cause in ``causes``, which gets it if missing; -1 for the empty one."""
        if text not in self._of_cause:
            self._of_cause[text] = len(self.causes)
            self.causes.append(text)
        return self._of_cause[text]

    def _code(self, status: str, cause: int, origin: int) -> int:
        """The position of a combination in ``codes``, which gets it if missing."""
        code = (status, cause, origin)
        if code not in self._known:
            self._known[code] = len(self.codes)
            self.codes.append(code)
        return self._known[code]


def _origin(origin: PartitionOrigin) -> dict[str, Any]:
    """The origin of partitions; ``run`` names a run of the report if the report has it."""
    document = {
        "kind": origin.kind,
        "at": origin.at,
        "run": origin.run,
        "seq": None if origin.run else origin.seq,
        "version": origin.version,
        "definition": origin.definition[:8] or None,
        "note": origin.note or None,
    }
    return {name: value for name, value in document.items() if value is not None}


def _groups(grid: PartitionGrid) -> Iterator[dict[str, Any]]:
    """Yields the columns of a grid as groups of equal tuples, at most `MOST_TUPLES` tuples in all.

    ``cells`` has pairs (number of consecutive times, code), flattened into one list.
    """
    shown = 0
    for place, segments in enumerate(grid.columns):
        some = segments[: MOST_TUPLES - shown]
        if not some:
            return
        shown += len(some)
        runs: list[int] = []
        for row in grid.rows:
            word = row.words[place]
            code = -1 if word == NO_WORD else int(word)
            if runs and runs[-1] == code:
                runs[-2] += row.count
            else:
                runs += [row.count, code]
        yield {"segments": list(some), "cells": runs}


def _times(partitioning: Partitioning, grid: PartitionGrid) -> Iterator[str]:
    """Yields the key of each time of the grid, oldest first; none without a dimension of time."""
    if partitioning.time is None:
        return
    for row in grid.rows:
        yield from _keys(partitioning.time, row.label) if ".." in row.label else (row.label,)


@lru_cache(maxsize=1024)
def _keys(time: TimePartition, label: str) -> tuple[str, ...]:
    """The keys of a label such as ``A..B``; remembered, as many assets have the same ones."""
    alone = Partitioning(time)
    return tuple(alone.keys(alone.parse(label, recorded=True)))
