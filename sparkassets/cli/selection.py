"""``--select``: names, with ``+`` for what reads them and what they read."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.spec.model import ProjectSpec
from sparkassets.errors import InputError


def selected(project: ProjectSpec, texts: Sequence[str]) -> tuple[str, ...] | None:
    """The assets that ``texts`` name, upstream first; None when nothing is said, which means all.

    Args:
        project: Whose assets.
        texts: Each holds names separated by commas: ``a`` is itself, ``a+`` it and its descendants, ``+a`` it and its
            ancestors, ``+a+`` all three. What only triggers an asset is upstream of it, too.

    Raises:
        InputError: A name is not an asset of the project.
    """
    written = [name.strip() for text in texts for name in text.split(",")]
    if not written:
        return None
    from sparkassets.core.spec.graph import ancestors, descendants

    chosen: set[str] = set()
    for text in written:
        name = text.removeprefix("+").removesuffix("+")
        if name not in project.assets:
            error = project.no_asset(name)
            raise InputError(f"--select: {error.args[0]}", hint=error.hint)
        chosen.add(name)
        if text.startswith("+"):
            chosen |= ancestors(project.assets, name)
        if text.endswith("+"):
            chosen |= descendants(project.assets, name)
    return tuple(name for name in project.assets if name in chosen)
