"""What is asked again of the same very large sets is not computed again: each look at a project asks all of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Generic, Protocol, TypeVar

from sparkassets.frozen import frozen

MANY = 1_000
"""From so many tuples that stand apart on a set is very large."""
_REMEMBERED = 16

T = TypeVar("T")


class _Lifted(Protocol):
    @property
    def apart(self) -> tuple[Any, ...]: ...


P = TypeVar("P", bound=_Lifted)
R = TypeVar("R")
Asker = TypeVar("Asker")


@frozen
class Same(Generic[T]):
    """A value by its identity: it never changes, and comparing it would cost more than it saves."""

    value: T

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def remembered(answer: Callable[[Asker, P], R]) -> Callable[[Asker, P], R]:
    """The function, whose newest answers about very large sets are kept.

    Args:
        answer: Of anything that is compared soon, and a set; always the same.
    """

    @lru_cache(maxsize=_REMEMBERED)
    def known(asker: Asker, parts: Same[P]) -> R:
        return answer(asker, parts.value)

    @wraps(answer)
    def asked(asker: Asker, parts: P) -> R:
        return known(asker, Same(parts)) if len(parts.apart) >= MANY else answer(asker, parts)

    return asked
