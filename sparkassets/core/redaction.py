"""Credentials are kept out of everything that is stored or shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from sparkassets.core.credentials import CredentialSpan, credentials_in, is_secret, secret_in_text

_MASK: Final = "***"
_ENCODED: Final = re.compile(r"(?<!\S)[^\s%]*+%[^\s]*+")
_OPENS: Final = re.compile(
    r"(?P<block>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|PuTTY-User-Key-File)"
    r"|(?i:name|key|property)[\\\"']{0,6}(?:\s{0,9}[:=]|>)|:[ \t]{1,9}[|>][+-]?[0-9]?[ \t]{0,9}$",
    re.MULTILINE,
)
"""Text that a credential may follow on the next lines: a key, or the value that belongs to a name."""
_LINES_OF_VALUES: Final = 8
_LINES_OF_BLOCKS: Final = 200
_SHORTEST: Final = 3
"""Shortest value of a variable that is distinct from the text around it, in characters."""
_LONG: Final = 8
"""From so many characters on a value is known inside of other words, too."""


def redact(text: str, *, variables: Mapping[str, str] | None = None) -> str:
    """``text`` with ``***`` in place of passwords, tokens, keys and signatures.

    Args:
        text: Whatever is to be shown or stored.
        variables: Of the environment; instead of their values, ``${NAME}`` is shown.

    >>> redact("jdbc:postgresql://u:pw@h/db?password=x&a=1")
    'jdbc:postgresql://u:***@h/db?password=***&a=1'
    """
    for name, value in sorted(_variable_spellings(variables or {}), key=lambda each: -len(each[1])):
        if len(value) >= _LONG:
            text = text.replace(value, f"${{{name}}}")
        elif len(value) >= _SHORTEST:
            alone = re.compile(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])")
            text = f"${{{name}}}".join(alone.split(text))
    masked = _mask_credentials(text, lambda _: _MASK)
    return _ENCODED.sub(_mask_decoded_word, masked) if "%" in masked else masked


class RedactingStream:
    """Hides credentials in a text that comes piece by piece, such as a log: one may begin in an earlier piece.

    Args:
        variables: As of `redact`.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._before = ""

    def redact(self, text: str) -> str:
        """The next piece, of whole lines, without credentials; also without the rest of one that began before."""
        if not self._before:
            self._keep(text)
            return redact(text, variables=self._variables)
        both, begin = self._before + text, len(self._before)
        parts, position = list[str](), begin
        for each in sorted(credentials_in(both), key=lambda each: (each.start, -each.end)):
            if each.end > position:
                start = max(each.start, position)
                line_end = "\n" if both[each.end - 1] == "\n" else ""
                parts += [both[position:start], _MASK if start >= position else "", line_end]
                position = each.end
        self._keep(both)
        return redact("".join([*parts, both[position:]]), variables=self._variables)

    def _keep(self, text: str) -> None:
        """Remembers the lines that the next piece may continue with."""
        found = max(_OPENS.finditer(text), key=re.Match.start, default=None)
        rest = "" if found is None else text[text.rfind("\n", 0, found.start()) + 1 :]
        most = _LINES_OF_BLOCKS if found is not None and found["block"] else _LINES_OF_VALUES
        self._before = rest if rest.count("\n") <= most else ""


def redact_json(value: Any, *, variables: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401  JSON
    """The JSON value with each of its texts as `redact` has it; the very same where none holds a credential."""
    text = json.dumps(value, ensure_ascii=False)
    return value if redact(text, variables=variables) == text else _redact_each(value, variables)


def _redact_each(value: Any, variables: Mapping[str, str] | None) -> Any:  # noqa: ANN401  JSON
    """The JSON value with each text redacted, keys included; a value is masked whole if its key names a credential."""
    match value:
        case str():
            return redact(value, variables=variables)
        case Mapping():
            return {
                redact(key, variables=variables): _redact_named_value(key, each, variables)
                for key, each in value.items()
            }
        case list() | tuple():
            return [_redact_each(each, variables) for each in value]
    return value


def _redact_named_value(name: str, value: Any, variables: Mapping[str, str] | None) -> Any:  # noqa: ANN401  JSON
    return _MASK if isinstance(value, str) and is_secret(name, value) else _redact_each(value, variables)


def _variable_spellings(variables: Mapping[str, str]) -> set[tuple[str, str]]:
    """The values, and as JSON has them within its quotes."""
    found = set(variables.items())
    for name, value in variables.items():
        if not value.isascii() or not value.isprintable() or '"' in value or "\\" in value:
            found |= {(name, json.dumps(value, ensure_ascii=each)[1:-1]) for each in (True, False)}
    return found


def mask_with_stars(text: str) -> str:
    """``text`` with as many stars as each credential has characters, so that columns still count.

    >>> mask_with_stars("password: hunter2 # x")
    'password: ******* # x'
    """
    return _mask_credentials(text, lambda each: "*" * (each.end - each.start))


def _mask_credentials(text: str, mask: Callable[[CredentialSpan], str]) -> str:
    """The text without its credentials; of those that overlap the longer one counts."""
    parts, position = [], 0
    for each in sorted(credentials_in(text), key=lambda each: (each.start, -each.end)):
        if each.end <= position:
            continue
        start = max(each.start, position)
        parts += [
            text[position:start],
            mask(CredentialSpan(start, each.end, each.what)) if each.start >= position else "",
        ]
        position = each.end
    return "".join([*parts, text[position:]])


def _mask_decoded_word(found: re.Match[str]) -> str:
    """A word whose credential is percent-encoded, decoded and without it."""
    word = found[0]
    if secret_in_text(word) is None:
        return word
    for _ in range(2):
        word = unquote(word)
    return _mask_credentials(word, lambda _: _MASK)
