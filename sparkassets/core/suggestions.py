"""``did you mean …`` for names that people mistype."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest of ``known``, or lists them when they are few.

    >>> did_you_mean("shedule", ["schedule", "strategy"])
    "did you mean 'schedule'?"
    >>> did_you_mean("x", ["schedule", "strategy"])
    'known are schedule, strategy'
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6) or get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    few = 12
    return f"known are {', '.join(names)}" if 0 < len(names) <= few else None
