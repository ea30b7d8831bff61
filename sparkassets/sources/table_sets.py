"""Observes new, changed and removed Delta tables of one source with a path or name pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import chain
from typing import Any, Final, Protocol

from sparkassets.core.partitions import NOTHING, UNPARTITIONED, Partitioning, PartitionSet, Segment
from sparkassets.core.patterns import FileSlot, PathPattern
from sparkassets.core.phrases import few
from sparkassets.core.spec.model import AssetSpec, SourceSpec
from sparkassets.core.spec.source_views import TableSet
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import NoTableError
from sparkassets.files import SkippedFiles
from sparkassets.files.listing import list_folders
from sparkassets.frozen import frozen
from sparkassets.ports import LastLook, Observation, SourceObserver
from sparkassets.sources.files import LostSlots
from sparkassets.sources.problems import NAMED, count_ignored, describe_exclusions, explain_missing_root

_SINGLE_TABLE_SOURCE: Final = SourceSpec("delta")
"""The source that each single table of a set is looked at as."""


@frozen
class _SlotTables:
    """The tables of one slot, by their names from the pattern's root; ``time`` is in Unix seconds, half-open."""

    segment: Segment
    time: tuple[int, int]
    tables: list[str] = field(default_factory=list)


@frozen
class _IgnoredFolders:
    """Names that are left out: without a Delta table, of no partition, or of a segment that is not listed."""

    without_table: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)

    @property
    def kinds(self) -> tuple[list[str], ...]:
        """All of them, by reason."""
        return self.without_table, self.unnamed, self.unlisted


@frozen
class _TableLook:
    """One table as it is now.

    Attributes:
        position: Its id and version, and what the next look needs; empty for a table that was never looked at.
        changed: Whether its rows changed since the last position.
        unseen: Why only a session can look at it; empty after a look.
    """

    position: Mapping[str, Any]
    changed: bool = False
    unseen: str = ""


@frozen
class _SlotLook:
    """The tables of one slot as they are now.

    Attributes:
        known: The positions in the cursor, by table.
        tables: The tables that are there.
    """

    slot: _SlotTables
    known: Mapping[str, Any]
    tables: Mapping[str, _TableLook]

    @property
    def positions(self) -> dict[str, Any]:
        """The positions to record, by table; without tables that nobody could look at yet."""
        return {name: each.position for name, each in self.tables.items() if each.position}

    @property
    def unseen_reasons(self) -> list[str]:
        """Why only a session can look at some of the tables."""
        return [table.unseen for table in self.tables.values() if table.unseen]

    @property
    def is_changed(self) -> bool:
        """Whether a table of the slot is new, changed or gone."""
        return self.positions.keys() != self.known.keys() or any(each.changed for each in self.tables.values())


class TableListing(Protocol):
    """Lists candidate tables of a set: folders, or names in a catalog."""

    @property
    def nouns(self) -> tuple[str, str]:
        """What is listed, and what an entry that is no Delta table is called."""

    def list_tables(
        self, asset: AssetSpec, tables: TableSet, skipped: SkippedFiles, *, seen: bool
    ) -> list[str] | Observation:
        """The names that may be tables, as `TableSet.place` takes them; an observation if none can be listed.

        Args:
            asset: The source.
            tables: Their place.
            skipped: Collects unreadable entries.
            seen: Whether an earlier look found any.

        Raises:
            SourceError: Their root is missing, or cannot be listed.
        """


class ListedFolders:
    """The folders of tables at paths; implements `TableListing`."""

    nouns = ("folder", "without a Delta table")

    def list_tables(
        self, asset: AssetSpec, tables: TableSet, skipped: SkippedFiles, *, seen: bool
    ) -> list[str] | Observation:
        """As `TableListing` has it."""
        folders = list_folders(tables.pattern, skipped=skipped)
        if folders is not None:
            return folders
        return Observation(asset.name, NOTHING, notes=(explain_missing_root(asset.name, tables.pattern, seen=seen),))


