"""Selecting assets: names or patterns of them, with ``+`` for what reads them and what they read."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from sparkassets.core.spec.model import ProjectSpec
from sparkassets.errors import InputError

Selection = Collection[str] | str | None
"""Names, or patterns of them, of the assets that may run, in a list or separated by commas; None means all."""


def select_assets(project: ProjectSpec, texts: Collection[str]) -> tuple[str, ...]:
    """The assets that ``texts`` name, upstream first.

    Args:
        project: Whose assets.
        texts: Each holds names separated by commas: ``a`` is itself, ``a+`` it and its descendants, ``+a`` it and its
            ancestors, ``+a+`` all three. What only triggers an asset is upstream of it, too. A name may be a pattern as
            a shell has them for files (``fl*``, ``raw_?``, ``[a-c]*``), of upper and lower case.

    Raises:
        InputError: A name is not an asset of the project, or no asset fits a pattern.
    """
    written = [name.strip() for text in texts for name in text.split(",")]
    from sparkassets.core.spec.asset_graph import find_ancestors, find_descendants

    chosen: set[str] = set()
    for text in written:
        names = _fitting(project, text.removeprefix("+").removesuffix("+"))
        chosen.update(names)
        for name in names:
            if text.startswith("+"):
                chosen |= find_ancestors(project.assets, name)
            if text.endswith("+"):
                chosen |= find_descendants(project.assets, name)
    return tuple(name for name in project.assets if name in chosen)


def _fitting(project: ProjectSpec, name: str) -> list[str]:
    """The asset of that name, or all that fit it as a pattern."""
    if name in project.assets:
        return [name]
    if any(mark in name for mark in "*?["):
        fitting = [each for each in project.assets if fnmatchcase(each, name)]
        if fitting:
            return fitting
        raise InputError(
            f"no asset of project {project.name!r} fits {name!r}",
            hint="`sparkassets status` lists them; put a pattern in quotes, or the shell may replace it",
        )
    raise project.unknown_asset_error(name)
