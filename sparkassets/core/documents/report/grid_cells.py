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
        runs: Planned runs of the asset, or of an outlet's multi-asset.
        waiting: Waiting reasons of the asset, or of an outlet's multi-asset.
    """
    writer = context.asset(asset.written_by) if asset.written_by else asset
    causes: list[Cause] | None = None
    for parts, status in partition_statuses(context, asset):
        if not parts:
            continue
        if status in _SETTLED:
            yield StatusPiece(parts, status, "")
            continue
        if causes is None:
            causes = [*_iterate_causes(context, writer, runs, waiting)]
        yield from _split_by_cause(parts, status, causes if status != "kept" else _kept_causes(context, writer, parts))


def _split_by_cause(parts: PartitionSet, status: PartitionStatus, causes: Iterable[Cause]) -> Iterator[StatusPiece]:
    """Splits ``parts`` by the first of the causes that concerns each partition."""
    for partitions, cause in causes:
        if caused := parts & partitions:
            yield StatusPiece(caused, status, cause)
            parts = parts - caused
            if not parts:
                return
    yield StatusPiece(parts, status, "not computed yet" if status == "missing" else "")


def _iterate_causes(
    context: PlanningContext, asset: AssetSpec, runs: Sequence[PlannedRun], waiting: Sequence[Waiting]
) -> Iterator[Cause]:
    """Yields the causes of partitions' statuses; the most important first, as the first one counts."""
    state = context.state_of(asset)
    for link in context.live_claims(state):
        yield link.entry.partitions, f"{link.entry.run} running since {context.format_instant(link.at)}"
    for failed in state.failed:
        yield failed.partitions, f"{failed.run} failed: {failed.error}"
    for mark in state.skip_marks:
        yield mark.partitions, mark.text
    for run in runs:
        yield run.partitions, f"runs with the next tick: {run.reason}"
    narrowest_first = sorted(waiting, key=lambda each: each.partitions.is_everything)
    for item in narrowest_first:
        yield item.partitions, f"{item.reason}{_format_until(context, item)}"
    yield from _stale_causes(state)


def _format_until(context: PlanningContext, item: Waiting) -> str:
    return f" (until {context.format_instant(item.until)})" if item.until is not None else ""


def _stale_causes(state: AssetState) -> Iterator[Cause]:
    """Yields which inlet changed since partitions were computed."""
    for inlet, partitions_by_event in state.stale.items():
        for parts, seq in partitions_by_event.items():
            yield parts, f"{inlet} changed since (event {seq})" if inlet else f"out of date since event {seq}"


def _kept_causes(context: PlanningContext, asset: AssetSpec, parts: PartitionSet) -> Iterator[Cause]:
    """Yields why present partitions keep rows whose input was removed."""
    for inlet, kept, removed in find_kept_partitions(context, asset, parts):
        yield kept, describe_removed_input(context, inlet, removed)


MOST_TUPLES = 2_000
"""Number of tuples of segments in a grid; the others are only counted."""
MOST_TIMES_OF_MANY = 60
"""Number of times that are shown at least, however many segments there are."""
MOST_ORIGINS = 2_000
"""Number of origins of an asset's partitions that are shown, the newest."""


def cells_document(
    partitioning: Partitioning, pieces: Iterable[StatusPiece], origins: Iterable[PartitionOrigin], *, most: int
) -> dict[str, Any]:
    """The grid of an asset's partitions: at most about ``most`` of the newest, each as a code.

    ``codes`` has ``[status, cause, origin]``, the last two as positions in ``causes`` and ``origins``, or -1.
    ``groups`` has tuples of segments with equal rows; its ``cells`` are pairs (number of consecutive ``times``, code),
    where -1 is a partition without a code. ``earlier`` counts times that are left out, ``others`` tuples.
    """
    shown_pieces = list(pieces)
    first_instant, earlier = _find_first_shown(partitioning, shown_pieces, most)
    if first_instant is not None:
        shown_pieces = [
            StatusPiece(shown_parts, each.status, each.cause)
            for each in shown_pieces
            if (shown_parts := each.parts.clip(first_instant, None))
        ]
    codes = _CellCodes()
    grid = build_partition_grid(
        partitioning, [(parts, str(code)) for parts, code in codes.assign_codes(shown_pieces, origins)]
    )
    groups = [*_iterate_groups(grid)]
    tuple_count = sum(len(group["segments"]) for group in groups)
    return {
        "columns": list(partitioning.segment_columns),
        "time_at": partitioning.time_at if partitioning.time is not None else -1,
        "grain": partitioning.time.grain if partitioning.time is not None else "",
        "times": [*_iterate_times(partitioning, grid)],
        "groups": groups,
        "codes": codes.codes,
        "causes": codes.causes,
        "origins": codes.origins,
        "earlier": earlier,
        "others": sum(map(len, grid.columns)) - tuple_count,
    }


