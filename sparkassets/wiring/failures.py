"""What a run failed of: a line and a hint for people, and a file with all of it."""

from __future__ import annotations

import traceback
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir

from sparkassets.core.phrases import writable
from sparkassets.core.redaction import redact
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.errors import SparkAssetsError, said
from sparkassets.runtime.progress import Explained

LOGS_KEPT = 200
"""Files in a folder of logs; the oldest make way."""
LOG_CHARACTERS = 1_000_000
"""Of a story that is longer the middle is left out."""


def explain_failure(project: ProjectSpec, run: str, error: BaseException) -> Explained:
    """What to tell of a failure, without credentials and without values of the environment. Never raises.

    The whole story is written beside a ``state`` that is a local folder, else into the temporary folder.
    """
    if issubclass(type(error), SparkAssetsError) and isinstance(error, SparkAssetsError):
        told, hint = str(error.args[0]).strip().partition("\n")[0], error.hint or ""
    else:
        told, hint = said(error), ""
    state, variables = project.state, project.variables
    told, hint = (writable(redact(each, variables=variables)) for each in (told, hint))
    local = "://" not in state
    folder = Path(state) / "logs" if local else Path(gettempdir()) / "sparkassets-logs"
    file = folder / f"{run}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(redact(_story(error), variables=variables), encoding="utf-8", errors="backslashreplace")
        _make_room(folder)
    except OSError:
        return Explained(told, hint)
    return Explained(told, hint, str(file))


def _story(error: BaseException) -> str:
    try:
        story = "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001  what an author's class does when it is looked at
        story = f"{said(error)}\n{''.join(traceback.format_tb(error.__traceback__))}"
    half = LOG_CHARACTERS // 2
    return story if len(story) <= LOG_CHARACTERS else f"{story[:half]}\n[…]\n{story[-half:]}"


def _make_room(folder: Path) -> None:
    """Removes the oldest logs beyond those that are kept; other drivers may do so at the same time."""
    logs = list(folder.glob("*.log"))
    if len(logs) <= LOGS_KEPT:
        return
    ages: list[tuple[float, Path]] = []
    for log in logs:
        with suppress(FileNotFoundError):
            ages.append((log.stat().st_mtime, log))
    for _, log in sorted(ages)[:-LOGS_KEPT]:
        log.unlink(missing_ok=True)
