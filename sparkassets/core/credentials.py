"""What a credential looks like, in text and by the names that it stands under: one list for refusing and for hiding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

Path = tuple[str | int, ...]
"""Of keys and indices."""

_UNQUOTED_TIMES: Final = 2
"""How many layers of percent-encoding are looked through."""


@dataclass(frozen=True, slots=True, order=True)
class Credential:
    """One credential in a text.

    Attributes:
        start, end: Of what must not be shown.
        what: A noun phrase.
    """

    start: int
    end: int
    what: str


# --------------------------------------------------------------------------- names

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
"""What may follow a secret's name and only tell which one, such as ``access_key_id``."""
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
_IN_QUERIES: Final = frozenset({"auth", "code", "pass"})


@lru_cache(maxsize=1024)
def _words(name: str) -> tuple[str, ...]:
    """``AWSAccessKey-Id2`` as ``aws``, ``access``, ``key``, ``id``; numbers at the end of words are left out."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    words = (word.rstrip("0123456789") for word in re.split(r"[^A-Za-z0-9]+", spaced))
    return tuple(word.lower() for word in words if word)


@lru_cache(maxsize=1024)
def _named(name: str) -> str | None:
    """The word that makes a name that of a credential; None where it is none."""
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


def _is_secret(name: str, value: object) -> bool:
    """Whether what stands under a name, at any depth, is a credential."""
    word = _named(name)
    if word is None or isinstance(value, bool):
        return False
    if isinstance(value, Mapping):
        return any(_is_secret(name, inner) for inner in value.values())
    if isinstance(value, list | tuple):
        return any(_is_secret(name, inner) for inner in value)
    if isinstance(value, str):
        return not _says_nothing(word, value)
    return isinstance(value, int | float) and word not in _MAY_BE_COUNTED


def _says_nothing(word: str, value: str) -> bool:
    """Whether a text under the name of a secret is none: empty, hidden, a reference, a count, the folder of ``pwd``."""
    if _is_hidden(value) or _is_reference(word, value):
        return True
    return word in _MAY_BE_COUNTED and value.replace(",", "").isdigit()


def _is_hidden(value: str) -> bool:
    """Whether what could be a secret is none, or stands for one that is elsewhere."""
    return value.startswith(_REFERENCES) or value.strip("*") == "" or value.lower() in {"none", "null", "true", "false"}


_REFERENCES: Final = ("${", "{{", "<")


def _is_reference(word: str, begin: str) -> bool:
    """Whether what begins so is the place of a secret, or that of a folder."""
    return begin.startswith(_REFERENCES) or (word == "pwd" and begin.startswith(("/", "~", ".")))


# --------------------------------------------------------------------------- texts

_ASSIGNED: Final = re.compile(
    r"(?:(?P<mark>[?&;#])|(?<![A-Za-z0-9_.-])(?P<option>--?)|(?<![A-Za-z0-9_.-]))(?P<name>[A-Za-z_][A-Za-z0-9_.-]*+)"
    r"(?:[\\\"'\]]{0,6}+\s{0,9}+(?:=>|:=|==?|:(?!//))\s{0,9}+|(?(option)\s{1,9}+|\s{1,9}+(?=['\"])))"
)
"""``name=`` in all its spellings; the value is only looked at where the name is that of a credential."""
_VALUE: Final = re.compile(
    r"(?P<escaped>\\++[\"'])(?P<in_escaped>[^\"'\\]*+)"
    r"|\"(?P<in_double>[^\"\\]*+(?:\\.[^\"\\]*+)*+)|'(?P<in_single>[^'\\]*+(?:\\.[^'\\]*+)*+)"
    r"|(?P<scheme>(?i:bearer|basic|digest|token|negotiate|apikey)\s{1,9}+)?+(?P<plain>[^\s&;\"'\\]++)",
    re.DOTALL,
)
_VALUES: Final = ("in_escaped", "in_double", "in_single", "plain")
_OF_QUERY: Final = re.compile(r"(?P<plain>[^\s&;\"'\\?#]++)")
_LONG_KEY: Final = re.compile(r"[A-Za-z0-9._~+/=%-]{16,}+")

_SQL: Final = re.compile(r"\bidentified\s{1,9}+by\s{1,9}+(?:password\s{1,9}+)?+'(?P<plain>[^']++)", re.IGNORECASE)

_TOKEN: Final = re.compile(
    r"(?P<block>-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,40}KEY(?: BLOCK)?-----|\Z))"
    r"|(?<![A-Za-z0-9_-])(?:"
    r"(?P<aws>(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z]))"
    r"|(?:dapi|dkea|dose)[0-9a-f]{32}(?:-[0-9])?+(?![0-9A-Za-z])"  # Databricks
    r"|gh[pousr]_[A-Za-z0-9]{36,}+|github_pat_[A-Za-z0-9_]{22,}+"
    r"|gl(?:pat|ptt|cbt|agent|soat|rt|dt|ft|imt)-[A-Za-z0-9_.-]{20,}+"  # GitLab
    r"|xox[abeoprs]-[0-9A-Za-z-]{10,}+|xapp-[0-9A-Za-z-]{10,}+"  # Slack
    r"|AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}+|GOCSPX-[0-9A-Za-z_-]{20,}+"  # Google
    r"|npm_[A-Za-z0-9]{36,}+|pypi-[A-Za-z0-9_-]{50,}+|hf_[A-Za-z0-9]{30,}+"
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}+|SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"  # Stripe, SendGrid
    r"|sk-[A-Za-z0-9_-]{20,}+|hvs\.[A-Za-z0-9_-]{20,}+|dop_v1_[a-f0-9]{64}"
    r"|[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{31,34}+"  # Azure AD
    r"|(?<![+/])[A-Za-z0-9+/]{86}=="  # Azure storage
    r"|eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?+"  # JSON web tokens
    r"|[Bb]earer\s{1,9}+(?=[A-Za-z._~+/=-]*+[0-9])[A-Za-z0-9._~+/=-]{8,}+"
    r")",
    re.DOTALL,
)
_AWS_SECRET: Final = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])")
"""Of any 40 characters that could be anything, but beside an AWS key id they are its secret."""

_AUTHORITY: Final = re.compile(r"//(?P<given>[^/?#\s\"'<>]*+)(?P<rest>(?:/[^\s\"'<>/]++)*+)")
_ORACLE: Final = re.compile(r"\bjdbc:oracle:\w{1,20}:[^\s/@]{1,200}+/([^\s@]{1,200}+)@", re.IGNORECASE)
_BEFORE_AT: Final = re.compile(r"(?P<begin>[\s/?#@]|\A)(?P<inside>[^\s/?#@]++)@(?!sha[0-9]+:)(?=[A-Za-z0-9\[])")
_USER: Final = re.compile(r"(?:\A|[\"'=,;(])([A-Za-z_][^:\"'=,;()]*+):")
_ADDRESSES: Final = frozenset(
    {
        "mailto",
        "acct",
        "sip",
        "sips",
        "xmpp",
        "tag",
        "urn",
        "email",
        "mail",
        "from",
        "to",
        "cc",
        "by",
        "owner",
        "contact",
        "author",
    }
)
"""What stands before an address that is no user's, such as ``mailto:ann@example.com``."""


