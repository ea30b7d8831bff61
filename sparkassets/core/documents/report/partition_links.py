"""Which slices need which: of each inlet and each consumer of an asset, slice by slice, as far as a report tells it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from sparkassets.core.partitions import Dependency, NewestMapping, OverlapMapping, Partitioning, PartitionSet
from sparkassets.core.phrases import few
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, InletSpec

MOST_LOOKUPS = 12_000
"""Slices in all that are looked up one by one."""
FEWEST, MOST = 12, 400
"""Slices of one link that are."""
SHOWN = 3
"""Labels of what one slice needs that are shown."""


class PartitionLinks:
    """The links of a project's assets.

    Attributes:
        consumers: Asset to those that read it, each with its inlet.
    """

    def __init__(self, context: PlanningContext) -> None:
        self._context = context
        self.consumers: dict[str, list[tuple[AssetSpec, InletSpec]]] = {}
        one_by_one = 1
        for asset in context.project.assets.values():
            for inlet in asset.inlets.values():
                self.consumers.setdefault(inlet.name, []).append((asset, inlet))
                one_by_one += 2 * (self._kind(asset, inlet) == "some")
        self._each = max(FEWEST, min(MOST, MOST_LOOKUPS // one_by_one))

    def upstream_links(self, asset: AssetSpec, there: PartitionSet) -> list[dict[str, Any]]:
        """What each slice of an asset needs of its inlets, of the newest of ``there``.

        ``kind`` is ``all`` of the inlet, its ``newest`` partition, the ``same`` keys, or ``some``: then ``of`` has what
        each slice needs, and the first key of that.
        """
        asset = self._context.asset(asset.maker) if asset.maker else asset
        return [self._link(asset, inlet, there, up=True) for inlet in asset.inlets.values()]

    def downstream_links(self, asset: AssetSpec, there: PartitionSet) -> list[dict[str, Any]]:
        """Which slices of its consumers need each slice of an asset, likewise."""
        pairs = self.consumers.get(asset.name, ())
        return [self._link(consumer, inlet, there, up=False) for consumer, inlet in pairs]

    def _link(self, asset: AssetSpec, inlet: InletSpec, there: PartitionSet, *, up: bool) -> dict[str, Any]:
        kind = self._kind(asset, inlet)
        told: dict[str, Any] = {"asset": inlet.name if up else asset.name, "kind": kind}
        if kind == "some":
            needed = self._context.dependency(asset, inlet)
            ours, theirs = needed.consumer, needed.inlet
            pair = (ours, theirs, needed.required_partitions) if up else (theirs, ours, needed.affected_partitions)
            told["of"] = dict(_look_up_links(*pair, there, self._each))
        return told

    def _kind(self, asset: AssetSpec, inlet: InletSpec) -> str:
        needed = self._context.project.dependency(asset, inlet)
        if inlet.view is not None or not needed.is_mapped or not asset.partitioning.is_partitioned:
            return "all"
        if isinstance(needed.mapping, NewestMapping):
            return "newest"
        return "same" if _is_same(needed) else "some"


def _is_same(needed: Dependency) -> bool:
    """Whether each block needs the partition of the same key, whatever is there."""
    return (
        isinstance(needed.mapping, OverlapMapping)
        and needed.matches is None
        and needed.consumer.same_grid(needed.inlet)
    )


def _look_up_links(
    ours: Partitioning,
    theirs: Partitioning,
    across: Callable[[PartitionSet], PartitionSet],
    there: PartitionSet,
    most: int,
) -> Iterator[tuple[str, tuple[str, str]]]:
    """For the newest of ``there``: its key, and what of the other it meets, as (text, first key)."""
    if not ours.is_partitioned or not ours.can_list(there):
        return
    for part in deque(ours.each_partition(there), maxlen=most):
        met = across(part)
        if theirs.is_partitioned and theirs.can_list(met):
            first = theirs.labels(met, most=1)
            text = few(theirs.display_labels(met, most=SHOWN), SHOWN, of=theirs.display_label_count(met))
            yield ours.labels(part)[0], (text, _single(first[0]) if first else "")


def _single(label: str) -> str:
    """The first key of a label."""
    return ",".join(part.split("..")[0] for part in label.split(","))
