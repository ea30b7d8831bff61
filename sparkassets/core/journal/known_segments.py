"""Adds segments that were learned at runtime (``segments: runtime``) to a project, and parses those that people name.

Such segments are state, not spec: a project's files declare that there are some, and the journal has their values.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from functools import lru_cache

from sparkassets.core.journal.entries import SegmentEntry
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.partitions import Partitioning
from sparkassets.core.partitions.segment_functions import IdentityKey
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.core.phrases import escape_unwritable, listing, show_value
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import InputError
from sparkassets.frozen import replace


def contains_key(keys: tuple[str, ...], key: str) -> bool:
    """Whether ``key`` is among ``keys``, ascending; takes time by their logarithm.

    >>> contains_key(("a", "c"), "c"), contains_key(("a", "c"), "b")
    (True, False)
    """
    index = bisect_left(keys, key)
    return index < len(keys) and keys[index] == key


def with_known_segments(project: ProjectSpec, state: State) -> ProjectSpec:
    """The project with the known segments in its open dimensions; itself where it has no open dimension.

    Returns the same object as before while no segment is learned, so that values cached for it stay valid.
    """
    # remembered by identity: comparing whole projects would cost more than it saves
    names = _assets_with_open_segments(IdentityKey(project))
    if not names:
        return project
    known = tuple(
        (name, IdentityKey(_effective_partitioning(project.assets[name], state.assets.get(name)))) for name in names
    )
    return _with_partitionings(IdentityKey(project), known)


@lru_cache(maxsize=8)
def _assets_with_open_segments(project: IdentityKey[ProjectSpec]) -> tuple[str, ...]:
    """The names of the assets with an open dimension."""
    return tuple(name for name, asset in project.value.assets.items() if asset.partitioning.is_open)


def _effective_partitioning(asset: AssetSpec, state: AssetState | None) -> Partitioning:
    """The asset's partitioning with the segments that the state knows.

    The declared one for an asset that the state does not have, or has with another partitioning.
    """
    declared = asset.partitioning.as_declared
    if state is not None and state.spec.partitioning.as_declared == declared:
        return state.spec.partitioning
    return asset.partitioning


@lru_cache(maxsize=8)
def _with_partitionings(
    project: IdentityKey[ProjectSpec], partitionings: tuple[tuple[str, IdentityKey[Partitioning]], ...]
) -> ProjectSpec:
    """The project with these partitionings by asset name; an asset with an unchanged one stays the same object."""
    changed = {
        name: _with_partitioning(IdentityKey(project.value.assets[name]), partitioning)
        for name, partitioning in partitionings
    }
    return replace(project.value, assets={**project.value.assets, **changed})


@lru_cache(maxsize=4096)
def _with_partitioning(asset: IdentityKey[AssetSpec], partitioning: IdentityKey[Partitioning]) -> AssetSpec:
    """The asset with this partitioning; the same object where it has it already."""
    if partitioning.value is asset.value.partitioning:
        return asset.value
    return replace(asset.value, partitioning=partitioning.value)


def add_keys(keys: tuple[str, ...], added: Collection[str]) -> tuple[str, ...]:
    """``keys`` with ``added``, ascending; the same object where it has all of them.

    >>> add_keys(("a", "c"), ["b", "c"])
    ('a', 'b', 'c')
    """
    new_keys = [key for key in added if not contains_key(keys, key)]
    if not new_keys:
        return keys
    if len(new_keys) > 1:
        return tuple(sorted({*keys, *new_keys}))
    index = bisect_left(keys, new_keys[0])
    return keys[:index] + tuple(new_keys) + keys[index:]  # `keys` is not unpacked, as it may be very long


def remove_keys(keys: tuple[str, ...], removed: Collection[str]) -> tuple[str, ...]:
    """``keys`` without ``removed``; the same object where it has none of them.

    >>> remove_keys(("a", "b", "c"), ["b", "x"])
    ('a', 'c')
    """
    if not any(contains_key(keys, key) for key in removed):
        return keys
    removed_keys = frozenset(removed)
    return tuple(key for key in keys if key not in removed_keys)


def parse_added_segment(asset: AssetSpec, key: object, column: str | None) -> tuple[str, str]:
    """Parses a value of an open dimension into (column, segment).

    Args:
        asset: The asset.
        key: Text, a whole number, a decimal, a date or a boolean.
        column: The dimension's column; None where there is only one open dimension.

    Raises:
        InputError: There is no such dimension, or several; or ``key`` is no segment.
    """
    found_column = find_open_column(asset, column)
    if isinstance(key, bool):
        key = str(key).lower()
    if key is None or isinstance(key, float | bytes | list | dict | tuple):
        raise InputError(
            f"{show_value(key)} cannot be a segment; expected text, a whole number, a decimal, a date or a boolean"
        )
    text = str(key)
    # `WHOLE` stands for all segments of a dimension, so no segment may contain it
    if WHOLE in text or text != escape_unwritable(text):
        raise InputError(f"{text!r} contains a character that segments do not allow")
    return found_column, text


def find_open_column(asset: AssetSpec, column: str | None) -> str:
    """The column of the open dimension that ``column`` names; None names the only one.

    Raises:
        InputError: There is no such dimension, or there are several and none is named.
    """
    open_columns = asset.partitioning.open_columns
    if not open_columns:
        hint = "write partition: {segments: runtime, column: …}" if asset.partitioning.segments else None
        raise InputError(f"asset {asset.name!r} has no partition by segments: runtime", hint=hint)
    if column is None and len(open_columns) > 1:
        raise InputError(
            f"asset {asset.name!r} has several: {listing(open_columns, last='and')}", hint="name the dimension"
        )
    if column is None:
        return open_columns[0]
    matching = next((each for each in open_columns if each.lower() == column.lower()), None)
    if matching is None:
        from sparkassets.core.suggestions import did_you_mean  # for messages; so the next

        hint = did_you_mean(column, open_columns)
        raise InputError(
            f"asset {asset.name!r} has no partition by segments: runtime of the column {column!r}", hint=hint
        )
    return matching


def build_segment_entry(
    asset: AssetSpec, state: AssetState | None, keys: Sequence[str], *, column: str, adds: bool
) -> SegmentEntry | None:
    """Builds the entry that adds or removes segments; None where nothing changes.

    Args:
        asset: The asset.
        state: Its state; None for an asset that the journal does not have.
        keys: Segments.
        column: The dimension's column.
        adds: Whether they are added, else removed.

    Raises:
        InputError: A segment that is to be removed is not known.
    """
    current = next(each.keys for each in _effective_partitioning(asset, state).segments if each.column == column)
    if adds:
        new_keys = _missing_keys(keys, current)
        return SegmentEntry(asset.name, column, added=new_keys) if new_keys else None
    learned = state.keys.get(column.lower()) if state is not None else None
    # segments that a person removed before stay removed, and need no entry
    to_remove = _missing_keys(keys, learned.removed if learned is not None else ())
    if unknown := _missing_keys(to_remove, current):
        from sparkassets.core.suggestions import did_you_mean

        message = f"{unknown[0]!r} is not a known segment of {column} of asset {asset.name!r}"
        raise InputError(message, hint=did_you_mean(unknown[0], current))
    return SegmentEntry(asset.name, column, removed=to_remove) if to_remove else None


def _missing_keys(keys: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """The ``keys`` that are not ``known``, ascending."""
    return tuple(sorted({key for key in keys if not contains_key(known, key)}))
