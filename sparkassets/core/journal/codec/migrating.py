"""Upgrades rows of an older format to the present one; rows of the present format stay as they are."""

from __future__ import annotations

import json
from dataclasses import replace

from sparkassets.core.journal.codec.entries import from_row, to_row
from sparkassets.core.journal.codec.formats import FORMAT
from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.core.journal.codec.snapshot import decode, encode
from sparkassets.errors import StateError


def entry_of_today(row: JournalRow) -> JournalRow:
    """The row of the same entry in the present format.

    Raises:
        StateError: The row is damaged or newer, or the upgraded row would not decode to the same entry.
    """
    if not _is_older(row.body):
        return row
    upgraded = to_row(from_row(row))
    if from_row(upgraded) != from_row(row):
        raise StateError(f"journal entry {row.seq} would not be the same in format {FORMAT}; nothing was changed")
    return upgraded


def known_of_today(row: SnapshotRow) -> SnapshotRow:
    """The snapshot's row of the same asset or dataset in the present format.

    Raises:
        StateError: The row is damaged or newer, or the upgraded row would not decode to the same state.
    """
    if not _is_older(row.body):
        return row
    state = decode([row], journal_id="")
    upgraded = encode(state)[0]
    if decode([upgraded], journal_id="") != state:
        name = row.asset or row.uri
        raise StateError(f"the snapshot's row of {name!r} would not be the same in format {FORMAT}")
    return replace(upgraded, seq=row.seq, commit=row.commit)


def _is_older(body: str) -> bool:
    version = json.loads(body)["v"]
    return isinstance(version, int) and version < FORMAT
