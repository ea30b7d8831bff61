"""Delta's properties that an asset gives the table that its run makes."""

from __future__ import annotations

from typing import Final

from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.source import plain_text

_DELTA: Final = "delta."
"""What Delta keeps with a table of what its writer is told; all else it drops."""


def compile_properties(draft: AssetDraft) -> dict[str, str]:
    """The properties as Delta stores them; one that is not Delta's becomes a problem of the draft."""
    for name in draft.keys.properties:
        if not name.startswith(_DELTA):
            message = f"{name!r} is no property of Delta's: their names begin with {_DELTA!r}"
            (draft.at / "properties" / name).key_problem(message, hint="facts of your own belong to 'extra'")
    return {name: plain_text(value) for name, value in draft.keys.properties.items()}
