"""Assets by name or URI, their columns, and conditions: ``Asset("orders") | Asset(uri="x-in://box") & "@daily"``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sparkassets.authoring.plain_values import AssetColumn, plain_schedule


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
            raise ValueError("an asset has a name or a uri: Asset('orders'), Asset(uri='x-drop://inbox')")
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
            raise TypeError("a column belongs to an asset by its name: Asset('orders').amount")
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
        """A map of its parts; those of the same kind inside it are its own."""
        parts: list[Any] = []
        for part in self.parts:
            if isinstance(part, JoinedCondition) and part.how == self.how:
                parts += part.plain()[self.how]
            else:
                parts.append(plain_schedule(part))
        return {self.how: parts}
