"""Compiled projects in files of the cache, pickled with references to the environment's values.

A cold start then needs no pydantic, PyYAML and Jinja, and imports nothing of the author's.
"""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Collection, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from sparkassets.cache import note_use
from sparkassets.cache.files import CacheFile
from sparkassets.frozen import frozen
from sparkassets.project.compile_trace import CompileTrace

_ROUNDS: Final = 10_000
"""Rounds of the digest; some milliseconds, so that guessing a short secret from a cache file takes long."""


@frozen
class VariableFingerprint:
    """Shows whether environment variables have changed since, without holding their values.

    Attributes:
        names: The variables, set or not, ascending.
        salt: Random, so that equal values have different fingerprints in two files.
        digest: Of all values together, slow to compute; empty if none is set.
    """

    names: tuple[str, ...]
    salt: bytes
    digest: bytes

    @classmethod
    def from_variables(cls, names: Collection[str], env: Mapping[str, str]) -> VariableFingerprint:
        """The fingerprint of these variables as they are now."""
        ordered, salt = tuple(sorted(names)), os.urandom(16)
        return cls(ordered, salt, _digest(ordered, env, salt))

    def matches(self, env: Mapping[str, str]) -> bool:
        """Whether each variable still has its value, or is still unset."""
        return _digest(self.names, env, self.salt) == self.digest


def _digest(names: tuple[str, ...], env: Mapping[str, str], salt: bytes) -> bytes:
    if env.keys().isdisjoint(names):
        return b""  # none is set: there is no value to hide
    from hashlib import pbkdf2_hmac  # here, as most projects have no variable

    values = json.dumps([env.get(name) for name in names])  # null for unset differs from "" for empty
    return pbkdf2_hmac("sha256", values.encode(), salt, _ROUNDS)


class ReferencePickler(pickle.Pickler):
    """Pickles a text that holds a variable's value without that value, as text parts and numbers of values."""

    def __init__(self, stream: BytesIO, names: tuple[str, ...], env: Mapping[str, str]) -> None:
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self._numbers = {text: number for number, text in enumerate(_forms(names, env)) if text}
        longest_first = sorted(self._numbers, key=len, reverse=True)
        self._value = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None

    def persistent_id(self, obj: object) -> tuple[str | int, ...] | None:
        """The text split at the values, each odd part replaced by the value's number; None if it holds none."""
        if self._value is None or type(obj) is not str or not self._value.search(obj):
            return None
        parts = self._value.split(obj)
        return tuple(self._numbers[part] if index % 2 else part for index, part in enumerate(parts))


def _pickler(stream: BytesIO, names: tuple[str, ...], env: Mapping[str, str]) -> pickle.Pickler:
    """A pickler that writes no value of the variables; a plain one, three times as fast, where none has a value."""
    if any(env.get(name) for name in names):
        return ReferencePickler(stream, names, env)
    return pickle.Pickler(stream, protocol=pickle.HIGHEST_PROTOCOL)


class ReferenceUnpickler(pickle.Unpickler):
    """Reads pickles of `ReferencePickler` and inserts the present values."""

    def __init__(self, stream: BytesIO, names: tuple[str, ...], env: Mapping[str, str]) -> None:
        super().__init__(stream)
        self._forms = _forms(names, env)

    def persistent_load(self, pid: tuple[str | int, ...]) -> str:
        """The text that the parts stand for."""
        return "".join(part if isinstance(part, str) else self._forms[part] for part in pid)


def _forms(names: tuple[str, ...], env: Mapping[str, str]) -> list[str]:
    """Two texts for each variable, which the project may contain: its value, and the value as JSON escapes it."""
    values = [env.get(name, "") for name in names]
    return [form for value in values for form in (value, json.dumps(value, ensure_ascii=False)[1:-1])]


T = TypeVar("T")


class CompiledCache(Generic[T]):
    """A value made from one project's files and kept in a file, valid while its inputs are unchanged.

    A cache file is unpickled, so it is used only if no other user can have written it. It holds no value of the
    environment: references stand for them, and a fingerprint shows whether they are still the same.

    Args:
        folder: Folder of the cache.
        kind: Class of the value.
        of: Inputs of the value besides those in its trace: the project's folder first. The working folder is one, as
            messages name files from there.
    """

    def __init__(self, folder: Path, kind: type[T], *, of: tuple[str, ...]) -> None:
        self._kind = kind
        self._file = CacheFile(folder, "projects", of=(*of, str(Path.cwd())))

    def load(self, env: Mapping[str, str]) -> tuple[T, CompileTrace] | None:
        """The value and its trace; None if there is none, or if an input has changed since."""
        payload = self._file.read_content()
        value_and_trace = None if payload is None else _unpickle_value(payload, env)
        if value_and_trace is None or not isinstance(value_and_trace[0], self._kind):
            return None
        note_use(self._file.path)
        return value_and_trace

    def keep(self, value: T, trace: CompileTrace, env: Mapping[str, str]) -> None:
        """Writes the value, completely or not at all; does nothing if the folder cannot be written."""
        payload = _pickle_value(value, trace, env)
        if payload is not None:
            self._file.write_content(payload)


def _pickle_value(value: object, trace: CompileTrace, env: Mapping[str, str]) -> bytes | None:
    """Fingerprint, trace and value as three pickles in a row; None if an installed timetable cannot be pickled.

    In this order a reader stops early: the value is read only if variables and files are as they were.
    """
    stream = BytesIO()
    fingerprint = VariableFingerprint.from_variables(trace.variables, env)
    pickle.dump(fingerprint, stream, protocol=pickle.HIGHEST_PROTOCOL)
    values = _pickler(stream, fingerprint.names, env)
    try:
        values.dump(trace)
        values.dump(value)
    except Exception:  # noqa: BLE001  whatever a timetable of another package is made of
        return None
    return stream.getvalue()


def _unpickle_value(payload: bytes, env: Mapping[str, str]) -> tuple[Any, CompileTrace] | None:
    """The value and its trace from `_pickle_value`; None if an input has changed or the value cannot be read."""
    stream = BytesIO(payload)
    fingerprint = pickle.load(stream)  # noqa: S301  whole, the user's own, written by this very code; so the next two
    if not isinstance(fingerprint, VariableFingerprint) or not fingerprint.matches(env):
        return None
    values = ReferenceUnpickler(stream, fingerprint.names, env)
    trace = values.load()
    if not isinstance(trace, CompileTrace) or not trace.still_holds():
        return None
    try:
        return values.load(), trace
    except Exception:  # noqa: BLE001  whatever a timetable of another package does
        return None
