"""Which columns a change of code gives a table and takes from it, and how a person lets that happen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from sparkassets.core.phrases import few
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen

_INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
_WIDER_TYPES: Final = {"float": ("double",), "date": ("timestamp_ntz",)}
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")


@frozen
class ColumnChanges:
    """How the columns that an asset's code returns differ from those of its table.

    Attributes:
        added: Returned, and not in the table.
        dropped: In the table, and not returned.
        retyped: Name, Spark's name of the type in the table, and that of the type returned.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    retyped: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def from_columns(cls, table: Iterable[str], returned: Iterable[str]) -> ColumnChanges:
        """The difference; upper and lower case do not matter.

        >>> ColumnChanges.from_columns(["day", "n"], ["Day", "m"])
        ColumnChanges(added=('m',), dropped=('n',), retyped=())
        """
        before, after = ({name.casefold(): name for name in names} for names in (table, returned))
        return cls(
            tuple(name for key, name in after.items() if key not in before),
            tuple(name for key, name in before.items() if key not in after),
        )

    @classmethod
    def from_types(cls, table: Mapping[str, str], returned: Mapping[str, str]) -> ColumnChanges:
        """The difference of columns with their types; upper and lower case of names do not matter.

        >>> ColumnChanges.from_types({"day": "date", "n": "int"}, {"Day": "date", "N": "bigint"})
        ColumnChanges(added=(), dropped=(), retyped=(('n', 'int', 'bigint'),))
        """
        types = {name.casefold(): kind for name, kind in returned.items()}
        pairs = ((name, kind, types.get(name.casefold(), kind)) for name, kind in table.items())
        changes = cls.from_columns(table, returned)
        return cls(changes.added, changes.dropped, tuple(each for each in pairs if each[1] != each[2]))

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.retyped)

    def is_allowed(self, asset: AssetSpec) -> bool:
        """Whether a run of some of the table may change its columns so, by the asset's ``schema``."""
        match asset.schema:
            case "strict":
                return not self
            case "add_columns":
                return not self.dropped and not self.retyped
        return not self.dropped and self._is_convertible

    @property
    def _is_convertible(self) -> bool:
        """Whether each type that differs is wider or narrower than that of the table."""
        return all(widens(before, after) or widens(after, before) for _, before, after in self.retyped)

    def describe_conflict(self, asset: AssetSpec, rebuild: str, *, subject: str = "the code") -> str:
        """Why no run of the asset can go on, and the remedies; ``rebuild`` is the one that recreates the table.

        ``subject`` is what changes the columns.
        """
        added = [f"adds {_list_columns(self.added)}, which the table does not have"] if self.added else []
        dropped = [f"does not return {_list_columns(self.dropped)} of the table"] if self.dropped else []
        retyped = [f"returns column {name!r} as {new}, not {old}" for name, old, new in self.retyped]
        phrases = " and ".join([*added, *dropped, *retyped])
        return f"{subject} {phrases}: {self.describe_remedies(asset, rebuild)}"

    def describe_remedies(self, asset: AssetSpec, rebuild: str) -> str:
        """How a person lets the table have these columns: by a key of the asset's file, if one helps, or by a rebuild.

        ``rebuild`` is the command, or what there is instead.
        """
        if self.dropped or not self._is_convertible:
            return rebuild
        key = "evolve" if self.retyped else "add_columns"
        return f"set `schema: {key}` in {asset.location.file} to allow the change; {rebuild}"


def widens(old: str, new: str) -> bool:
    """Whether Delta itself widens a column from one type to the other when rows are written.

    >>> widens("decimal(20,2)", "decimal(31,2)"), widens("bigint", "int")
    (True, False)
    """
    if old in _INTEGERS and new in _INTEGERS:
        return _INTEGERS.index(old) < _INTEGERS.index(new)
    first, second = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    if first and second:
        scale, precision = int(second[2]) - int(first[2]), int(second[1]) - int(first[1])
        return scale >= 0 and precision >= scale and precision > 0
    return new in _WIDER_TYPES.get(old, ())


def rebuild_command(asset: AssetSpec, *, branch: str = "") -> str:
    """The command that gives the table of an asset its new columns at once, or what there is instead.

    With ``branch``, the command that promotes that branch's whole table.
    """
    if branch:
        return f"`sparkassets promote {branch} --rebuild` promotes the whole table at once"
    if asset.appends:
        return "appended rows cannot be recomputed: write to another table, or alter this one by hand"
    if asset.segment_params is not None:
        return "it has params for each segment, so no single run can rebuild its table: alter it by hand"
    return f"`sparkassets backfill {asset.name} --rebuild` recomputes the table with the new columns"


def _list_columns(names: tuple[str, ...]) -> str:
    return f"{'columns' if names[1:] else 'column'} {few([repr(name) for name in names])}"
