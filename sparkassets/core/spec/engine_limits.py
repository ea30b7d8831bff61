"""The engine of a project, and what of the project only Spark computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ENGINES, ProjectSpec
from sparkassets.core.variables import ENGINE
from sparkassets.errors import FileLocation, InputError, SpecError, SpecProblem
from sparkassets.frozen import replace

_READERS: Final = frozenset({"csv", "json", "parquet", "text"})
"""The formats of files that Sail reads."""
_OPTIONS: Final = frozenset(
    ["comment", "delimiter", "enforceschema", "escape", "header", "mode", "multiline", "nullvalue", "quote", "sep"]
)
"""The options of readers, in lower case, that Sail follows, or without which it fails rather than reads other rows."""
_HINT: Final = "run it with Spark: --engine spark"


def choose_engine(project: ProjectSpec, environment: Mapping[str, str], *, place: FileLocation) -> ProjectSpec:
    """The project with the engine that was asked for, else its own.

    Args:
        project: As its files have it.
        environment: May name the engine.
        place: Of the project file, for problems with its own keys.

    Raises:
        InputError: There is no such engine.
        SpecError: The engine lacks something that the project needs; holds every asset.
    """
    requested = environment.get(ENGINE) or project.engine
    if requested is None:
        return project
    engine = next((each for each in ENGINES if each == requested), None)
    if engine is None:
        raise InputError(f"there is no engine {requested!r}; expected {' or '.join(ENGINES)}")
    if engine == "sail" and (problems := list(_find_unsupported(project, place))):
        raise SpecError(problems)
    return project if engine == project.engine else replace(project, engine=engine)


def _find_unsupported(project: ProjectSpec, place: FileLocation) -> Iterator[SpecProblem]:
    """What Sail lacks of the project: the state first, then the assets in their order."""
    if project.state_by_spark:
        yield SpecProblem(place, f"the state of {project.name!r} is kept by a Spark session", _HINT)
    for asset in project.assets.values():
        for what in _find_needs(asset):
            yield SpecProblem(asset.location, f"asset {asset.name!r} {what}, which Sail cannot do", _HINT)


def _find_needs(asset: AssetSpec) -> Iterator[str]:
    """What the asset needs of Spark, as ends of sentences."""
    if asset.is_named:
        yield "has a table in a catalog"
    if asset.commit == "spark":
        yield "has its table committed by Spark"
    if any(rule.severity == "quarantine" for rule in asset.rules):
        yield "puts rows into quarantine"
    files = asset.source.files if asset.source is not None else None
    if files is not None and files.reader not in _READERS:
        yield f"has files of the format {files.reader!r}"
    options = asset.source.options if files is not None and asset.source is not None else {}
    for option, value in options.items():
        if option.lower() not in _OPTIONS or (option.lower() == "mode" and value.upper() != "FAILFAST"):
            yield f"has the option {option!r} of its reader"