class TableSetObserver:
    """Observes each table of a set like a Delta source; implements `ports.SourceObserver`.

    The cursor holds, by the key of each slot (`FileSlot`), the positions of its tables; an empty value once the slot's
    segment has left the list, so that the slot is reported again when the segment returns.

    Args:
        listing: Lists the tables.
        observer: Looks at each of them.
    """

    def __init__(self, listing: TableListing, observer: SourceObserver) -> None:
        self._listing = listing
        self._observer = observer

    def observe(self, asset: AssetSpec, last: LastLook, *, now: datetime) -> Observation | None:
        """Partitions whose tables are new, changed, re-created or gone; None without any.

        ``extra`` counts the changed ``tables``, and names the first that are left out (``ignored``, ``ignored_count``).
        `session_needed_reason` is set if only a session can look at some tables.

        Raises:
            SourceError: The root is missing or cannot be listed, or a table cannot be read.
        """
        cursor = last.cursor  # which knows every table
        tables, partitioning, skipped = TableSet.of_source(asset), asset.partitioning, SkippedFiles()
        names = self._listing.list_tables(asset, tables, skipped, seen=bool(cursor))
        if isinstance(names, Observation):
            return names
        slots, left_out = _group(tables.pattern, partitioning, names)
        looks: dict[str, _SlotLook] = {}
        for key, slot in slots.items():
            look = self._look_at_slot(asset, tables, slot, cursor.get(key), now)
            left_out.without_table.extend(set(slot.tables) - look.tables.keys())
            if look.tables:
                looks[key] = look
        slots_now = {key: (look.slot.segment, look.slot.time) for key, look in looks.items()}
        lost = LostSlots.find(cursor, slots_now, tables.pattern, partitioning)
        ignored = count_ignored([*chain(*left_out.kinds, skipped.outside, skipped.undecodable)])
        notes = _notes(asset, left_out, skipped, self._listing.nouns)
        return _report_looks(asset.name, looks, lost, ignored=ignored, notes=notes)

    def _look_at_slot(
        self,
        asset: AssetSpec,
        tables: TableSet,
        slot: _SlotTables,
        known_positions: Mapping[str, Any] | None,
        now: datetime,
    ) -> _SlotLook:
        known_positions = known_positions or {}
        looks = {name: self._look(asset, tables.place(name), known_positions.get(name), now) for name in slot.tables}
        return _SlotLook(slot, known_positions, {name: look for name, look in looks.items() if look is not None})

    def _look(
        self, asset: AssetSpec, place: StorageLocation, known_position: Mapping[str, Any] | None, now: datetime
    ) -> _TableLook | None:
        """One table as it is now; None if there is none. ``known_position`` is its position in the cursor."""
        known_position = known_position or {}
        table = replace(asset, storage=place, partitioning=UNPARTITIONED, source=_SINGLE_TABLE_SOURCE, views={})
        try:
            last = LastLook(known_position.get("table_id"), known_position.get("version"), known_position)
            observation = self._observer.observe(table, last, now=now)
        except NoTableError:
            return None
        if observation is None or observation.session_needed_reason:
            return _TableLook(
                known_position,
                unseen="" if observation is None else f"{place.display_text}: {observation.session_needed_reason}",
            )
        if observation.version is None:
            return None if not known_position else _TableLook(known_position)
        position = {
            **known_position,
            **observation.cursor,
            "table_id": observation.table_id,
            "version": observation.version,
        }
        return _TableLook({key: value for key, value in position.items() if value is not None}, observation.whole)


def _group(
    pattern: PathPattern, partitioning: Partitioning, names: Sequence[str]
) -> tuple[dict[str, _SlotTables], _IgnoredFolders]:
    """The names by the key of their slot, and those that are left out."""
    slots: dict[str, _SlotTables] = {}
    left_out, is_listed = _IgnoredFolders(), partitioning.listed_segment_test()
    for name in names:
        segment, time = pattern.segments_of_path(name), pattern.time_of_text(pattern.match(name) or "", partitioning)
        if segment is None or not is_listed(segment):
            left_out.unlisted.append(name)
        elif time is None:
            left_out.unnamed.append(name)
        else:
            key = FileSlot(segment, None if partitioning.time is None else time[0]).key
            slots.setdefault(key, _SlotTables(segment, time)).tables.append(name)
    return slots, left_out


def _report_looks(
    asset: str,
    looks: Mapping[str, _SlotLook],
    lost: LostSlots,
    *,
    ignored: Mapping[str, Any],
    notes: tuple[str, ...],
) -> Observation | None:
    """The news of all slots, by their keys; None without any and without notes."""
    news = {key: look.positions for key, look in looks.items() if look.positions != look.known}
    changed = [look.slot for look in looks.values() if look.is_changed]
    unseen_reasons = [reason for look in looks.values() for reason in look.unseen_reasons]
    notes += _notes_unseen(unseen_reasons)
    return Observation(
        asset=asset,
        changed=PartitionSet.from_slots((slot.segment, slot.time) for slot in changed),
        removed=lost.removed,
        cursor={**news, **lost.cursor},
        extra={"tables": sum(len(slot.tables) for slot in changed), **ignored},
        notes=notes,
        session_needed_reason=next(iter(unseen_reasons), ""),
    ).unless_empty()


def _notes_unseen(unseen_reasons: Sequence[str]) -> tuple[str, ...]:
    """A note on tables that only a session can look at."""
    if not unseen_reasons:
        return ()
    reasons = few(unseen_reasons, most=NAMED)
    return (f"not observed without a Spark session (`plan --spark` starts one): {reasons}",)


def _notes(
    asset: AssetSpec, left_out: _IgnoredFolders, skipped: SkippedFiles, nouns: tuple[str, str]
) -> tuple[str, ...]:
    """A note for each kind of names that are left out, with the reason."""
    noun, not_a_table = nouns
    by = asset.partitioning.time.noun if asset.partitioning.time is not None else "partition"
    columns = " or ".join(f"'{column}'" for column in asset.partitioning.segment_columns)
    return describe_exclusions(
        [
            (left_out.without_table, noun, f"{not_a_table} left out"),
            (left_out.unnamed, noun, f"whose name has no {by} left out"),
            (left_out.unlisted, noun, f"of no segment of {columns} left out"),
            (skipped.undecodable, noun, "whose name is not UTF-8 left out"),
            (skipped.outside, "link", "out of the source's folder left out"),
        ]
    )