def _find_first_shown(partitioning: Partitioning, pieces: Sequence[StatusPiece], most: int) -> tuple[int | None, int]:
    """The instant from which partitions are shown, None for all, and the number of times before it."""
    time = partitioning.time
    if time is None:
        return None, 0
    all_time = PartitionSet.union(each.parts for each in pieces)
    slots = time.inside(all_time.any_time())
    tuple_count = 1
    for each in partitioning.segments:
        tuple_count *= max(1, min(len(each.keys), MOST_TUPLES))
    shown_count = max(most // min(tuple_count, MOST_TUPLES), MOST_TIMES_OF_MANY)
    hidden_count = time.count(slots) - shown_count
    return (time.newest(slots, shown_count).first, hidden_count) if hidden_count > 0 else (None, 0)


class _CellCodes:
    """Numbers each combination of status, cause and origin once, so that a cell is a single number."""

    def __init__(self) -> None:
        self.codes: list[tuple[str, int, int]] = []
        self.causes: list[str] = []
        self.origins: list[dict[str, Any]] = []
        self._known: dict[tuple[str, int, int], int] = {}  # combination to its position in codes
        self._cause_positions: dict[str, int] = {"": -1}  # cause to its position in causes

    def assign_codes(
        self, pieces: Sequence[StatusPiece], origins: Iterable[PartitionOrigin]
    ) -> Iterator[tuple[PartitionSet, int]]:
        """Yields the pieces, split by origin, each with its code; a partition has the first origin that holds it."""
        unassigned = [(each.parts, each.status, self._cause_position(each.cause)) for each in pieces]
        all_parts = PartitionSet.union(parts for parts, _, _ in unassigned)
        for origin in islice(origins, MOST_ORIGINS):
            if not origin.partitions.overlaps(all_parts):
                continue
            position = len(self.origins)
            self.origins.append(_origin_document(origin))
            for parts, status, cause in unassigned:
                if originating := parts & origin.partitions:
                    yield originating, self._code_position(status, cause, position)
            unassigned = [(parts - origin.partitions, status, cause) for parts, status, cause in unassigned]
        for parts, status, cause in unassigned:
            if parts:
                yield parts, self._code_position(status, cause, -1)

    def _cause_position(self, text: str) -> int:
        """The position of a cause in ``causes``, which gets it if missing; -1 for the empty one."""
        if text not in self._cause_positions:
            self._cause_positions[text] = len(self.causes)
            self.causes.append(text)
        return self._cause_positions[text]

    def _code_position(self, status: str, cause: int, origin: int) -> int:
        """The position of a combination in ``codes``, which gets it if missing."""
        code = (status, cause, origin)
        if code not in self._known:
            self._known[code] = len(self.codes)
            self.codes.append(code)
        return self._known[code]


def _origin_document(origin: PartitionOrigin) -> dict[str, Any]:
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


def _iterate_groups(grid: PartitionGrid) -> Iterator[dict[str, Any]]:
    """Yields each column of a grid: its segments, at most `MOST_TUPLES` in all, and the ``cells`` that they share.

    ``cells`` has pairs (number of consecutive times, code of the status, -1 for none), flattened into one list.
    """
    shown_count = 0
    for column, segments in enumerate(grid.columns):
        shown_segments = segments[: MOST_TUPLES - shown_count]
        if not shown_segments:
            return
        shown_count += len(shown_segments)
        runs: list[int] = []
        for row in grid.rows:
            word = row.words[column]
            code = -1 if word == NO_WORD else int(word)
            if runs and runs[-1] == code:
                runs[-2] += row.count
            else:
                runs += [row.count, code]
        yield {"segments": list(shown_segments), "cells": runs}


def _iterate_times(partitioning: Partitioning, grid: PartitionGrid) -> Iterator[str]:
    """Yields the key of each time of the grid, oldest first; none without a dimension of time."""
    if partitioning.time is None:
        return
    for row in grid.rows:
        yield from _list_keys(partitioning.time, row.label) if ".." in row.label else (row.label,)


@lru_cache(maxsize=1024)
def _list_keys(time: TimePartition, label: str) -> tuple[str, ...]:
    """The keys of a label such as ``A..B``; remembered, as many assets have the same ones."""
    partitioning = Partitioning(time)
    return tuple(partitioning.keys(partitioning.parse(label, recorded=True)))
