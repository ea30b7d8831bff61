"""Assets by name or URI, and conditions of them: ``Asset("orders") | Asset(uri="x-drop://inbox") & "@daily"``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Expression:
    """What a condition is made of; ``&`` binds tighter than ``|``.

    An operand may be text too: an asset's name, a preset, a cron; or the map of a timetable.
    """

    def plain(self) -> Any:  # noqa: ANN401  text or map
        """It as YAML has it."""
        raise NotImplementedError

    def __or__(self, other: Expression | str | Mapping[str, Any]) -> Joined:
        return Joined("any", self, other)

    def __ror__(self, other: str | Mapping[str, Any]) -> Joined:
        return Joined("any", other, self)

    def __and__(self, other: Expression | str | Mapping[str, Any]) -> Joined:
        return Joined("all", self, other)

    def __rand__(self, other: str | Mapping[str, Any]) -> Joined:
        return Joined("all", other, self)

    def __bool__(self) -> bool:
        """Refuses ``a or b``, which Python would answer by itself."""
        raise TypeError("a condition is joined by | and &, not by 'or', 'and' or 'not'")


@dataclass(frozen=True)
class Asset(Expression):
    """An asset by its name, or all that share a dataset by its URI.

    >>> (Asset("orders") | Asset(uri="x-drop://inbox")).plain()
    {'any': ['orders', {'uri': 'x-drop://inbox'}]}
    """

    name: str | None = None
    uri: str | None = None

    def __post_init__(self) -> None:
        if (self.name is None) == (self.uri is None):
            raise ValueError("an asset is named by its name or by a uri: Asset('orders'), Asset(uri='x-drop://inbox')")

    def plain(self) -> str | dict[str, str]:
        """Its name, or a map of its URI."""
        return self.name if self.name is not None else {"uri": str(self.uri)}


class Joined(Expression):
    """Two conditions of which any, or all, must hold."""

    def __init__(self, how: str, *parts: object) -> None:
        for part in parts:
            if not isinstance(part, (Expression, str, Mapping)):
                found = type(part).__name__
                raise TypeError(f"a condition joins assets, texts and timetables; expected one of them, not a {found}")
        self.how = how
        self.parts = parts

    def plain(self) -> dict[str, list[Any]]:
        """A map of its parts; those of the same kind inside it are its own."""
        from sparkassets.authoring.plain import plain

        parts: list[Any] = []
        for part in self.parts:
            if isinstance(part, Joined) and part.how == self.how:
                parts += part.plain()[self.how]
            else:
                parts.append(plain(part))
        return {self.how: parts}
