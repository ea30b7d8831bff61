"""Requirements of a project: the packages that its author lists, and the extras that its YAML implies."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Final

from sparkassets.core.credentials import secret_in_text
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.core.timetables.calendars import WorkingDays
from sparkassets.core.timetables.exchanges import TradingCalendar
from sparkassets.core.timetables.sun import SunTicks
from sparkassets.errors import InputError

_REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\])?\s*(?P<rest>$|[<>=!~;@(].*)"
)
_INCLUDED: Final = re.compile(r"(?:-r|--requirement)[ =]\s*(?P<file>.+)")
_ITSELF: Final = re.compile(r"(?:(?:-e|--editable)[ =]\s*)?\.{1,2}/?(?:\[[^\]]*\])?")
_OPTIONS: Final = ("-i", "--", "-f", "-c")
"""Of pip, as it is where the file is read: an index, constraints."""
_ON_DATABRICKS: Final = frozenset({"pyspark", "delta-spark", "databricks-connect"})
"""What a runtime brings itself, and what would take its place."""
_EXTRAS: Final[Mapping[type, str]] = {WorkingDays: "calendars", TradingCalendar: "exchanges", SunTicks: "sun"}


def requirements_of(project: ProjectSpec, sparkassets: str, *, spark: bool) -> tuple[str, ...]:
    """The requirements to install for a project: sparkassets with its extras, and those of the project's own file.

    Args:
        project: Its ``pyproject.toml`` or ``requirements.txt`` is searched in its folder, then beside that.
        sparkassets: The requirement of sparkassets without extras, such as ``sparkassets==0.1.0``.
        spark: Whether to install Spark; else the place provides it.

    Raises:
        InputError: A line of the file cannot be used elsewhere.
    """
    extras, own = implied_extras(project), list[str]()
    for text in _read_requirements(Path(project.root)):
        found = _REQUIREMENT.fullmatch(text)
        name = re.sub(r"[-_.]+", "-", found["name"]).lower() if found else ""
        if found and name == "sparkassets":
            extras |= {each.strip() for each in (found["extras"] or "").split(",") if each.strip()}
        elif spark or name not in _ON_DATABRICKS:
            own.append(text)
    extras = extras | {"spark"} if spark else extras - {"spark"}
    name, rest = sparkassets[: len("sparkassets")], sparkassets[len("sparkassets") :]
    return (f"{name}[{','.join(sorted(extras))}]{rest}" if extras else sparkassets, *dict.fromkeys(own))


def implied_extras(project: ProjectSpec) -> set[str]:
    """The extras of sparkassets without which some of the project's YAML means nothing."""
    found = {
        extra
        for asset in project.assets.values()
        for value in _within((asset.schedule, asset.partitioning))
        for kind, extra in _EXTRAS.items()
        if isinstance(value, kind)
    }
    if any(rule.to for asset in project.assets.values() for rule in asset.notify):
        found.add("notify")
    return found | ({"openlineage"} if isinstance(project.openlineage, str) else set())


def _within(value: object) -> Iterator[object]:
    yield value
    if is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _within(getattr(value, each.name, None))
    elif isinstance(value, tuple | list | frozenset):
        for each in value:
            yield from _within(each)


def _read_requirements(root: Path) -> list[str]:
    """The requirements of the first file that has some: in the project's folder, then beside it."""
    for folder in (root, root.parent):
        if (found := _of_pyproject(folder / "pyproject.toml")) is not None:
            return found
        if (file := folder / "requirements.txt").is_file():
            return [*_of_requirements(file, folder)]
    return []


def _of_pyproject(file: Path) -> list[str] | None:
    """Its ``project.dependencies``; None where it has none."""
    if not file.is_file():
        return None
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}", hint="`deploy` reads the project's dependencies there") from None
    listed = project.get("dependencies") if isinstance(project, dict) else None
    return [_check_requirement(str(each), str(file)) for each in listed] if isinstance(listed, list) else None


def _of_requirements(file: Path, around: Path) -> Iterator[str]:
    """The lines of a requirements file, and of the files that it includes."""
    if not file.resolve().is_relative_to(around.resolve()) or not file.is_file():
        raise InputError(f"there is no {file}, or it lies outside {around}", hint="list the packages in one file")
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").replace("\\\n", " \n").splitlines(), start=1):
        text = re.sub(r"(^|\s)#.*$", "", line).strip()
        text = re.sub(r"\s*--hash[= ]\S+", "", text).strip()
        if included := _INCLUDED.fullmatch(text):
            yield from _of_requirements(file.parent / included["file"].strip(), around)
        elif text and not _ITSELF.fullmatch(text) and not text.startswith(_OPTIONS):
            yield _check_requirement(text, f"{file}:{number}")


def _check_requirement(text: str, place: str) -> str:
    """A requirement that a wheel's metadata can hold, in one line.

    Raises:
        InputError: It is none, or holds a credential.
    """
    if secret_in_text(text):
        hint = "name the index and its credential where it is installed"
        raise InputError(f"{place}: the requirement would write a credential into a file", hint=hint)
    if not _REQUIREMENT.fullmatch(text) or not text.isprintable():
        hint = "a deployment takes packages that have a name, such as pandas>=2; the project's own go with it"
        raise InputError(f"{place}: {text!r} cannot be taken along", hint=hint)
    return text
