"""Credentials in running text: assignments such as ``password=…``, and passwords before the ``@`` of a URL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sparkassets.core.credentials.secret_names import is_hidden, is_reference, is_secret, secret_word


@dataclass(frozen=True, slots=True, order=True)
class CredentialSpan:
    """One credential in a text.

    Attributes:
        start, end: Of what must not be shown.
        what: A noun phrase.
    """

    start: int
    end: int
    what: str


_IN_QUERIES: Final = frozenset({"auth", "code", "pass"})
"""Names that mean a credential only in the query of a URL."""

_ASSIGNED: Final = re.compile(
    r"(?:(?P<mark>[?&;#])|(?<![A-Za-z0-9_.-])(?P<option>--?)|(?<![A-Za-z0-9_.-]))(?P<name>[A-Za-z_][A-Za-z0-9_.-]*+)"
    r"(?:[\\\"'\]]{0,6}+\s{0,9}+(?:=>|:=|==?|:(?!//))\s{0,9}+|(?(option)\s{1,9}+|\s{1,9}+(?=['\"])))"
)
"""``name=`` in all its spellings; the value is only examined where the name means a credential."""
_VALUE: Final = re.compile(
    r"(?P<escaped>\\++[\"'])(?P<in_escaped>[^\"'\\]*+)"
    r"|\"(?P<in_double>[^\"\\]*+(?:\\.[^\"\\]*+)*+)|'(?P<in_single>[^'\\]*+(?:\\.[^'\\]*+)*+)"
    r"|(?P<scheme>(?i:bearer|basic|digest|token|negotiate|apikey)\s{1,9}+)?+(?P<plain>[^\s&;\"'\\]++)",
    re.DOTALL,
)
_VALUES: Final = ("in_escaped", "in_double", "in_single", "plain")
_OF_QUERY: Final = re.compile(r"(?P<plain>[^\s&;\"'\\?#]++)")
_LONG_KEY: Final = re.compile(r"[A-Za-z0-9._~+/=%-]{16,}+")

_SQL: Final = re.compile(
    r"(?<![A-Za-z0-9])identified\s{1,9}+by\s{1,9}+(?:password\s{1,9}+)?+'(?P<plain>[^']++)", re.IGNORECASE
)

_AUTHORITY: Final = re.compile(r"//(?P<given>[^/?#\s\"'<>]*+)(?P<rest>(?:/[^\s\"'<>/]++)*+)")
_ORACLE: Final = re.compile(r"(?<![A-Za-z0-9])jdbc:oracle:\w{1,20}:[^\s/@]{1,200}+/([^\s@]{1,200}+)@", re.IGNORECASE)
_BEFORE_AT: Final = re.compile(r"(?P<begin>[\s/?#@]|\A)(?P<inside>[^\s/?#@]++)@(?!sha[0-9]+:)(?=[A-Za-z0-9\[])")
_USER: Final = re.compile(r"(?:\A|[\"'=,;(])([A-Za-z_][^:\"'=,;()]*+):")
_ADDRESS: Final = re.compile("mailto|acct|sips?|xmpp|tag|urn|e?mail|from|to|cc|by|owner|contact|author", re.IGNORECASE)
"""Words before an address that is no user of a URL, such as ``mailto:ann@example.com``."""


def find_written_credentials(text: str) -> Iterator[CredentialSpan]:
    """Credentials in assignments, URLs and SQL; they may overlap."""
    if "@" in text:
        yield from (each for each in _passwords(text) if not is_hidden(text[each.start : each.end]))
    if "=" in text or ":" in text or "--" in text or "'" in text or '"' in text:
        yield from _assignments(text)
    if "dentif" in text or "DENTIF" in text:
        yield from (CredentialSpan(*found.span("plain"), "a password") for found in _SQL.finditer(text))


def _passwords(text: str) -> Iterator[CredentialSpan]:
    for found in _AUTHORITY.finditer(text):
        user, colon, _ = found["given"].rpartition("@")[0].partition(":")
        if colon:
            end = found.start("given") + found["given"].rindex("@")
            yield CredentialSpan(found.start("given") + len(user) + 1, end, "a password")
        elif found["rest"] and "@" in found["rest"] and _is_password_with_slash(found["given"]):
            end = found.start("rest") + found["rest"].index("@")
            yield CredentialSpan(found.start("given") + found["given"].index(":") + 1, end, "a password")
    for found in _BEFORE_AT.finditer(text):
        yield from _before_at(found)
    yield from (CredentialSpan(*found.span(1), "a password") for found in _ORACLE.finditer(text))


def _is_password_with_slash(given: str) -> bool:
    """Whether ``user:…`` before the first slash goes on as a password behind it; a port is a number."""
    _, colon, begun = given.partition(":")
    return bool(colon) and not given.startswith("[") and not begun.replace(",", "").replace(":", "").isdigit()


def _before_at(found: re.Match[str]) -> Iterator[CredentialSpan]:
    """``user:password`` before an ``@``, where a path or a list does not go on."""
    inside = found["inside"]
    for user in _USER.finditer(inside):
        if user.start(1) == 0 and found["begin"] not in ("", " ", "\t", "\n", "\r"):
            continue
        if not _ADDRESS.fullmatch(user[1]) and user.end() < len(inside) and inside[-1] != ":":
            yield CredentialSpan(found.start("inside") + user.end(), found.end("inside"), "a password")
            return


def _assignments(text: str) -> Iterator[CredentialSpan]:
    """Each value is looked at once: behind one that is a credential, and behind the name of one that is none."""
    position = 0
    while found := _ASSIGNED.search(text, position):
        position = found.end("name")
        name, start = found["name"], found.end()
        word = secret_word(name)
        in_query = word is None and found["mark"] is not None and name.lower() in _IN_QUERIES
        if not in_query and (word is None or is_reference(word, text[start : start + 2])):
            continue
        value = (_OF_QUERY if in_query else _VALUE).match(text, start)
        if value is None:
            continue
        group = next(each for each in _VALUES if value.groupdict().get(each) is not None)
        shown = value[group].rstrip(",)}]") if group == "plain" else value[group]
        if shown and (_is_query_secret(name, shown) if in_query else is_secret(name, shown)):
            yield CredentialSpan(value.start(group), value.start(group) + len(shown), f"a credential in {name!r}")
            position = value.end()


def _is_query_secret(name: str, value: str) -> bool:
    """Whether ``&name=value`` is one for a name that means something else outside of queries."""
    return bool(_LONG_KEY.match(value)) if name.lower() == "code" else not value.isdigit()
