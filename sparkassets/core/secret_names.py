"""Names that secrets stand under, and the values below these in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

_WHICH: Final = (
    "(?:_(?:admin|b64|base64|current|database|db|dev|encoded|id|live|main|new|old|plain|previous|primary|prod|raw|root"
    "|secondary|stage|staging|test|text|user|value))*$"
)
"""The rest of a secret's name: words that only distinguish secrets, such as ``access_key_id``."""
_SECRET: Final = re.compile(
    "(?:^|_)(?P<password>passwords?|passwd|passphrase|passcode|passkey|pwd|pw)(?:_|$)"
    rf"|(?P<ending>password|passwd|passphrase){_WHICH}"  # of names without marks or capitals between their words
    rf"|(?:^|_)(?P<word>secrets?|credentials?|token|signature|authorization|jwt|sig|sas){_WHICH}"
    rf"|(?:(?:client|app)secret|(?:access|auth)token){_WHICH}"
    r"|(?:access|account|api|auth|encryption|function|host|master|private|secret|service|signing|ssh|storage"
    rf"|subscription)_?key{_WHICH}"
    r"|(?:^|_)(?:admin|auth|basic|db|database|ftp|http|jdbc|ldap|login|mongo|mysql|pg|postgres|proxy|redis|root|sftp"
    rf"|smtp|user)_pass{_WHICH}"  # any other ``pass`` may be one through a loop or onto a ship
    "|azure_?account_?key"  # Spark has the account's name behind it
)
_ABOUT: Final = re.compile(
    "(?:^|_)(?:age|at|attempts|changed|characters|chars|class|columns?|count|created|enabled|errors?|expired|expires"
    "|expiry|field|file|hint|last|length|limit|manager|max|method|min|names?|needed|path|policies|policy|provider"
    "|required|reset|rotated|rotation|rules?|scope|source|strength|ttl|types?|updated|url|usage|valid|version)$"
)
"""Names of what is known about a secret, and is none."""
_MAY_BE_COUNTED: Final = frozenset({"token", "tokens", "secrets", "credentials", "signature", "passwords", "passcode"})


def _words(name: str) -> str:
    """``AWSAccessKey-Id2`` as ``aws_access_key_id``; numbers at the end of words are left out."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    words = (word.rstrip("0123456789") for word in re.split(r"[^A-Za-z0-9]+", spaced))
    return "_".join(word.lower() for word in words if word)


@lru_cache(maxsize=1024)
def _find_secret(name: str) -> re.Match[str] | None:
    words = _words(name[:200])
    return None if _ABOUT.search(words) else _SECRET.search(words)


def secret_word(name: str) -> str | None:
    """The word by which a name is that of a credential, such as ``password`` or ``key``; None for any other name."""
    found = _find_secret(name)
    return found and (found["password"] or found["ending"] or found["word"] or "key")


def is_secret(name: str, value: object) -> bool:
    """Whether what stands under a name, at any depth, is a credential."""
    word = secret_word(name)
    if word is None or isinstance(value, bool):
        return False
    if isinstance(value, Mapping):
        return any(is_secret(name, inner) for inner in value.values())
    if isinstance(value, list | tuple):
        return any(is_secret(name, inner) for inner in value)
    if isinstance(value, str):
        return not is_harmless(word, value)
    return isinstance(value, int | float) and word not in _MAY_BE_COUNTED


def is_harmless(word: str, value: str) -> bool:
    """Whether a text under the name of a secret is none: empty, hidden, a reference, a count, the folder of ``pwd``."""
    if is_hidden(value) or is_reference(word, value):
        return True
    return word in _MAY_BE_COUNTED and value.replace(",", "").isdigit()


def is_hidden(value: str) -> bool:
    """Whether what could be a secret is none, or stands for one that is elsewhere."""
    return value.startswith(_REFERENCES) or value.strip("*") == "" or value.lower() in {"none", "null", "true", "false"}


_REFERENCES: Final = ("${", "{{", "<")


def is_reference(word: str, begin: str) -> bool:
    """Whether a value with this beginning is a reference to a secret, or a folder."""
    return begin.startswith(_REFERENCES) or (word == "pwd" and begin.startswith(("/", "~", ".")))


Span = tuple[int, int]

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.:-]{0,200}+"
_XML: Final = re.compile(rf"<(?P<name>{_NAME})(?:\s[^<>]{{0,500}}+)?>(?P<value>[^<>]++)</")
_XML_PROPERTY: Final = re.compile(rf"<name>\s*+(?P<name>{_NAME})\s*+</name>\s*+<value>(?P<value>[^<>]++)</")
_NAME_AND_VALUE: Final = re.compile(
    rf"(?i:name|key|property)[\\\"']{{0,6}}+\s*+[:=]\s*+[\\\"']{{0,6}}+(?P<name>{_NAME})[\\\"']{{0,6}}+\s*+,?\s*+"
    r"[\\\"']{0,6}+(?i:value)[\\\"']{0,6}+\s*+[:=]\s*+[\\\"']{0,6}+(?P<value>[^\s\"'\\,}]++)"
)
_PAIR: Final = re.compile(
    rf"[\[(]\s*+[\\]*+[\"'](?P<name>{_NAME})[\\]*+[\"']\s*+,\s*+[\\]*+[\"'](?P<value>[^\"'\\]++)[\\]*+[\"']\s*+[\])]"
)
"""A pair as Spark lists its settings; only dotted names count, as columns are listed in the same form."""

SignedPattern = tuple[tuple[str, ...], re.Pattern[str]]
"""Texts of which one must be there for the pattern to match, and the pattern; looking for them is much faster."""
_NAMED: Final[tuple[SignedPattern, ...]] = (
    (("</",), _XML),
    (("</",), _XML_PROPERTY),
    (("alue", "VALUE"), _NAME_AND_VALUE),
    ((", ", "','", '","'), _PAIR),
)
"""Patterns of a name and a value."""


def find_signed(patterns: Iterable[SignedPattern], text: str) -> Iterator[re.Match[str]]:
    """The matches of patterns in a text, each searched for only where the text has one of its signs."""
    for signs, pattern in patterns:
        if any(sign in text for sign in signs):
            yield from pattern.finditer(text)


def find_named_credentials(text: str) -> Iterator[Span]:
    """Where the text holds values under names of credentials, other than by an assignment; they may overlap."""
    yield from (_value(found) for found in find_signed(_NAMED, text) if _is_named(found))


def _value(found: re.Match[str]) -> Span:
    """Where the value is, without the blanks around it."""
    value, start = found["value"], found.start("value")
    begin = start + len(value) - len(value.lstrip())
    return begin, begin + len(value.strip())


def _is_named(found: re.Match[str]) -> bool:
    """Whether the name belongs to a credential, and the value is one."""
    name = found["name"].rpartition(":")[2] or found["name"]
    if found.re is _PAIR and "." not in name:
        return False
    return is_secret(name, found["value"].strip())
