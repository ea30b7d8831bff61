"""Compares a snapshot with a replay of the journal, row by row in their stored form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.codec.rows import SnapshotRow
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import State


def find_differences(replayed: State, snapshot: State) -> list[str]:
    """The names of assets and URIs of datasets whose rows differ, ascending."""
    ours, theirs = _encoded_rows(replayed), _encoded_rows(snapshot)
    return sorted(
        {asset or uri for asset, uri in ours.keys() | theirs.keys() if _rows_differ(ours, theirs, (asset, uri))}
    )


def _encoded_rows(state: State) -> dict[tuple[str, str], SnapshotRow]:
    """The rows by (asset, URI), without the commit's number, which a replay does not know."""
    alike = {
        uri: replace(known, recent=RecentEvents.from_events(known.recent)) for uri, known in state.datasets.items()
    }
    packed = encode(replace(state, datasets=alike))  # packs as if all events had come at once
    encoded = encode(decode(packed, journal_id=""))  # leaves out empty values, however they came to be
    rows = ((row.asset or "", "" if row.asset else row.uri or "", row) for row in encoded)
    return {(asset, uri): replace(row, commit=0) for asset, uri, row in rows}


def _rows_differ(
    ours: Mapping[tuple[str, str], SnapshotRow], theirs: Mapping[tuple[str, str], SnapshotRow], key: tuple[str, str]
) -> bool:
    return ours.get(key) != theirs.get(key)
