"""What is new, changed or gone among the files of a source, by slot of its partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.patterns import PathPattern, fingerprint
from sparkassets.core.phrases import writable
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import SourceError
from sparkassets.files import File, list_files
from sparkassets.ports import Observation

_NAMED = 5
"""How many misnamed files are listed by name."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """The files of one slot; ``time`` is epoch seconds, half-open, empty for a source without partitions."""

    time: tuple[int, int]
    files: list[File] = field(default_factory=list)


class FileObserver:
    """Compares a fingerprint of each slot's files with the one seen before.

    The cursor's keys are the slots' starts (epoch seconds as text), or ``""`` for a source without partitions; its
    values are fingerprints. A slot with a file younger than ``settle_seconds`` keeps what was last seen of it.
    """

    def observe(
        self,
        asset: AssetSpec,
        *,
        table_id: str | None,
        version: int | None,
        cursor: Mapping[str, Any],
        coverage: RangeSet,
        now: datetime,
    ) -> Observation | None:
        """The slots whose set of files differs from the cursor's; None when none does.

        ``extra`` counts the ``files`` in what changed, the partitions left alone until they are quiet (``unsettled``),
        and names the first files of which the path tells no time (``ignored``, ``ignored_count``): these are skipped.

        Raises:
            SourceError: The folder was there before and is gone, or cannot be listed.
        """
        del table_id, version, coverage  # the cursor knows every slot
        if asset.place is None or asset.source is None:
            raise SourceError(f"the source '{asset.name}' has no path")
        pattern = PathPattern.parse(asset.place.path)
        files = list_files(pattern)
        if files is None:
            if not cursor:
                return None
            raise SourceError(
                f"the source '{asset.name}' vanished: '{pattern.root}' is no longer there",
                hint="bring it back; if its data is gone for good, leave an empty folder in its place",
            )
        slots, ignored = _group(pattern, asset.partition, files)
        unsettled = _unsettled(slots, asset.source.settle_seconds, now)
        seen = {key: fingerprint(slot.files) for key, slot in slots.items() if key not in unsettled}
        news = {key: value for key, value in seen.items() if cursor.get(key) != value}
        gone = [key for key in cursor if key not in slots]
        if not news and not gone:
            return None
        extra: dict[str, Any] = {"files": sum(len(slots[key].files) for key in news)}
        if unsettled:
            extra["unsettled"] = len(unsettled)
        if ignored:
            extra |= {"ignored": [writable(path) for path in ignored[:_NAMED]], "ignored_count": len(ignored)}
        present = RangeSet.of(slot.time for slot in slots.values())
        return Observation(
            asset=asset.name,
            changed=RangeSet.of(slots[key].time for key in news),
            removed=_time_of(gone, pattern, asset.partition) - present,
            whole=asset.partition is None,
            cursor=news | dict.fromkeys(gone),
            extra=extra,
        )


def _unsettled(slots: Mapping[str, _Slot], settle_seconds: int, now: datetime) -> set[str]:
    """The keys of the slots that still change."""
    if not settle_seconds:
        return set()
    quiet = (int(now.timestamp()) - settle_seconds) * 10**9
    return {key for key, slot in slots.items() if any(changed > quiet for _, _, changed in slot.files)}


def _group(
    pattern: PathPattern, partition: TimePartition | None, files: Sequence[File]
) -> tuple[dict[str, _Slot], list[str]]:
    """The files by slot, and the sorted paths of those that the pattern should tell apart and cannot."""
    slots: dict[str, _Slot] = {}
    ignored: list[str] = []
    by_text: dict[str, list[File]] = {}
    for file in files:
        text = pattern.match(file[0])
        if text is not None:
            by_text.setdefault(text, []).append(file)
        elif pattern.resembles(file[0]):
            ignored.append(file[0])
    for text, members in by_text.items():
        if partition is None:
            slots.setdefault("", _Slot((0, 0))).files.extend(members)
        elif (time := pattern.slot(text, partition)) is None:
            ignored += [path for path, _, _ in members]
        else:
            slots.setdefault(str(time[0]), _Slot(time)).files.extend(members)
    return slots, sorted(ignored)


def _time_of(keys: Sequence[str], pattern: PathPattern, partition: TimePartition | None) -> RangeSet:
    if partition is None:
        return RangeSet()
    return RangeSet.of(pattern.extent(int(key), partition) for key in keys if key)
