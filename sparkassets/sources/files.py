"""Observes new, changed and removed files of a source, by partition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from itertools import chain, islice
from typing import Any

from sparkassets.core.partitions import NOTHING, YEARS, Partitioning, PartitionSet, Segment
from sparkassets.core.patterns import LISTING, FileSlot, PathPattern, digest_look, fingerprint, is_of_slot
from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.planner.wording import plural
from sparkassets.core.source_formats import FileFormat
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.source_views import source_pattern
from sparkassets.errors import SourceError
from sparkassets.files import File, SkippedFiles, iterate_files
from sparkassets.files.object_stores import local_path
from sparkassets.frozen import frozen, replace
from sparkassets.ports import LastLook, Observation, TextFileReader
from sparkassets.sources.file_views import FileViewChanges, observe_views
from sparkassets.sources.problems import count_ignored, describe_exclusions, explain_missing_root

_MOST_FILES_IN_MEMORY = 100_000
"""So many files of a disk are held in memory before it is known whether anything is new; where there are more, and
something is, they are listed again."""
_DIGEST_VERSION = 1
"""To be raised when the same files come to mean something else."""
_MOST_SECONDS_AHEAD = 24 * 3600
"""Seconds by which a writer's clock may be ahead, for ``settle``."""


@frozen
class _SlotFiles:
    """The files of one slot; ``time`` is in Unix seconds, half-open, and empty for a source without partitions."""

    segment: Segment
    time: tuple[int, int]
    files: list[File] = field(default_factory=list)


@frozen
class _IgnoredFiles:
    """Paths of files that are left out.

    Attributes:
        unnamed: Their paths name no partition.
        out_of_range: Their time is outside the years of partitions.
        unlisted: Their segment is unknown.
        excluded: Their time is excluded.
        undecodable: Their names are not UTF-8.
        outside: They are links that lead out of the folder.
    """

    unnamed: list[str] = field(default_factory=list)
    out_of_range: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    undecodable: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    @property
    def kinds(self) -> tuple[list[str], ...]:
        """All of them, by reason."""
        return self.unnamed, self.out_of_range, self.unlisted, self.excluded, self.undecodable, self.outside

    def find_untimed(self, pattern: PathPattern, text: str, partitioning: Partitioning) -> list[str]:
        """The kind of files whose name has this text where a time should be, and is in no slot."""
        if pattern.time_of_text(text, partitioning.with_excluded_slots) is not None:
            return self.excluded
        return self.out_of_range if pattern.is_outside_calendar(text) else self.unnamed


@frozen
class LostSlots:
    """The slots of a cursor that a look no longer finds.

    Attributes:
        cursor: The change of the cursor: None deletes a slot that is gone, an empty value stays for one whose segment
            left the list, so that it is reported again when that returns.
        gone: The keys of slots that are gone.
        removed: The partitions that are gone with them.
    """

    cursor: Mapping[str, str | None]
    gone: Sequence[str]
    removed: PartitionSet

    @classmethod
    def find(
        cls,
        cursor: Mapping[str, Any],
        present: Mapping[str, tuple[Segment, tuple[int, int]]],
        pattern: PathPattern,
        partitioning: Partitioning,
    ) -> LostSlots:
        """Compares a cursor with the slots that are there now, both by key."""
        lost = [key for key in cursor if key not in present]
        unlisted = find_unlisted(partitioning, lost)
        gone = [key for key in lost if key not in unlisted]
        slots = [FileSlot.of_key(key, partitioning) for key in gone] if partitioning.is_partitioned else []
        held = PartitionSet.union(slot.parts(pattern, partitioning) for slot in slots if slot is not None)
        emptied = dict.fromkeys(filter(cursor.get, unlisted), "")
        removed = partitioning.admissible_partitions(held) - PartitionSet.from_slots(present.values())
        return cls({**emptied, **dict.fromkeys(gone)}, gone, removed)


