"""Paths of file sources: ``landing/{day:%Y%m%d}/*.csv`` either way (docs/design/projects.md#paths-of-files)."""

from __future__ import annotations

from sparkassets.core.patterns.known_files import (
    JOURNAL_CURSOR,
    LISTING,
    FileSlot,
    KnownFile,
    KnownTable,
    digest_look,
    file_key,
    fingerprint,
    is_of_file,
    is_of_slot,
    is_skipped_name,
    known_tables,
    path_of_key,
)
from sparkassets.core.patterns.path_pattern import PathPattern
from sparkassets.core.patterns.pattern_fields import PatternError, SegmentField, TimeField

__all__ = [
    "JOURNAL_CURSOR",
    "LISTING",
    "FileSlot",
    "KnownFile",
    "KnownTable",
    "PathPattern",
    "PatternError",
    "SegmentField",
    "TimeField",
    "digest_look",
    "file_key",
    "fingerprint",
    "is_of_file",
    "is_of_slot",
    "is_skipped_name",
    "known_tables",
    "path_of_key",
]
