"""Words of messages: enumerations, and how a value or a text is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

SHOWN_CHARACTERS = 60
FEW = 3
"""How many words a sentence has of a long list."""


def listing(words: Iterable[str], *, last: str = "or") -> str:
    """The words as an enumeration.

    >>> listing(["day", "week", "month"])
    'day, week or month'
    """
    *head, tail = words
    return f"{', '.join(head)} {last} {tail}" if head else tail


def few(words: Sequence[str], most: int = FEW, *, of: int | None = None) -> str:
    """The first few words, and how many more there are; ``of`` so many in all, where these are only the first of them.

    >>> few(["a", "b", "c", "d", "e"]), few(["a", "b", "c"], of=5)
    ('a, b, c and 2 more', 'a, b, c and 2 more')
    """
    rest = (len(words) if of is None else of) - most
    return series(words[:most]) + (f" and {rest} more" if rest > 0 else "")


def series(words: Sequence[str]) -> str:
    """The words one after the other, with semicolons between where they hold commas themselves.

    >>> series(["2025-01-01", "2025-01-03"]), series(["2025-01-01,nl", "2025-01-03,de"])
    ('2025-01-01, 2025-01-03', '2025-01-01,nl; 2025-01-03,de')
    """
    return ("; " if any("," in word for word in words) else ", ").join(words)


def join_nonempty(*words: str) -> str:
    """The words that are not empty, with blanks between.

    >>> join_nonempty("daily", "", "2025-01-01")
    'daily 2025-01-01'
    """
    return " ".join(filter(None, words))


def kind_of(value: object) -> str:
    """The class of a Python value as a noun phrase.

    >>> kind_of(3), kind_of("three")
    ('an int', 'a str')
    """
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


def show_value(value: object) -> str:
    """A YAML value as a message shows it: text in quotes and cut to length, containers by their kind.

    >>> show_value("three"), show_value(None), show_value(True), show_value([1])
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


def escape_unwritable(text: str) -> str:
    r"""The text with escapes for what UTF-8 cannot write: bytes that were no text, as in a file's name.

    >>> escape_unwritable("caf\udce9")
    'caf\\udce9'
    """
    return text.encode(errors="backslashreplace").decode()


_UNSEEN: Final = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
"""Characters without a width, and those that turn the direction of what follows."""


def escape_invisible(text: str) -> str:
    r"""The text with escapes for what nobody sees: a name with one of these looks like another name.

    >>> escape_invisible("inv\u202eoices\u200b")
    'inv\\u202eoices\\u200b'
    """
    return text if text.isascii() else _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
