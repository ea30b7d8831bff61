"""Ports whose n-th call fails: before it does anything, or after it did all, so that only its answer is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sparkassets.errors import StateError

When = Literal["before", "after"]


@dataclass
class Faults:
    """Counts calls, and fails some of them.

    Attributes:
        at: The calls that fail, counted from 1.
        when: Whether what is asked for is done all the same.
        error: Makes what is raised.
        calls: The names of the calls so far.
        counts: The names of those that count; all without any.
    """

    at: range = range(0)
    when: When = "before"
    error: Callable[[str], BaseException] = lambda name: OSError(28, f"No space left on device in {name}")
    calls: list[str] = field(default_factory=list)
    counts: tuple[str, ...] = ()

    def call(self, name: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Counts a call, and makes it unless it fails before."""
        if self.counts and name not in self.counts:
            return method(*args, **kwargs)
        self.calls.append(name)
        fails = len(self.calls) in self.at
        if fails and self.when == "before":
            raise self.error(name)
        answer = method(*args, **kwargs)
        if fails:
            raise self.error(name)
        return answer


class Faulty:
    """Something that fails as it is told; every method of it counts."""

    def __init__(self, port: Any, faults: Faults) -> None:
        self._port = port
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: self._faults.call(name, found, *args, **kwargs)


def out_of_state(name: str) -> StateError:
    """What a store raises that cannot be used."""
    return StateError(f"cannot {name}: No space left on device", hint="make room, and start again")