def secret_in_text(text: str) -> str | None:
    """What kind of credential the text holds, as a noun phrase; None when it holds none.

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

    A credential in a key itself is told of the dict that has the key.

    >>> list(secrets_in({"team": "a", "jdbc": {"password": "x"}}))
    [(('jdbc', 'password'), "a credential in 'password'")]
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if secret := secret_in_text(str(key)):
                yield path, f"{secret}, as a key"
            elif _is_secret(str(key), inner):
                yield (*path, key), f"a credential in {key!r}"
            else:
                yield from secrets_in(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from secrets_in(inner, (*path, index))
    elif isinstance(value, str) and (secret := secret_in_text(value)):
        yield path, secret


def credentials_in(text: str) -> Iterator[Credential]:
    """Every credential in a text as it is written, in no order; they may overlap."""
    if "@" in text:
        yield from (each for each in _passwords(text) if not _is_hidden(text[each.start : each.end]))
    if "=" in text or ":" in text or "--" in text or "'" in text or '"' in text:
        yield from _assignments(text)
    yield from (Credential(*found.span("plain"), "a password") for found in _SQL.finditer(text))
    near_aws = False
    for found in _TOKEN.finditer(text):
        near_aws |= found["aws"] is not None
        yield Credential(*found.span(), "a key")
    if near_aws:
        yield from (Credential(*found.span(), "a key") for found in _AWS_SECRET.finditer(text))


def _passwords(text: str) -> Iterator[Credential]:
    for found in _AUTHORITY.finditer(text):
        user, colon, _ = found["given"].rpartition("@")[0].partition(":")
        if colon:
            end = found.start("given") + found["given"].rindex("@")
            yield Credential(found.start("given") + len(user) + 1, end, "a password")
        elif found["rest"] and "@" in found["rest"] and _is_password_with_slash(found["given"]):
            end = found.start("rest") + found["rest"].index("@")
            yield Credential(found.start("given") + found["given"].index(":") + 1, end, "a password")
    for found in _BEFORE_AT.finditer(text):
        yield from _before_at(found)
    yield from (Credential(*found.span(1), "a password") for found in _ORACLE.finditer(text))


def _is_password_with_slash(given: str) -> bool:
    """Whether ``user:…`` before the first slash goes on as a password behind it; a port is a number."""
    _, colon, begun = given.partition(":")
    return bool(colon) and not given.startswith("[") and not begun.replace(",", "").replace(":", "").isdigit()


def _before_at(found: re.Match[str]) -> Iterator[Credential]:
    """``user:password`` before an ``@``, where a path or a list does not go on."""
    inside = found["inside"]
    for user in _USER.finditer(inside):
        if user.start(1) == 0 and found["begin"] not in ("", " ", "\t", "\n", "\r"):
            continue
        if user[1].lower() not in _ADDRESSES and user.end() < len(inside) and inside[-1] != ":":
            yield Credential(found.start("inside") + user.end(), found.end("inside"), "a password")
            return


def _assignments(text: str) -> Iterator[Credential]:
    """Each value is looked at once: behind one that is a credential, and behind the name of one that is none."""
    position = 0
    while found := _ASSIGNED.search(text, position):
        position = found.end("name")
        name, start = found["name"], found.end()
        word = _named(name)
        in_query = word is None and found["mark"] is not None and name.lower() in _IN_QUERIES
        if not in_query and (word is None or _is_reference(word, text[start : start + 2])):
            continue
        value = (_OF_QUERY if in_query else _VALUE).match(text, start)
        if value is None:
            continue
        group = next(each for each in _VALUES if value.groupdict().get(each) is not None)
        shown = value[group].rstrip(",)}]") if group == "plain" else value[group]
        if shown and (_is_query_secret(name, shown) if in_query else _is_secret(name, shown)):
            yield Credential(value.start(group), value.start(group) + len(shown), f"a credential in {name!r}")
            position = value.end()


def _is_query_secret(name: str, value: str) -> bool:
    """Whether ``&name=value`` is one for a name that means something else outside of queries."""
    return bool(_LONG_KEY.match(value)) if name.lower() == "code" else not value.isdigit()
