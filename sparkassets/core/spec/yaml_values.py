"""Values of YAML: scalars, variables in them, and maps and lists as plain Python."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from yaml.nodes import MappingNode, Node, ScalarNode

from sparkassets.core.spec.yaml_text import MOST_NESTED, UNTAGGED
from sparkassets.core.variables import VariableLookup
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.spec.yaml_document import YamlDocument

Scalar = str | int | float | bool | None

_VALUE_BY_WORD: Final[Mapping[str, Scalar]] = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("true", "True", "TRUE"), True)
    | dict.fromkeys(("false", "False", "FALSE"), False)
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf"))
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf"))
    | dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan"))
)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_OCTAL_OR_HEX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

_MOST_DIGITS = 1_000
"""Longer numbers are text: Python takes ever longer to read them, and at last refuses."""

_VARIABLE = re.compile(r"(?P<escaped>\$\$\{)|\$\{(?P<inside>[^}]*)(?P<closed>\}?)")
_VARIABLE_NAME = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?", re.DOTALL)


def plain_value(text: str) -> Scalar:
    """The value of unquoted text; a number with a leading zero or of more than 1,000 digits is text.

    >>> [plain_value(text) for text in ("true", "NO", "010", "18:00", "2024-01-01", "1_000", "12", "1.5", "~")]
    [True, 'NO', '010', '18:00', '2024-01-01', '1_000', 12, 1.5, None]
    """
    if text in _VALUE_BY_WORD:
        return _VALUE_BY_WORD[text]
    if text[0] in "+-.0123456789" and len(text) <= _MOST_DIGITS:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _OCTAL_OR_HEX.fullmatch(text):
            return int(text, base=0)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def variables_in(text: str) -> list[str]:
    """The names of the variables that a text asks for.

    >>> variables_in("s3://${BUCKET}/${STAGE:-dev}/$${x}")
    ['BUCKET', 'STAGE']
    """
    matches = (_VARIABLE_NAME.fullmatch(each["inside"]) for each in _VARIABLE.finditer(text) if not each["escaped"])
    return [each["name"] for each in matches if each]


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
    """The text with ``${NAME}`` and ``${NAME:-default}`` replaced and ``$${`` as ``${``, and what has no value.

    What has no value is left out of the text.

    >>> substitute_variables("s3://${BUCKET}/${STAGE:-dev}/$${x}", environment={"BUCKET": "lake"})
    ('s3://lake/dev/${x}', [])
    """
    unresolved: list[UnresolvedVariable] = []

    def replace_match(match: re.Match[str]) -> str:
        """The text for one ``${…}`` or ``$${``; notes the first where it is malformed or has no value."""
        if match["escaped"]:
            return "${"
        inside = _VARIABLE_NAME.fullmatch(match["inside"])
        if not match["closed"] or not inside:
            unresolved.append(
                UnresolvedVariable(match[0], "expected ${NAME} or ${NAME:-default}", "write '$${' for a literal '${'")
            )
            return ""
        variable_value = environment.get(inside["name"], inside["default"])
        if variable_value is None:
            name = inside["name"]
            hint = f"set it, give it by --set {name}=… or a profile's `variables`, or write ${{{name}:-a default}}"
            unresolved.append(
                UnresolvedVariable(match[0], f"the environment variable {inside['name']!r} is not set", hint)
            )
        return variable_value or ""

    return (_VARIABLE.sub(replace_match, text), unresolved) if "${" in text else (text, unresolved)


_REFUSED: Final = object()
"""Stands for a value that was refused, and makes its key be left out."""

WITH_SECRETS: Final = ("spark", "profiles")
"""Keys of a project file below which a text may name a secret."""

MOST_COPIES: Final = 10_000
"""Values that the aliases of one document may stand for, all together."""


def read_values(
    document: YamlDocument,
    *,
    environment: Mapping[str, str],
    profile: str | None = None,
    secrets: Collection[str] = (),
) -> None:
    """Fills ``document.data``; what is wrong becomes a problem of the document and is left out.

    Args:
        document: Composed.
        environment: Variables for ``${…}``.
        profile: Of a project file, the one that holds: in all others ``${…}`` stays as it is written.
        secrets: Names that stay as they are written where they may stand, and are refused elsewhere.
    """
    value = _ValueReader(document, environment, profile, secrets).value(document.root, key="")
    document.data = value if isinstance(value, dict) else {}


@dataclass(slots=True)
class _ValueReader:
    """Reads the nodes of one document.

    Attributes:
        profile: The profile in use; None where the document is no project file.
        secrets: Names that stay as they are written.
        seen: Identities of the nodes that were read: one that is met again is an alias.
        open: Identities of the maps and lists around the value that is being read.
        copies: How many values aliases have stood for up to now.
        verbatim: Whether variables stay as they are written, as in other profiles than the one in use.
    """

    document: YamlDocument
    environment: Mapping[str, str]
    profile: str | None
    secrets: Collection[str]
    seen: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    copies: int = 0
    verbatim: bool = False

    def value(self, node: Node, *, key: str) -> object:
        """The node's value, or `_REFUSED` where it is refused; ``key`` is the top-level key that it belongs to."""
        if node.tag != UNTAGGED:
            message = f"the tag {_shorten_tag(node.tag)} is not allowed; types follow from the text alone"
            return self._refuse(node, key, message)
        if id(node) in self.open:
            return self._refuse(node, key, "this value contains an alias of itself")
        if len(self.open) > MOST_NESTED:
            return self._refuse(node, key, f"nested more than {MOST_NESTED} levels deep")
        if id(node) in self.seen and not self._affords_copy(node, key):
            return _REFUSED
        self.seen.add(id(node))
        if isinstance(node, ScalarNode):
            return self._read_scalar(node, key)
        self.open.add(id(node))
        value = self._read_map(node, key) if isinstance(node, MappingNode) else self._read_list(node, key)
        self.open.discard(id(node))
        return value

    def _read_scalar(self, node: ScalarNode, key: str) -> object:
        value = node.value if node.style else plain_value(node.value)
        return value if not isinstance(value, str) or self.verbatim else self._substitute(node, value, key)

    def _substitute(self, node: ScalarNode, value: str, key: str) -> object:
        """The text with the values of its variables; secrets stay names."""
        secrets = {name: f"${{{name}}}" for name in variables_in(value) if name in self.secrets}
        if secrets and (self.profile is None or key not in WITH_SECRETS):
            hint = "secrets are allowed in `notify: {to: NAME}` and `spark: {key: ${NAME}}`"
            return self._refuse(node, key, f"the secret {next(iter(secrets))!r} is not allowed here", hint)
        return self._replace_variables(node, value, key, secrets)

    def _replace_variables(self, node: ScalarNode, value: str, key: str, secrets: Mapping[str, str]) -> object:
        """The text with its variables replaced, or `_REFUSED` where one has no value.

        The values that are used are noted in the document, so that messages can hide them.
        """
        text, unresolved = substitute_variables(value, environment=VariableLookup(self.environment, secrets))
        if text != value:
            names = [name for name in variables_in(value) if name in self.environment and name not in secrets]
            self.document.variables |= {name: self.environment[name] for name in names}
        for each in unresolved:
            self.document.failed.add(key)
            position = node.value.find(each.text)
            self.document.add_text_problem(node, position, each.message, width=len(each.text), hint=each.hint)
        if "\0" in text and not unresolved:
            return self._refuse(node, key, "this text contains the character U+0000, which paths and SQL do not allow")
        return _REFUSED if unresolved else text

    def _read_list(self, node: Node, key: str) -> object:
        items = [self.value(each, key=key) for each in node.value]
        return _REFUSED if _REFUSED in items else items

    def _read_map(self, node: MappingNode, key: str) -> dict[str, object]:
        """The map of a node without keys that are refused or have no value; ``key`` is its top-level key, else empty.

        Variables in the sections of other profiles stay as they are written: they may not be set on this machine.
        """
        data: dict[str, object] = {}
        places: dict[str, Node] = {}
        for key_node, value_node in node.value:
            top_key = key or (key_node.value if isinstance(key_node, ScalarNode) else "")
            if refusal := _refuse_key(key_node, places):
                self._refuse(key_node, top_key, *refusal)
                continue
            places[key_node.value] = key_node
            is_other = top_key == "profiles" and self._is_other_profile(key_node.value)
            self.verbatim |= is_other
            value = self.value(value_node, key=top_key)
            self.verbatim &= not is_other
            if value is not _REFUSED:
                data[key_node.value] = value
        return data

    def _is_other_profile(self, name: str) -> bool:
        """Whether a key of the open map below ``profiles`` names an inactive profile."""
        return len(self.open) == 2 and self.profile not in (None, name)  # noqa: PLR2004  root and map

    def _affords_copy(self, node: Node, key: str) -> bool:
        """Counts a value that an alias repeats; False beyond `MOST_COPIES`, whose first becomes a problem."""
        self.copies += 1
        if self.copies == MOST_COPIES + 1:  # reported once
            message = f"aliases of this value multiply to more than {MOST_COPIES:,} copies"
            self._refuse(node, key, message, "write it out")
        return self.copies <= MOST_COPIES

    def _refuse(self, node: Node, key: str, message: str, hint: str | None = None) -> object:
        self.document.failed.add(key)
        self.document.add_node_problem(node, message, hint=hint)
        return _REFUSED


def _refuse_key(key_node: Node, places: Mapping[str, Node]) -> tuple[str, str | None] | None:
    """Why it cannot be a key beside those of these places, with a hint; None where it can."""
    if not isinstance(key_node, ScalarNode) or key_node.tag != UNTAGGED or not key_node.value:
        return "a key must be text", None
    if key_node.value == "<<" and not key_node.style:
        return "merge keys '<<' are not supported", "write the keys out, or use `defaults` in project.yml"
    if key_node.value in places:
        first = places[key_node.value].start_mark.line + 1
        return f"the key {key_node.value!r} is defined twice; first in line {first}", None
    return None


def _shorten_tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")
