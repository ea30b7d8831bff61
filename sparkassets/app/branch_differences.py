"""A branch and its base compared, asset by asset, each at the version that is recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sparkassets.app.branch_state import Branch
from sparkassets.core.branches.difference import Difference, Side, keys_of
from sparkassets.core.branches.places import storage_in
from sparkassets.core.journal.learned import knowing
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import Comparing


def find_differences(
    branch: Branch, names: Collection[str], comparing: Callable[[], Comparing], *, samples: int
) -> list[Difference]:
    """How the branch's own assets of these names differ from the base's; Spark starts where rows are compared."""
    found: list[Difference] = []
    comparer: Comparing | None = None
    base, own = branch.base.state(), branch.own.state()
    project = knowing(branch.base.project, own)
    try:
        for name in names:
            asset = project.assets[name]
            if asset.outlets or asset.storage is None:
                continue
            before = _side(asset, asset.storage.path, base.assets.get(name))
            place = storage_in(branch.base.project, branch.fork.name, asset)
            after = _side(asset, place.path if place is not None else "", own.assets.get(name))
            only_base, only_branch = _only(before, after), _only(after, before)
            if before is None or after is None:
                found.append(Difference(name, only_base=only_base, only_branch=only_branch))
                continue
            comparer = comparer or comparing()
            columns, rows = comparer.compare(
                asset,
                Side(before.path, before.table_id, before.version, before.blocks & after.blocks),
                after,
                keys=keys_of(project, asset),
                samples=samples,
            )
            found.append(Difference(name, columns, only_base, only_branch, rows))
    finally:
        if comparer is not None:
            comparer.close()
    return found


def _side(asset: AssetSpec, path: str, known: AssetState | None) -> Side | None:
    """What is there of an asset; None where nothing is."""
    if known is None or known.table_id is None or known.version is None:
        return None
    blocks = asset.partitioning.inside(known.coverage) if asset.partitioning.is_partitioned else EVERYTHING
    return Side(path, known.table_id, known.version, blocks) if blocks else None


def _only(one: Side | None, other: Side | None) -> PartitionSet:
    """The blocks that one has and the other has not."""
    if one is None:
        return NOTHING
    return one.blocks if other is None else one.blocks - other.blocks
