"""The differences between two versions of a table, such as a branch's and its base's: in columns and in rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.validations import UniqueCheck
from sparkassets.frozen import frozen

RowChange = Literal["added", "removed", "changed"]
"""Change of a row from the version before to the one after."""


@frozen
class ComparedTable:
    """One of two tables that are compared.

    Attributes:
        path: Location of the table.
        partitions: The compared partitions; everything without partitions.
        only_added: Whether only the rows count that the commit of ``version`` added.
    """

    path: str
    table_id: str
    version: int
    partitions: PartitionSet
    only_added: bool = False


@frozen
class RowCounts:
    """Numbers of rows by their change; ``same`` are those without one."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    same: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        """The sums of both.

        >>> RowCounts(1, 2) + RowCounts(same=3)
        RowCounts(added=1, removed=2, changed=0, same=3)
        """
        return RowCounts(
            self.added + other.added,
            self.removed + other.removed,
            self.changed + other.changed,
            self.same + other.same,
        )

    @property
    def has_differences(self) -> bool:
        """Whether any row differs."""
        return bool(self.added or self.removed or self.changed)


@frozen
class RowDifference:
    """A row that differs, as text; None is NULL, and values of private columns are masked.

    Attributes:
        before, after: The row in each version; None where it is absent.
    """

    change: RowChange
    before: Mapping[str, str | None] | None
    after: Mapping[str, str | None] | None


@frozen
class RowComparison:
    """Result of a comparison of rows.

    Attributes:
        keys: Key columns by which rows were matched; empty where whole rows were compared.
        has_duplicate_keys: Whether keys were not unique, so that whole rows were compared.
        partitions: Row counts of each partition that has rows on either side.
        samples: Some of the rows that differ.
    """

    keys: tuple[str, ...]
    has_duplicate_keys: bool
    partitions: tuple[tuple[PartitionSet, RowCounts], ...]
    samples: tuple[RowDifference, ...]


@frozen
class ColumnDifference:
    """The columns that differ: type by name; for a changed column, both types."""

    added: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@frozen
class AssetDifference:
    """The differences of one asset, from its base to a branch or from what a run published to its replay.

    Attributes:
        only_base, only_branch: Partitions that only one side has; everything for an asset without partitions.
        rows: Comparison of rows; None where none were compared.
    """

    asset: str
    columns: ColumnDifference = ColumnDifference()
    only_base: PartitionSet = NOTHING
    only_branch: PartitionSet = NOTHING
    rows: RowComparison | None = None

    @property
    def total_row_counts(self) -> RowCounts:
        """The sums over all partitions."""
        counts = RowCounts()
        for _, each in self.rows.partitions if self.rows is not None else ():
            counts = counts + each
        return counts


@frozen
class ReplayResult:
    """A run beside its replay.

    Attributes:
        definition: Id of the code that computed both.
        is_present_code: Whether that is the project's code now.
        differences: For each table, from the published rows to the replayed ones.
        notes: Why rows may differ although the code and its input are the same.
        folder: Where the replayed rows are kept; empty where they were removed.
    """

    run: str
    asset: str
    definition: str
    is_present_code: bool
    differences: tuple[AssetDifference, ...]
    notes: tuple[str, ...] = ()
    folder: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether the replay has the same columns and the same rows, each as often."""
        return not any(
            each.total_row_counts.has_differences or each.columns.added or each.columns.removed or each.columns.changed
            for each in self.differences
        )


def comparison_keys(project: ProjectSpec, asset: AssetSpec) -> tuple[str, ...]:
    """Columns that the project declares to be unique in each partition; empty where it declares none."""
    writer = project.assets[asset.written_by] if asset.written_by else asset
    for each in (asset, writer):
        if each.write is not None and each.write.unique_columns:
            return each.write.unique_columns
        for rule in each.rules:
            if (
                isinstance(rule.check, UniqueCheck)
                and rule.severity == "fail"
                and not rule.where
                and rule.allow is None
            ):
                return rule.check.columns
    return ()


def compare_columns(before: Mapping[str, str], after: Mapping[str, str]) -> ColumnDifference:
    """Compares columns by name, ignoring case.

    >>> compare_columns({"a": "int", "b": "int"}, {"A": "bigint", "c": "date"})
    ColumnDifference(added={'c': 'date'}, removed={'b': 'int'}, changed={'A': ('int', 'bigint')})
    """
    old = {name.lower(): kind for name, kind in before.items()}
    new = {name.lower() for name in after}
    return ColumnDifference(
        {name: kind for name, kind in after.items() if name.lower() not in old},
        {name: kind for name, kind in before.items() if name.lower() not in new},
        {
            name: (old[name.lower()], kind)
            for name, kind in after.items()
            if name.lower() in old and old[name.lower()] != kind
        },
    )
