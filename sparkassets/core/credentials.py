"""Detects credentials in text: the same for refusing and for hiding.

The forms are those of ``detect-secrets`` and, here, forms that it lacks or sees only in part. Its rules are loaded with
the first text that holds something random enough to be a token: loading takes a tenth of a second.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from sparkassets.core.secret_names import (
    SignedPattern,
    Span,
    find_named_credentials,
    find_signed,
    is_hidden,
    is_reference,
    is_secret,
    secret_word,
)


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
    r"(?:[bBrRuU]{1,2}+(?=\\*+[\"']))?+"  # of Python's literals
    r"(?:(?P<escaped>\\++[\"'])(?P<in_escaped>[^\"'\\]*+)"
    r"|\"(?P<in_double>[^\"\\]*+(?:\\.[^\"\\]*+)*+)|'(?P<in_single>[^'\\]*+(?:\\.[^'\\]*+)*+)"
    r"|(?P<scheme>(?i:bearer|basic|digest|token|negotiate|apikey)\s{1,9}+)?+(?P<plain>[^\s&;\"'\\]++))",
    re.DOTALL,
)
_OF_QUERY: Final = re.compile(r"(?P<plain>[^\s&;\"'\\?#]++)")
_LONG_KEY: Final = re.compile(r"[A-Za-z0-9._~+/=%-]{16,}+")

_IDENTIFIED: Final = re.compile(
    r"(?<![A-Za-z0-9])identified\s{1,9}+by\s{1,9}+(?:password\s{1,9}+)?+'(?P<plain>[^']++)", re.IGNORECASE
)
_SQL: Final[tuple[SignedPattern, ...]] = ((("dentif", "DENTIF"), _IDENTIFIED),)

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
    if any(sign in text for sign in ("=", ":", "--", "'", '"')):
        yield from _assignments(text)
    yield from (CredentialSpan(*found.span("plain"), "a password") for found in find_signed(_SQL, text))


def _passwords(text: str) -> Iterator[CredentialSpan]:
    """Yields passwords before an ``@``: in the authority of a URL, after ``user:``, and in URLs of Oracle.

    A password may hold a slash, so that the ``@`` stands behind what looks like a path.
    """
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
        position, name = found.end("name"), found["name"]
        value = _find_assigned_value(found)
        if value is None:
            continue
        group = value.lastgroup or 0
        shown = value[group].rstrip(",)}]") if group == "plain" else value[group]
        if shown and (_is_query_secret if value.re is _OF_QUERY else is_secret)(name, shown):
            yield CredentialSpan(value.start(group), value.start(group) + len(shown), f"a credential in {name!r}")
            position = value.end()


def _find_assigned_value(found: re.Match[str]) -> re.Match[str] | None:
    """What stands behind a name that means a credential at its place."""
    word = secret_word(found["name"])
    if word is not None:
        begin = found.string[found.end() : found.end() + 2]
        return None if is_reference(word, begin) else _VALUE.match(found.string, found.end())
    is_in_query = found["mark"] is not None and found["name"].lower() in _IN_QUERIES
    return _OF_QUERY.match(found.string, found.end()) if is_in_query else None


def _is_query_secret(name: str, value: str) -> bool:
    """Whether ``&name=value`` is one for a name that means something else outside of queries."""
    return bool(_LONG_KEY.match(value)) if name.lower() == "code" else not value.isdigit()


_BEGIN: Final = r"(?<![A-Za-z0-9])"
_BLOCK: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}KEY(?: BLOCK)?-----|\Z)"
    r"|PuTTY-User-Key-File-.*?(?:Private-MAC:[^\n]*|\Z)",
    re.DOTALL,
)
_TOKEN: Final = re.compile(
    rf"{_BEGIN}(?:"
    r"(?P<aws>(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z]))"
    r"|(?:dapi|dkea|dose)[0-9a-f]{32}(?:-[0-9])?+(?![0-9A-Za-z])"  # Databricks
    r"|github_pat_[A-Za-z0-9_]{22,}+|xapp-[0-9A-Za-z-]{10,}+|xoxe[.-][0-9A-Za-z.-]{10,}+"  # GitHub, Slack
    r"|AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}+|GOCSPX-[0-9A-Za-z_-]{20,}+"  # Google
    r"|npm_[A-Za-z0-9]{36,}+|hf_[A-Za-z0-9]{30,}+|dckr_[a-z]{2,4}_[A-Za-z0-9_-]{20,}+"
    r"|whsec_[A-Za-z0-9+/=]{20,}+|sk-[A-Za-z0-9_-]{20,}+"  # Stripe, OpenAI
    r"|hv[sb]\.[A-Za-z0-9_-]{20,}+|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}+|dop_v1_[a-f0-9]{64}"  # HashiCorp
    r"|gl(?:sa|c)_[A-Za-z0-9_=]{20,}+|NRAK-[A-Z0-9]{20,}+|sntry[su]_[A-Za-z0-9_=+/-]{20,}+|ATATT3[A-Za-z0-9_=-]{40,}+"
    r"|[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{31,34}+"  # Azure AD
    r"|(?<![+/])[A-Za-z0-9+/]{86}=="  # Azure storage
    r"|AGE-SECRET-KEY-1[0-9A-Z]{58}"
    r"|[Bb]earer\s{1,9}+(?=[A-Za-z._~+/=-]*+[0-9])[A-Za-z0-9._~+/=-]{8,}+"
    r")"
)
_AWS_SECRET: Final = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])")
"""Any 40 characters: they could be anything, but beside an AWS key id they are its secret."""

_REST: Final = r"[^\s\"'<>\\]"
_SECRET_URLS: Final = re.compile(
    rf"hooks\.slack(?:-gov)?\.com/[a-z]{{4,20}}/(?P<slack>[A-Za-z0-9/_+-]{{16,}}+)"
    rf"|discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/(?P<discord>[A-Za-z0-9_-]{{16,}}+)"
    rf"|api\.telegram\.org/(?:file/)?bot(?P<telegram>[0-9]+:[A-Za-z0-9_-]{{16,}}+)"
    rf"|office(?:365)?\.com/webhook(?:b2)?/(?P<teams>{_REST}{{16,}}+)"
    rf"|chat\.googleapis\.com/v1/spaces/[^\s\"'<>?]{{1,200}}\?(?P<chat>{_REST}{{8,}}+)"
    rf"|hooks\.zapier\.com/hooks/catch/(?P<zapier>{_REST}{{8,}}+)"
    rf"|maker\.ifttt\.com/trigger/[^\s\"'<>]{{1,200}}?/with/key/(?P<ifttt>{_REST}{{8,}}+)"
    rf"|/hooks/(?P<chats>[a-z0-9]{{26}}(?![A-Za-z0-9])|[A-Za-z0-9]{{17,24}}/[A-Za-z0-9]{{40,}}+)"  # Mattermost, Rocket
    rf"|https?://(?P<sentry>[0-9a-f]{{32}}(?::[0-9a-f]{{32}})?)@"
)
"""Whoever knows such a URL can post there; the place in it is secret, the host is not."""
_APPRISE: Final = re.compile(
    rf"{_BEGIN}(?:slack|discord|tgram|msteams|workflows|gchat|mmosts?|rockets?|pagerduty|opsgenie|pushover|pover|pbul"
    rf"|ifttt|webexteams|wxteams|twilio|sendgrid|mailgun|splunk|victorops)://(?P<all>{_REST}{{16,}}+)"
)
"""Apprise's URLs of receivers, which hold their tokens: `notify` takes them."""
_KEYS_BY_FORM: Final[tuple[SignedPattern, ...]] = (
    (("-----BEGIN", "PuTTY-User"), _BLOCK),
    (("hooks", "webhook", "telegram", "googleapis", "ifttt", "@"), _SECRET_URLS),
    (("://",), _APPRISE),
)

