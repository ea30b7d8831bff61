"""A wheel of a whole project, written without a build: its files, and a command that runs them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sparkassets.frozen import frozen

_ENTRY = '''\
"""Runs sparkassets on the project that this wheel holds."""

import sys
from pathlib import Path

PROJECT = Path(__file__).parent / "files" / {folder!r}


def main() -> None:
    """The command of the arguments, on this project; leaves by SystemExit where it fails."""
    from sparkassets.cli import main as sparkassets

    sys.argv[1:] = [*sys.argv[1:], "--project", str(PROJECT)]
    sparkassets()
'''


@frozen
class ProjectWheel:
    """A wheel.

    Attributes:
        name: File name of the wheel.
        package: Name of the installed package.
        command: Name of its entry point.
    """

    name: str
    package: str
    version: str
    command: str
    data: bytes


def build_wheel(
    project: str, files: Mapping[str, bytes], *, folder: str, base: str, requires: Sequence[str]
) -> ProjectWheel:
    """Builds the wheel of a project; its version changes whenever its content does.

    Args:
        project: Name of the project.
        files: Contents by path from the parent of the project's folder, so that packages beside it are found.
        folder: The project's folder in ``files``.
        base: The base version, to which a digest of the content is added, such as ``0.1.0``.
        requires: Its requirements, such as ``sparkassets==0.1.0``.
    """
    package = f"{project.lower()}_sparkassets"
    command = f"sparkassets-{project}"
    inside = {f"{package}/files/{path}": data for path, data in files.items()}
    inside[f"{package}/__init__.py"] = b'"""The project, as sparkassets deploys it."""\n'
    inside[f"{package}/entry.py"] = _ENTRY.format(folder=folder).encode()
    stamp = sha256("\n".join(requires).encode())
    for path, data in sorted(inside.items()):
        stamp.update(f"\0{path}\0{len(data)}\0".encode() + data)
    version = f"{base}+h{stamp.hexdigest()[:12]}"
    info = f"{package}-{version}.dist-info"
    inside[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {each}\n" for each in requires)
    ).encode()
    inside[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: sparkassets\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    inside[f"{info}/entry_points.txt"] = f"[console_scripts]\n{command} = {package}.entry:main\n".encode()
    return ProjectWheel(f"{package}-{version}-py3-none-any.whl", package, version, command, _pack_archive(inside, info))


def _pack_archive(inside: Mapping[str, bytes], info: str) -> bytes:
    """The archive with its record; the same bytes for the same files."""
    record = f"{info}/RECORD"
    lines = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in sorted(inside.items())]
    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for path, data in [*sorted(inside.items()), (record, "\n".join([*lines, f"{record},,", ""]).encode())]:
            entry = ZipInfo(path)  # of 1980: times would make each a new one
            entry.external_attr = 0o100644 << 16
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, data)
    return stream.getvalue()


def _digest(data: bytes) -> str:
    return urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