class FileObserver:
    """Compares a fingerprint of each slot's files with the last one.

    The cursor's keys are those of the slots (`FileSlot`), or ``""`` for a source without partitions; its values are
    fingerprints, empty once a slot's segment has left the list: it is reported again when it returns. It also has
    entries for single files that views need (`KnownFile`), and a digest of the whole look (`LISTING`), so that a look
    which finds the same files and the same cursor ends with the listing. A slot with a file younger than
    ``settle_seconds`` keeps its last fingerprint. An empty CSV or JSON file does not count.

    Args:
        texts: Reads CSV and JSON files for partitions by values.
    """

    def __init__(self, texts: TextFileReader) -> None:
        self._texts = texts

    def observe(self, asset: AssetSpec, last: LastLook, *, now: datetime) -> Observation | None:
        """Slots whose files differ from the cursor's; None when none does and there is nothing to note.

        ``extra`` counts the ``files`` in changed slots, the slots that are not quiet yet (``unsettled``),
        and names the first files whose path names no partition (``ignored``, ``ignored_count``): these are skipped.

        Raises:
            SourceError: The folder is missing or cannot be listed; or a file can never be read.
        """
        pattern = source_pattern(asset)
        slot_cursor = {key: last.cursor[key] for key in filter(is_of_slot, last.cursor)}
        try:
            listing = _list_unless_known(asset, pattern, slot_cursor, last.cursor)
        except FileNotFoundError:
            return _without_folder(asset, pattern, seen=bool(last.cursor))
        if listing is None:
            return None
        files, skipped = listing
        slots, ignored = _group(pattern, asset.partitioning, files)
        ignored.undecodable.extend(filter(pattern.resembles, skipped.undecodable))
        ignored.outside.extend(skipped.outside)
        unsettled = _find_unsettled(asset, slots, now)
        empty = _without_empty(asset, slots, unsettled)
        notes = _notes(asset, empty=empty, ignored=ignored, unsettled=len(unsettled))
        view_changes = self._observe_views(asset, slots, unsettled, last)
        new_fingerprints = _find_news(slots, slot_cursor, unsettled)
        slots_now = {key: (slot.segment, slot.time) for key, slot in slots.items()}
        lost = LostSlots.find(slot_cursor, slots_now, pattern, asset.partitioning)
        cursor_changes: dict[str, Any] = {**new_fingerprints, **lost.cursor}
        notes = (*notes, *view_changes.notes)
        if cursor_changes and not (notes or asset.views):
            cursor_changes[LISTING] = _digest(asset, _without_lost({**slot_cursor, **cursor_changes}), files)
        changed = [slots[key] for key in new_fingerprints]
        return Observation(
            asset=asset.name,
            changed=PartitionSet.from_slots(map(slots_now.__getitem__, new_fingerprints)),
            removed=lost.removed,
            whole=bool(changed or lost.gone) and not asset.partitioning.is_partitioned,
            cursor={**cursor_changes, **view_changes.cursor},
            extra=_extra(changed, ignored, files_read=view_changes.read, unsettled=len(unsettled)),
            notes=notes,
            views=view_changes.views,
            session_needed_reason=_unread_files(view_changes.unread),
        ).unless_empty()

    def _observe_views(
        self, asset: AssetSpec, slots: Mapping[str, _SlotFiles], unsettled: Collection[str], last: LastLook
    ) -> FileViewChanges:
        """The news of the source's views, with a note if Spark is needed to read new files."""
        files_by_slot = {key: (slot.segment, slot.files) for key, slot in slots.items()}
        changes = observe_views(asset, files_by_slot, unsettled=unsettled, last=last, texts=self._texts)
        if not changes.unread or asset.source is None:
            return changes
        note = f"{_unread_files(changes.unread)}: only Spark reads {asset.source.kind} (`plan --spark` starts it)"
        return replace(changes, notes=(*changes.notes, note))


def _unread_files(count: int) -> str:
    """How many new files nobody has read, as a clause; empty for none."""
    return f"{plural(count, 'new file')} not read yet" if count else ""


def _without_lost(cursor: Mapping[str, Any]) -> dict[str, Any]:
    """The cursor's entries without those whose value None says that the slot is gone."""
    return {key: value for key, value in cursor.items() if value is not None}


