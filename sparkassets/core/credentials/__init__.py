"""Detects credentials, in text and by the names they stand under: the same for refusing and for hiding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from sparkassets.core.credentials.secret_names import is_hidden, is_secret
from sparkassets.core.credentials.secret_places import find_placed_credentials
from sparkassets.core.credentials.text_scan import CredentialSpan, find_written_credentials
from sparkassets.core.credentials.token_formats import find_tokens

__all__ = ["CredentialSpan", "credentials_in", "is_secret", "secret_in_text", "secrets_in"]

Path = tuple[str | int, ...]
"""Keys and indices, from the outermost on."""

_UNQUOTED_TIMES: Final = 2
"""How many layers of percent-encoding are looked through."""


_ESCAPES: Final = re.compile(r"\\+(?:x1b|u001b|033|e)\[[0-9;?]{0,20}[A-Za-z]|\x1b\[[0-9;?]{0,20}[A-Za-z]|\\+[nrt]")
"""Colours of a terminal, and line ends and tabs as ``repr`` and JSON write them."""


def secret_in_text(text: str) -> str | None:
    """The kind of credential in the text, as a noun phrase; None when it holds none.

    >>> secret_in_text("postgres://me:hunter2@db/shop")
    'a password'
    """
    for _ in range(1 + _UNQUOTED_TIMES):
        if found := min(credentials_in(text), default=None):
            return found.what
        text, written = unquote(text), text
        if text == written:
            break
    return None


def secrets_in(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every credential inside a free dict, as (where it is, noun phrase), in the order of the dict.

    A credential in a key itself is reported at the dict that has the key.

    >>> list(secrets_in({"team": "a", "jdbc": {"password": "x"}}))
    [(('jdbc', 'password'), "a credential in 'password'")]
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if secret := secret_in_text(str(key)):
                yield path, f"{secret}, as a key"
            elif is_secret(str(key), inner):
                yield (*path, key), f"a credential in {key!r}"
            else:
                yield from secrets_in(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from secrets_in(inner, (*path, index))
    elif isinstance(value, str) and (secret := secret_in_text(value)):
        yield path, secret


def credentials_in(text: str) -> Iterator[CredentialSpan]:
    """Every credential in a text as it is written, in no order; they may overlap."""
    yield from _find_credentials(text)
    if "\\" in text or "\x1b" in text:
        plain = _ESCAPES.sub(_blank, text)
        if plain != text:  # a token behind `\\n` looks like one behind a letter
            yield from _find_credentials(plain)


def _blank(escape: re.Match[str]) -> str:
    """Blanks in the length of the escape, and a line end where it stands for one."""
    return (" " * len(escape[0]))[1:] + ("\n" if escape[0][-1] in "nr" and "[" not in escape[0] else " ")


def _find_credentials(text: str) -> Iterator[CredentialSpan]:
    yield from find_written_credentials(text)
    yield from (CredentialSpan(*span, "a key") for span in find_tokens(text))
    yield from (
        CredentialSpan(*span, "a password")
        for span in find_placed_credentials(text)
        if not is_hidden(text[slice(*span)])
    )
