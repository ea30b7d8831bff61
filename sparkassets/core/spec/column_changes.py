"""Which columns a change of code gives a table and takes from it, and how a person lets that happen."""

from __future__ import annotations

from collections.abc import Iterable

from sparkassets.core.phrases import few
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen


@frozen
class ColumnChanges:
    """How the columns that an asset's code returns differ from those of its table.

    Attributes:
        added: Returned, and not in the table.
        dropped: In the table, and not returned.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @classmethod
    def from_columns(cls, table: Iterable[str], returned: Iterable[str]) -> ColumnChanges:
        """The difference; upper and lower case do not matter.

        >>> ColumnChanges.from_columns(["day", "n"], ["Day", "m"])
        ColumnChanges(added=('m',), dropped=('n',))
        """
        before, after = ({name.casefold(): name for name in names} for names in (table, returned))
        return cls(
            tuple(name for key, name in after.items() if key not in before),
            tuple(name for key, name in before.items() if key not in after),
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped)

    def is_allowed(self, asset: AssetSpec) -> bool:
        """Whether a run of some of the table may change its columns so, by the asset's ``schema``."""
        return not self.dropped and (not self.added or asset.schema != "strict")

    def describe_conflict(self, asset: AssetSpec, rebuild: str, *, subject: str = "the code") -> str:
        """Why no run of the asset can go on, and the remedies; ``rebuild`` is the one that recreates the table.

        ``subject`` is what changes the columns.
        """
        added = [f"adds {_list_columns(self.added)}, which the table does not have"] if self.added else []
        dropped = [f"does not return {_list_columns(self.dropped)} of the table"] if self.dropped else []
        key = "" if self.dropped else "schema: add_columns"
        return f"{subject} {' and '.join([*added, *dropped])}: {describe_remedies(asset, key, rebuild)}"


def describe_remedies(asset: AssetSpec, key: str, rebuild: str) -> str:
    """How a person lets a table have other columns: by a key of the asset's file, if there is one, or by a rebuild."""
    keys = [f"set `{key}` in {asset.location.file} to allow the change"] if key else []
    return "; ".join([*keys, rebuild])


def rebuild_command(asset: AssetSpec) -> str:
    """The command that makes the table of an asset again, or what there is instead."""
    if asset.appends:
        return "appended rows cannot be recomputed: write to another table, or alter this one by hand"
    if asset.segment_params is not None:
        return "it has params for each segment, so no single run can rebuild its table: alter it by hand"
    return f"`sparkassets backfill {asset.name} --rebuild` recomputes the table with the new columns"


def _list_columns(names: tuple[str, ...]) -> str:
    return f"{'columns' if names[1:] else 'column'} {few([repr(name) for name in names])}"
