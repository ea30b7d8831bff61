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

_INTEGERS = frozenset({"byte", "short", "integer", "long"})
_FLOATS = frozenset({"float", "double"})
_INSTANTS = frozenset({"timestamp", "timestamp_ntz"})

_IN_MILLISECONDS = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1_000), "ns": (1, 1_000_000)}
_MILLISECONDS_A_DAY = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()
_DAYS_OF_400_YEARS = 146_097
_LAST_PLAIN_YEAR = 9999

_GREATEST_ASCII, _GREATEST = "\x7f", "\U0010ffff"
_LAST_ONE_UNIT_CHARACTER = "\uffff"


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
    return type_ in _INTEGERS | _FLOATS | _INSTANTS | {"date", "string"} or type_.startswith("decimal")


def find_bounds_format(type_: str, stored: DataType, *, prefix: int) -> BoundsFormat | None:
    """The format of a column's bounds; None where the file stores another type in its place.

    Args:
        type_: The column's type in the table.
        stored: Its type in the file.
        prefix: How many characters of a text the statistics keep.
    """
    from pyarrow import types

    if type_ == "string" and types.is_string(stored):
        return BoundsFormat(
            _check_utf8,
            lambda low: _quote_json(low.decode()[:prefix]),
            lambda high: _shorten_upper(high.decode(), prefix),
        )
    return _find_number_format(type_, stored) or _find_time_format(type_, stored)


def _find_number_format(type_: str, stored: DataType) -> BoundsFormat | None:
    from pyarrow import types

    if type_ in _INTEGERS and types.is_signed_integer(stored):
        return BoundsFormat(int, str, str)
    if type_ in _FLOATS and types.is_floating(stored):
        format_number = _format_single if types.is_float32(stored) else _format_double
        return BoundsFormat(
            lambda raw: (math.isnan(raw), raw),
            lambda low: format_number(low[1]),
            lambda high: format_number(high[1]),
            True,  # noqa: FBT003
        )
    if type_.startswith("decimal") and types.is_decimal(stored):
        return _make_exact_format(_to_unscaled_int, lambda unscaled: _format_decimal(unscaled, stored.scale))
    return None


def _find_time_format(type_: str, stored: DataType) -> BoundsFormat | None:
    from pyarrow import types

    if type_ == "date" and types.is_date32(stored):
        return _make_exact_format(int, lambda days: _quote_json(_format_day(days)), is_calendar=True)
    if type_ in _INSTANTS and types.is_timestamp(stored) and (stored.tz is None) == (type_ == "timestamp_ntz"):
        factor, divisor = _IN_MILLISECONDS[stored.unit]
        zone = "" if stored.tz is None else "Z"
        return _make_exact_format(
            lambda raw: raw * factor // divisor, lambda at: _quote_json(_format_time(at) + zone), is_calendar=True
        )
    return None


def _make_exact_format(
    value: Callable[[Any], Any], write: Callable[[Any], str], *, is_calendar: bool = False
) -> BoundsFormat:
    return BoundsFormat(value, write, write, is_calendar=is_calendar)


def _check_utf8(raw: bytes) -> bytes:
    """The text as UTF-8 bytes, in whose order Delta compares.

    Raises:
        UnicodeDecodeError: It is no text.
    """
    raw.decode()
    return raw


def _shorten_upper(text: str, prefix: int) -> str | None:
    """JSON of a text that is not lower than this one: its prefix, with the greatest character where it was longer.

    Delta counts UTF-16 units, and searches up to twice ``prefix`` for a place to put that character.
    """
    units = length = 0
    while length < len(text) and units < prefix:
        units, length = units + _count_utf16_units(text[length]), length + 1
    while length < len(text) and 0 < units <= 2 * prefix:
        if text[length] != _GREATEST:
            return _quote_json(text[:length] + (_GREATEST_ASCII if text[length] < _GREATEST_ASCII else _GREATEST))
        units, length = units + _count_utf16_units(text[length]), length + 1
    return _quote_json(text) if length == len(text) and units <= 2 * prefix else None


def _count_utf16_units(character: str) -> int:
    return 1 if character <= _LAST_ONE_UNIT_CHARACTER else 2


def _quote_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _to_unscaled_int(raw: int | bytes) -> int:
    return raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)


def _format_decimal(unscaled: int, scale: int) -> str:
    """All digits, which a float would not keep.

    >>> _format_decimal(-5, 1), _format_decimal(12, 0), _format_decimal(1, 3)
    ('-0.5', '12', '0.001')
    """
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    point = len(digits) - scale
    return ("-" if unscaled < 0 else "") + digits[:point] + ("." + digits[point:] if scale else "")


def _format_double(number: float) -> str:
    if math.isfinite(number):
        return repr(number)
    return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'


def _format_single(number: float) -> str:
    """The shortest number that is equal in 32 bits.

    >>> _format_single(1.100000023841858)
    '1.1'
    """
    if not math.isfinite(number):
        return _format_double(number)
    texts = (f"{number:.{digits}g}" for digits in range(1, 10))
    return next(text for text in texts if _round_to_single(text) == number)


def _round_to_single(text: str) -> float | None:
    try:
        (number,) = struct.unpack("f", struct.pack("f", float(text)))
    except OverflowError:
        return None
    return float(number)


def _format_day(days: int) -> str:
    """The date so many days after 1970-01-01, in the proleptic Gregorian calendar.

    >>> _format_day(0), _format_day(3_472_222), _format_day(-810_186)
    ('1970-01-01', '+11476-08-15', '-0249-10-15')
    """
    cycles, days_left = divmod(_EPOCH + days - 1, _DAYS_OF_400_YEARS)
    date_in_cycle = date.fromordinal(days_left + 1)
    year = date_in_cycle.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > _LAST_PLAIN_YEAR else ""
    return f"{sign}{abs(year):04d}-{date_in_cycle.month:02d}-{date_in_cycle.day:02d}"


def _format_time(milliseconds: int) -> str:
    """The date and time of day that many milliseconds after the beginning of 1970.

    >>> _format_time(-1)
    '1969-12-31T23:59:59.999'
    """
    days, milliseconds_left = divmod(milliseconds, _MILLISECONDS_A_DAY)
    seconds, fraction = divmod(milliseconds_left, 1000)
    return f"{_format_day(days)}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:03d}"


_UNITS_PER_SECOND = {"milliseconds": 1_000, "microseconds": 1_000_000}


def read_bounds(statistics: Any) -> tuple[Any, Any]:  # noqa: ANN401 - pyarrow has no types
    """Both bounds, as pyarrow has them; nanoseconds need pandas all the same."""
    kind = json.loads(statistics.logical_type.to_json())
    unit = _UNITS_PER_SECOND.get(kind.get("timeUnit", "")) if kind.get("Type") == "Timestamp" else None
    if unit is None:
        return statistics.min, statistics.max
    zone = UTC if kind.get("isAdjustedToUTC") else None
    try:
        low, high = (_make_instant(raw, unit, zone) for raw in (statistics.min_raw, statistics.max_raw))
    except OverflowError:
        return statistics.min, statistics.max
    return low, high


def _make_instant(raw: int, unit: int, zone: tzinfo | None) -> datetime:
    """The instant so many units after 1970."""
    return datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=raw * (1_000_000 // unit))
