"""``--select``: names, with ``+`` for what reads them and what they read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.suggestions import did_you_mean
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
    before = {asset.name: upstream(project, asset) for asset in project.assets.values()}
    after = {name: {other for other, names in before.items() if name in names} for name in before}
    chosen: set[str] = set()
    for text in written:
        name = text.removeprefix("+").removesuffix("+")
        if name not in project.assets:
            hint = did_you_mean(name, project.assets)
            raise InputError(f"--select: no asset {name!r} in project {project.name!r}", hint=hint)
        chosen.add(name)
        if text.startswith("+"):
            chosen |= _reach(name, before.__getitem__)
        if text.endswith("+"):
            chosen |= _reach(name, after.__getitem__)
    return tuple(name for name in project.assets if name in chosen)


def upstream(project: ProjectSpec, asset: AssetSpec) -> set[str]:
    """The assets that ``asset`` reads, waits for or is triggered by."""
    condition = asset.schedule.condition
    leaves = [] if condition is None else list(condition.leaves())
    uris = {leaf.ref for leaf in leaves if leaf.is_uri}
    named = {leaf.ref for leaf in leaves if not leaf.is_uri}
    return set(asset.inlets) | named | {other.name for other in project.assets.values() if other.uri in uris}


def _reach(name: str, step: Callable[[str], Iterable[str]]) -> set[str]:
    found, todo = {name}, [name]
    while todo:
        fresh = set(step(todo.pop())) - found
        found |= fresh
        todo += fresh
    return found
