"""Compiled projects, kept from one process to the next: a cold start then needs no pydantic, PyYAML and Jinja."""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from sparkassets.core.spec.model import ProjectSpec
from sparkassets.project.traces import Trace

_DIGEST_SIZE = 32
_WRITABLE_BY_OTHERS = 0o022
_MOST_KEPT = 50
"""Projects, working folders and versions of the code that are kept; the oldest go first."""


class Cache:
    """What one project compiled to when it was last loaded from where people stand now.

    A file is only believed when it is the user's own, as it is unpickled.

    Attributes:
        path: The file; beside the project it stands for this version of sparkassets and of Python, and the working
            folder, as messages name files from there.
    """

    def __init__(self, folder: Path, *, root: Path) -> None:
        key = "\0".join((str(root), str(Path.cwd()), sys.version, _code()))
        self.path = folder / "projects" / blake2b(key.encode(), digest_size=16).hexdigest()

    def find(self) -> ProjectSpec | None:
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
        trace, project = pickle.loads(payload)  # noqa: S301 - whole, the user's own, written by this very code
        return (
            project if isinstance(trace, Trace) and isinstance(project, ProjectSpec) and trace.still_holds() else None
        )

    def keep(self, project: ProjectSpec, trace: Trace) -> None:
        """Writes the project, whole or not at all; a folder that cannot be written to is not an error."""
        payload = pickle.dumps((trace, project), protocol=pickle.HIGHEST_PROTOCOL)
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = tempfile.mkstemp(dir=self.path.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(blake2b(payload, digest_size=_DIGEST_SIZE).digest() + payload)
            Path(name).replace(self.path)
            newest_first = sorted(self.path.parent.iterdir(), key=lambda each: each.stat().st_mtime_ns, reverse=True)
            for old in newest_first[_MOST_KEPT:]:
                old.unlink(missing_ok=True)


def _is_own(path: Path) -> bool:
    """Whether only this user can have written the file."""
    if os.name == "nt":
        return True
    status = path.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS


def _code() -> str:
    """Changes with the code that compiles projects, also where it is edited in place."""
    package = Path(__file__).parents[1]
    files = [*(package / "core").rglob("*.py"), *(package / "project").glob("*.py")]
    return ",".join(f"{file.name}:{(status := file.stat()).st_mtime_ns}:{status.st_size}" for file in sorted(files))
