"""The tests of a project's assets: where their files are, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sparkassets.core.cases import Case, read_cases
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.core.variables import VariableLookup
from sparkassets.errors import SpecError
from sparkassets.project.compile_trace import CompileTrace
from sparkassets.project.project_folder import SourceReader, yaml_files

FOLDER: Final = "tests"
"""In the project's folder."""


def load_cases(project: ProjectSpec, env: Mapping[str, str]) -> tuple[Case, ...]:
    """The tests in the project's ``tests`` folder, by file; none where there is no such folder.

    Raises:
        SpecError: With every problem of every file.
    """
    root = Path(project.root)
    reader = SourceReader(root, CompileTrace())
    names = reader.list_names(root / FOLDER)
    paths = yaml_files(root / FOLDER, names, reader, deep=True) if names is not None else ()
    files = [file for path in paths if (file := reader.read_file(path))]
    if reader.problems:
        raise SpecError(reader.problems)
    return read_cases(files, project=project, environment=VariableLookup(env, project.given))
