"""Dataset URIs, the identities of data (docs/design/projects.md#names-and-identities)."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from sparkassets.errors import InputError

RESERVED_SCHEME: Final = "sparkassets"
URI_CHARACTERS: Final = 2048
"""A dataset URI's greatest length."""

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Of an asset."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BEFORE_SLASHES = re.compile(r"([^/?#]*?)://")
_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//([^/?#]*)")
_RFC_3986 = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")
_PATTERN_MARKS = re.compile(r"[*\[\]{}^|\\]|\$$")


class AssetError(InputError):
    """A dataset URI that cannot identify anything."""


def parse_uri(text: str) -> str:
    """The dataset URI with its scheme in lower case; all the rest as written, host included.

    Raises:
        AssetError: Empty or too long, not ASCII or outside RFC 3986, a pattern, a scheme that is none, is reserved or
            stands alone, or a credential in clear text.

    >>> parse_uri("S3://Example/Dataset")
    's3://Example/Dataset'
    """
    if not text:
        raise AssetError("the dataset URI is empty")
    if len(text) > URI_CHARACTERS:
        raise AssetError(f"the dataset URI has {len(text):,} characters; expected at most {URI_CHARACTERS:,}")
    from sparkassets.core.credentials import secret_in_text  # a look at a compiled project parses no URI

    if secret := secret_in_text(text):
        raise AssetError(
            f"the dataset URI contains {secret}; events are clear text", hint="leave it out of the identity"
        )
    _refuse_patterns(text)
    valid = _RFC_3986.match(text)
    end = valid.end() if valid else 0
    if end < len(text):
        found = text[end]
        hint = "'%' must be followed by two hexadecimal digits" if found == "%" else f"write it as {quote(found)}"
        raise AssetError(f"the dataset URI {text!r} contains {found!r}, which RFC 3986 does not allow", hint=hint)
    scheme = _SCHEME.match(text)
    if not scheme:
        if wrong := _BEFORE_SLASHES.match(text):
            hint = "a scheme consists of letters, digits, '+', '-' and '.', and begins with a letter"
            raise AssetError(f"the dataset URI {text!r} has the invalid scheme {wrong[1]!r}", hint=hint)
        return text
    if scheme[1].lower() == RESERVED_SCHEME:
        raise AssetError(f"the dataset URI {text!r} uses the scheme '{RESERVED_SCHEME}', which is reserved")
    if not text[scheme.end() :].strip("/"):
        raise AssetError(f"the dataset URI {text!r} is empty after its scheme")
    return lower_scheme(text)


def lower_scheme(text: str) -> str:
    """The text with its scheme, if it has one, in lower case.

    >>> lower_scheme("X-By:Day"), lower_scheme("Landing/Day")
    ('x-by:Day', 'Landing/Day')
    """
    scheme = _SCHEME.match(text)
    return scheme[0].lower() + text[scheme.end() :] if scheme else text


def _refuse_patterns(text: str) -> None:
    """Refuses a glob or a regular expression; brackets are allowed in the host only (IPv6)."""
    authority = _AUTHORITY.match(text)
    skipped = authority.end() if authority else 0
    host = authority[1] if authority else ""
    mark = _PATTERN_MARKS.search(host.replace("[", "").replace("]", "")) or _PATTERN_MARKS.search(text, skipped)
    if mark:
        raise AssetError(
            f"the dataset URI {text!r} contains {mark[0]!r}, as in a glob or a regular expression",
            hint="a URI identifies a single dataset",
        )
