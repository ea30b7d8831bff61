"""The partitions of an asset, as the key `partition` of YAML has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sparkassets.authoring.current_context import get_current_context

_GRAINS: Final = {
    "@hourly": "hour",
    "@daily": "day",
    "@weekly": "week",
    "@monthly": "month",
    "@quarterly": "quarter",
    "@yearly": "year",
}


@dataclass(frozen=True)
class PartitionByInterval:
    """Slices of time.

    >>> PartitionByInterval("@daily", column="day").plain()
    {'by': 'day', 'column': 'day'}
    """

    by: str
    column: str | None = None
    timezone: str | None = None
    start: object = None
    end: object = None
    offset: object = None
    exclude: str | Sequence[str] | None = None

    def plain(self) -> dict[str, Any]:
        """It as YAML has it."""
        return _given_fields(self) | {"by": _GRAINS.get(self.by, self.by)}


@dataclass(frozen=True)
class PartitionBySequence:
    """Segments that are known beforehand."""

    segments: Sequence[str]
    column: str | None = None

    def plain(self) -> dict[str, Any]:
        """It as YAML has it."""
        return _given_fields(self)


@dataclass(frozen=True)
class PartitionAtRuntime:
    """Segments that runs add.

    Attributes:
        name: Of the dimension, as keys of a product name it; the column by default.
        column: Of the asset's table that holds the segments; the name by default.

    >>> PartitionAtRuntime(name="customer").plain()
    {'segments': 'runtime', 'column': 'customer'}
    """

    name: str | None = None
    column: str | None = None

    def plain(self) -> dict[str, Any]:
        """It as YAML has it."""
        column = self.column or self.name
        return {"segments": "runtime"} | ({"column": column} if column else {})

    def add_partition(self, key: object) -> None:
        """Says that there is a segment, as ``context.add_partition(key)`` does, inside the function that a run calls.

        Raises:
            RuntimeError: No run calls it.
            RunError: The asset has no such dimension, or this is no key.
        """
        get_current_context().add_partition(key, self.column or self.name)


@dataclass(frozen=True)
class PartitionByProduct:
    """Every combination of the slices of several dimensions."""

    dimensions: Sequence[object]

    def plain(self) -> list[Any]:
        """It as YAML has it."""
        return list(self.dimensions)


Partition = PartitionByInterval | PartitionBySequence | PartitionAtRuntime | PartitionByProduct


def _given_fields(partition: Partition) -> dict[str, Any]:
    """Its fields, without those that are not given."""
    return {name: value for name, value in vars(partition).items() if value is not None}
