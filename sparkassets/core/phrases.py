"""Phrases of messages: lists, values, sizes and durations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from sparkassets.errors import InputError

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


_UNSEEN: Final = "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
"""Characters without a width, and those that turn the direction of what follows."""


def escape_invisible(text: str) -> str:
    r"""The text with escapes for what nobody sees: a name with one of these looks like another name.

    >>> escape_invisible("inv\u202eoices\u200b")
    'inv\\u202eoices\\u200b'
    """
    return text if text.isascii() else re.sub(_UNSEEN, lambda found: f"\\u{ord(found[0]):04x}", text)


_POWERS: Final = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE: Final = r"(?P<number>[0-9]+(?:\.[0-9]+)?) ?(?:(?P<power>[kmgtp])(?P<binary>i)?)?b?"
_KILO: Final = 1000
_UNITS = ((60, 1, "s"), (3600, 60, "min"), (2 * 86400, 3600, "h"))
"""(Below how many seconds, the seconds of the unit, the unit); beyond, days."""


def parse_size(text: str) -> int:
    """The number of bytes of a size such as 10GB.

    Raises:
        InputError: It is no size.

    >>> parse_size("10GB"), parse_size("512MiB"), parse_size("1.5 kB"), parse_size("100")
    (10000000000, 536870912, 1500, 100)
    """
    found = re.fullmatch(_SIZE, text.strip(), re.IGNORECASE)
    if found is None:
        raise InputError(f"{text!r} is not a size", hint="write bytes, or a number with a unit such as 10GB or 512MiB")
    from fractions import Fraction

    power = found["power"]
    unit = (1024 if found["binary"] else _KILO) ** _POWERS[power.lower()] if power else 1
    return int(Fraction(found["number"]) * unit)


def size_text(size: float) -> str:
    """A size in the decimal unit that suits it best.

    >>> size_text(999), size_text(12_345_000_000), size_text(1_000_000), size_text(999_960)
    ('999 B', '12.3 GB', '1 MB', '1 MB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if round(size, 1) < _KILO:
            return f"{size:.1f}".removesuffix(".0") + f" {unit}"
        size /= _KILO
    return f"{size:.1f}".removesuffix(".0") + " PB"


def duration_text(seconds: float) -> str:
    """A duration in the unit that suits it best.

    >>> duration_text(0.4), duration_text(90), duration_text(26 * 3600), duration_text(3 * 86400)
    ('0.4 s', '2 min', '26 h', '3 days')
    """
    if seconds < 10:  # noqa: PLR2004  tenths matter of the short ones
        return f"{seconds:.1f} s"
    size, unit = next(((size, unit) for most, size, unit in _UNITS if seconds < most), (86400, "days"))
    return f"{round(seconds / size)} {unit}"
