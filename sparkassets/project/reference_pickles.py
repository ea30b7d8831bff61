"""Pickles in which references stand for values of the environment, and fingerprints that detect changed values."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Collection, Mapping
from hashlib import pbkdf2_hmac
from io import BytesIO
from typing import Final

from sparkassets.frozen import frozen

_ROUNDS: Final = 10_000
"""Some milliseconds: of a short secret not every guess can be tried in no time."""


@frozen
class VariableFingerprint:
    """A fingerprint that shows whether variables have changed, without holding their values.

    Attributes:
        names: The variables, set or not, ascending.
        salt: Random, so that two fingerprints do not reveal whether their values are equal.
        digest: Of all values together, slow to compute; empty where there are no variables.
    """

    names: tuple[str, ...]
    salt: bytes
    digest: bytes

    @classmethod
    def from_variables(cls, names: Collection[str], env: Mapping[str, str]) -> VariableFingerprint:
        """That of the variables as they are now."""
        ordered, salt = tuple(sorted(names)), os.urandom(16)
        return cls(ordered, salt, _digest(ordered, env, salt))

    def matches(self, env: Mapping[str, str]) -> bool:
        """Whether each variable still has its value, or is still unset."""
        return _digest(self.names, env, self.salt) == self.digest


def _digest(names: tuple[str, ...], env: Mapping[str, str], salt: bytes) -> bytes:
    if not names:
        return b""
    values = json.dumps([env.get(name) for name in names])  # tells one that is not set from an empty one
    return pbkdf2_hmac("sha256", values.encode(), salt, _ROUNDS)


class ReferencePickler(pickle.Pickler):
    """Pickles texts that hold a variable's value as the surrounding text and the number of the value."""

    def __init__(self, stream: BytesIO, names: tuple[str, ...], env: Mapping[str, str]) -> None:
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self._numbers = {text: number for number, text in enumerate(_forms(names, env)) if text}
        longest_first = sorted(self._numbers, key=len, reverse=True)
        self._value = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None

    def persistent_id(self, obj: object) -> tuple[str | int, ...] | None:
        """The text in parts, every second of them the number of a value; None without any value."""
        if self._value is None or type(obj) is not str or not self._value.search(obj):
            return None
        parts = self._value.split(obj)
        return tuple(self._numbers[part] if index % 2 else part for index, part in enumerate(parts))


class ReferenceUnpickler(pickle.Unpickler):
    """Reads pickles of `ReferencePickler`, inserting the present values."""

    def __init__(self, stream: BytesIO, names: tuple[str, ...], env: Mapping[str, str]) -> None:
        super().__init__(stream)
        self._forms = _forms(names, env)

    def persistent_load(self, pid: tuple[str | int, ...]) -> str:
        """The text that the parts stand for."""
        return "".join(part if isinstance(part, str) else self._forms[part] for part in pid)


def _forms(names: tuple[str, ...], env: Mapping[str, str]) -> list[str]:
    """The texts that a value may stand in the project as: itself, and as JSON writes it; two a variable."""
    values = [env.get(name, "") for name in names]
    return [form for value in values for form in (value, json.dumps(value, ensure_ascii=False)[1:-1])]
