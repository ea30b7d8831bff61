"""Mirrors assets of the base in a branch: turns entries of the base's journal into observations of the branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sparkassets.core.journal.entries import NumberedEntry, ObservedEntry, ViewChanges
from sparkassets.core.journal.state import EventRef, State
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec

BASE: Final = "sparkassets:base"
"""Key in a cursor that stores up to which entry the base's journal was read."""


def read_up_to(cursor: Mapping[str, Any], base: State) -> int | None:
    """Sequence number up to which a cursor has read the base's journal; None if it has not read this journal."""
    journal_id, seq = cursor.get(BASE, ("", 0))
    return int(seq) if journal_id == base.journal_id else None


def has_missed_entries(uri: str, read: int, base: State, *, cut: bool) -> bool:
    """Whether expired entries after ``read`` may have updated a dataset."""
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
    """Returns the observation of what changed in an asset of the base; None where nothing did.

    Args:
        asset: The asset as the branch reads it.
        base: Present state of the base.
        since: Entries about the dataset after those that the cursor has read; if it has read none, all present
            partitions count as new.
        version: Version of the table that the branch knows.
        cursor: How far the branch has read.
        coverage: Present partitions that the branch knows.
        viewed: Present partitions of views that the branch knows.
        cut: Whether some of the entries have expired. Then all present partitions of a dataset that was updated since
            count as new; where none was updated, only the cursor advances.
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
    """Partitions of a dataset that are new or changed, and those that were removed."""
    changed = now if first else (told & now) | (now - before)
    return changed, before - now
