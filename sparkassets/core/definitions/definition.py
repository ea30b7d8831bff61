"""The definition of an asset: its code, params and options, with an id that changes with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from sparkassets.digests import blake2b
from sparkassets.frozen import frozen

MOST_TEXT: Final = 20_000
"""Characters of a query that are stored, to show what changed."""
MOST_PARTS: Final = 100
"""Parts of a function that are kept by name, likewise."""
VALUES: Final = ("params.", "write.", "validations.")
"""How the names of those parts begin that are values, not code."""
_MOST_VALUE: Final = 200


@frozen(array_like=True)
class AssetDefinition:
    """The parts of an asset that decide which rows come from the same input; without any credential.

    Attributes:
        id: Digest that differs wherever the rows may differ.
        text: The normal form of its SQL; empty for a function, and for one that is too long to be kept.
        parts: All other parts by name: a function and what it calls by a digest, ``params.x`` and options as JSON.
    """

    id: str
    text: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        *,
        text: str = "",
        code: Mapping[str, str] | None = None,
        params: Mapping[str, object] | None = None,
        options: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> AssetDefinition:
        """The definition of a query, or of a function.

        Args:
            text: The normal form of its SQL, without credentials and values of the environment.
            code: The function and what it calls, by their names: what `sparkassets.project` made of each.
            params: Its params.
            options: What else decides which rows there are, by the names of the YAML.
            variables: Of the environment; params and options are kept with the names of these instead of their values.
        """
        from sparkassets.core.redaction import redact  # where a project is compiled

        named_values = {**{f"params.{name}": value for name, value in (params or {}).items()}, **(options or {})}
        values = {name: redact(_json(value), variables=variables) for name, value in named_values.items()}
        parts = dict(sorted({**(code or {}), **values}.items()))
        shortened = dict(list({name: _short(value) for name, value in parts.items()}.items())[:MOST_PARTS])
        return cls(digest(text, _json(parts)), text if len(text) <= MOST_TEXT else "", shortened)


def digest(*texts: str) -> str:
    """Digest of texts and of the borders between them, in 16 characters.

    >>> digest("a", "b") == digest("ab"), len(digest("a"))
    (False, 16)
    """
    return blake2b("\0".join(texts).encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _short(value: str) -> str:
    return value if len(value) <= _MOST_VALUE else f"{value[:_MOST_VALUE]}… {digest(value)}"
