"""Paths of file sources: ``landing/{day:%Y%m%d}/*.csv`` against file names, either way (DESIGN section 4)."""

from __future__ import annotations

from sparkassets.core.patterns.fields import PatternError, SegmentField, TimeField
from sparkassets.core.patterns.files import KnownFile, file_key, fingerprint, hidden, is_of_file, path_of_key
from sparkassets.core.patterns.paths import PathPattern
from sparkassets.core.patterns.slots import FileSlot
from sparkassets.core.patterns.tables import KnownTable, known_tables

__all__ = [
    "FileSlot",
    "KnownFile",
    "KnownTable",
    "PathPattern",
    "PatternError",
    "SegmentField",
    "TimeField",
    "file_key",
    "fingerprint",
    "hidden",
    "is_of_file",
    "known_tables",
    "path_of_key",
]
