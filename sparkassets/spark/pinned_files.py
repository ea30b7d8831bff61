"""The files of an inlet, as a run has pinned them: listed again, and compared with what was observed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.patterns import FileSlot, PathPattern, file_key, fingerprint, path_of_key
from sparkassets.core.phrases import escape_unwritable, few
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.source_views import source_pattern
from sparkassets.errors import SourceChangedError, SourceError
from sparkassets.files import list_files
from sparkassets.frozen import frozen

_MOST_SHOWN = 5


@frozen
class FoundFile:
    """A file that a source's pattern matches.

    Attributes:
        path: As Spark reads and names it, with its scheme.
        relative: The path from the pattern's root.
        size: Bytes.
        changed: Time of the last change, in nanoseconds since 1970.
        slot: The slot that the file belongs to.
    """

    path: str
    relative: str
    size: int
    changed: int
    slot: FileSlot


@frozen
class PinnedFiles:
    """The files of one inlet, as they were when the run was planned.

    Attributes:
        parts: The partitions to read; `EVERYTHING` for all files.
        seen: The source's fingerprints at that time, by slot, or by file where values of rows tell the partitions;
            None if nobody had looked.
    """

    asset: AssetSpec
    parts: PartitionSet = EVERYTHING
    seen: Mapping[str, str] | None = None

    def list_files(self) -> list[FoundFile]:
        """The files of the pinned partitions, by path.

        Slots that appeared after the plan are left out: another run will read them.

        Raises:
            SourceError: The folder vanished or cannot be listed.
        """
        pattern = source_pattern(self.asset)
        listed = list_files(pattern)
        if listed is None:
            raise SourceError(f"the source {self.asset.name!r} vanished: '{pattern.root}' is no longer there")
        files = (self._match_file(pattern, *each) for each in listed)
        pinned = (
            file
            for file in files
            if file is not None and (self.seen is None or self._fingerprint_key(file) in self.seen)
        )
        return sorted(pinned, key=lambda file: file.path)

    def check(self, files: Sequence[FoundFile]) -> None:
        """Refuses files that are others than those that were observed when the run was planned.

        Raises:
            SourceChangedError: Some differ; names their partitions.
        """
        groups: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
        for file in files:
            groups[self._fingerprint_key(file)].append((file.relative, file.size, file.changed))
        seen = self.seen or {}
        differing = [key for key in seen if key not in groups or fingerprint(groups[key]) != seen[key]]
        if differing:
            raise SourceChangedError(
                f"the files of {self.asset.name!r} changed before they were read{self._describe_slots(differing)}",
                source=self.asset.name,
                hint=(
                    "the run is planned again with the current files; 'settle' skips files that are still being written"
                ),
            )

    def _fingerprint_key(self, file: FoundFile) -> str:
        """The key of the file's fingerprint: its slot's, or its own where values of rows tell the partitions."""
        return file.slot.key if self.asset.in_paths is None else file_key(file.relative)

    def _match_file(self, pattern: PathPattern, relative: str, size: int, changed: int) -> FoundFile | None:
        """The file as the run reads it; None if it matches no partition of the run, or surely holds no row.

        Where values of rows, not paths, tell the partitions, every matching file is read.
        """
        partitioning = self.asset.path_partitioning
        found = pattern.slot_of_path(relative, partitioning)
        if found is None or self.asset.file_format.is_rowless(size):
            return None
        is_mapped_by_path = partitioning.is_partitioned and self.asset.in_paths is None
        if is_mapped_by_path and not self.parts.overlaps(PartitionSet.from_slots([found])):
            return None
        segment, (start, _) = found
        slot = FileSlot(segment, None if partitioning.time is None else start)
        root = find_root(pattern)
        path = root if root.endswith(f"/{relative}") and not pattern.is_pattern else f"{root}/{relative}"
        return FoundFile(path, relative, size, changed, slot)

    def _describe_slots(self, keys: Sequence[str]) -> str:
        """The end of a message that names the first partitions, or files, of these keys; empty without partitions."""
        if self.asset.in_paths is not None:
            return f": {few([escape_unwritable(path_of_key(key)) for key in sorted(keys)], most=_MOST_SHOWN)}"
        partitioning = self.asset.partitioning
        if not partitioning.is_partitioned:
            return ""
        slots = [FileSlot.of_key(key, partitioning) for key in sorted(keys)[:_MOST_SHOWN]]
        keys_shown = ", ".join(slot.partition_key(partitioning) for slot in slots if slot is not None)
        return f": {keys_shown}" + (", …" if len(keys) > _MOST_SHOWN else "")


def find_root(pattern: PathPattern) -> str:
    """The root as Spark reads it, with its scheme."""
    return pattern.root if "://" in pattern.root else f"file://{pattern.root}"
