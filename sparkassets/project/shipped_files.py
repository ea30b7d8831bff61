"""The files that a project is made of, to be taken elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sparkassets.core.spec.model import ProjectSpec
from sparkassets.errors import InputError
from sparkassets.project.compile_trace import CompileTrace, TracedVariables
from sparkassets.project.project_folder import compile_folder

_COMPILED = "__pycache__"
MOST_BYTES = 100 * 1024 * 1024
"""Of all files together: code and YAML, no data."""


def collect_files(project: ProjectSpec, env: Mapping[str, str]) -> dict[str, bytes]:
    """The content of each file, by its path from the folder around the project's.

    These are the files that the project is compiled from, and all files of the packages that functions come from.

    Raises:
        InputError: One lies elsewhere, or they are too much.
        SpecError: Something is wrong with the project's files.
    """
    root = Path(project.root)
    trace = CompileTrace()
    compile_folder(root, trace, env=TracedVariables(env, trace))
    paths = {Path(path) for path, digest in trace.files.items() if digest}
    paths |= set(_of_packages(project, root))
    found: dict[str, bytes] = {}
    for path in sorted(paths):
        if not path.is_relative_to(root.parent):
            raise InputError(
                f"{str(path)!r} is part of the project and lies outside {str(root.parent)!r}",
                hint="what is taken elsewhere lies in the project's folder or beside it",
            )
        found[path.relative_to(root.parent).as_posix()] = path.read_bytes()
    size = sum(map(len, found.values()))
    if size > MOST_BYTES:
        raise InputError(f"the files of the project have {size:,} bytes; expected at most {MOST_BYTES:,}")
    return found


def _of_packages(project: ProjectSpec, root: Path) -> Iterator[Path]:
    """The files of the packages, also those that no module is in; hidden ones and what Python compiles are left."""
    for package in project.python:
        for base in (root, root.parent):
            place = base / package.replace(".", "/")
            if place.with_suffix(".py").is_file():
                yield place.with_suffix(".py")
            for path in sorted(place.rglob("*")) if place.is_dir() else ():
                inside = path.relative_to(place).parts
                if path.is_file() and _COMPILED not in inside and not any(each.startswith(".") for each in inside):
                    yield path
