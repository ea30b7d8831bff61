"""Files and tables of a source that the journal knows: keys, fingerprints, and the partitions of their paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from sparkassets.core.partitions import NOTHING, PartitionError, Partitioning, PartitionSet, RangeSet, Segment
from sparkassets.core.partitions.json_form import decode_partitions
from sparkassets.core.partitions.segments import decode_segment, encode_segment
from sparkassets.core.patterns.path_pattern import PathPattern
from sparkassets.digests import blake2b
from sparkassets.frozen import frozen

_OF_FILE = "%/"
"""The beginning of the key of a file in the cursor of its source; no slot's begins so, as ``%`` escapes there."""
LISTING: Final = "%="
"""The key of what `digest_look` gave for the newest look that recorded something and left nothing to say."""
_AT_ONCE = 1000


def is_skipped_name(name: str) -> bool:
    """Whether Spark's readers skip a file or folder of this name: hidden, temporary, or still being copied.

    >>> [name for name in ("_SUCCESS", ".a.crc", "a.csv._COPYING_", "_day=1", "a.csv") if is_skipped_name(name)]
    ['_SUCCESS', '.a.crc', 'a.csv._COPYING_']
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def fingerprint(files: Iterable[tuple[str, int, int]]) -> str:
    """A short text that changes when any of these files does, in whatever order they come.

    Args:
        files: Path relative to the pattern's root, size in bytes, time of the last change in nanoseconds.

    >>> fingerprint([("a", 1, 2), ("b", 3, 4)]) == fingerprint([("b", 3, 4), ("a", 1, 2)])
    True
    """
    lines = sorted(f"{path}\0{size}\0{changed}\n" for path, size, changed in files)
    return blake2b("".join(lines).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def digest_look(about: str, cursor: Mapping[str, Any], files: Iterable[tuple[str, int, int]]) -> str:
    """A digest of all that a look at files goes by, in memory that does not grow with the files.

    Args:
        about: What else decides what the look finds.
        cursor: The fingerprints of slots, in any order, as the journal does not keep the order of keys.
        files: As `fingerprint` has them, in the order in which they are listed; another order gives another digest.
    """
    digest, rest = blake2b(about.encode(), digest_size=16), iter(files)
    digest.update("\n".join(str(cursor[key]) for key in sorted(cursor)).encode())
    while some := list(islice(rest, _AT_ONCE)):
        lines = "".join([f"{path}\0{size}\0{changed}\n" for path, size, changed in some])
        digest.update(lines.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


JOURNAL_CURSOR: Final = "sparkassets:base"
"""The cursor's key of the entry up to which the journal of another project was read, by whom it is looked at."""


def file_key(path: str) -> str:
    """The cursor's key of a file, by its path relative to the pattern's root.

    The prefix ``%/`` occurs in no key of a slot, where ``%`` begins an escape.

    >>> file_key("a.csv")
    '%/a.csv'
    """
    return _OF_FILE + path


def path_of_key(key: str) -> str:
    """The path of the file that `file_key` made the key of."""
    return key.removeprefix(_OF_FILE)


def is_of_file(key: str) -> bool:
    """Whether a key of a source's cursor is that of a file."""
    return key.startswith(_OF_FILE)


def is_of_slot(key: str) -> bool:
    """Whether a key of the cursor of a source of files is that of a slot."""
    return not key.startswith(_OF_FILE) and key != LISTING


