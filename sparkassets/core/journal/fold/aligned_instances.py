"""Folds which version of an asset holds the output of an interval, for consumers that are aligned to its runs."""

from __future__ import annotations

from sparkassets.core.journal.asset_records import (
    AlignedInstance,
)
from sparkassets.core.journal.entries import PublishedEntry
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.state import AssetState
from sparkassets.frozen import replace

MOST_INSTANCES = 1000
"""Recorded runs by interval that an asset with aligned consumers remembers.

They reach further back than Delta's log of a table that is written every hour.
"""


def record_instance(work: FoldWorkspace, asset: AssetState, entry: PublishedEntry, seq: int) -> AssetState:
    """Records which version holds the output of the run's interval, if a consumer is aligned to the asset's runs.

    A run without an interval, or that published nothing, is not recorded.
    """
    if entry.interval is None or not entry.published_partitions:
        return asset
    return record_aligned_instance(
        work, asset, entry.uri, AlignedInstance(*entry.interval, seq, entry.table_id, entry.version)
    )


def record_aligned_instance(work: FoldWorkspace, asset: AssetState, uri: str, instance: AlignedInstance) -> AssetState:
    """Records the output of an interval in place of an earlier one, if a consumer is aligned to the asset's runs.

    Keeps the newest `MOST_INSTANCES`.
    """
    if not any(inlet.aligned and inlet.name == asset.name for _, inlet in work.readers(uri)):
        return asset
    others = [each for each in asset.instances if each.end != instance.end]  # an interval is identified by its end
    ascending = sorted([*others, instance], key=lambda each: each.end)
    kept = ascending[-MOST_INSTANCES:]
    if all(each.skipped for each in kept):  # consumers of skipped instances read the success before them
        kept = [*[each for each in ascending if not each.skipped][-1:], *kept]
    return replace(asset, instances=tuple(kept))


def want_instance(work: FoldWorkspace, name: str, interval: tuple[int, int]) -> None:
    """Removes the record that an interval was skipped (`skip_instance`), from the asset and its outlets."""
    for each in (name, *(outlet for outlet, _ in work.assets[name].spec.outlets)):
        asset = work.assets.get(each)
        if asset is not None and any(instance.skipped for instance in asset.instances):
            kept = (instance for instance in asset.instances if not (instance.skipped and instance.end == interval[1]))
            work.assets[each] = replace(asset, instances=tuple(kept))


def skip_instance(work: FoldWorkspace, name: str, interval: tuple[int, int], seq: int) -> None:
    """Records that an interval published nothing, for consumers that are aligned to the asset or one of its outlets.

    An earlier success of the same interval stays.
    """
    for each in (name, *(outlet for outlet, _ in work.assets[name].spec.outlets)):
        asset = work.assets.get(each)
        if asset is None or any(instance.end == interval[1] and not instance.skipped for instance in asset.instances):
            continue
        skipped = AlignedInstance(*interval, seq, None, None, skipped=True)
        work.assets[each] = record_aligned_instance(work, asset, asset.spec.uri, skipped)
