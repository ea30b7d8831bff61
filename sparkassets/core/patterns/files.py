"""What counts as a file of a source, and when a set of files is another one."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b


def hidden(name: str) -> bool:
    """Whether Spark's readers skip a file or folder of this name: hidden, temporary, or still being copied.

    >>> [name for name in ("_SUCCESS", ".a.crc", "a.csv._COPYING_", "_day=1", "a.csv") if hidden(name)]
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