_RANDOM: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?![0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![A-Za-z0-9_-]))"  # an id of a run
    r"(?=[A-Za-z_-]*[0-9][0-9_-]*[A-Za-z])[A-Za-z0-9_-]{20,}"
)
"""A run of characters with digits and letters, which every rule of the detector needs."""
_LEFT_OUT: Final = frozenset(
    {
        "IPPublicDetector",  # an address is no credential
        "BasicAuthDetector",  # `user:password@`, of which more is known here
        "PrivateKeyDetector",  # finds the first line alone
        "ArtifactoryDetector",  # takes nine capitals for a key
        "NpmDetector",  # takes the square of a line's length; `_authToken=` is found by its name
    }
)
_WHOLE: Final = 16
"""Characters from which a group of a rule is the secret, and not a prefix of it."""
_OF_TOKENS: Final = re.compile(r"[A-Za-z0-9_-]*+")


def find_tokens(text: str) -> Iterator[Span]:
    """Where the text holds keys and tokens; they may overlap."""
    yield from (found.span(found.lastgroup or 0) for found in find_signed(_KEYS_BY_FORM, text))
    tokens = [*_TOKEN.finditer(text)]
    yield from (found.span() for found in tokens)
    if any(found["aws"] for found in tokens):
        yield from (found.span() for found in _AWS_SECRET.finditer(text))
    if _RANDOM.search(text):
        yield from _detector_matches(text)


def _detector_matches(text: str) -> Iterator[Span]:
    """The spans that the rules of the detector match."""
    for rule in _rules():
        for found in rule.finditer(text):
            spans = [found.span(group) for group in range(1, rule.groups + 1)]
            start, end = max(spans, key=lambda span: span[1] - span[0], default=found.span())
            if end - start < _WHOLE:
                start, end = found.span()
            rest = _OF_TOKENS.match(text, end)  # some rules stop within a token
            yield start, rest.end() if rest else end


@lru_cache(maxsize=1)
def _rules() -> tuple[re.Pattern[str], ...]:
    """The patterns of the detector."""
    show_warning = warnings.showwarning
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    if warnings.showwarning is not show_warning:
        logging.captureWarnings(False)  # noqa: FBT003  the detector turns it on for the whole process
    plugins: Iterable[type] = get_mapping_from_secret_type_to_class().values()
    return tuple(
        pattern
        for plugin in sorted(plugins, key=lambda each: each.__name__)
        if issubclass(plugin, RegexBasedDetector) and plugin.__name__ not in _LEFT_OUT
        for pattern in plugin.denylist  # type: ignore[attr-defined]
    )


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
    """Yields the credentials of every kind in a text: written ones, tokens by their form, and values beside a name."""
    yield from find_written_credentials(text)
    yield from (CredentialSpan(*span, "a key") for span in find_tokens(text))
    yield from (
        CredentialSpan(*span, "a password")
        for span in find_named_credentials(text)
        if not is_hidden(text[slice(*span)])
    )
