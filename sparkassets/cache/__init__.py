"""The folder where this machine keeps what takes long to make: compiled projects, states, jars, class archives."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

_NOTED_SECONDS: Final = 3_600
"""How old the time of what is used may be: most starts write nothing."""


def cache_folder() -> Path:
    """``$SPARKASSETS_CACHE``, else the platform's cache folder with ``sparkassets`` in it; it need not exist."""
    if own := os.environ.get("SPARKASSETS_CACHE"):
        return Path(own).expanduser()
    platform = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_CACHE_HOME")
    return (Path(platform) if platform else Path.home() / ".cache") / "sparkassets"


def note_use(path: Path) -> bool:
    """Notes that a file or folder of the cache is used now, by its own time; returns whether it is there."""
    try:
        if time.time() - os.stat(path).st_mtime > _NOTED_SECONDS:  # noqa: PTH116  at a third of pathlib's time
            os.utime(path)
    except FileNotFoundError:
        return False
    except OSError:
        pass  # who may not write there may still read it
    return True


def used_files(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder of the cache, which is used now, by name; none where it is not there, or goes meanwhile."""
    if not note_use(folder):
        return []
    try:
        return sorted(folder.glob(pattern))
    except FileNotFoundError:
        return []