def _extra(changed: Collection[_SlotFiles], ignored: _IgnoredFiles, **counts: int) -> dict[str, Any]:
    """The ``extra`` of an observation: files in changed slots, counts above zero, and what is ignored."""
    files = sum(len(slot.files) for slot in changed)
    return {
        "files": files,
        **{key: count for key, count in counts.items() if count},
        **count_ignored([*chain(*ignored.kinds)]),
    }


def _find_news(
    slots: Mapping[str, _SlotFiles], cursor: Mapping[str, Any], unsettled: Collection[str]
) -> dict[str, str]:
    """The fingerprints of settled slots that differ from the cursor's."""
    fingerprints = {key: fingerprint(slot.files) for key, slot in slots.items() if key not in unsettled}
    return {key: value for key, value in fingerprints.items() if cursor.get(key) != value}


def _digest(asset: AssetSpec, slots: Mapping[str, Any], files: Iterable[File]) -> str:
    """A digest of the source, the slots in the cursor, and all files; equal only if a look would find no news."""
    return digest_look(repr((_DIGEST_VERSION, asset.storage, asset.source, asset.partitioning)), slots, files)


def _list_unless_known(
    asset: AssetSpec, pattern: PathPattern, slots: Mapping[str, Any], cursor: Mapping[str, Any]
) -> tuple[list[File], SkippedFiles] | None:
    """The files, and entries that were skipped; None if the digest in the cursor proves that nothing changed.

    On a disk only the first `_MOST_FILES_IN_MEMORY` files are kept meanwhile, and all are listed again if they differ.

    Args:
        asset: The source.
        pattern: Its path.
        slots: The slots in the cursor.
        cursor: The whole cursor.

    Raises:
        FileNotFoundError: The pattern's root does not exist.
    """
    skipped = SkippedFiles()
    listed_files = iterate_files(pattern, skipped=skipped)
    if LISTING not in cursor or asset.views or len(cursor) > len(slots) + 1:
        return list(listed_files), skipped
    limit = None if local_path(pattern.root) is None else _MOST_FILES_IN_MEMORY
    files, one_more = list(islice(listed_files, limit)), list(islice(listed_files, 1))
    digest = _digest(asset, slots, chain(files, one_more, listed_files))
    if digest == cursor[LISTING] and not (skipped.outside or skipped.undecodable):
        return None
    if not one_more:
        return files, skipped
    skipped = SkippedFiles()
    return list(iterate_files(pattern, skipped=skipped)), skipped


def _without_folder(asset: AssetSpec, pattern: PathPattern, *, seen: bool) -> Observation:
    """The observation of a source whose folder does not exist; ``seen`` says whether it did at an earlier look."""
    return Observation(asset=asset.name, changed=NOTHING, notes=(explain_missing_root(asset.name, pattern, seen=seen),))


def slots_of(
    pattern: PathPattern, partitioning: Partitioning, files: Sequence[File]
) -> dict[str, tuple[PartitionSet, list[File]]]:
    """The partitions and the files of each slot, by the slot's key in the cursor."""
    slots, _ = _group(pattern, partitioning, files)
    return {key: (PartitionSet.from_slots([(slot.segment, slot.time)]), slot.files) for key, slot in slots.items()}


def find_unlisted(partitioning: Partitioning, keys: Iterable[str]) -> set[str]:
    """Those of the keys whose slots have segments that are not in the list now."""
    slots = {key: FileSlot.of_key(key, partitioning) for key in keys} if partitioning.segments else {}
    is_listed = partitioning.listed_segment_test()
    return {key for key, slot in slots.items() if slot is not None and not is_listed(slot.segment)}


