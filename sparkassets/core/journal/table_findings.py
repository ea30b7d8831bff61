"""What a look at an asset's own table found there that no run of the asset did, and how the journal keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.frozen import frozen

FindingKind = Literal["moved", "changed", "restored", "replaced", "gone", "back"]
"""``moved``: commits that change no row; ``back``: what was lost is there again."""


@frozen(array_like=True)
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


@frozen
class TableFinding:
    """What one look at a table found.

    Attributes:
        reason: A clause for people, such as ``its table at /lake/a is gone``.
        lost: What was computed and is not in the table any more, as far as it can be told.
        table_id, version: What was looked at; None where there is no table.
        mark: Tells that version's commit from any other.
        watermarks: What the newest run that is still in the table had reached; None where that cannot be told.
        commits: Those of others that changed rows, ascending.
    """

    kind: FindingKind
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


@frozen
class TargetEntry:
    """What was found, and what follows from it for the asset.

    Attributes:
        stuck: It cannot be computed again, so the asset runs no more until a person decides.
        watermarks: From where the asset goes on.
    """

    asset: str
    uri: str
    found: TableFinding
    stuck: bool = False
    watermarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def table_id(self) -> str | None:
        """Of the table that was looked at."""
        return self.found.table_id

    @property
    def version(self) -> int | None:
        """Of the table that was looked at."""
        return self.found.version

    @property
    def event_partitions(self) -> PartitionSet:
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
        return bool(self.event_partitions)
