"""What is new, changed or gone among the Delta tables that the path of one source stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from sparkassets.core.partitions import NOTHING, UNPARTITIONED, Partitioning, PartitionSet, Segment
from sparkassets.core.patterns import FileSlot, PathPattern
from sparkassets.core.phrases import few, writable
from sparkassets.core.spec.model import AssetSpec, StorageLocation
from sparkassets.delta.errors import unreadable
from sparkassets.delta.tables import is_table
from sparkassets.errors import SourceError
from sparkassets.files import Skipped
from sparkassets.files.tables import list_folders
from sparkassets.frozen import frozen
from sparkassets.ports import Observation
from sparkassets.sources.delta import DeltaObserver
from sparkassets.sources.files import unlisted
from sparkassets.sources.missing import missing_root

_NAMED = 5
"""How many tables are listed by name."""


@frozen
class _Slot:
    """The tables of one slot, by their folders; ``time`` is as of `PathPattern.time`."""

    segment: Segment
    time: tuple[int, int]
    folders: list[str] = field(default_factory=list)


@frozen
class _LeftOut:
    """The folders that are left out: without a table, without a partition, or of a segment that is not listed."""

    bare: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


class TableSetObserver:
    """Looks at each table that the path stands for as at a Delta source of its own.

    The cursor's keys are those of the slots (`FileSlot`). Its values are the positions of the slot's tables by their
    folders, or empty once a slot's segment has left the list: what was there is told anew when it is listed again.
    """

    def observe(
        self,
        asset: AssetSpec,
        *,
        table_id: str | None,
        version: int | None,
        cursor: Mapping[str, Any],
        coverage: PartitionSet,
        viewed: Mapping[str, PartitionSet],
        now: datetime,
    ) -> Observation | None:
        """The partitions whose tables are new, changed, made anew or gone; None when none is.

        ``extra`` counts the ``tables`` in what changed, and names the first that are left out (``ignored``,
        ``ignored_count``).

        Raises:
            SourceError: The folder of the tables is not there or cannot be listed, or a table cannot be read.
        """
        del table_id, version, coverage, viewed  # the cursor knows every table
        if asset.storage is None:
            raise SourceError(f"the source '{asset.name}' has no path")
        partitioning = asset.partitioning
        pattern = PathPattern.parse(asset.storage.path, partitioning.segment_columns)
        skipped = Skipped()
        folders = list_folders(pattern, skipped=skipped)
        if folders is None:
            note = missing_root(asset.name, pattern, seen=bool(cursor))
            return Observation(asset=asset.name, changed=NOTHING, notes=(note,))
        slots, left_out = _group(pattern, partitioning, folders)
        news: dict[str, Any] = {}
        changed: list[_Slot] = []
        for key, slot in slots.items():
            known = cursor.get(key) or {}
            seen = {folder: _look(asset, pattern, folder, known.get(folder), now) for folder in slot.folders}
            positions = {folder: position for folder, (position, _) in seen.items()}
            if positions != known:
                news[key] = positions
            if positions.keys() != known.keys() or any(has_news for _, has_news in seen.values()):
                changed.append(slot)
        others = unlisted(partitioning, [key for key in cursor if key not in slots])
        forgotten = {key: "" for key in others if cursor[key]}
        gone = [key for key in cursor if key not in slots and key not in others]
        notes = _notes(asset, left_out, skipped)
        if not (news or gone or forgotten or notes):
            return None
        present = PartitionSet.of_slots((slot.segment, slot.time) for slot in slots.values())
        slots_gone = (FileSlot.of_key(key, partitioning) for key in gone)
        were = PartitionSet.union(slot.parts(pattern, partitioning) for slot in slots_gone if slot is not None)
        return Observation(
            asset=asset.name,
            changed=PartitionSet.of_slots((slot.segment, slot.time) for slot in changed),
            removed=partitioning.admits(were) - present,
            cursor={**news, **forgotten, **dict.fromkeys(gone)},
            extra={"tables": sum(len(slot.folders) for slot in changed), **_ignored(left_out, skipped)},
            notes=notes,
        )


def _group(
    pattern: PathPattern, partitioning: Partitioning, folders: Sequence[str]
) -> tuple[dict[str, _Slot], _LeftOut]:
    """The tables by the key of their slot, and the folders that are left out."""
    slots: dict[str, _Slot] = {}
    left_out, lists = _LeftOut(), partitioning.lists()
    for folder in folders:
        segment, time = pattern.segment(folder), pattern.time(pattern.match(folder) or "", partitioning)
        if segment is None or not lists(segment):
            left_out.others.append(folder)
        elif time is None:
            left_out.unnamed.append(folder)
        elif not _is_table(f"{pattern.root}/{folder}"):
            left_out.bare.append(folder)
        else:
            key = FileSlot(segment, None if partitioning.time is None else time[0]).key
            slots.setdefault(key, _Slot(segment, time)).folders.append(folder)
    return slots, left_out


def _is_table(path: str) -> bool:
    from deltalake.exceptions import DeltaError

    try:
        return is_table(path)
    except DeltaError as error:
        raise unreadable(path, error) from error


def _look(
    asset: AssetSpec, pattern: PathPattern, folder: str, known: Mapping[str, Any] | None, now: datetime
) -> tuple[Mapping[str, Any], bool]:
    """The position of one table now, and whether it holds other rows than at the position before."""
    path, known = f"{pattern.root}/{folder}", known or {}
    table = replace(asset, storage=StorageLocation(path, path), partitioning=UNPARTITIONED, views={})
    seen = DeltaObserver().observe(
        table,
        table_id=known.get("table_id"),
        version=known.get("version"),
        cursor=known,
        coverage=NOTHING,
        viewed={},
        now=now,
    )
    if seen is None:
        return known, False
    if seen.version is None:
        raise SourceError(f"the table '{path}' of the source '{asset.name}' went away while it was looked at")
    position = {**known, **seen.cursor, "table_id": seen.table_id, "version": seen.version}
    return {key: value for key, value in position.items() if value is not None}, seen.whole


def _ignored(left_out: _LeftOut, skipped: Skipped) -> dict[str, Any]:
    kinds = (left_out.bare, left_out.unnamed, left_out.others, skipped.outside, skipped.undecodable)
    paths = sorted(folder for kind in kinds for folder in kind)
    return {"ignored": [writable(path) for path in paths[:_NAMED]], "ignored_count": len(paths)} if paths else {}


def _notes(asset: AssetSpec, left_out: _LeftOut, skipped: Skipped) -> tuple[str, ...]:
    """What is left out, and why."""
    by = asset.partitioning.time.noun if asset.partitioning.time is not None else "partition"
    columns = " or ".join(f"'{column}'" for column in asset.partitioning.segment_columns)
    told = (
        (left_out.bare, "folder", "without a Delta table"),
        (left_out.unnamed, "folder", f"whose name tells no {by}"),
        (left_out.others, "folder", f"of no segment of {columns}"),
        (skipped.undecodable, "folder", "whose name is not UTF-8"),
        (skipped.outside, "link", "out of the source's folder"),
    )
    return tuple(
        f"{len(paths):,} {noun}{'' if len(paths) == 1 else 's'} {why} left out:"
        f" {few([writable(path) for path in sorted(paths)], most=_NAMED)}"
        for paths, noun, why in told
        if paths
    )
