"""Parses conditions: the text form ``a & (b | x-y://z) & @daily`` and the forms of YAML.

A time in the text form is a preset, a cron in quotes, or a schedule's map as JSON, which is what prints back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

from sparkassets.core.assets import AssetError, parse_uri
from sparkassets.core.conditions.tree import BARE_URI, Condition, TimeLeaf, UpdateLeaf, join_all, join_any
from sparkassets.core.phrases import listing, show_value
from sparkassets.core.timetables import Timetable, TimetableError
from sparkassets.core.timetables.parse import KINDS
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

KeyPath = tuple[str | int, ...]
TimetableParser = Callable[[str | Mapping[str, object]], Timetable]
"""Makes the timetable of a time's text or map."""

MOST_NESTED: Final = 100

_KEYS_BESIDE: Final[Mapping[str, Sequence[str]]] = {"any": (), "all": (), "uri": (), "without": ("for",)}
"""The kinds of a condition's maps that are no times, each with the keys that may stand beside it."""
_ALL_KINDS: Final = _KEYS_BESIDE.keys() | KINDS.keys()

_TOKEN: Final = re.compile(
    rf"\s*(?:(?P<mark>[&|()])|\{{\s*uri:\s*(?P<identity>[^{{}}\s]*)\s*\}}"
    r"|(?P<preset>@[A-Za-z]+)|'(?P<cron>[^']*)'|(?P<map>\{\".*?\}(?=\s*(?:[&|)]|$)))"
    rf"|(?P<uri>{BARE_URI.pattern})|(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?=[\s&|()]|$)|(?P<other>\S[^\s&|()]*))"
)
_OF_CONDITIONS: Final = re.compile(r"[&|(){}'\"]|://")
"""Characters that occur in no preset and in no cron."""
_OF_CRONS: Final = re.compile(r"[0-9*?][0-9*?/,.:LW#-]*")
_FIELDS: Final = 5
_WORDS: Final = {"and": "&", "or": "|", "AND": "&", "OR": "|", "&&": "&", "||": "|"}
_OPERAND: Final = "an asset name, a dataset URI or a time"
_MAP_HINT: Final = (
    "a map is {any: [...]}, {all: [...]}, {uri: ...}, {without: a, for: 1d} or a time such as {every: 6h}"
)


