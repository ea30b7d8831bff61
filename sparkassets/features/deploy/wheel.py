"""Builds a wheel of a whole project, without a build tool, and the requirements that it names."""

from __future__ import annotations

import re
import tomllib
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sparkassets.core.credentials import secret_in_text
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.timetables.calendars import WorkingDays
from sparkassets.core.timetables.exchanges import TradingCalendar
from sparkassets.core.timetables.ticks import SunTicks
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

_ENTRY_MODULE = '''\
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
    contents = {f"{package}/files/{path}": data for path, data in files.items()}
    contents[f"{package}/__init__.py"] = b'"""The project, as sparkassets deploys it."""\n'
    contents[f"{package}/entry.py"] = _ENTRY_MODULE.format(folder=folder).encode()
    stamp = sha256("\n".join(requires).encode())
    for path, data in sorted(contents.items()):
        # "\0" and the length keep apart what would read the same, such as "a" + "bc" and "ab" + "c"
        stamp.update(f"\0{path}\0{len(data)}\0".encode() + data)
    version = f"{base}+h{stamp.hexdigest()[:12]}"
    info = f"{package}-{version}.dist-info"
    contents[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {each}\n" for each in requires)
    ).encode()
    contents[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: sparkassets\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    contents[f"{info}/entry_points.txt"] = f"[console_scripts]\n{command} = {package}.entry:main\n".encode()
    return ProjectWheel(
        f"{package}-{version}-py3-none-any.whl", package, version, command, _pack_archive(contents, info)
    )


def _pack_archive(contents: Mapping[str, bytes], info: str) -> bytes:
    """The wheel's archive with its RECORD; the same files give the same bytes."""
    record = f"{info}/RECORD"
    lines = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in sorted(contents.items())]
    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for path, data in [*sorted(contents.items()), (record, "\n".join([*lines, f"{record},,", ""]).encode())]:
            entry = ZipInfo(path)  # its time is 1980: real times would change the bytes
            entry.external_attr = 0o100644 << 16
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, data)
    return stream.getvalue()


def _digest(data: bytes) -> str:
    return urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()


_REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\])?\s*(?P<rest>$|[<>=!~;@(].*)"
)
_INCLUDE_LINE: Final = re.compile(r"(?:-r|--requirement)[ =]\s*(?P<file>.+)")
_SELF_LINE: Final = re.compile(r"(?:(?:-e|--editable)[ =]\s*)?\.{1,2}/?(?:\[[^\]]*\])?")
_OPTIONS: Final = ("-i", "--", "-f", "-c")
"""Lines with options of pip, such as an index or constraints: they hold for this machine and are left out."""
_ON_DATABRICKS: Final = frozenset({"pyspark", "delta-spark", "databricks-connect"})
"""Packages that would replace a Databricks runtime's own Spark."""
_EXTRAS: Final[Mapping[type, str]] = {WorkingDays: "calendars", TradingCalendar: "exchanges", SunTicks: "sun"}


def requirements_of(project: ProjectSpec, sparkassets: str, *, spark: bool) -> tuple[str, ...]:
    """The requirements to install for a project: sparkassets with the extras it needs, and the project's own.

    Args:
        project: Its ``pyproject.toml`` or ``requirements.txt`` is looked for in its folder, then beside that.
        sparkassets: The requirement of sparkassets without extras, such as ``sparkassets==0.1.0``.
        spark: Whether to install Spark; if not, the place provides it.

    Raises:
        InputError: A line of the file cannot be used elsewhere.
    """
    extras, own_requirements = implied_extras(project), list[str]()
    for text in _read_requirements(Path(project.root)):
        name, named_extras, _ = split_requirement(text)
        if name == "sparkassets":
            extras |= named_extras
        elif spark or name not in _ON_DATABRICKS:
            own_requirements.append(text)
    extras = extras | {"spark"} if spark else extras - {"spark"}
    name, rest = sparkassets[: len("sparkassets")], sparkassets[len("sparkassets") :]
    return (f"{name}[{','.join(sorted(extras))}]{rest}" if extras else sparkassets, *dict.fromkeys(own_requirements))


def split_requirement(text: str) -> tuple[str, frozenset[str], str]:
    """The name of a requirement's package as indexes write it, its extras, and what follows: versions, URL, marker.

    Raises:
        ValueError: It is no requirement by name.

    >>> split_requirement("Typing_Extensions>=4 ; python_version > '3'")
    ('typing-extensions', frozenset(), ">=4 ; python_version > '3'")
    """
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a requirement")
    extras = frozenset(each.strip() for each in (match["extras"] or "").split(",") if each.strip())
    return normalize_name(match["name"]), extras, match["rest"]


def normalize_name(package: str) -> str:
    """The name of a package as indexes write it.

    >>> normalize_name("Typing_Extensions")
    'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", package).lower()


def implied_extras(project: ProjectSpec) -> set[str]:
    """The extras of sparkassets that the project's YAML needs, such as those of a timetable.

    ``openlineage`` is a text, the namespace, only where the YAML writes one. False turns events off; with None the
    environment decides whether any are sent, so neither says that the package is needed.
    """
    extras = {
        extra
        for asset in project.assets.values()
        for value in _iterate_nested((asset.schedule, asset.partitioning))
        for kind, extra in _EXTRAS.items()
        if isinstance(value, kind)
    }
    if any(rule.to for asset in project.assets.values() for rule in asset.notify):
        extras.add("notify")
    return extras | ({"openlineage"} if isinstance(project.openlineage, str) else set())


def _iterate_nested(value: object) -> Iterator[object]:
    """The value and everything nested in it."""
    yield value
    if is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _iterate_nested(getattr(value, each.name, None))
    elif isinstance(value, tuple | list | frozenset):
        for each in value:
            yield from _iterate_nested(each)


def _read_requirements(root: Path) -> list[str]:
    """The requirements of the first file that has some: in the project's folder, then beside it."""
    for folder in (root, root.parent):
        if (dependencies := _read_pyproject(folder / "pyproject.toml")) is not None:
            return dependencies
        if (file := folder / "requirements.txt").is_file():
            return [*_read_requirements_file(file, folder)]
    return []


def _read_pyproject(file: Path) -> list[str] | None:
    """The file's ``project.dependencies``; None if it has none or does not exist."""
    if not file.is_file():
        return None
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}", hint="`deploy` reads the project's dependencies there") from None
    dependencies = project.get("dependencies") if isinstance(project, dict) else None
    return (
        [_check_requirement(str(each), str(file)) for each in dependencies] if isinstance(dependencies, list) else None
    )


def _read_requirements_file(file: Path, root: Path) -> Iterator[str]:
    """The lines of a requirements file, and of the files that it includes."""
    if not file.resolve().is_relative_to(root.resolve()) or not file.is_file():
        raise InputError(f"{file} does not exist, or is outside {root}", hint="list the packages in one file")
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").replace("\\\n", " \n").splitlines(), start=1):
        text = re.sub(r"(^|\s)#.*$", "", line).strip()
        text = re.sub(r"\s*--hash[= ]\S+", "", text).strip()
        if include := _INCLUDE_LINE.fullmatch(text):
            yield from _read_requirements_file(file.parent / include["file"].strip(), root)
        elif text and not _SELF_LINE.fullmatch(text) and not text.startswith(_OPTIONS):
            yield _check_requirement(text, f"{file}:{number}")


def _check_requirement(text: str, place: str) -> str:
    """The requirement, if a wheel's metadata can hold it in one line.

    Raises:
        InputError: It is not a requirement by name, or holds a credential.
    """
    if secret_in_text(text):
        hint = "configure the index and its credential where the wheel is installed"
        raise InputError(
            f"{place}: the requirement contains a credential, which would be written into a file", hint=hint
        )
    if not _REQUIREMENT.fullmatch(text) or not text.isprintable():
        hint = "name packages such as pandas>=2; the project's own packages are always included"
        raise InputError(f"{place}: {text!r} cannot be deployed", hint=hint)
    return text
