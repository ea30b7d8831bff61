"""Files of the cache, and compiled projects in them, pickled with references to the environment's values.

A cold start then needs no pydantic, PyYAML and Jinja, and imports nothing of the author's.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from sparkassets.cache import note_use
from sparkassets.digests import blake2b
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


_DIGEST_SIZE: Final = 32
_WRITABLE_BY_OTHERS: Final = 0o022
_MOST_KEPT: Final = 50
"""The most cache files of one kind, one a project, working folder and version of the code; the longest unused go."""


class CacheFile:
    """A file that one user's processes share: it is read whole or not at all, and never raises.

    Args:
        folder: Folder of the cache.
        kind: The name of the folder in it, one of `sparkassets.cache.cleaning`.
        of: What the content is made of besides this version of sparkassets and of Python.
    """

    def __init__(self, folder: Path, kind: str, *, of: tuple[str, ...]) -> None:
        # "\0" occurs in no path, so two lists of inputs never have the same key
        key = "\0".join((*of, sys.version, _compiler_fingerprint()))
        self._folder = folder
        self.path = folder / kind / blake2b(key.encode(errors="surrogateescape"), digest_size=16).hexdigest()

    def read_content(self) -> bytes | None:
        """The content; None if there is none, if it is damaged, or if another user can have written it."""
        try:
            if not _is_own(self.path):
                return None
            content = self.path.read_bytes()
        except OSError:
            return None
        digest, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        return payload if blake2b(payload, digest_size=_DIGEST_SIZE).digest() == digest else None

    def write_content(self, payload: bytes) -> None:
        """Writes the content, completely or not at all; does nothing if the folder cannot be written."""
        from tempfile import mkstemp

        from sparkassets.cache.cleaning import clean_when_due

        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = mkstemp(dir=self.path.parent, prefix=".new-")
            with os.fdopen(descriptor, "wb") as file:
                file.write(blake2b(payload, digest_size=_DIGEST_SIZE).digest() + payload)
            Path(name).replace(self.path)
            newest_first = sorted(self.path.parent.iterdir(), key=lambda each: each.stat().st_mtime_ns, reverse=True)
            for old in newest_first[_MOST_KEPT:]:
                old.unlink(missing_ok=True)
        clean_when_due(self._folder)


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

    def find(self, env: Mapping[str, str]) -> tuple[T, CompileTrace] | None:
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
    """Fingerprint, trace and value as three pickles in a row; None if an installed timetable cannot be pickled."""
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


def _is_own(path: Path) -> bool:
    """Whether only this user can have written the file."""
    if os.name == "nt":
        return True
    status = path.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS


@cache
def _compiler_fingerprint() -> str:
    """A text that changes with the code that compiles projects, also if that is edited in place."""
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  this and the next at a fifth of pathlib's time
    folders = (f"{package}/{name}" for name in ("authoring", "core", "project"))
    return ",".join(
        sorted([*_file_stamps(package, deep=False), *(each for folder in folders for each in _file_stamps(folder))])
    )


def _file_stamps(folder: str, *, deep: bool = True) -> Iterator[str]:
    """Path, time and size of every Python file in a folder; with ``deep`` also below it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path}:{status.st_mtime_ns}:{status.st_size}"
            elif deep and entry.name != "__pycache__" and entry.is_dir():
                yield from _file_stamps(entry.path)
