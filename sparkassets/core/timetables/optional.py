"""The libraries of astronomy and calendars, which are extras: imported where a schedule needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sparkassets.core.timetables.base import TimetableError


def import_optional(module: str, *, need: str, extra: str) -> Any:  # noqa: ANN401 - a module
    """The module.

    Args:
        module: Its name.
        need: What cannot be computed without it, such as ``the calendar 'DE'``.
        extra: Of sparkassets, which installs it.

    Raises:
        TimetableError: It is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise TimetableError(
            f"{need} needs the package '{package}', which is not installed",
            hint=f"pip install 'sparkassets[{extra}]'",
        ) from error
