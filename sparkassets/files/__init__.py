"""Files on a disk or in an object store, without a JVM: one lister for who looks at a source and who reads it."""

from __future__ import annotations

from sparkassets.files.listing import File, Skipped, list_files, rowless

__all__ = ["File", "Skipped", "list_files", "rowless"]
