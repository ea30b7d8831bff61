"""The fields of a path: of time, ``{day}`` or ``{day:%Y%m%d}``, as naive local time; of segments, ``{region}``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import cache
from urllib.parse import unquote

from sparkassets.errors import InputError
from sparkassets.frozen import frozen

_WIDTHS: Mapping[str, int] = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "j": 3, "G": 4, "V": 2}
_COARSE_FIRST = "GYVmjdHM"
_MINUTES = ("Ymd" + "HM", "Yj" + "HM")
_HOURS = ("Ymd" + "H", "Yj" + "H", *_MINUTES)
_DAYS = ("Ymd", "Yj", *_HOURS)
_DETERMINE: Mapping[str, tuple[str, ...]] = {
    "minute": _MINUTES,
    "hour": _HOURS,
    "day": _DAYS,
    "week": ("GV", *_DAYS),
    "month": ("Ym", *_DAYS),
    "quarter": ("Ym", *_DAYS),
    "year": ("Y", "Ym", *_DAYS),
}
"""Sets of directives, any order, that tell a slot of that precision; a finer time tells it too."""
_KEY = r"\d{4}(?:-(?:\d{2}(?:-\d{2}(?:T\d{2}(?:[+-]\d{2}:\d{2})?)?)?|W\d{2}|Q[1-4]))?"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class PatternError(InputError):
    """A path pattern cannot be understood, or does not fit the asset's partition."""


@frozen
class TimeField:
    """``{name}`` or ``{name:format}``.

    Attributes:
        parts: The format, each part a directive (``%Y``) or literal text; empty for the partition's key itself.
    """

    name: str
    parts: tuple[str, ...] = ()

    @classmethod
    def parse(cls, piece: str) -> TimeField:
        """Reads a field with its braces.

        Raises:
            PatternError: Not a name, or a format that is unknown, doubled or a glob.
        """
        name, colon, form = piece[1:-1].partition(":")
        if not _NAME.fullmatch(name):
            hint = "alternatives are not supported; write '*'" if "," in name else None
            raise PatternError(f"'{piece}' is not a field; expected {{day}} or {{day:%Y%m%d}}", hint=hint)
        if colon and not form:
            raise PatternError(f"the field '{piece}' has no format after ':'", hint=f"write {{{name}}} for the key")
        parts = tuple(re.findall(r"%.?|[^%]+", form, re.DOTALL))
        for index, part in enumerate(parts):
            _check_part(piece, part, before=parts[:index])
        return cls(name, parts)

    @property
    def directives(self) -> str:
        """The directives' letters in order, such as ``Ymd``."""
        return "".join(part[1] for part in self.parts if part[0] == "%")

    @property
    def regex(self) -> str:
        """What the field's text looks like, digits by their number only; no groups that capture."""
        if not self.parts:
            return _KEY
        return "".join(rf"\d{{{_WIDTHS[part[1]]}}}" if part[0] == "%" else re.escape(part) for part in self.parts)

    @property
    def globs(self) -> tuple[str, ...]:
        """``*``, or ``*``, ``/``, ``*`` and so on where the field's text spans folders."""
        return ("*", *("/", "*") * "".join(self.parts).count("/"))

    @property
    def has_hours(self) -> bool:
        """Whether the format tells a time of day."""
        return "H" in self.directives

    @property
    def has_days(self) -> bool:
        """Whether the format tells a date."""
        return not {"d", "j"}.isdisjoint(self.directives)

    def determines(self, precision: str) -> bool:
        """Whether the field's text tells one slot of that precision."""
        return not self.parts or any(sorted(self.directives) == sorted(enough) for enough in _DETERMINE[precision])

    def local(self, text: str) -> datetime | None:
        """The naive local time that ``text`` names, missing parts at their earliest; None when there is none."""
        form, letters = _reader(self.parts)
        found = form.fullmatch(text)
        return None if found is None else _local(dict(zip(letters, map(int, found.groups()), strict=True)))

    def write(self, first: datetime, last: datetime) -> str:
        """The text of a slot in a path; a glob with ``?`` for each digit of the parts of the time that vary within it.

        Args:
            first: The first local time of the slot.
            last: The last one.
        """
        known = _COARSE_FIRST  # the parts of the time that are the same for the whole slot
        for letter in _COARSE_FIRST:
            if letter in self.directives and _digits(letter, first) != _digits(letter, last):
                known = _COARSE_FIRST.partition(letter)[0]
                break
        return "".join(
            part if part[0] != "%" else _directive_digits(part[1], first, known=known) for part in self.parts
        )


