"""Spark SQL type names that `columns` may hold: the types that a Delta table can store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from sparkassets.core.suggestions import did_you_mean
from sparkassets.errors import InputError

_PLAIN_SPELLED: Final = """
    boolean byte tinyint short smallint int integer long bigint float real double date timestamp timestamp_ntz
    timestamp_ltz string binary variant
"""
_PLAIN: Final = frozenset(_PLAIN_SPELLED.split())
_DECIMALS: Final = frozenset({"decimal", "dec", "numeric"})
_LENGTHS: Final = frozenset({"char", "character", "varchar"})
_NESTED: Final = frozenset({"array", "map", "struct"})
_KNOWN: Final = _PLAIN | _DECIMALS | _LENGTHS | _NESTED
_MOST_DIGITS: Final = 38
MOST_NESTED: Final = 100
_TOKEN: Final = re.compile(r"\s*(?:(?P<word>[A-Za-z_][A-Za-z0-9_]*|`[^`]+`)|(?P<number>[0-9]+)|(?P<mark>\S))")


class TypeNameError(InputError):
    """A text that is no Spark SQL type.

    Attributes:
        position, width: The characters at fault.
    """

    def __init__(self, message: str, *, position: int, width: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.position = position
        self.width = width


def check_type(text: str) -> str:
    """The type's text itself.

    Raises:
        TypeNameError: It is no type that a Delta table can hold.

    >>> check_type("array<struct<id: bigint, price: decimal(12,2)>>")
    'array<struct<id: bigint, price: decimal(12,2)>>'
    """
    if text.count("<") > MOST_NESTED:
        raise TypeNameError(f"a type has at most {MOST_NESTED} levels", position=0, width=len(text))
    reader = _SqlTypeParser(text)
    reader.parse_type()
    if reader.peek():
        reader.fail_at_token(f"unexpected {reader.peek()!r} after the type {text[: reader.position].strip()!r}")
    return text


@dataclass(slots=True)
class _SqlTypeParser:
    """Reads a type from left to right; ``position`` is where its next token is looked for."""

    text: str
    position: int = 0

    def peek(self) -> str:
        """The next word, number or mark; empty at the end."""
        found = _TOKEN.match(self.text, self.position)
        return found[0].strip() if found else ""

    def take(self, expected: str = "") -> str:
        """The next one, which must be ``expected`` where that is given."""
        token = self.peek()
        if not token or (expected and token.lower() != expected):
            what = repr(expected) if expected else "a type"
            self.fail_at_token(f"expected {what}, found {token!r}" if token else f"expected {what} at the end")
        found = _TOKEN.match(self.text, self.position)
        self.position = found.end() if found else self.position
        return token

    def parse_type(self) -> None:
        """One type; leaves the position behind it."""
        name = self.peek().lower()
        if name not in _KNOWN:
            hint = did_you_mean(name, _KNOWN)
            self.fail_at_token(
                f"{self.peek()!r} is not a Spark SQL type" if name else "expected a type at the end", hint=hint
            )
        self.take()
        if name in _DECIMALS and self.peek() == "(":
            self._parse_decimal()
        elif name in _LENGTHS:
            self.take("(")
            self._parse_number()
            self.take(")")
        elif name in _NESTED:
            self._parse_nested(name)

    def _parse_decimal(self) -> None:
        """The ``(precision, scale)`` of a decimal, with no more digits than Spark has; a missing scale is 0."""
        start = self.position
        self.take("(")
        precision, scale = self._parse_number(), 0
        if self.peek() == ",":
            self.take(",")
            scale = self._parse_number()
        self.take(")")
        if not 1 <= precision <= _MOST_DIGITS or scale > precision:
            what = f"expected a precision of at most {_MOST_DIGITS} digits, and a scale not above it"
            self._fail(f"invalid decimal({precision},{scale}); {what}", position=start, width=self.position - start)

    def _parse_nested(self, name: str) -> None:
        """The part in angle brackets of an array, a map (two types) or a struct (named fields)."""
        self.take("<")
        while True:
            if name == "struct":
                self._parse_field()
            self.parse_type()
            if name == "map":
                self.take(",")
                self.parse_type()
            if name != "struct" or self.peek() != ",":
                break
            self.take(",")
        self.take(">")

    def _parse_field(self) -> None:
        """The name of a field of a struct, with or without a colon after it."""
        if not re.match(r"[A-Za-z_`]", self.peek()):
            self.fail_at_token("expected the name of a field")
        self.take()
        if self.peek() == ":":
            self.take(":")

    def _parse_number(self) -> int:
        if not self.peek().isdecimal():
            self.fail_at_token(f"expected a number, found {self.peek()!r}")
        return int(self.take())

    def fail_at_token(self, message: str, *, hint: str | None = None) -> NoReturn:
        """Refuses the next token."""
        rest = self.text[self.position :]
        start = min(self.position + len(rest) - len(rest.lstrip()), max(0, len(self.text) - 1))
        self._fail(message, position=start, width=max(1, len(self.peek())), hint=hint)

    def _fail(self, message: str, *, position: int, width: int, hint: str | None = None) -> NoReturn:
        raise TypeNameError(message, position=position, width=width, hint=hint)
