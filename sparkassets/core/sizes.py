"""Sizes of data as people write and read them: ``10GB`` is ten times 10^9 bytes, ``512MiB`` 512 times 2^20."""

from __future__ import annotations

import re
from typing import Final

from sparkassets.errors import InputError

_POWERS: Final = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?) ?(?:(?P<power>[kmgtp])(?P<binary>i)?)?b?", re.IGNORECASE)
_KILO: Final = 1000


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
    """A size in the decimal unit that tells it best.

    >>> size_text(999), size_text(12_345_000_000), size_text(1_000_000), size_text(999_960)
    ('999 B', '12.3 GB', '1 MB', '1 MB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if round(size, 1) < _KILO:
            return f"{size:.1f}".removesuffix(".0") + f" {unit}"
        size /= _KILO
    return f"{size:.1f}".removesuffix(".0") + " PB"
