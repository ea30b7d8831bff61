"""Credentials in clear text, by what they look like and by the names that they stand under (DESIGN section 4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

Path = tuple[str | int, ...]
"""Of keys and indices."""

_PASSWORDS: Final = r"(?:passwords?|passwd|passphrase|pwd|secrets?)"
_KEYS: Final = r"(?:secret|access|account|api|private)_?key|access_?key_?id|(?:client|app)_?secret"
_TOKENS: Final = (
    r"credentials?|(?:(?:access|auth|bearer|id|refresh|sas|session)_?)?token|signature|(?:proxy_)?authorization"
)
_NAME: Final = re.compile(rf"(?:.*_)?(?:{_PASSWORDS}|{_KEYS}|{_TOKENS})")
_NAME_OF_NUMBERS: Final = re.compile(rf"(?:.*_)?(?:password|passwd|passphrase|pwd|secret|{_KEYS})")
"""Under these a number is a credential too; what other names have may be counted, such as tokens."""

_ASSIGNMENT: Final = re.compile(r"(?:^|([?&;#])|\s)([A-Za-z][A-Za-z0-9_.-]*)=([^&;\s]+)")
_NAMES_IN_QUERIES: Final = frozenset({"auth", "pass"})
_LONG_KEY: Final = re.compile(r"[A-Za-z0-9._~+/=%-]{16,}")

_ADDRESSES: Final = r"(?:mailto|acct|sips?|xmpp|tag|urn|e?mail|from|to|cc|by|owner|contact|author)"
"""What stands before an address that is no user's, such as ``mailto:ann@example.com``."""
_PASSWORD: Final = re.compile(
    r"//[^/?#\s@:]*:[^/?#\s@]+@"
    rf"|(?:^|(?<=[\s\"'=,;(]))(?!{_ADDRESSES}:)[A-Za-z_][^\s:/?#@\"'=,;()]*:[^\s/?#@]*[^\s/?#@:]@(?!sha\d+:)[A-Za-z0-9\[]"
    r"|\bjdbc:oracle:\w+:[^\s/@]+/[^\s@]+@",
    re.IGNORECASE,
)
_KEY: Final = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS access key ids
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bdapi[0-9a-f]{32}\b"  # Databricks personal access tokens
    r"|\bgh[pousr]_[A-Za-z0-9]{36}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\."  # JSON web tokens
    r"|\bAIza[0-9A-Za-z_-]{35}"  # Google API keys
    r"|\bxox[abprs]-[0-9A-Za-z-]{10,}"  # Slack tokens
    r"|\b[Bb]earer\s+(?=[A-Za-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{8,}"
)
_UNQUOTED_TIMES: Final = 2
"""How many layers of percent-encoding are looked through."""


def secret_in_text(text: str) -> str | None:
    """What kind of credential the text holds, as a noun phrase; None when it holds none.

    >>> secret_in_text("postgres://me:hunter2@db/shop")
    'a password'
    """
    for _ in range(1 + _UNQUOTED_TIMES):
        if found := _in_plain_text(text):
            return found
        text, written = unquote(text), text
        if text == written:
            break
    return None


def secrets_in(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every credential inside a free dict, as (where it is, noun phrase), in the order of the dict.

    A credential in a key itself is told of the dict that has the key.

    >>> list(secrets_in({"team": "a", "jdbc": {"password": "x"}}))
    [(('jdbc', 'password'), "a credential in 'password'")]
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if secret := secret_in_text(str(key)):
                yield path, f"{secret}, as a key"
            elif _is_secret(_snake(str(key)), inner):
                yield (*path, key), f"a credential in {key!r}"
            else:
                yield from secrets_in(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from secrets_in(inner, (*path, index))
    elif isinstance(value, str) and (secret := secret_in_text(value)):
        yield path, secret


def _in_plain_text(text: str) -> str | None:
    if "@" in text and _PASSWORD.search(text):
        return "a password"
    for mark, name, value in _ASSIGNMENT.findall(text) if "=" in text else ():
        if _is_secret_assignment(mark, name, value):
            return f"a credential in {name!r}"
    return "a key" if _KEY.search(text) else None


def _is_secret_assignment(mark: str, name: str, value: str) -> bool:
    """Whether ``name=value`` is a credential; ``mark`` is the character of a query before it, if there is one."""
    snake = _snake(name)
    if snake == "sig" or _NAME.fullmatch(snake):
        return True
    if mark and snake in _NAMES_IN_QUERIES:
        return not value.isdigit()
    return bool(mark) and snake == "code" and bool(_LONG_KEY.match(value))


def _is_secret(name: str, value: object) -> bool:
    """Whether what stands under a name, at any depth, is a credential."""
    if isinstance(value, Mapping):
        return bool(_NAME.fullmatch(name)) and any(_is_secret(name, inner) for inner in value.values())
    if isinstance(value, list | tuple):
        return bool(_NAME.fullmatch(name)) and any(_is_secret(name, inner) for inner in value)
    if isinstance(value, str):
        return bool(value and _NAME.fullmatch(name))
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return numeric and bool(_NAME_OF_NUMBERS.fullmatch(name))


@lru_cache(maxsize=128)
def _snake(name: str) -> str:
    """``AWSAccessKey-Id`` as ``aws_access_key_id``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
