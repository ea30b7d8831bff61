"""Caches results about very large sets by identity: every plan asks the same questions about the same sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Generic, Protocol, TypeVar

from sparkassets.frozen import frozen

MANY = 1_000
"""Number of tuples in ``apart`` from which on a set is very large."""
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
    """An immutable value as a cache key by identity, because comparing it would cost more than the cache saves."""

    value: T

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def memoize_large(answer: Callable[[Asker, P], R]) -> Callable[[Asker, P], R]:
    """Decorates a method to keep its newest results for very large sets.

    Args:
        answer: A pure function of a value that is quick to compare, and a set.
    """

    @lru_cache(maxsize=_REMEMBERED)
    def cached_answer(asker: Asker, parts: IdentityKey[P]) -> R:
        return answer(asker, parts.value)

    @wraps(answer)
    def memoized_answer(asker: Asker, parts: P) -> R:
        return cached_answer(asker, IdentityKey(parts)) if len(parts.apart) >= MANY else answer(asker, parts)

    return memoized_answer
