"""Values of scalars: YAML 1.2 core types, and variables inside text (docs/design/projects.md#scalars)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sparkassets.frozen import frozen

Scalar = str | int | float | bool | None

_WORDS: Final[Mapping[str, Scalar]] = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("true", "True", "TRUE"), True)
    | dict.fromkeys(("false", "False", "FALSE"), False)
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf"))
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf"))
    | dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan"))
)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

_MOST_DIGITS = 1_000
"""Longer numbers are text: Python takes ever longer to read them, and at last refuses."""

_VARIABLE = re.compile(r"(?P<escaped>\$\$\{)|\$\{(?P<inside>[^}]*)(?P<closed>\}?)")
_INSIDE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?", re.DOTALL)


def plain_value(text: str) -> Scalar:
    """The value of unquoted text; a number with a leading zero or of more than 1,000 digits is text.

    >>> [plain_value(text) for text in ("true", "NO", "010", "18:00", "2024-01-01", "1_000", "12", "1.5", "~")]
    [True, 'NO', '010', '18:00', '2024-01-01', '1_000', 12, 1.5, None]
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "+-.0123456789" and len(text) <= _MOST_DIGITS:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _BASED.fullmatch(text):
            return int(text, base=0)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def variables_in(text: str) -> list[str]:
    """The names of the variables that a text asks for.

    >>> variables_in("s3://${BUCKET}/${STAGE:-dev}/$${x}")
    ['BUCKET', 'STAGE']
    """
    found = (_INSIDE.fullmatch(each["inside"]) for each in _VARIABLE.finditer(text) if not each["escaped"])
    return [each["name"] for each in found if each]


@frozen
class UnresolvedVariable:
    """A ``${…}`` that has no value.

    Attributes:
        text: As written, to be found in the file again.
    """

    text: str
    message: str
    hint: str | None = None


def substitute_variables(text: str, *, environment: Mapping[str, str]) -> tuple[str, list[UnresolvedVariable]]:
    """The text with ``${NAME}`` and ``${NAME:-default}`` replaced and ``$${`` as ``${``; what could not be replaced.

    >>> substitute_variables("s3://${BUCKET}/${STAGE:-dev}/$${x}", environment={"BUCKET": "lake"})
    ('s3://lake/dev/${x}', [])
    """
    bad: list[UnresolvedVariable] = []

    def value(found: re.Match[str]) -> str:
        if found["escaped"]:
            return "${"
        inside = _INSIDE.fullmatch(found["inside"])
        if not found["closed"] or not inside:
            bad.append(
                UnresolvedVariable(found[0], "expected ${NAME} or ${NAME:-default}", "'${' itself is written '$${'")
            )
            return ""
        known = environment.get(inside["name"], inside["default"])
        if known is None:
            name = inside["name"]
            hint = f"set it, give it by --set {name}=… or a profile's `variables`, or write ${{{name}:-a default}}"
            bad.append(UnresolvedVariable(found[0], f"the environment has no variable {inside['name']!r}", hint))
        return known or ""

    return (_VARIABLE.sub(value, text), bad) if "${" in text else (text, bad)
