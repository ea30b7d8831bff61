"""Compiled projects, kept from one process to the next: a cold start then needs no pydantic, PyYAML and Jinja."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Final

from sparkassets.cache import note_use
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.project.references import Fingerprint, Referring, Resolving
from sparkassets.project.traces import Trace

_DIGEST_SIZE: Final = 32
_WRITABLE_BY_OTHERS: Final = 0o022
_MOST_KEPT: Final = 50
"""Projects, working folders and versions of the code that are kept; those used longest ago go first."""


class Cache:
    """What one project compiled to when it was last loaded from where people stand now.

    A file is only believed when it is the user's own, as it is unpickled. It holds no value of the environment:
    references stand for them, and a fingerprint tells whether they are still the same.

    Attributes:
        path: The file; beside the project it stands for this version of sparkassets and of Python, and the working
            folder, as messages name files from there.
    """

    def __init__(self, folder: Path, *, root: Path) -> None:
        key = "\0".join((str(root), str(Path.cwd()), sys.version, _code()))
        self._folder = folder
        self.path = folder / "projects" / blake2b(key.encode(errors="surrogateescape"), digest_size=16).hexdigest()

    def find(self, env: Mapping[str, str]) -> ProjectSpec | None:
        """The project, if it would compile to the same again; else None."""
        try:
            if not _is_own(self.path):
                return None
            content = self.path.read_bytes()
        except OSError:
            return None
        digest, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        if blake2b(payload, digest_size=_DIGEST_SIZE).digest() != digest:
            return None
        project = _unpickled(payload, env)
        if project is not None:
            note_use(self.path)
        return project

    def keep(self, project: ProjectSpec, trace: Trace, env: Mapping[str, str]) -> None:
        """Writes the project, whole or not at all; a folder that cannot be written to is not an error."""
        payload = _pickled(project, trace, env)
        if payload is None:
            return
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


def _pickled(project: ProjectSpec, trace: Trace, env: Mapping[str, str]) -> bytes | None:
    """Fingerprint, trace and project, one after the other; None where a timetable of a package cannot be pickled."""
    stream = BytesIO()
    fingerprint = Fingerprint.of(trace.variables, env)
    pickle.dump(fingerprint, stream, protocol=pickle.HIGHEST_PROTOCOL)
    values = Referring(stream, fingerprint.names, env)
    try:
        values.dump(trace)
        values.dump(project)
    except Exception:  # noqa: BLE001  whatever a timetable of another package is made of
        return None
    return stream.getvalue()


def _unpickled(payload: bytes, env: Mapping[str, str]) -> ProjectSpec | None:
    """The project that `_pickled` wrote, unless something is no longer as it was; that is looked at first."""
    stream = BytesIO(payload)
    fingerprint = pickle.load(stream)  # noqa: S301  whole, the user's own, written by this very code; so the next two
    if not isinstance(fingerprint, Fingerprint) or not fingerprint.fits(env):
        return None
    values = Resolving(stream, fingerprint.names, env)
    trace = values.load()
    if not isinstance(trace, Trace) or not trace.still_holds():
        return None
    try:
        project = values.load()
    except Exception:  # noqa: BLE001  whatever a timetable of another package does
        return None
    return project if isinstance(project, ProjectSpec) else None


def _is_own(path: Path) -> bool:
    """Whether only this user can have written the file."""
    if os.name == "nt":
        return True
    status = path.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS


def _code() -> str:
    """Changes with the code that compiles projects, also where it is edited in place."""
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  this and the next at a fifth of pathlib's time
    return ",".join(
        sorted([*_stamps(package, deep=False), *_stamps(f"{package}/core"), *_stamps(f"{package}/project")])
    )


def _stamps(folder: str, *, deep: bool = True) -> Iterator[str]:
    """Of every Python file in a folder, and of those below it, place, time and size."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path}:{status.st_mtime_ns}:{status.st_size}"
            elif deep and entry.name != "__pycache__" and entry.is_dir():
                yield from _stamps(entry.path)
