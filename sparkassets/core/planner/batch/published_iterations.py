"""What runs publish: whether it takes the place of the newest iteration, and what is told of it."""

from __future__ import annotations

from typing import Any

from sparkassets.core.journal.iterations import PublishedIteration, visible_iterations
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.runs import FILES, ROWS, RunRequest, iteration_folder
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import PublishWrite


def keeps_newest_iteration(asset: AssetSpec, state: AssetState, request: RunRequest) -> bool:
    """Whether what the run publishes is of an earlier interval than what readers see, which stays the newest then.

    So it is with a backfill, and where each interval has a run of its own; a run of everything that is due now is
    always the newest, whatever its interval. Of an asset with partitions readers see the newest of each; where no
    column tells them, that of the newest partition.
    """
    if not isinstance(asset.write, PublishWrite) or request.restores:
        return False
    if asset.partitioning.is_partitioned:
        return _is_older(asset.partitioning, state, request.blocks)
    newest = next(iter(visible_iterations(state.iterations)), None)
    if newest is None or newest.interval is None or request.interval is None:
        return False
    by_interval = request.kind == "backfill" or isinstance(asset.strategy, EveryInstance)
    return by_interval and request.interval[1] < newest.interval[1]


def _is_older(partitioning: Partitioning, state: AssetState, blocks: PartitionSet) -> bool:
    """Whether readers would see partitions in place of newer ones, as no column tells their time."""
    if partitioning.has_columns or partitioning.time is None or not blocks:
        return False
    place = partitioning.in_rows(blocks)
    return any(
        each.visible_partitions.overlaps(place) and each.blocks.last > blocks.last
        for each in visible_iterations(state.iterations)
    )


def find_iteration(state: AssetState, run: str) -> PublishedIteration | None:
    """The iteration of a run, where it is still there."""
    return next((each for each in state.iterations if each.run == run), None)


def iteration_key(asset: AssetSpec, run: str, blocks: PartitionSet) -> str:
    """What an iteration is told by: the partitions that it is of, or else the run that published it."""
    return ",".join(asset.partitioning.labels(blocks)) if asset.partitioning.is_partitioned else run


def iteration_event_extra(
    asset: AssetSpec, name: str, *, run: str, blocks: PartitionSet, files: bool
) -> dict[str, Any]:
    """What the event of an iteration says of it."""
    folder = iteration_folder(name, FILES if files else ROWS)
    root = asset.storage.path.rstrip("/") if asset.storage is not None else ""
    return {"path": f"{root}/{folder}", "key": iteration_key(asset, run, blocks), "run": run}
