"""Files on a disk or in an object store, without a JVM: one lister for who looks at a source and who reads it."""

from __future__ import annotations

from sparkassets.files.listing import File, SkippedFiles, iterate_files, list_files

__all__ = ["File", "SkippedFiles", "iterate_files", "list_files"]