class ConditionError(InputError):
    """One thing that is wrong in a condition.

    Attributes:
        path: Keys and indices from the condition's value to the text or map at fault.
        at_key: Whether the last key of the path is at fault, else its value.
        position: Where in that text, counted from 0.
        width: How many characters are at fault there; 0 when it is not one place of a text.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        path: KeyPath = (),
        at_key: bool = False,
        position: int = 0,
        width: int = 0,
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.at_key = at_key
        self.position = position
        self.width = width


class UnreadableConditionError(InputError):
    """A condition that cannot be read.

    Attributes:
        errors: Every error in it.
        leaves: The updates in its readable parts.
    """

    def __init__(self, errors: Sequence[ConditionError], leaves: Sequence[UpdateLeaf]) -> None:
        super().__init__("\n".join(map(str, errors)))
        self.errors = errors
        self.leaves = leaves


def is_time_text(text: str) -> bool:
    """Whether a text is meant as a time alone: a preset or a cron.

    >>> is_time_text("@daily"), is_time_text("0 6 * * *"), is_time_text("H H * * *"), is_time_text("@daily & a")
    (True, True, True, False)
    """
    words = text.split()
    # errors of a text that is meant as a cron should speak of crons, so it need not be a valid one
    if not words or _OF_CONDITIONS.search(text) or not _WORDS.keys().isdisjoint(words):
        return False
    if words[0].startswith("@"):
        return len(words) == 1
    return len(words) == _FIELDS or bool(_OF_CRONS.fullmatch(words[0])) or "*" in words


def parse_condition(value: object, clock: TimetableParser) -> Condition:
    """The condition that a text, a list (all of it) or a map (``any``, ``all``, ``uri``, or a time) says.

    Args:
        value: As YAML gives it.
        clock: Makes timetables, or raises `TimetableError`.

    Raises:
        UnreadableConditionError: It cannot be read.
    """
    reader = _ConditionReader(clock)
    condition = reader.read_or_report(value, ())
    if reader.errors:
        raise UnreadableConditionError(reader.errors, [leaf for leaf in condition.leaves() if leaf != _REFUSED])
    return condition


_REFUSED: Final = UpdateLeaf("")
"""Stands for a part that cannot be read."""


@frozen
class _ConditionReader:
    """Reads the forms of YAML, and keeps what is wrong in them."""

    clock: TimetableParser
    errors: list[ConditionError] = field(default_factory=list)

    def read_or_report(self, value: object, path: KeyPath) -> Condition:
        """The condition of a value; keeps an error and returns `_REFUSED`, so that all errors are reported together."""
        try:
            return self._read_form(value, path)
        except ConditionError as error:
            self.errors.append(error)
            return _REFUSED

    def _read_form(self, value: object, path: KeyPath) -> Condition:
        """The condition of a value, by its form in YAML; ``path`` leads to it from the whole condition.

        A map that is none of a condition's own forms must be a time, such as ``{every: 6h}``.

        Raises:
            ConditionError: It has no such form.
        """
        match value:
            case str() if is_time_text(value):
                return self.time_leaf(value.strip(), path, text=value.strip())
            case str():
                return _ConditionTextParser(value, path, self).parse()
            case list():
                return join_all(self._children(value, path))
            case {"any": choices, **rest} if not rest:
                return join_any(self._children(choices, (*path, "any")))
            case {"all": parts, **rest} if not rest:
                return join_all(self._children(parts, (*path, "all")))
            case {"uri": str(identity), **rest} if not rest:
                return self.uri_leaf(identity, (*path, "uri"))
            case {"without": str(ref), "for": str(span), **rest} if not rest:
                return self.timer_leaf(ref, span, path)
            case dict():
                _check_keys(value, path)
                return self.time_leaf(value, path)
            case _:
                raise ConditionError(
                    f"a condition cannot be {show_value(value)}; "
                    "expected asset names joined by & and |, a list or a map",
                    path=path,
                )

    def time_leaf(
        self, value: str | Mapping[str, object], path: KeyPath, *, text: str | None = None, position: int = 0
    ) -> UpdateLeaf | TimeLeaf:
        """The leaf of a time.

        Args:
            value: The time's text or map.
            path: Leads to the time, or to the text of the condition that holds it.
            text: The time as it stands in the condition's text, for errors; None for a map of YAML.
            position: Where in the condition's text it stands.
        """
        try:
            timetable = self.clock(value)
        except TimetableError as error:
            for each in error.all_errors:
                message, hint, at_key = str(each.args[0]), each.hint, each.at_key
                if text is None:
                    found = ConditionError(message, hint=hint, path=(*path, *each.path), at_key=at_key)
                else:
                    found = ConditionError(message, hint=hint, path=path, position=position, width=len(text))
                self.errors.append(found)
            return _REFUSED
        if not isinstance(value, str):
            return TimeLeaf(json.dumps(value, ensure_ascii=False), timetable)
        return TimeLeaf(value if value.startswith("@") else f"'{' '.join(value.split())}'", timetable)

    def timer_leaf(self, ref: str, span: str, path: KeyPath) -> UpdateLeaf | TimeLeaf:
        """The leaf of ``{without: ref, for: span}``: a time without an update of ``ref``, an asset's name or a URI."""
        leaf = self.uri_leaf(ref, (*path, "without")) if "://" in ref else UpdateLeaf(ref)
        try:
            grid = self.clock({"every": span})
        except TimetableError as error:
            message = str(error.args[0]).replace("'every'", "'for'")  # the author wrote the length under `for`
            self.errors.append(ConditionError(message, hint=error.hint, path=(*path, "for")))
            return _REFUSED
        return TimeLeaf(json.dumps({"without": ref, "for": span}, ensure_ascii=False), grid, leaf, span)

    def uri_leaf(self, identity: str, path: KeyPath, *, position: int = 0) -> UpdateLeaf:
        """The leaf of a dataset's URI, which stands at a position of the text."""
        try:
            return UpdateLeaf(parse_uri(identity), is_uri=True)
        except AssetError as error:
            message, width = str(error.args[0]), len(identity)
            found = ConditionError(message, hint=error.hint, path=path, position=position, width=width)
            self.errors.append(found)
            return _REFUSED

    def _children(self, values: object, path: KeyPath) -> list[Condition]:
        """The conditions of a list's items; refuses an empty list, and what is no list."""
        if not isinstance(values, list) or not values:
            found = "an empty list" if values == [] else show_value(values)
            raise ConditionError(f"expected a list with at least one condition, not {found}", path=path)
        return [self.read_or_report(each, (*path, index)) for index, each in enumerate(values)]


