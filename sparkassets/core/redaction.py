"""Credentials are kept out of everything that is stored or shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from sparkassets.core.credentials import Credential, credentials_in, secret_in_text

_MASK: Final = "***"
_ENCODED: Final = re.compile(r"(?<!\S)[^\s%]*+%[^\s]*+")
_SHORTEST: Final = 3
"""Characters of a variable's value that can be told from the text around it."""
_LONG: Final = 8
"""From so many characters on a value is known inside of other words, too."""


def redact(text: str, *, variables: Mapping[str, str] | None = None) -> str:
    """``text`` with ``***`` in place of passwords, tokens, keys and signatures.

    Args:
        text: Whatever is to be shown or stored.
        variables: Of the environment; instead of their values, ``${NAME}`` is shown.

    >>> redact("jdbc:postgresql://u:pw@h/db?password=x&a=1")
    'jdbc:postgresql://u:***@h/db?password=***&a=1'
    """
    for name, value in sorted(_written(variables or {}), key=lambda each: -len(each[1])):
        if len(value) >= _LONG:
            text = text.replace(value, f"${{{name}}}")
        elif len(value) >= _SHORTEST:
            alone = re.compile(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])")
            text = f"${{{name}}}".join(alone.split(text))
    masked = _masked(text, lambda _: _MASK)
    return _ENCODED.sub(_decoded, masked) if "%" in masked else masked


def redacted(value: Any, *, variables: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401  JSON
    """The JSON value with each of its texts as `redact` has it; the very same where none holds a credential."""
    text = json.dumps(value, ensure_ascii=False)
    return value if redact(text, variables=variables) == text else _each(value, variables)


def _each(value: Any, variables: Mapping[str, str] | None) -> Any:  # noqa: ANN401  JSON
    match value:
        case str():
            return redact(value, variables=variables)
        case Mapping():
            return {redact(key, variables=variables): _each(each, variables) for key, each in value.items()}
        case list() | tuple():
            return [_each(each, variables) for each in value]
    return value


def _written(variables: Mapping[str, str]) -> set[tuple[str, str]]:
    """The values, and as JSON has them within its quotes."""
    found = set(variables.items())
    for name, value in variables.items():
        if not value.isascii() or not value.isprintable() or '"' in value or "\\" in value:
            found |= {(name, json.dumps(value, ensure_ascii=each)[1:-1]) for each in (True, False)}
    return found


def starred(text: str) -> str:
    """``text`` with as many stars as each credential has characters, so that columns still count.

    >>> starred("password: hunter2 # x")
    'password: ******* # x'
    """
    return _masked(text, lambda each: "*" * (each.end - each.start))


def _masked(text: str, mask: Callable[[Credential], str]) -> str:
    """The text without its credentials; of those that overlap the longer one counts."""
    parts, position = [], 0
    for each in sorted(credentials_in(text), key=lambda each: (each.start, -each.end)):
        if each.end <= position:
            continue
        start = max(each.start, position)
        parts += [text[position:start], mask(Credential(start, each.end, each.what)) if each.start >= position else ""]
        position = each.end
    return "".join([*parts, text[position:]])


def _decoded(found: re.Match[str]) -> str:
    """A word whose credential is percent-encoded, decoded and without it."""
    word = found[0]
    if secret_in_text(word) is None:
        return word
    for _ in range(2):
        word = unquote(word)
    return _masked(word, lambda _: _MASK)
