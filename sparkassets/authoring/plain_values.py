"""Converts values of Python to plain values of YAML: texts, numbers, lists and maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import PurePath
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class AssetColumn:
    """A column of an asset: ``Asset("orders").amount``."""

    asset: str
    name: str


@runtime_checkable
class HasPlainForm(Protocol):
    """An object with a form in YAML, such as a condition, a partition or a validation."""

    def plain(self) -> Any:  # noqa: ANN401  text, number, list or map
        """It as YAML has it."""


def to_plain(value: object) -> Any:  # noqa: ANN401  text, number, list or map
    """The value as YAML has it.

    Raises:
        TypeError: Nothing in YAML is such a value.

    >>> from datetime import timedelta
    >>> from sparkassets.authoring.partitions import PartitionByInterval
    >>> to_plain({"window": timedelta(days=7), "at": (PartitionByInterval("@daily"),)})
    {'window': '604800s', 'at': [{'by': 'day'}]}
    """
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return str.__str__(value)  # of an Enum its value
        case AssetColumn():
            return value.name
        case Mapping():
            return {_key(key): to_plain(each) for key, each in value.items()}
        case list() | tuple():
            return [to_plain(each) for each in value]
    if isinstance(value, HasPlainForm):
        return to_plain(value.plain())
    return _text(value)


def plain_schedule(value: object) -> Any:  # noqa: ANN401  text or map
    """A schedule as YAML has it: a `timedelta` is a timetable that ticks that often.

    >>> from datetime import timedelta
    >>> plain_schedule(timedelta(days=1)), plain_schedule(["orders", timedelta(hours=1)])
    ({'every': '86400s'}, ['orders', {'every': '3600s'}])
    """
    match value:
        case timedelta():
            return {"every": _duration(value)}
        case list() | tuple():
            return [plain_schedule(each) for each in value]
    return to_plain(value)


def _text(value: object) -> str:
    """The text of a value that is text in YAML but not in Python."""
    match value:
        case timedelta():
            return _duration(value)
        case datetime() | date():
            return value.isoformat()
        case PurePath():
            return value.as_posix()
    raise TypeError(f"a {type(value).__name__} cannot stand in the declaration of an asset; expected plain values")


def _key(key: object) -> str:
    name = to_plain(key)
    if not isinstance(name, str):
        raise TypeError(f"the key {key!r} cannot stand in the declaration of an asset; expected text or an asset")
    return name


def _duration(value: timedelta) -> str:
    """Whole seconds, as elapsed time."""
    of_calendar = not hasattr(value, "start") and any(getattr(value, unit, 0) for unit in ("years", "months"))
    if of_calendar:  # only pendulum's durations have these, and its intervals, whose length is exact
        raise ValueError(f"{value} cannot stand in the declaration of an asset: months have no fixed length; say days")
    if value.microseconds:
        raise ValueError(f"{value} cannot stand in the declaration of an asset; expected whole seconds")
    return f"{value.days * 86_400 + value.seconds}s"
