"""What a look at an asset's own table found there that no run of the asset did, and how the journal keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.partitions.plain import parts_from, parts_to

FoundKind = Literal["moved", "changed", "restored", "replaced", "gone", "back"]
"""``moved``: commits that change no row; ``back``: what was lost is there again."""


@dataclass(frozen=True, slots=True)
class ForeignCommit:
    """A commit of somebody else that changed rows of the table.

    Attributes:
        version: 0 where the log no longer tells it.
        at: By the clock of whoever committed, Unix seconds.
        blocks: What was computed whose rows it touched; everything for a table without partitions.
    """

    version: int
    operation: str
    at: int | None = None
    blocks: PartitionSet = EVERYTHING


@dataclass(frozen=True, slots=True)
class Found:
    """What one look at a table found.

    Attributes:
        reason: A clause for people, such as ``its table at /lake/a is gone``.
        lost: What was computed and is not in the table any more, as far as it can be told.
        table_id, version: What was looked at; None where there is no table.
        mark: Tells that version's commit from any other.
        watermarks: What the newest run that is still in the table had reached; None where that cannot be told.
        commits: Those of others that changed rows, ascending.
    """

    kind: FoundKind
    reason: str = ""
    lost: PartitionSet = NOTHING
    table_id: str | None = None
    version: int | None = None
    mark: str | None = None
    watermarks: Mapping[str, str] | None = None
    commits: tuple[ForeignCommit, ...] = ()

    @property
    def is_loss(self) -> bool:
        """Whether something that was computed is not there any more."""
        return bool(self.lost)


@dataclass(frozen=True, slots=True)
class TargetEntry:
    """What was found, and what follows from it for the asset.

    Attributes:
        stuck: It cannot be computed again, so the asset runs no more until a person decides.
        watermarks: From where the asset goes on.
    """

    asset: str
    uri: str
    found: Found
    stuck: bool = False
    watermarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def changed(self) -> PartitionSet:
        """What others changed rows of."""
        return PartitionSet.union(commit.blocks for commit in self.found.commits)

    @property
    def extra(self) -> dict[str, Any]:
        """What its event tells people."""
        commits = self.found.commits
        return {"operations": [each.operation for each in commits], "versions": [each.version for each in commits]}

    @property
    def is_event(self) -> bool:
        """Whether the data that consumers read is other data now."""
        return bool(self.changed)


def found_to(entry: TargetEntry) -> dict[str, Any]:
    """The JSON object of an entry; what columns of the journal hold is not in it."""
    found = entry.found
    return {
        "found": found.kind,
        "reason": found.reason,
        "lost": parts_to(found.lost),
        "mark": found.mark,
        "left": None if found.watermarks is None else dict(found.watermarks),
        "stuck": entry.stuck,
        "watermarks": dict(entry.watermarks),
        "commits": commits_to(found.commits),
        "event": entry.is_event,
    }


def found_from(
    asset: str, uri: str, body: Mapping[str, Any], *, table_id: str | None, version: int | None
) -> TargetEntry:
    """The entry of `found_to`."""
    found = Found(
        body["found"],
        body["reason"],
        parts_from(body["lost"]),
        table_id,
        version,
        body["mark"],
        body["left"],
        commits_from(body["commits"]),
    )
    return TargetEntry(asset, uri, found, body["stuck"], body["watermarks"])


def commits_to(commits: Sequence[ForeignCommit]) -> list[list[Any]]:
    """Commits as JSON."""
    return [[each.version, each.operation, each.at, parts_to(each.blocks)] for each in commits]


def commits_from(commits: Sequence[Sequence[Any]]) -> tuple[ForeignCommit, ...]:
    """The commits of `commits_to`."""
    return tuple(ForeignCommit(version, operation, at, parts_from(parts)) for version, operation, at, parts in commits)
