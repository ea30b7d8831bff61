"""Delta properties of an asset's table, and the columns that name the table's folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.file_models import WriteMap
from sparkassets.core.spec.source import plain_text
from sparkassets.core.suggestions import did_you_mean

_DELTA: Final = "delta."
"""Prefix of the properties that Delta stores with a table; it drops all others."""


def compile_properties(draft: AssetDraft) -> dict[str, str]:
    """The properties as Delta stores them; one that is not Delta's becomes a problem of the draft."""
    for name in draft.keys.properties:
        if not name.startswith(_DELTA):
            message = f"{name!r} is no property of Delta's: their names begin with {_DELTA!r}"
            (draft.at / "properties" / name).add_key_problem(message, hint="facts of your own belong to 'extra'")
    return {name: plain_text(value) for name, value in draft.keys.properties.items()}


def compile_folders(draft: AssetDraft) -> tuple[str, ...] | None:
    """The columns that `partitioned_by` names; one that no table can have becomes a problem of the draft."""
    names = draft.keys.partitioned_by
    if names is None:
        return None
    at, seen = draft.at / "partitioned_by", set[str]()
    for number, name in enumerate(names):
        if name.lower() in seen:
            (at / number).add_problem(f"{name!r} is in 'partitioned_by' twice")
        seen.add(name.lower())
    if not isinstance(draft.keys.write, WriteMap):  # an upsert may store other columns than the declared ones
        _check_declared(draft, names)
    return tuple(names)


def _check_declared(draft: AssetDraft, names: Sequence[str]) -> None:
    at, declared = draft.at / "partitioned_by", {name.lower() for name in draft.keys.types}
    if not declared or not draft.are_reliable("columns"):
        return
    for number, name in enumerate(names):
        if name.lower() not in declared:
            message = f"{name!r} in 'partitioned_by' is not among the columns of {draft.name!r}"
            (at / number).add_problem(message, hint=did_you_mean(name, draft.keys.types))
    if declared <= {name.lower() for name in names}:
        at.add_problem("'partitioned_by' names all columns, so that the files would hold none", hint="leave one out")
