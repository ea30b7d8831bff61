"""Lower and upper bounds of columns: written into statistics of files, read from Parquet footers."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from pyarrow import DataType

_WHOLE = frozenset({"byte", "short", "integer", "long"})
_FLOATS = frozenset({"float", "double"})
_INSTANTS = frozenset({"timestamp", "timestamp_ntz"})

_IN_MILLISECONDS = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1_000), "ns": (1, 1_000_000)}
_MILLISECONDS_A_DAY = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()
_DAYS_OF_400_YEARS = 146_097
_LAST_OF_FOUR_DIGITS = 9999

_GREATEST_ASCII, _GREATEST = "\x7f", "\U0010ffff"
_LAST_OF_ONE_UNIT = "\uffff"


@frozen
class BoundsFormat:
    """How the bounds of one column are read and written.

    Attributes:
        value: Converts pyarrow's raw value to one that sorts in Delta's order.
        low: JSON of the least value, or of a lower one.
        high: JSON of the greatest value, or of a higher one; None where Delta finds none.
        is_float: NaN is the greatest value.
        is_calendar: The values are days or instants.
    """

    value: Callable[[Any], Any]
    low: Callable[[Any], str]
    high: Callable[[Any], str | None]
    is_float: bool = False
    is_calendar: bool = False


def has_bounds(type_: str) -> bool:
    """Whether Delta keeps bounds of columns of that type."""
    return type_ in _WHOLE | _FLOATS | _INSTANTS | {"date", "string"} or type_.startswith("decimal")


def find_bounds_format(type_: str, stored: DataType, *, prefix: int) -> BoundsFormat | None:
    """The format of a column's bounds; None where the file stores another type in its place.

    Args:
        type_: The column's type in the table.
        stored: Its type in the file.
        prefix: How many characters of a text the statistics keep.
    """
    from pyarrow import types

    if type_ in _WHOLE and types.is_signed_integer(stored):
        return BoundsFormat(int, str, str)
    if type_ in _FLOATS and types.is_floating(stored):
        write = _single if types.is_float32(stored) else _double
        return BoundsFormat(
            lambda raw: (math.isnan(raw), raw),
            lambda low: write(low[1]),
            lambda high: write(high[1]),
            True,  # noqa: FBT003
        )
    if type_.startswith("decimal") and types.is_decimal(stored):
        return _exact(_to_unscaled_int, lambda unscaled: _decimal(unscaled, stored.scale))
    if type_ == "string" and types.is_string(stored):
        return BoundsFormat(
            _utf8, lambda low: _quote_json(low.decode()[:prefix]), lambda high: _upper(high.decode(), prefix)
        )
    if type_ == "date" and types.is_date32(stored):
        return _exact(int, lambda days: _quote_json(_day(days)), of_calendar=True)
    if type_ in _INSTANTS and types.is_timestamp(stored) and (stored.tz is None) == (type_ == "timestamp_ntz"):
        times, per = _IN_MILLISECONDS[stored.unit]
        zone = "" if stored.tz is None else "Z"
        return _exact(lambda raw: raw * times // per, lambda at: _quote_json(_time(at) + zone), of_calendar=True)
    return None


def _exact(value: Callable[[Any], Any], write: Callable[[Any], str], *, of_calendar: bool = False) -> BoundsFormat:
    return BoundsFormat(value, write, write, is_calendar=of_calendar)


def _utf8(raw: bytes) -> bytes:
    """The text as UTF-8 bytes, in whose order Delta compares.

    Raises:
        UnicodeDecodeError: It is no text.
    """
    raw.decode()
    return raw


def _upper(text: str, prefix: int) -> str | None:
    """JSON of a text that is not lower than this one: its prefix, with the greatest character where it was longer.

    Delta counts UTF-16 units, and searches up to twice ``prefix`` for a place to put that character.
    """
    units = cut = 0
    while cut < len(text) and units < prefix:
        units, cut = units + _units(text[cut]), cut + 1
    while cut < len(text) and 0 < units <= 2 * prefix:
        if text[cut] != _GREATEST:
            return _quote_json(text[:cut] + (_GREATEST_ASCII if text[cut] < _GREATEST_ASCII else _GREATEST))
        units, cut = units + _units(text[cut]), cut + 1
    return _quote_json(text) if cut == len(text) and units <= 2 * prefix else None


def _units(character: str) -> int:
    return 1 if character <= _LAST_OF_ONE_UNIT else 2


def _quote_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _to_unscaled_int(raw: int | bytes) -> int:
    return raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)


def _decimal(unscaled: int, scale: int) -> str:
    """All digits, which a float would not keep.

    >>> _decimal(-5, 1), _decimal(12, 0), _decimal(1, 3)
    ('-0.5', '12', '0.001')
    """
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    point = len(digits) - scale
    return ("-" if unscaled < 0 else "") + digits[:point] + ("." + digits[point:] if scale else "")


def _double(number: float) -> str:
    if math.isfinite(number):
        return repr(number)
    return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'


def _single(number: float) -> str:
    """The shortest number that is equal in 32 bits.

    >>> _single(1.100000023841858)
    '1.1'
    """
    if not math.isfinite(number):
        return _double(number)
    texts = (f"{number:.{digits}g}" for digits in range(1, 10))
    return next(text for text in texts if _in_32_bits(text) == number)


def _in_32_bits(text: str) -> float | None:
    try:
        (number,) = struct.unpack("f", struct.pack("f", float(text)))
    except OverflowError:
        return None
    return float(number)


def _day(days: int) -> str:
    """The date so many days after 1970-01-01, in the proleptic Gregorian calendar.

    >>> _day(0), _day(3_472_222), _day(-810_186)
    ('1970-01-01', '+11476-08-15', '-0249-10-15')
    """
    cycles, rest = divmod(_EPOCH + days - 1, _DAYS_OF_400_YEARS)
    within = date.fromordinal(rest + 1)
    year = within.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > _LAST_OF_FOUR_DIGITS else ""
    return f"{sign}{abs(year):04d}-{within.month:02d}-{within.day:02d}"


def _time(milliseconds: int) -> str:
    """The date and time of day that many milliseconds after the beginning of 1970.

    >>> _time(-1)
    '1969-12-31T23:59:59.999'
    """
    days, rest = divmod(milliseconds, _MILLISECONDS_A_DAY)
    seconds, fraction = divmod(rest, 1000)
    return f"{_day(days)}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:03d}"


_PER_SECOND = {"milliseconds": 1_000, "microseconds": 1_000_000}


def read_bounds(statistics: Any) -> tuple[Any, Any]:  # noqa: ANN401 - pyarrow has no types
    """Both bounds, as pyarrow has them; nanoseconds need pandas all the same."""
    kind = json.loads(statistics.logical_type.to_json())
    unit = _PER_SECOND.get(kind.get("timeUnit", "")) if kind.get("Type") == "Timestamp" else None
    if unit is None:
        return statistics.min, statistics.max
    zone = UTC if kind.get("isAdjustedToUTC") else None
    try:
        low, high = (_instant(raw, unit, zone) for raw in (statistics.min_raw, statistics.max_raw))
    except OverflowError:
        return statistics.min, statistics.max
    return low, high


def _instant(raw: int, unit: int, zone: tzinfo | None) -> datetime:
    """The instant so many units after 1970."""
    return datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=raw * (1_000_000 // unit))
