"""Writes the files of a deployment again at each call, but never over a file that was changed by hand."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from sparkassets.core.phrases import few
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

RECORD: Final = ".sparkassets-deploy.json"
"""File beside the written ones that records their digests."""


@frozen
class OwnedContent:
    """The content of a file.

    Attributes:
        executable: Whether the file is executable.
    """

    data: bytes
    executable: bool = False


@frozen
class WrittenFiles:
    """The files of a deployment by what happened to them, as paths in the folder.

    Attributes:
        unchanged: Files that had the content already.
        removed: Files of an earlier deployment that are no part of it any more.
    """

    written: Sequence[str]
    unchanged: Sequence[str]
    removed: Sequence[str]


def write_owned(folder: Path, files: Mapping[str, OwnedContent], *, force: bool = False) -> WrittenFiles:
    """Writes all files, or none if one was changed by hand or cannot be written.

    All are written beside their places first and then renamed, the record of their digests last. A process that is
    killed between two renames leaves whole files, which the next call recognises by their digests.

    Args:
        folder: The folder; created if missing.
        files: By path in the folder.
        force: Whether to replace files that were changed by hand.

    Raises:
        InputError: Files were changed by hand since they were written, or others are in their places; or the folder
            cannot be written to.
    """
    try:
        recorded = _read_record(folder)
        present = _digests_in(folder, {*files, *recorded})
        changed = [name for name in sorted(files) if present.get(name) != _digest(files[name].data)]
        if not force:
            _refuse_changed(
                folder, [name for name in changed if name in present and present[name] != recorded.get(name)]
            )
        obsolete = [name for name in sorted(recorded) if name not in files and present.get(name) == recorded[name]]
        digests = {name: _digest(content.data) for name, content in sorted(files.items())}
        record = OwnedContent(f"{json.dumps({'files': digests}, indent=1)}\n".encode())
        _replace_files({**{folder / name: files[name] for name in changed}, folder / RECORD: record})
        for name in obsolete:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write into {str(folder)!r}: {error.strerror}", topic="output-not-writable") from error
    return WrittenFiles(changed, [name for name in sorted(files) if name not in changed], obsolete)


def _refuse_changed(folder: Path, changed: Sequence[str]) -> None:
    """Refuses to write over files that were changed by hand."""
    if changed:
        hint = "write elsewhere with --out to keep your changes, or overwrite them with --force"
        names, verb = f"{few(changed)} in {str(folder)!r}", "was" if len(changed) == 1 else "were"
        raise InputError(f"{names} {verb} changed by hand; nothing was written", hint=hint)


def _digests_in(folder: Path, names: Collection[str]) -> dict[str, str]:
    """File name to digest of its present content, for the files that exist."""
    contents = ((name, _read_file(folder / name)) for name in names)
    return {name: _digest(data) for name, data in contents if data is not None}


def _replace_files(contents: Mapping[Path, OwnedContent]) -> None:
    """Writes all contents beside their places, then renames them in order; an error in writing changes no file."""
    staged = {path: path.with_name(f".{path.name}.{uuid.uuid4().hex}.new") for path in contents}
    try:
        for path, temporary in staged.items():
            temporary.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(contents[path].data)
            temporary.chmod(0o755 if contents[path].executable else 0o644)
        for path, temporary in staged.items():
            temporary.replace(path)
    finally:
        for temporary in staged.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _read_record(folder: Path) -> Mapping[str, str]:
    """File name to the digest that was written before; empty if the record is missing or invalid."""
    with suppress(FileNotFoundError, ValueError, AttributeError):
        digests = json.loads((folder / RECORD).read_text(encoding="utf-8")).get("files")
        if isinstance(digests, dict):
            return {name: digest for name, digest in digests.items() if _is_inside(name)}
    return {}


def _is_inside(name: str) -> bool:
    """Whether a recorded path stays in the folder: a record that was changed must not remove other files."""
    return not name.startswith("/") and ".." not in name.split("/")


def _read_file(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
