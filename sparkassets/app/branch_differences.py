"""A branch and its base compared, asset by asset, each at the version that is recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sparkassets.app.branch_state import Branch
from sparkassets.core.branches.branch_locations import branch_storage
from sparkassets.core.branches.difference import AssetDifference, ComparedTable, comparison_keys
from sparkassets.core.journal.known_segments import with_known_segments
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import TableComparer


def find_differences(
    branch: Branch, names: Collection[str], comparing: Callable[[], TableComparer], *, samples: int
) -> list[AssetDifference]:
    """How the branch's own assets of these names differ from the base's; Spark starts where rows are compared."""
    found: list[AssetDifference] = []
    comparer: TableComparer | None = None
    base, own = branch.base.state(), branch.own.state()
    project = with_known_segments(branch.base.project, own)
    try:
        for name in names:
            asset = project.assets[name]
            if asset.outlets or asset.storage is None:
                continue
            before = _side(asset, asset.storage.path, base.assets.get(name))
            place = branch_storage(branch.base.project, branch.fork.name, asset)
            after = _side(asset, place.path if place is not None else "", own.assets.get(name))
            only_base, only_branch = _only(before, after), _only(after, before)
            if before is None or after is None:
                found.append(AssetDifference(name, only_base=only_base, only_branch=only_branch))
                continue
            comparer = comparer or comparing()
            columns, rows = comparer.compare(
                asset,
                ComparedTable(before.path, before.table_id, before.version, before.blocks & after.blocks),
                after,
                keys=comparison_keys(project, asset),
                samples=samples,
            )
            found.append(AssetDifference(name, columns, only_base, only_branch, rows))
    finally:
        if comparer is not None:
            comparer.close()
    return found


def _side(asset: AssetSpec, path: str, known: AssetState | None) -> ComparedTable | None:
    """What is there of an asset; None where nothing is."""
    if known is None or known.table_id is None or known.version is None:
        return None
    blocks = asset.partitioning.inside(known.coverage) if asset.partitioning.is_partitioned else EVERYTHING
    return ComparedTable(path, known.table_id, known.version, blocks) if blocks else None


def _only(one: ComparedTable | None, other: ComparedTable | None) -> PartitionSet:
    """The blocks that one has and the other has not."""
    if one is None:
        return NOTHING
    return one.blocks if other is None else one.blocks - other.blocks
