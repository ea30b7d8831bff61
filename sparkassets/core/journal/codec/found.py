"""What a look at an asset's own table found, as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparkassets.core.journal.codec.rows import JournalRow
from sparkassets.core.journal.codec.values import columns_to, extra_to
from sparkassets.core.journal.found import ForeignCommit, Found, TargetEntry
from sparkassets.core.partitions.plain import parts_from, parts_to


def target_to(entry: TargetEntry) -> dict[str, Any]:
    """The columns of what was found, its body as an object."""
    found = entry.found
    return {
        "kind": "target",
        "asset": entry.asset,
        "uri": entry.uri,
        **columns_to(entry.changed),
        "table_id": found.table_id,
        "version": found.version,
        "extra": extra_to(entry.extra),
        "body": {
            "found": found.kind,
            "reason": found.reason,
            "lost": parts_to(found.lost),
            "mark": found.mark,
            "reached": None if found.watermarks is None else dict(found.watermarks),
            "stuck": entry.stuck,
            "watermarks": dict(entry.watermarks),
            "commits": commits_to(found.commits),
        },
    }


def target_from(row: JournalRow, body: Mapping[str, Any]) -> TargetEntry:
    """What was found, of a row."""
    found = Found(
        kind=body["found"],
        reason=body["reason"],
        lost=parts_from(body["lost"]),
        table_id=row.table_id,
        version=row.version,
        mark=body["mark"],
        watermarks=body["reached"],
        commits=commits_from(body["commits"]),
    )
    return TargetEntry(row.asset or "", row.uri or "", found, body["stuck"], body["watermarks"])


def commits_to(commits: Sequence[ForeignCommit]) -> list[list[Any]]:
    """Commits as JSON."""
    return [[each.version, each.operation, each.at, parts_to(each.blocks)] for each in commits]


def commits_from(commits: Sequence[Sequence[Any]]) -> tuple[ForeignCommit, ...]:
    """The commits of `commits_to`."""
    return tuple(ForeignCommit(version, operation, at, parts_from(parts)) for version, operation, at, parts in commits)
