"""The values that `@asset` takes: assets, conditions, columns and partitions, and their plain forms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import PurePath
from typing import Any, Final, Protocol, runtime_checkable

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
    """Partitions by time.

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
        """Adds a segment, as ``context.add_partition(key)`` does; for code inside the function that a run calls.

        Raises:
            RuntimeError: No run calls it.
            RunError: The asset has no such dimension, or this is no key.
        """
        get_current_context().add_partition(key, self.column or self.name)


@dataclass(frozen=True)
class PartitionByProduct:
    """Every combination of the partitions of several dimensions."""

    dimensions: Sequence[object]

    def plain(self) -> list[Any]:
        """It as YAML has it."""
        return list(self.dimensions)


Partition = PartitionByInterval | PartitionBySequence | PartitionAtRuntime | PartitionByProduct


def _given_fields(partition: Partition) -> dict[str, Any]:
    return {name: value for name, value in vars(partition).items() if value is not None}


@dataclass(frozen=True)
class AssetColumn:
    """A column of an asset: ``Asset("orders").amount``."""

    asset: str
    name: str


@runtime_checkable
class HasPlainForm(Protocol):
    """An object with a form in YAML, such as a condition, a partition or a validation."""

    def plain(self) -> Any:  # noqa: ANN401  text, number, list or map
        """It as YAML has it."""


def to_plain(value: object) -> Any:  # noqa: ANN401  text, number, list or map
    """The value as YAML has it.

    Raises:
        TypeError: Nothing in YAML is such a value.

    >>> from datetime import timedelta
    >>> to_plain({"window": timedelta(days=7), "at": (PartitionByInterval("@daily"),)})
    {'window': '604800s', 'at': [{'by': 'day'}]}
    """
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return str.__str__(value)  # of an Enum its value
        case AssetColumn():
            return value.name
        case Mapping():
            return {_key(key): to_plain(each) for key, each in value.items()}
        case list() | tuple():
            return [to_plain(each) for each in value]
    if isinstance(value, HasPlainForm):
        return to_plain(value.plain())
    return _text(value)


def plain_schedule(value: object) -> Any:  # noqa: ANN401  text or map
    """A schedule as YAML has it: a `timedelta` is a timetable that ticks that often.

    >>> from datetime import timedelta
    >>> plain_schedule(timedelta(days=1)), plain_schedule(["orders", timedelta(hours=1)])
    ({'every': '86400s'}, ['orders', {'every': '3600s'}])
    """
    match value:
        case timedelta():
            return {"every": _duration(value)}
        case list() | tuple():
            return [plain_schedule(each) for each in value]
    return to_plain(value)


def _text(value: object) -> str:
    """The text of a value that is text in YAML but not in Python."""
    match value:
        case timedelta():
            return _duration(value)
        case datetime() | date():
            return value.isoformat()
        case PurePath():
            return value.as_posix()
    raise TypeError(f"a {type(value).__name__} is not allowed in the declaration of an asset; expected plain values")


def _key(key: object) -> str:
    name = to_plain(key)
    if not isinstance(name, str):
        raise TypeError(f"the key {key!r} is not allowed in the declaration of an asset; expected text or an asset")
    return name


def _duration(value: timedelta) -> str:
    """A duration as YAML has it, in whole seconds of elapsed time: ``604800s``."""
    of_calendar = not hasattr(value, "start") and any(getattr(value, unit, 0) for unit in ("years", "months"))
    if of_calendar:  # only pendulum's durations have these, and its intervals, whose length is exact
        raise ValueError(
            f"{value} is not allowed in the declaration of an asset: months have no fixed length; use days"
        )
    if value.microseconds:
        raise ValueError(f"{value} is not allowed in the declaration of an asset; expected whole seconds")
    return f"{value.days * 86_400 + value.seconds}s"


class ConditionExpression:
    """An operand of a condition; ``&`` binds tighter than ``|``.

    An operand may be text too: an asset's name, a preset, a cron; or the map of a timetable, or a `timedelta`.
    """

    def plain(self) -> Any:  # noqa: ANN401  text or map
        """It as YAML has it."""
        raise NotImplementedError

    def __or__(self, other: ConditionExpression | str | Mapping[str, Any] | timedelta) -> JoinedCondition:
        return JoinedCondition("any", self, other)

    def __ror__(self, other: str | Mapping[str, Any] | timedelta) -> JoinedCondition:
        return JoinedCondition("any", other, self)

    def __and__(self, other: ConditionExpression | str | Mapping[str, Any] | timedelta) -> JoinedCondition:
        return JoinedCondition("all", self, other)

    def __rand__(self, other: str | Mapping[str, Any] | timedelta) -> JoinedCondition:
        return JoinedCondition("all", other, self)

    def __bool__(self) -> bool:
        """Refuses ``a or b``, which Python would answer by itself."""
        raise TypeError("a condition is joined by | and &, not by 'or', 'and' or 'not'")


REFERENCE_HOOKS: list[Callable[[Asset, Any], None]] = []
"""Called with an asset that is named with its URI, and the frame that does so, while declarations are collected."""


@dataclass(frozen=True)
class Asset(ConditionExpression):
    """An asset by its name, or all that share a dataset by its URI.

    With both, the asset is declared as a source known by its events, unless the project declares it elsewhere.
    Attributes and items are its columns.

    >>> (Asset("orders") | Asset(uri="x-drop://inbox")).plain()
    {'any': ['orders', {'uri': 'x-drop://inbox'}]}
    >>> Asset("orders").amount, Asset("orders")["name"]
    (AssetColumn(asset='orders', name='amount'), AssetColumn(asset='orders', name='name'))
    """

    name: str | None = None
    uri: str | None = None

    def __post_init__(self) -> None:
        if self.name is None and self.uri is None:
            raise ValueError("pass either a name or a uri: Asset('orders'), Asset(uri='x-drop://inbox')")
        if self.name is not None and self.uri is not None:
            for hook in REFERENCE_HOOKS:
                hook(self, sys._getframe(2))  # noqa: SLF001  where it stands: above this and the dataclass's own

    def plain(self) -> str | dict[str, str]:
        """Its name, or a map of its URI."""
        return self.name if self.name is not None else {"uri": str(self.uri)}

    def __getattr__(self, column: str) -> AssetColumn:
        if column.startswith("_"):
            raise AttributeError(column)
        return self[column]

    def __getitem__(self, column: str) -> AssetColumn:
        if self.name is None:
            raise TypeError("only an asset with a name has columns: Asset('orders').amount")
        return AssetColumn(self.name, column)


class JoinedCondition(ConditionExpression):
    """Two conditions joined by ``&`` or ``|``."""

    def __init__(self, how: str, *parts: object) -> None:
        for part in parts:
            if not isinstance(part, (ConditionExpression, str, Mapping, timedelta)):
                found = type(part).__name__
                raise TypeError(f"a condition joins assets, texts and timetables; expected one of them, not a {found}")
        self.how = how
        self.parts = parts

    def plain(self) -> dict[str, list[Any]]:
        """A map of its parts; ``a | b | c``, which Python joins in pairs, becomes one list of three."""
        parts: list[Any] = []
        for part in self.parts:
            if isinstance(part, JoinedCondition) and part.how == self.how:
                parts += part.plain()[self.how]
            else:
                parts.append(plain_schedule(part))
        return {self.how: parts}
