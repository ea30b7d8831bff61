"""What a run failed of: a line for people, and a file with all of it."""

from __future__ import annotations

import tempfile
import traceback
from pathlib import Path

from sparkassets.core.phrases import writable
from sparkassets.core.redaction import redact
from sparkassets.errors import SparkAssetsError


def explain_failure(state: str, run: str, error: BaseException) -> tuple[str, str]:
    """(First line, file with the whole story, empty where it cannot be written); credentials are left out of both.

    The file is beside a ``state`` that is a local folder, else in the temporary folder.
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    known = isinstance(error, SparkAssetsError)
    first = writable(redact(lines[0] if known else f"{type(error).__name__}: {lines[0]}"))
    local = "://" not in state
    folder = Path(state) / "logs" if local else Path(tempfile.gettempdir()) / "sparkassets-logs"
    file = folder / f"{run}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        story = redact("".join(traceback.format_exception(error)))
        file.write_text(story, encoding="utf-8", errors="backslashreplace")
    except OSError:
        return first, ""
    return first, str(file)
