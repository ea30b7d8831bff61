"""The assets that a selection means: by name, property or state, with what is up- or downstream of them.

A selection is a list of terms with commas between them; ``!`` before a term takes its assets out, and terms that only
take out begin with all assets::

    term     = ["!"] [[levels] "+"] what ["+" [levels]]
    what     = name | pattern | ("tag" | "owner" | "type" | "path" | "state") ":" value
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain
from typing import Final

from sparkassets.core.spec.asset_graph import reverse_edges, upstream_edges
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.suggestions import did_you_mean
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

STATES: Final = ("current", "failed", "late", "missing", "never", "paused", "running", "stale", "stuck", "withheld")
"""The states that ``state:`` may name; an asset may be in several."""

FindStates = Callable[[], Mapping[str, Collection[str]]]
"""Finds the `STATES` of each asset, by name."""

_TERM: Final = re.compile(
    r"(?P<out>!?)\s*(?:(?P<up>\d*)(?P<ups>\+))?(?P<what>.*?)(?:(?P<downs>\+)(?P<down>\d*))?", re.DOTALL
)
_PATTERN: Final = "*?["
_LISTED: Final = "`sparkassets status` lists the assets; quote patterns so that the shell does not expand them"


def _types_of(asset: AssetSpec) -> tuple[str, ...]:
    return (asset.type,) if asset.source is None else (asset.type, "source")


_PROPERTIES: Final[Mapping[str, Callable[[AssetSpec], tuple[str, ...]]]] = {
    "tag": lambda asset: asset.tags,
    "owner": lambda asset: (asset.owner,) if asset.owner else (),
    "type": _types_of,
    "path": lambda asset: (asset.file,),
}
"""The values that an asset has for each method, except for its states."""


def select_assets(
    assets: Mapping[str, AssetSpec], texts: Iterable[str], *, project: str, find_states: FindStates | None = None
) -> tuple[str, ...]:
    """The names of the assets that ``texts`` mean, in the order of ``assets``.

    Args:
        assets: All assets of the project, upstream first.
        texts: Selections, whose terms count together.
        project: The project's name, for messages.
        find_states: Finds the states, called only for a term with ``state:``; None where there are none to ask for.

    Raises:
        InputError: A term is wrong, or nothing fits it; names the term, and near names.
    """
    terms = [_parse_term(each.strip()) for text in texts for each in text.split(",")]
    selector = _AssetSelector(assets, project, find_states)
    chosen = set() if any(not each.excludes for each in terms) else {*assets}
    for term in terms:
        if not term.excludes:
            chosen |= selector.select(term)
    for term in terms:
        if term.excludes:
            chosen -= selector.select(term)
    return tuple(name for name in assets if name in chosen)


@frozen
class _SelectionTerm:
    """One term of a selection.

    Attributes:
        what: A name, a pattern, or a method with its value.
        upstream, downstream: Levels of assets to add on either side; None for all, 0 for none.
    """

    what: str
    excludes: bool = False
    upstream: int | None = 0
    downstream: int | None = 0


def _parse_term(text: str) -> _SelectionTerm:
    """Reads a term such as ``!2+orders+``: without orders, two levels upstream of it and all downstream."""
    found = _TERM.fullmatch(text)
    if found is None:
        raise TypeError(f"{text!r} is not a term")
    upstream = _levels(found["up"]) if found["ups"] else 0
    downstream = _levels(found["down"]) if found["downs"] else 0
    return _SelectionTerm(found["what"].strip(), bool(found["out"]), upstream, downstream)


def _levels(text: str | None) -> int | None:
    """The number of levels beside a ``+``; None, which means all, without a number."""
    return int(text) if text else None


class _AssetSelector:
    """Finds the assets of terms."""

    def __init__(self, assets: Mapping[str, AssetSpec], project: str, find_states: FindStates | None) -> None:
        self._assets = assets
        self._project = project
        self._find_states = find_states

    def select(self, term: _SelectionTerm) -> set[str]:
        """The assets of a term, with those up- and downstream of them that it asks for."""
        found = self._match(term.what)
        upstream = _reach(found, self._upstream, term.upstream)
        return found | upstream | _reach(found, self._downstream, term.downstream)

    def _match(self, what: str) -> set[str]:
        """The assets that a name, a pattern, or a method with its value means."""
        method, colon, value = what.partition(":")
        if colon:
            return self._match_method(method.strip(), value.strip())
        if what in self._assets:
            return {what}
        if not any(mark in what for mark in _PATTERN):
            raise InputError(f"no asset {what!r} in project {self._project!r}", hint=did_you_mean(what, self._assets))
        matching = {each for each in self._assets if fnmatchcase(each, what)}
        if not matching:
            raise InputError(f"no asset of project {self._project!r} matches {what!r}", hint=_LISTED)
        return matching

    def _match_method(self, method: str, value: str) -> set[str]:
        """The assets that have the value, or one that fits it as a pattern, in the property that the method names."""
        if method == "state":
            return self._match_state(value)
        if method not in _PROPERTIES:
            known = [*_PROPERTIES, "state"]
            message = f"assets cannot be selected by {method!r} in {f'{method}:{value}'!r}"
            raise InputError(message, hint=did_you_mean(method, known))
        values = {name: _PROPERTIES[method](asset) for name, asset in self._assets.items()}
        matching = {name for name, some in values.items() if any(_fits(each, value, method) for each in some)}
        if not matching:
            known_values = {*chain.from_iterable(values.values())}
            raise InputError(
                f"no asset of project {self._project!r} has {f'{method}:{value}'!r}",
                hint=did_you_mean(value, known_values) if known_values else f"no asset has any {method}",
            )
        return matching

    def _match_state(self, state: str) -> set[str]:
        """The assets in a state; none of them is no mistake, as states change."""
        if state not in STATES:
            raise InputError(f"there is no state {state!r} in {f'state:{state}'!r}", hint=did_you_mean(state, STATES))
        if self._find_states is None:
            raise InputError(
                f"{f'state:{state}'!r} cannot be used here: only commands that read the journal know states"
            )
        return {name for name, states in self._find_states().items() if state in states and name in self._assets}

    @cached_property
    def _upstream(self) -> Mapping[str, Collection[str]]:
        return upstream_edges(self._assets)

    @cached_property
    def _downstream(self) -> Mapping[str, Collection[str]]:
        return reverse_edges(upstream_edges(self._assets))


def _fits(have: str, wanted: str, method: str) -> bool:
    """Whether a value is the wanted one, or fits it as a pattern; a file also if it is in the wanted folder."""
    if method == "path" and have.startswith(f"{wanted.rstrip('/')}/"):
        return True
    return fnmatchcase(have, wanted) if any(mark in wanted for mark in _PATTERN) else have == wanted


def _reach(names: Iterable[str], edges: Mapping[str, Collection[str]], levels: int | None) -> set[str]:
    """The names that edges lead to from ``names`` in at most so many steps; None for any number."""
    reached, front = set[str](), {*names}
    while front and levels != 0:
        front = {each for name in front for each in edges[name]} - reached
        reached |= front
        levels = None if levels is None else levels - 1
    return reached