@frozen
class SegmentField:
    """``{name}``, a column of segments: a folder's name or a file's, or a part of one.

    Attributes:
        of_folder: Whether ``name=`` stands before it, as Spark names folders: then it is written as Spark does.
    """

    name: str
    of_folder: bool = False

    regex = "[^/]+"
    globs = ("*",)

    def segment(self, text: str) -> str | None:
        """The segment that ``text`` names; None for the folder of no value.

        >>> SegmentField("region").segment("a%2Fb"), SegmentField("region", of_folder=True).segment("a%2Fb")
        ('a%2Fb', 'a/b')
        """
        if not self.of_folder:
            return text
        return None if text == _NO_VALUE else unquote(text)


@cache
def _reader(parts: tuple[str, ...]) -> tuple[re.Pattern[str], str]:
    """The expression with a group of digits for each directive of a format, and the directives' letters in order."""
    pieces = (rf"(\d{{{_WIDTHS[part[1]]}}})" if part[0] == "%" else re.escape(part) for part in parts)
    return re.compile("".join(pieces), re.ASCII), "".join(part[1] for part in parts if part[0] == "%")


def _check_part(piece: str, part: str, *, before: tuple[str, ...]) -> None:
    """Refuses a part of a field's format: a glob, an unknown directive, or one that is in the parts ``before``.

    ``piece`` is the whole field with its braces, for messages.
    """
    if part[0] != "%":
        if "*" in part or "?" in part:
            raise PatternError(f"the field '{piece}' contains a glob", hint="write '*' outside the braces")
        return
    if part[1:] not in _WIDTHS:
        known = " ".join(f"%{letter}" for letter in _WIDTHS)
        raise PatternError(f"the field '{piece}' has the unknown directive '{part}'", hint=f"known are {known}")
    if part in before:
        raise PatternError(f"the field '{piece}' has '{part}' twice", hint="write '*' where it repeats")


def _local(values: Mapping[str, int]) -> datetime | None:
    """The local time that a field's parts name, by their letters of ``strftime``; None if there is no such time.

    The parts are a week of ISO's calendar, a day of the year, or a date; what is missing is the first of its kind.
    """
    try:
        if "G" in values:
            day = date.fromisocalendar(values["G"], values["V"], 1)
        elif "j" in values:
            day = date(values["Y"], 1, 1) + timedelta(days=values["j"] - 1)
        else:
            day = date(values["Y"], values.get("m", 1), values.get("d", 1))
        hour, minute = values.get("H", 0), values.get("M", 0)
        local = datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001 - local by definition
    except (ValueError, OverflowError):
        return None
    # day 366 of a year with 365 days is in the next year, so it is no day of that year
    return local if day.year == values.get("Y", day.year) else None


def _directive_digits(letter: str, when: datetime, *, known: str) -> str:
    """The digits of a directive, ``?`` for each where they are not known."""
    return _digits(letter, when) if letter in known else "?" * _WIDTHS[letter]


def _digits(letter: str, when: datetime) -> str:
    """The digits that a directive writes for a local time, with leading zeros."""
    year, week, _ = when.isocalendar()
    values = {"Y": when.year, "m": when.month, "d": when.day, "H": when.hour, "M": when.minute, "G": year, "V": week}
    value = when.timetuple().tm_yday if letter == "j" else values[letter]
    return f"{value:0{_WIDTHS[letter]}d}"
