"""By which names a credential stands: ``DB_PASSWORD``, ``fs.s3a.secret.key``, ``X-Amz-Signature``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

_PASSWORDS: Final = frozenset({"password", "passwords", "passwd", "passphrase", "passcode", "passkey", "pwd", "pw"})
"""Whatever word follows these in a name but `_ABOUT`, what stands under it is one."""
_SECRETS: Final = frozenset(
    {"secret", "secrets", "credential", "credentials", "token", "signature", "authorization", "jwt", "sig", "sas"}
)
_KEYS: Final = tuple(
    f"{kind}key"
    for kind in (
        *("access", "account", "api", "auth", "encryption", "function", "host", "master", "private"),
        *("secret", "service", "sharedaccess", "signing", "ssh", "storage", "subscription"),
    )
)
_WRITTEN_AS_ONE: Final = ("password", "passwd", "passphrase", "clientsecret", "appsecret", "accesstoken", "authtoken")
"""Ends of names that are written without capitals and marks between their words."""
_PASS_OF: Final = frozenset(
    {
        "admin",
        "auth",
        "basic",
        "db",
        "database",
        "ftp",
        "http",
        "jdbc",
        "ldap",
        "login",
        "mongo",
        "mysql",
        "pg",
        "postgres",
        "proxy",
        "redis",
        "root",
        "sftp",
        "smtp",
        "user",
    }
)
"""Before ``pass``, which may also be one through a loop or onto a ship."""
_WHICH: Final = frozenset(
    {
        "admin",
        "b64",
        "base64",
        "current",
        "database",
        "db",
        "dev",
        "encoded",
        "id",
        "live",
        "main",
        "new",
        "old",
        "plain",
        "previous",
        "primary",
        "prod",
        "raw",
        "root",
        "secondary",
        "stage",
        "staging",
        "test",
        "text",
        "user",
        "value",
    }
)
"""Words after a secret's name that only distinguish secrets, such as ``access_key_id``."""
_ABOUT: Final = frozenset(
    {
        "age",
        "at",
        "attempts",
        "changed",
        "characters",
        "chars",
        "class",
        "column",
        "columns",
        "count",
        "created",
        "enabled",
        "error",
        "errors",
        "expired",
        "expires",
        "expiry",
        "field",
        "file",
        "hint",
        "last",
        "length",
        "limit",
        "manager",
        "max",
        "method",
        "min",
        "name",
        "names",
        "needed",
        "path",
        "policies",
        "policy",
        "provider",
        "required",
        "reset",
        "rotated",
        "rotation",
        "rule",
        "rules",
        "scope",
        "source",
        "strength",
        "ttl",
        "type",
        "types",
        "updated",
        "url",
        "usage",
        "valid",
        "version",
    }
)
"""Last words of names of what is known about a secret, and is none."""
_MAY_BE_COUNTED: Final = frozenset({"token", "tokens", "secrets", "credentials", "signature", "passwords", "passcode"})


@lru_cache(maxsize=1024)
def _words(name: str) -> tuple[str, ...]:
    """``AWSAccessKey-Id2`` as ``aws``, ``access``, ``key``, ``id``; numbers at the end of words are left out."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    words = (word.rstrip("0123456789") for word in re.split(r"[^A-Za-z0-9]+", spaced))
    return tuple(word.lower() for word in words if word)


@lru_cache(maxsize=1024)
def secret_word(name: str) -> str | None:
    """The word by which a name is that of a credential; None where it is no such name."""
    words = _words(name[:200])
    if not words or words[-1] in _ABOUT:
        return None
    if found := next((word for word in words if word in _PASSWORDS), None):
        return found
    while len(words) > 1 and words[-1] in _WHICH:
        words = words[:-1]
    last, joined = words[-1], "".join(words)
    if "azureaccountkey" in joined:
        return "key"  # Spark has the account's name behind it
    if last == "pass":
        return last if len(words) > 1 and words[-2] in _PASS_OF else None
    if last in _SECRETS:
        return last
    return next((end for end in (*_KEYS, *_WRITTEN_AS_ONE) if joined.endswith(end)), None)


def is_password(name: str) -> bool:
    """Whether a password stands under the name, and nothing else that is secret."""
    return secret_word(name) in _PASSWORDS


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
