"""Segments made of a list of params where none are written: one dimension distinguishes their runs."""

from __future__ import annotations

from typing import Any

from sparkassets.core.partitions import Partitioning, SegmentPartition
from sparkassets.core.spec.file_models import AssetFile, needs_no_column
from sparkassets.core.spec.source import plain_text

_TAKEN = ("start", "end")
_ADDING = ("append", "self")


def segments_of_params(keys: AssetFile, beside: Partitioning) -> SegmentPartition | None:
    """The segments that a list of params forms: the values of the first name that differs in every element.

    What is appended is told by no column; an iteration takes the place of the one before it of the same params, so that
    its rows are. None where segments are written, where a write by block would have to know the column, and where no
    name tells the params apart.

    Args:
        keys: The keys of the asset.
        beside: The other dimensions of the asset.
    """
    given = keys.params
    if not isinstance(given, list) or keys.strategy != "every_instance" or beside.segments or not needs_no_column(keys):
        return None
    if keys.write in _ADDING and beside.time is None:
        return None
    name = find_telling_param(given, beside)
    if name is None:
        return None
    values = (plain_text(one[name]) for one in given)
    return SegmentPartition(name, tuple(sorted(values)), in_rows=keys.write not in _ADDING)


def find_telling_param(given: list[dict[str, Any]], beside: Partitioning) -> str | None:
    """The first name that all params have, each with another value that has a text; None where there is none."""
    taken = {name.lower() for name in (*beside.names, *_TAKEN)}
    names = [name for name in (given[0] if given else ()) if name.lower() not in taken]
    return next((name for name in names if _tells(name, given)), None)


def _tells(name: str, given: list[dict[str, Any]]) -> bool:
    if not all(_is_text(one.get(name)) for one in given):
        return False
    return len({plain_text(one[name]) for one in given}) == len(given)


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float) and value != ""
