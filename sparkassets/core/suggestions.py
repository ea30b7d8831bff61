"""``did you mean …`` for names that people mistype."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_LONGEST: Final = 100
"""Characters of a name that somebody may have mistyped: comparing takes as long as both lengths multiplied."""


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest of ``known``, or lists them when they are few.

    >>> did_you_mean("shedule", ["schedule", "strategy"])
    "did you mean 'schedule'?"
    >>> did_you_mean("x", ["schedule", "strategy"])
    'known are schedule, strategy'
    """
    names = sorted(known)
    return suggest_close(name, names) or list_known(names)


def list_known(known: Iterable[str]) -> str | None:
    """A hint that lists ``known``; None where there are none, or more than anybody reads."""
    names = sorted(known)
    few = 12
    verb = "is" if len(names) == 1 else "are"
    return f"known {verb} {', '.join(names)}" if 0 < len(names) <= few else None


def suggest_close(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest of ``known``; None when none is close."""
    close = find_nearest(name, known)
    return f"did you mean {close!r}?" if close else None


def find_nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The one of ``known`` that looks most like ``name``, whatever its case; None when none does.

    Args:
        name: The name as written.
        known: The names that could be meant.
        cutoff: How alike they are at least, from 0 to 1.
    """
    if len(name) > _LONGEST:
        return None
    from difflib import get_close_matches

    candidates = {each.casefold(): each for each in sorted(known, reverse=True) if len(each) <= _LONGEST}
    close = get_close_matches(name.casefold(), candidates, n=1, cutoff=cutoff)
    return candidates[close[0]] if close else None


def missing_module_hint(name: str, module: str) -> str:
    """A hint for code of ``module`` that imports a module ``name`` which is not there.

    >>> missing_module_hint("jobs.rates", "jobs.daily")
    "there is no module 'jobs.rates' in the project's package 'jobs'"
    >>> missing_module_hint("pandas.core", "jobs.daily")
    "install the package that has 'pandas' where the driver runs, or put it beside the project's package 'jobs'"
    """
    package, own = name.partition(".")[0], module.partition(".")[0]
    if package == own:
        return f"there is no module {name!r} in the project's package {own!r}"
    where = f"put it beside the project's package {own!r}"
    return f"install the package that has {package!r} where the driver runs, or {where}"
