"""By which names a credential stands: ``DB_PASSWORD``, ``fs.s3a.secret.key``, ``X-Amz-Signature``."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    """The word by which a name is that of a credential; None where it is no such name."""
    found = _find_secret(name)
    return found and (found["password"] or found["ending"] or found["word"] or "key")


def is_password(name: str) -> bool:
    """Whether a password stands under the name, and nothing else that is secret."""
    found = _find_secret(name)
    return bool(found and (found["password"] or found["ending"]))


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