@frozen
class KnownFile:
    """What the cursor of a source keeps of a file, for views that map partitions by values of its rows.

    Attributes:
        seen: The file's fingerprint.
        slot: The key of the slot that the file is in.
        held: By the id of a view: the view's digest at that time, and the partitions of the rows as JSON.
        left: By column: some of the values that name no partition.
    """

    seen: str
    slot: str
    held: Mapping[str, Sequence[Any]]
    left: Mapping[str, list[str]]

    @classmethod
    def decode(cls, plain: Any) -> KnownFile:  # noqa: ANN401 - JSON
        """The file from the JSON of `encode`."""
        seen, slot, held, *left = plain
        return cls(seen, slot, held, *(left or [{}]))

    def encode(self) -> list[Any]:
        """The file as JSON, for the cursor; ``left`` is omitted if empty.

        >>> KnownFile("f", "", {"v": ["d", [[0, 9]]]}, {}).encode()
        ['f', '', {'v': ['d', [[0, 9]]]}]
        """
        return [self.seen, self.slot, dict(self.held), *([dict(self.left)] if self.left else [])]

    def parts(self, view: str) -> PartitionSet:
        """The partitions of the file's rows in the view with that id; nothing if the view was not asked for then."""
        return decode_partitions(self.held[view][1]) if view in self.held else NOTHING


@frozen
class FileSlot:
    """The identity of files that come together: their segments and the start of their time.

    Usually these are the files of one partition. A local hour that a clock change repeats is one slot for two
    partitions, because file names do not tell the two apart.

    Attributes:
        segment: The segments, in the order of the dimensions.
        start: Unix seconds; None without a dimension of time.
    """

    segment: Segment = ()
    start: int | None = None

    @property
    def key(self) -> str:
        """The slot's key in the cursor: start and encoded segments, joined by commas; ``""`` without partitions.

        >>> FileSlot((), 86400).key, FileSlot(("de", "a,b"), 86400).key, FileSlot(("",)).key
        ('86400', '86400,de,a%2Cb', '%')
        """
        time = "" if self.start is None else str(self.start)
        if not self.segment:
            return time
        return ",".join([*([time] if time else []), *map(encode_segment, self.segment)])

    @classmethod
    def of_key(cls, key: str, partitioning: Partitioning) -> FileSlot | None:
        """The slot of a cursor's key; None for a key made under other dimensions, before the partitioning changed.

        >>> FileSlot.of_key("86400", Partitioning())
        """
        timed = partitioning.time is not None
        texts = key.split(",") if key else []
        if len(texts) != timed + len(partitioning.segments):
            return None
        try:
            return cls(tuple(map(decode_segment, texts[timed:])), int(texts[0]) if timed else None)
        except (ValueError, PartitionError):
            return None

    def partition_key(self, partitioning: Partitioning) -> str:
        """The key of the slot's partition as people know it, for messages; times are readable there."""
        time = partitioning.time
        keys = list(map(encode_segment, self.segment))
        if time is not None and self.start is not None:
            keys.insert(partitioning.time_at, time.key(self.start))
        return ",".join(keys)

    def parts(self, pattern: PathPattern, partitioning: Partitioning) -> PartitionSet:
        """The partitions that the slot's files may hold rows of."""
        time, start = partitioning.time, self.start
        always = RangeSet.always()
        pair = (always.first, always.last) if time is None or start is None else pattern.extent(start, time)
        return PartitionSet.from_slots([(self.segment, pair)])


@frozen
class KnownTable:
    """One table of a table set, at the version that was seen last.

    Attributes:
        slot: The partitions that its path or name tells.
        relative: Its folder, relative to the pattern's root; in a catalog the parts of its name, joined by slashes.
    """

    slot: FileSlot
    relative: str
    table_id: str
    version: int


def known_tables(cursor: Mapping[str, Any], partitioning: Partitioning) -> Iterator[KnownTable]:
    """The tables in a cursor, or in a part of one.

    >>> from sparkassets.core.partitions import SegmentPartition
    >>> regions = Partitioning(None, (SegmentPartition("region", ("de", "nl")),))
    >>> [each.version for each in known_tables({"de": {"raw_de": {"table_id": "a", "version": 3}}, "nl": ""}, regions)]
    [3]
    """
    for key, tables in cursor.items():
        slot = FileSlot.of_key(key, partitioning)
        if slot is None or not isinstance(tables, Mapping):
            continue  # a key of former dimensions, or a slot of files, which has a fingerprint
        for relative, seen in tables.items():
            yield KnownTable(slot, relative, seen["table_id"], seen["version"])
