"""Names and dataset URIs: what identifies assets and their data (DESIGN section 4, rules of the file)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote

from sparkassets.errors import InputError

RESERVED_SCHEME: Final = "sparkassets"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//([^/?#]*)")
_RFC_3986 = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")
_PATTERN_MARKS = re.compile(r"[*\[\]{}^|\\]|\$$")

_WORDS_OF_KEYS: Final = (
    r"(?:password|passwd|passphrase|pwd|secret|secret_?key|access_?key|access_?key_?id|account_?key|api_?key|private_?key"
    r"|client_?secret|credentials?|token|access_?token|auth_?token|sas_?token|session_?token|signature)"
)
_SECRET_KEY = re.compile(rf"(?:.*_)?{_WORDS_OF_KEYS}")
_SECRET_QUERY = re.compile(rf"(?:^|[?&;#\s])(sig|(?:[a-z0-9]+[_-])*{_WORDS_OF_KEYS})=[^&;\s]", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS access key ids
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bdapi[0-9a-f]{32}\b"  # Databricks personal access tokens
    r"|\bgh[pousr]_[A-Za-z0-9]{36}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\."  # JSON web tokens
    r"|\bAIza[0-9A-Za-z_-]{35}"  # Google API keys
    r"|\bxox[abprs]-[0-9A-Za-z-]{10,}"  # Slack tokens
)
_PASSWORD_IN_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s@]*:[^/?#\s@]+@")


class AssetError(InputError):
    """A name or a dataset URI that cannot identify anything."""


def check_name(text: str) -> str:
    """The name itself.

    Raises:
        AssetError: It is not letters, digits and ``_``, beginning with a letter or ``_``.

    >>> check_name("daily_delays")
    'daily_delays'
    """
    if not _NAME.fullmatch(text):
        raise AssetError(f"{text!r} is not a name; expected letters, digits and '_', not beginning with a digit")
    return text


def parse_uri(text: str) -> str:
    """The dataset URI with its scheme in lower case; all the rest as written, host included.

    Raises:
        AssetError: Empty, not ASCII or outside RFC 3986, a pattern, the reserved scheme, or a credential in clear text.

    >>> parse_uri("S3://Example/Dataset")
    's3://Example/Dataset'
    """
    if not text:
        raise AssetError("a dataset URI is empty")
    if secret := secret_in_text(text):
        raise AssetError(f"the dataset URI holds {secret}; events are clear text", hint="leave it out of the identity")
    _refuse_patterns(text)
    valid = _RFC_3986.match(text)
    end = valid.end() if valid else 0
    if end < len(text):
        found = text[end]
        hint = "'%' must be followed by two hexadecimal digits" if found == "%" else f"write it as {quote(found)}"
        raise AssetError(f"the dataset URI {text!r} holds {found!r}, which RFC 3986 does not allow", hint=hint)
    scheme = _SCHEME.match(text)
    if not scheme:
        return text
    lowered = scheme[1].lower()
    if lowered == RESERVED_SCHEME:
        raise AssetError(f"the dataset URI {text!r} uses the scheme '{RESERVED_SCHEME}', which is reserved")
    return lowered + text[scheme.end(1) :]


def _refuse_patterns(text: str) -> None:
    """Refuses a glob or a regular expression; brackets are allowed in the host only (IPv6)."""
    authority = _AUTHORITY.match(text)
    skipped = authority.end() if authority else 0
    host = authority[1] if authority else ""
    mark = _PATTERN_MARKS.search(host.replace("[", "").replace("]", "")) or _PATTERN_MARKS.search(text, skipped)
    if mark:
        raise AssetError(
            f"the dataset URI {text!r} looks like a glob or a regular expression because of {mark[0]!r}",
            hint="an identity names one dataset",
        )


def secret_in_text(text: str) -> str | None:
    """What kind of credential the text holds, as a noun phrase; None when it holds none.

    >>> secret_in_text("postgres://me:hunter2@db/shop")
    'a password'
    """
    if _PASSWORD_IN_AUTHORITY.search(text):
        return "a password"
    if query := _SECRET_QUERY.search(text):
        return f"a credential in {query[1]!r}"
    return "a key" if _SECRET_VALUE.search(text) else None


def secrets_in(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every credential inside a free dict, as (path of keys and indices, noun phrase), in the order of the dict.

    >>> list(secrets_in({"team": "a", "jdbc": {"password": "x"}}))
    [(('jdbc', 'password'), "a credential in 'password'")]
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, str) and inner and _SECRET_KEY.fullmatch(_snake(str(key))):
                yield (*path, key), f"a credential in {key!r}"
            else:
                yield from secrets_in(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from secrets_in(inner, (*path, index))
    elif isinstance(value, str) and (secret := secret_in_text(value)):
        yield path, secret


def _snake(key: str) -> str:
    """``accessKey-Id`` as ``access_key_id``."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower())