def _check_keys(value: Mapping[str, object], path: KeyPath) -> None:
    """Refuses a map that is no time: one with unknown or contradictory keys, or a malformed form of a condition.

    Well-formed maps of a condition, such as ``{any: [...]}``, do not get here (`_ConditionReader`).
    """
    kinds = [*filter(_ALL_KINDS.__contains__, value)]
    if not kinds:
        message = f"unknown keys in a condition: {', '.join(map(str, value))}" if value else "this map is empty"
        raise ConditionError(message, hint=_MAP_HINT, path=path)
    if len(kinds) > 1:
        message = f"{listing(map(repr, kinds), last='and')} exclude each other in a condition"
        raise ConditionError(message, hint=_MAP_HINT, path=(*path, kinds[1]), at_key=True)
    kind = kinds[0]
    if others := [key for key in value if key not in (kind, *_KEYS_BESIDE.get(kind, value))]:
        message = f"unknown key {others[0]!r} beside {kind!r} in a condition"
        raise ConditionError(message, hint=_MAP_HINT, path=(*path, others[0]), at_key=True)
    if kind == "without":
        message = "expected {without: <asset>, for: <duration>}"
        raise ConditionError(message, hint="write {without: orders, for: 1d}", path=path)
    if kind == "uri":
        raise ConditionError(f"'uri' of a condition is {show_value(value['uri'])}; expected text", path=(*path, "uri"))


