"""Sizes of data and durations as people read them: ``10GB`` is ten times 10^9 bytes, ``512MiB`` 512 times 2^20."""

from __future__ import annotations

import re
from typing import Final

from sparkassets.errors import InputError

_POWERS: Final = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?) ?(?:(?P<power>[kmgtp])(?P<binary>i)?)?b?", re.IGNORECASE)
_KILO: Final = 1000
_UNITS = ((60, 1, "s"), (3600, 60, "min"), (2 * 86400, 3600, "h"))
"""(Below how many seconds, the seconds of the unit, the unit); beyond, days."""


def parse_size(text: str) -> int:
    """Bytes.

    Raises:
        InputError: It is no size.

    >>> parse_size("10GB"), parse_size("512MiB"), parse_size("1.5 kB"), parse_size("100")
    (10000000000, 536870912, 1500, 100)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{text!r} is no size", hint="write bytes, or a number with a unit such as 10GB or 512MiB")
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
