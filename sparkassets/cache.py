"""The folder where this machine keeps what takes long to make: compiled projects, Delta's jars, class archives."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$SPARKASSETS_CACHE``, else the platform's cache folder with ``sparkassets`` in it; it need not exist."""
    if own := os.environ.get("SPARKASSETS_CACHE"):
        return Path(own).expanduser()
    platform = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_CACHE_HOME")
    return (Path(platform) if platform else Path.home() / ".cache") / "sparkassets"
