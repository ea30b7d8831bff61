"""Detects credentials by their own form: tokens with a prefix, blocks of keys, URLs that are secret as a whole.

The forms are those of ``detect-secrets`` and, here, forms that it lacks or only sees in part. Its rules are loaded with
the first text that holds something random enough to be a token: loading takes a tenth of a second.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

Span = tuple[int, int]

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
    r"|gh[pousr]_[A-Za-z0-9]{36,}+|github_pat_[A-Za-z0-9_]{22,}+"
    r"|gl(?:pat|ptt|cbt|agent|soat|rt|dt|ft|imt|oas)-[A-Za-z0-9_.-]{20,}+"  # GitLab
    r"|xox[abeoprs]-[0-9A-Za-z-]{10,}+|xapp-[0-9A-Za-z-]{10,}+"  # Slack
    r"|AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}+|GOCSPX-[0-9A-Za-z_-]{20,}+"  # Google
    r"|npm_[A-Za-z0-9]{36,}+|pypi-[A-Za-z0-9_-]{50,}+|hf_[A-Za-z0-9]{30,}+|dckr_[a-z]{2,4}_[A-Za-z0-9_-]{20,}+"
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}+|whsec_[A-Za-z0-9+/=]{20,}+"  # Stripe
    r"|SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+|sk-[A-Za-z0-9_-]{20,}+"  # SendGrid, OpenAI
    r"|hv[sb]\.[A-Za-z0-9_-]{20,}+|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}+|dop_v1_[a-f0-9]{64}"  # HashiCorp
    r"|gl(?:sa|c)_[A-Za-z0-9_=]{20,}+|NRAK-[A-Z0-9]{20,}+|sntry[su]_[A-Za-z0-9_=+/-]{20,}+|ATATT3[A-Za-z0-9_=-]{40,}+"
    r"|[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{31,34}+"  # Azure AD
    r"|(?<![+/])[A-Za-z0-9+/]{86}=="  # Azure storage
    r"|eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?+"  # JSON web tokens
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
_SIGNS_OF_URLS: Final = ("hooks", "webhook", "telegram", "googleapis", "ifttt", "@")
_APPRISE: Final = re.compile(
    rf"{_BEGIN}(?:slack|discord|tgram|msteams|workflows|gchat|mmosts?|rockets?|pagerduty|opsgenie|pushover|pover|pbul"
    rf"|ifttt|webexteams|wxteams|twilio|sendgrid|mailgun|splunk|victorops)://(?P<all>{_REST}{{16,}}+)"
)
"""Apprise's URLs of receivers, which hold their tokens."""

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
    if "-----BEGIN" in text or "PuTTY-User" in text:
        yield from (found.span() for found in _BLOCK.finditer(text))
    near_aws = False
    for found in _TOKEN.finditer(text):
        near_aws |= found["aws"] is not None
        yield found.span()
    if near_aws:
        yield from (found.span() for found in _AWS_SECRET.finditer(text))
    if any(sign in text for sign in _SIGNS_OF_URLS):
        yield from (found.span(found.lastgroup or 0) for found in _SECRET_URLS.finditer(text))
    if "://" in text:
        yield from (found.span("all") for found in _APPRISE.finditer(text))
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
