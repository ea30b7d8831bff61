"""Writes an export of the state to a file, completely or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sparkassets.core.journal.codec.formats import EXPORT
from sparkassets.errors import InputError


def write_export(file: Path, lines: Iterable[Mapping[str, Any]], *, project: str) -> int:
    """Writes each line as JSON and returns their number; replaces an older export once the new one is complete.

    Raises:
        InputError: The file exists and is no export of the project, or it cannot be written.
    """
    _refuse_others(file, project)
    part, count = file.with_name(f".{file.name}.{os.getpid()}.part"), 0
    try:
        with part.open("x", encoding="utf-8") as target:
            for line in lines:
                target.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
                count += 1
        part.replace(file)
    except OSError as error:
        raise InputError(f"cannot write {str(file)!r}: {error.strerror}", topic="output-not-writable") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return count


def _refuse_others(file: Path, project: str) -> None:
    """Raises `InputError` if the file exists and is no export of this project."""
    if not file.exists() and not file.is_symlink():
        return
    try:
        with file.open(encoding="utf-8") as lines:
            head = json.loads(lines.readline(10_000))
        is_export = isinstance(head, dict) and EXPORT in head and head.get("project") == project
    except (OSError, ValueError):
        is_export = False
    if not is_export:
        raise InputError(f"{str(file)!r} exists and is not an export of project {project!r}", hint="name a new file")
