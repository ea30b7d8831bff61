"""What counts as a file of a source, when a set of files is another one, and what is remembered of a single one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.partitions.json_form import decode_partitions
from sparkassets.frozen import frozen

_OF_FILE = "%/"
"""The beginning of the key of a file in the cursor of its source; no slot's begins so, as ``%`` escapes there."""


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


def file_key(path: str) -> str:
    """The key of a file in the cursor of its source, by its path relative to the pattern's root.

    >>> file_key("a.csv")
    '%/a.csv'
    """
    return _OF_FILE + path


def path_of_key(key: str) -> str:
    """The path of the file that `file_key` made the key of."""
    return key.removeprefix(_OF_FILE)


def is_of_file(key: str) -> bool:
    """Whether a key of a source's cursor is that of a file, and of no slot."""
    return key.startswith(_OF_FILE)


@frozen
class KnownFile:
    """What the cursor of a source keeps of a file that views ask for.

    Attributes:
        seen: Its fingerprint.
        slot: The key of the slot that it is in.
        held: By the id of a view the digest of what that was, and the partitions of the rows as plain values.
        left: By column some of the values that are in no partition.
    """

    seen: str
    slot: str
    held: Mapping[str, Sequence[Any]]
    left: Mapping[str, list[str]]

    @classmethod
    def decode(cls, plain: Any) -> KnownFile:  # noqa: ANN401 - JSON
        """What `plain` gave."""
        seen, slot, held, *left = plain
        return cls(seen, slot, held, *(left or [{}]))

    def encode(self) -> list[Any]:
        """As the cursor keeps it.

        >>> KnownFile("f", "", {"v": ["d", [[0, 9]]]}, {}).encode()
        ['f', '', {'v': ['d', [[0, 9]]]}]
        """
        return [self.seen, self.slot, dict(self.held), *([dict(self.left)] if self.left else [])]

    def parts(self, view: str) -> PartitionSet:
        """The partitions of its rows that a view makes, by its id; nothing where it did not ask."""
        return decode_partitions(self.held[view][1]) if view in self.held else NOTHING
