"""The stored state as plain values, one a line: a header, the base table, the entries, and the snapshot."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import format_instant
from sparkassets.core.journal.codec.formats import FORMAT

if TYPE_CHECKING:
    from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow

EXPORT = "sparkassets_export"
"""The key that tells an export by its first line."""


def head_line(project: str, journal_id: str, *, begins: int, newest: int) -> dict[str, Any]:
    """The header: the export holds the entries from ``begins`` to ``newest``."""
    told = {"project": project, "journal_id": journal_id, "format": FORMAT}
    return {"table": "state", EXPORT: 1, **told, "begins": begins, "seq": newest}


def entry_line(row: JournalRow) -> dict[str, Any]:
    """An entry of the journal."""
    extra = None if row.extra is None else json.loads(row.extra)
    changed = {"at": format_instant(row.at), "extra": extra, "body": json.loads(row.body)}
    return {"table": "journal", **asdict(row), **changed}


def snapshot_line(row: SnapshotRow) -> dict[str, Any]:
    """A snapshot row of an asset or a dataset."""
    parsed = {key: json.loads(getattr(row, key)) for key in ("watermarks", "cursor", "body")}
    return {"table": "watermarks", **asdict(row), **parsed}


def base_line(row: SnapshotRow) -> dict[str, Any]:
    """A base table row of an asset or a dataset."""
    return {**snapshot_line(row), "table": "base"}
