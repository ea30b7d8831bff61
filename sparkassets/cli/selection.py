"""``--select``."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.app import selection
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.errors import InputError


def select_assets(project: ProjectSpec, texts: Sequence[str]) -> tuple[str, ...] | None:
    """The assets that the option's values name, upstream first; None without any, which means all.

    Raises:
        InputError: A name is not an asset of the project, or no asset fits a pattern.
    """
    try:
        return selection.select_assets(project, texts) if texts else None
    except InputError as error:
        raise InputError(f"--select: {error.args[0]}", hint=error.hint) from None
