"""The upgrades from older formats, and the lines of an exported state."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from sparkassets.core.instants import format_instant
from sparkassets.core.journal.rows import FORMAT, JournalRow, SnapshotRow
from sparkassets.errors import StateError

OLDEST = 3
"""The oldest format that is read: those before it were only written while it was being drafted."""

Row = JournalRow | SnapshotRow
Body = dict[str, Any]


def _upgrade_from_3(kind: str, body: Body, row: Row) -> Body:
    """The body, upgraded from format 3 to format 4."""
    from sparkassets.core.journal.codec.from_3 import upgrade_body  # few states are that old

    return upgrade_body(kind, body, row)


def _upgrade_from_4(kind: str, body: Body, _: Row) -> Body:
    """The body, upgraded from format 4 to format 5."""
    from sparkassets.core.journal.codec.from_4 import upgrade_body  # few states are that old

    return upgrade_body(kind, body)


_UPGRADES: Mapping[int, Callable[[str, Body, Row], Body]] = {3: _upgrade_from_3, 4: _upgrade_from_4}
"""By format, the upgrade of a body of some kind to the next format."""


def encode_body(value: Mapping[str, Any]) -> str:
    """Encodes a JSON object with the format's number."""
    return msgspec.json.encode({"v": FORMAT, **value}, order="sorted").decode()


def decode_body(row: Row, kind: str, *, what: str) -> Body:
    """Decodes the JSON object of `encode_body`, upgraded from whatever format it was written in.

    Args:
        row: The row with the body.
        kind: The kind of the journal's entry; ``asset`` or ``dataset`` in a snapshot.
        what: Names the row in the message.

    Raises:
        StateError: The format is newer than this code knows, or older than any release wrote.
    """
    body: Body = msgspec.json.decode(row.body)
    version = body.pop("v")
    if version > FORMAT:
        raise StateError(
            f"{what} has format {version}; this version of sparkassets reads up to {FORMAT}",
            hint="upgrade sparkassets",
            topic="state-of-another-release",
        )
    if version < OLDEST:
        raise StateError(
            f"{what} has the draft format {version}; this version of sparkassets reads {OLDEST} and later",
            hint="let `state` in project.yml name a new or empty folder",
            topic="state-of-another-release",
        )
    for number in range(version, FORMAT):  # each upgrade leads to the next format
        body = _UPGRADES[number](kind, body, row)
    return body


EXPORT = "sparkassets_export"
"""The key by which the first line of an export is recognised."""


def head_line(project: str, journal_id: str, *, begins: int, newest: int) -> dict[str, Any]:
    """The header: the export holds the entries from ``begins`` to ``newest``."""
    head = {"project": project, "journal_id": journal_id, "format": FORMAT}
    return {"table": "state", EXPORT: 1, **head, "begins": begins, "seq": newest}


def entry_line(row: JournalRow) -> dict[str, Any]:
    """The JSON object that an export has for an entry of the journal."""
    extra = None if row.extra is None else json.loads(row.extra)
    changed = {"at": format_instant(row.at), "extra": extra, "body": json.loads(row.body)}
    return {"table": "journal", **asdict(row), **changed}


def snapshot_line(row: SnapshotRow) -> dict[str, Any]:
    """The JSON object that an export has for a snapshot row of an asset or a dataset."""
    parsed = {key: json.loads(getattr(row, key)) for key in ("watermarks", "cursor", "body")}
    return {"table": "watermarks", **asdict(row), **parsed}


def base_line(row: SnapshotRow) -> dict[str, Any]:
    """The JSON object that an export has for a base table row: as for the snapshot, under the base table's name."""
    return {**snapshot_line(row), "table": "base"}
