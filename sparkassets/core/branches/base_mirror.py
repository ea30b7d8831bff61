"""What a branch sees of an asset of the base: what the base's journal says of it, and what came since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sparkassets.core.journal.entries import NumberedEntry, ObservedEntry, ViewChanges
from sparkassets.core.journal.state import EventRef, State
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec

BASE: Final = "sparkassets:base"
"""The key of a cursor under which it is kept up to where the base's journal was read."""


def read_up_to(cursor: Mapping[str, Any], base: State) -> int | None:
    """The number of the base's entry up to which a cursor has read it; None where it is another journal, or was not."""
    journal_id, seq = cursor.get(BASE, ("", 0))
    return int(seq) if journal_id == base.journal_id else None


def has_missed_entries(uri: str, read: int, base: State, *, cut: bool) -> bool:
    """Whether something that is not kept any more may have told of a dataset, after what was read up to a number."""
    return cut and base.dataset(uri).seq > read


def mirror_updates(
    asset: AssetSpec,
    base: State,
    since: Iterable[NumberedEntry],
    *,
    version: int | None,
    cursor: Mapping[str, Any],
    coverage: PartitionSet,
    viewed: Mapping[str, PartitionSet],
    cut: bool = False,
) -> ObservedEntry | None:
    """What is new of an asset of the base; None where nothing is.

    Args:
        asset: As the branch reads it.
        base: As it is now.
        since: Entries about its dataset after those that the cursor has read; all of what is there counts as new
            where it has read none.
        version: Of its table, as the branch knows it.
        cursor: How far the branch has read.
        coverage: What is there, as the branch knows it.
        viewed: Likewise of views.
        cut: Whether the base does not keep all of these entries. Then all that is there counts as new of a dataset
            that was updated since it was read, and the cursor goes on where none was.
    """
    known, read, events = base.assets[asset.name], read_up_to(cursor, base), tuple(since)
    first = read is None or has_missed_entries(asset.uri, read, base, cut=cut)
    refs = [ref for each in events if (ref := EventRef.from_entry(each)) is not None and ref.uri == asset.uri]
    told = PartitionSet.union(ref.parts for ref in refs)
    now = base.dataset(asset.uri)
    changed, removed = _split_changes(told, now.coverage, coverage, first=first)
    views = {}
    looks = [each.entry for each in events if isinstance(each.entry, ObservedEntry)]
    for uri in asset.views:
        seen = (each.views[uri] for each in looks if uri in each.views)
        parts = PartitionSet.union(each.changed | each.removed for each in seen)
        anew = read is None or has_missed_entries(uri, read, base, cut=cut)
        moved = _split_changes(parts, base.dataset(uri).coverage, viewed.get(uri, NOTHING), first=anew)
        if any(moved):
            views[uri] = ViewChanges(*moved)
    whole = not asset.partitioning.is_partitioned and (bool(now.seq) if first else bool(refs))
    moves = {key: value for key, value in known.position.items() if cursor.get(key) != value}
    gone = dict.fromkeys(key for key in cursor if key != BASE and key not in known.position)
    if not (changed or removed or whole or views or moves or gone or cut or known.version != version):
        return None
    return ObservedEntry(
        asset.name,
        asset.uri,
        NOTHING if whole else changed,
        NOTHING if whole else removed,
        whole=whole,
        table_id=known.table_id,
        version=known.version,
        cursor={**moves, **gone, BASE: [base.journal_id, base.seq]},
        views=views,
    )


def _split_changes(
    told: PartitionSet, now: PartitionSet, before: PartitionSet, *, first: bool
) -> tuple[PartitionSet, PartitionSet]:
    """What of a dataset is new or changed, and what is not there any more."""
    changed = now if first else (told & now) | (now - before)
    return changed, before - now