def _notes(asset: AssetSpec, *, empty: Sequence[str], ignored: _IgnoredFiles, unsettled: int) -> tuple[str, ...]:
    """A note for each kind of files that are left out, with the reason, and one on slots that still change."""
    by = asset.partitioning.time.noun if asset.partitioning.time is not None else "partition"
    columns = " or ".join(f"'{column}'" for column in asset.partitioning.segment_columns)
    whose_names = "whose name is" if len(ignored.undecodable) == 1 else "whose names are"
    notes = describe_exclusions(
        [
            (empty, "empty file", "without rows left out"),
            (ignored.unnamed, "file", f"whose name has no {by} left out"),
            (ignored.out_of_range, "file", f"of no {by} of the years {YEARS[0]} to {YEARS[-1]} left out"),
            (ignored.excluded, "file", f"of an excluded {by} left out"),
            (ignored.unlisted, "file", f"of no segment of {columns} left out"),
            (ignored.undecodable, "file", f"{whose_names} not UTF-8 left out, which Spark cannot read"),
            (ignored.outside, "link", "out of the source's folder left out"),
        ]
    )
    return (*notes, f"{plural(unsettled, by)} not settled yet") if unsettled else notes


def _find_unsettled(asset: AssetSpec, slots: Mapping[str, _SlotFiles], now: datetime) -> set[str]:
    """The keys of slots with a file younger than `settle_seconds`; they are looked at again later.

    Raises:
        SourceError: A file's time is far in the future, so it would never settle.
    """
    settle_seconds = asset.source.settle_seconds if asset.source is not None else 0
    if not settle_seconds:
        return set()
    second = 10**9
    latest_settled = (int(now.timestamp()) - settle_seconds) * second
    latest_possible = (int(now.timestamp()) + _MOST_SECONDS_AHEAD) * second
    for slot in slots.values():
        for path, _, changed in slot.files:
            if changed > latest_possible:
                raise SourceError(
                    f"the file '{escape_unwritable(path)}' of the source '{asset.name}' never settles: its "
                    "modification time is in the future",
                    hint="touch the file, and correct the clock of its writer",
                )
    return {key for key, slot in slots.items() if any(changed > latest_settled for _, _, changed in slot.files)}


def _without_empty(asset: AssetSpec, slots: dict[str, _SlotFiles], unsettled: Collection[str]) -> list[str]:
    """Removes empty files, and slots without any other, from ``slots``; returns the files' sorted paths.

    Raises:
        SourceError: A file that is no longer being written can never be read.
    """
    form = asset.file_format
    empty: list[str] = []
    for key, slot in list(slots.items()):
        if key in unsettled:
            continue
        _check_readable(asset.name, form, slot.files)
        rowless = [path for path, size, _ in slot.files if form.is_rowless(size)]
        if rowless:
            empty += rowless
            slot.files[:] = [file for file in slot.files if not form.is_rowless(file[1])]
        if not slot.files:
            del slots[key]
    return sorted(empty)


def _check_readable(name: str, form: FileFormat, files: Sequence[File]) -> None:
    for path, size, _ in files:
        if size == 0 and not form.empty_is_rowless:
            raise SourceError(
                f"the file '{escape_unwritable(path)}' of the source '{name}' is empty (0 bytes) and not a "
                f"{form.name} file",
                hint="write it again or remove it; 'settle' skips files that are still being written",
            )


def _group(
    pattern: PathPattern, partitioning: Partitioning, files: Sequence[File]
) -> tuple[dict[str, _SlotFiles], _IgnoredFiles]:
    """The files by the key of their slot, and the paths of files that are in none."""
    slots: dict[str, _SlotFiles] = {}
    ignored = _IgnoredFiles()
    by_text: dict[tuple[Segment | None, str], list[File]] = {}
    is_listed = partitioning.listed_segment_test()
    for file in files:
        text = pattern.match(file[0])
        if text is not None:
            by_text.setdefault((pattern.segments_of_path(file[0]), text), []).append(file)
        elif pattern.resembles(file[0]):
            ignored.unnamed.append(file[0])
    for (segment, text), members in by_text.items():
        time = pattern.time_of_text(text, partitioning)
        if segment is None or not is_listed(segment):
            ignored.unlisted.extend(path for path, _, _ in members)
        elif time is None:
            ignored.find_untimed(pattern, text, partitioning).extend(path for path, _, _ in members)
        else:
            key = FileSlot(segment, None if partitioning.time is None else time[0]).key
            slots.setdefault(key, _SlotFiles(segment, time)).files.extend(members)
    return slots, ignored
