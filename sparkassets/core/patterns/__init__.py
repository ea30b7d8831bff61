"""Paths of file sources: ``landing/{day:%Y%m%d}/*.csv`` against file names, either way (DESIGN section 4)."""

from __future__ import annotations

from sparkassets.core.patterns.fields import PatternError, SegmentField, TimeField
from sparkassets.core.patterns.files import fingerprint, hidden
from sparkassets.core.patterns.paths import PathPattern
from sparkassets.core.patterns.slots import FileSlot

__all__ = [
    "FileSlot",
    "PathPattern",
    "PatternError",
    "SegmentField",
    "TimeField",
    "fingerprint",
    "hidden",
]