@dataclass(slots=True)
class _ConditionTextParser:
    """A recursive-descent reader of one text; ``&`` binds tighter than ``|``."""

    text: str
    path: KeyPath
    reader: _ConditionReader
    position: int = 0

    def parse(self) -> Condition:
        """The condition of the whole text.

        Raises:
            ConditionError: The text is malformed, or has more than `MOST_NESTED` parentheses: each is a recursion.
        """
        if self.text.count("(") > MOST_NESTED:
            self._fail(f"a condition has at most {MOST_NESTED} parentheses", width=len(self.text))
        condition = self._parse_any()
        if token := self._peek():
            self._refuse_operator(token)
        return condition

    def _parse_any(self) -> Condition:
        """The condition from the present position on: operands of ``|``, which are joined by ``&`` in themselves."""
        choices = [self._parse_all()]
        while self._take("|"):
            choices.append(self._parse_all())
        return join_any(choices)

    def _parse_all(self) -> Condition:
        """The condition from the present position on: operands of ``&``."""
        parts = [self._parse_operand()]
        while self._take("&"):
            parts.append(self._parse_operand())
        return join_all(parts)

    def _parse_operand(self) -> Condition:
        """The name, URI, time or group at the present position.

        ``token.lastgroup`` is the kind of token, as `_TOKEN` names its alternatives.
        """
        token = self._peek()
        if token is None:
            self._fail(f"expected {_OPERAND} at the end of the condition", position=len(self.text))
        kind = token.lastgroup or ""
        text, start = token[kind], token.start(kind)
        if text == "(":
            return self._parse_group(token)
        if kind not in ("preset", "cron", "map", "uri", "identity", "name") or text in _WORDS:
            self._refuse_operand(token)
        self.position = token.end()
        if kind == "name":
            return UpdateLeaf(text)
        if kind in ("uri", "identity"):
            return self.reader.uri_leaf(text, self.path, position=start)
        value = self._time(token, kind)
        if isinstance(value, Mapping) and "without" in value:  # a timer, which is no timetable
            return self.reader.read_or_report(value, self.path)
        return self.reader.time_leaf(value, self.path, text=text, position=start)

    def _time(self, token: re.Match[str], kind: str) -> str | Mapping[str, object]:
        """The time as text or map, from which the clock makes a timetable."""
        if kind != "map":
            return token[kind]
        try:
            found: Mapping[str, object] = json.loads(token["map"])
        except ValueError:
            hint = "in the text form a time's map is JSON; as an item of {any: [...]} it is plain YAML"
            self._fail(f"{token['map']} is not a time", position=token.start("map"), width=len(token["map"]), hint=hint)
        return found

    def _parse_group(self, opening: re.Match[str]) -> Condition:
        """The condition between parentheses; ``opening`` is the token of the first one."""
        self.position = opening.end()
        inner = self._parse_any()
        if not self._take(")"):
            if token := self._peek():
                self._refuse_operator(token)
            self._fail("this parenthesis is not closed", position=opening.start("mark"))
        return inner

    def _peek(self) -> re.Match[str] | None:
        """The next token, without going past it; None at the end of the text."""
        return _TOKEN.match(self.text, self.position)

    def _take(self, mark: str) -> bool:
        """Goes past the next token and returns True if it is ``mark``, an operator or a parenthesis."""
        token = self._peek()
        if token is None or token["mark"] != mark:
            return False
        self.position = token.end()
        return True

    def _refuse_operand(self, token: re.Match[str]) -> NoReturn:
        """Refuses what stands in the place of a name or a URI."""
        word, start = _word(token)
        doubled = self.text[start - 1 : start + 1]  # of && and ||, the first mark was read as an operator
        if doubled in _WORDS:
            self._fail(
                f"unknown operator {doubled!r} in a condition",
                position=start - 1,
                width=2,
                hint=f"write {_WORDS[doubled]}",
            )
        if token["mark"] or word in _WORDS:
            self._fail(f"expected {_OPERAND}, found {word!r}", position=start, width=len(word))
        hint = "write any other identity as {uri: ...}"
        if _OF_CRONS.fullmatch(word):
            hint = "a cron inside a condition stands in quotes: a | '0 6 * * *'; or write {any: [...]}, {all: [...]}"
        self._fail(f"{word!r} is neither an asset name nor a dataset URI", position=start, width=len(word), hint=hint)

    def _refuse_operator(self, token: re.Match[str]) -> NoReturn:
        """Refuses what stands in the place of ``&`` or ``|``."""
        word, start = _word(token)
        if word in _WORDS:
            message, hint = f"unknown operator {word!r} in a condition", f"write {_WORDS[word]}"
        elif word == ")":
            message, hint = "unmatched ')'", None
        else:
            message, hint = f"expected an operator, found {word!r}", "join the two with & or |"
        self._fail(message, position=start, width=len(word), hint=hint)

    def _fail(self, message: str, *, position: int = 0, width: int = 1, hint: str | None = None) -> NoReturn:
        raise ConditionError(message, hint=hint, path=self.path, position=position, width=width)


def _word(token: re.Match[str]) -> tuple[str, int]:
    """The token's text and where it begins."""
    text = token[0].lstrip()
    return text, token.end() - len(text)
