"""Words of messages that every room shares: suggestions, enumerations, and how a value is shown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN_CHARACTERS = 60


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The hint that names the known word nearest to ``word``; None when nothing is near.

    >>> did_you_mean("shedule", ["schedule", "start"])
    "did you mean 'schedule'?"
    >>> did_you_mean("Day", ["hour", "day"])
    "did you mean 'day'?"
    """
    near = nearest(word, known)
    return f"did you mean {near!r}?" if near else None


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that looks most like ``word``, whatever its case; None when none does."""
    candidates = {each.casefold(): each for each in sorted(known, reverse=True) if each != word}
    near = get_close_matches(word.casefold(), candidates, n=1, cutoff=0.6)
    return candidates[near[0]] if near else None


def listing(words: Iterable[str], *, last: str = "or") -> str:
    """The words as an enumeration.

    >>> listing(["day", "week", "month"])
    'day, week or month'
    """
    *head, tail = words
    return f"{', '.join(head)} {last} {tail}" if head else tail


def shown(value: object) -> str:
    """A YAML value as a message shows it: text in quotes and cut to length, containers by their kind.

    >>> shown("three"), shown(None), shown(True), shown([1])
    ("'three'", 'empty', 'true', 'a list')
    """
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case str():
            cut = value if len(value) <= SHOWN_CHARACTERS else f"{value[: SHOWN_CHARACTERS - 1]}…"
            return repr(cut)
        case dict():
            return "a map"
        case list():
            return "a list"
        case _:
            return str(value)
