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


class _HasApart(Protocol):
    @property
    def apart(self) -> tuple[Any, ...]: ...


P = TypeVar("P", bound=_HasApart)
R = TypeVar("R")
Asker = TypeVar("Asker")


@frozen
class IdentityKey(Generic[T]):
    """A value by its identity: it never changes, and comparing it would cost more than it saves."""

    value: T

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def memoize_large(answer: Callable[[Asker, P], R]) -> Callable[[Asker, P], R]:
    """The function, whose newest answers about very large sets are kept.

    Args:
        answer: Of anything that is compared soon, and a set; always the same.
    """

    @lru_cache(maxsize=_REMEMBERED)
    def cached_answer(asker: Asker, parts: IdentityKey[P]) -> R:
        return answer(asker, parts.value)

    @wraps(answer)
    def memoized_answer(asker: Asker, parts: P) -> R:
        return cached_answer(asker, IdentityKey(parts)) if len(parts.apart) >= MANY else answer(asker, parts)

    return memoized_answer
