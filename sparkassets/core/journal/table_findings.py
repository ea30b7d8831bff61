"""Findings of a look at an asset's own table: losses and changes that no run of the asset made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.frozen import frozen

FindingKind = Literal["moved", "changed", "restored", "replaced", "gone", "back"]
"""``moved``: commits that change no row; ``back``: a lost table is present again."""


@frozen(array_like=True)
class ForeignCommit:
    """A commit of another writer that changed rows of the table.

    Attributes:
        version: 0 where the log no longer has it.
        at: Time of the commit by its writer's clock, Unix seconds.
        partitions: Computed partitions whose rows it touched; everything for a table without partitions.
    """

    version: int
    operation: str
    at: int | None = None
    partitions: PartitionSet = EVERYTHING


@frozen
class TableFinding:
    """The result of one look at an asset's own table.

    Attributes:
        reason: A clause for people, such as ``its table at /lake/a is gone``.
        lost: Computed partitions that are no longer in the table, as far as known.
        table_id, version: The observed table and version; None where there is no table.
        mark: Text that identifies the commit of that version; None without one.
        watermarks: Watermarks of the newest run that is still in the table; None where these are unknown.
        commits: Commits of other writers that changed rows, ascending.
        stuck: No run can go on from the table, so a person has to decide.
    """

    kind: FindingKind
    reason: str = ""
    lost: PartitionSet = NOTHING
    table_id: str | None = None
    version: int | None = None
    mark: str | None = None
    watermarks: Mapping[str, str] | None = None
    commits: tuple[ForeignCommit, ...] = ()
    stuck: bool = False

    @property
    def is_loss(self) -> bool:
        """Whether computed partitions are no longer in the table."""
        return bool(self.lost)

    @property
    def changed_partitions(self) -> PartitionSet:
        """What is lost, or was changed by other writers."""
        return self.lost | PartitionSet.union(each.partitions for each in self.commits)


@frozen
class TargetEntry:
    """A finding, and its consequences for the asset.

    Attributes:
        stuck: The loss cannot be computed again, so the asset does not run until a person decides.
        watermarks: Watermarks from which the asset goes on.
    """

    asset: str
    uri: str
    found: TableFinding
    stuck: bool = False
    watermarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def table_id(self) -> str | None:
        """The id of the observed table; None where there is no table."""
        return self.found.table_id

    @property
    def version(self) -> int | None:
        """The observed version; None where there is no table."""
        return self.found.version

    @property
    def event_partitions(self) -> PartitionSet:
        """The partitions whose rows other writers changed, which is an event for consumers."""
        return PartitionSet.union(commit.partitions for commit in self.found.commits)

    @property
    def extra(self) -> dict[str, Any]:
        """The extra of its event, for people."""
        commits = self.found.commits
        return {"operations": [each.operation for each in commits], "versions": [each.version for each in commits]}

    @property
    def is_event(self) -> bool:
        """Whether the rows that consumers read have changed."""
        return bool(self.event_partitions)
