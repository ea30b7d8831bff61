"""From a folder to the compiled project, without compiling it again while nothing changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.core.phrases import show_value
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.core.variables import refuse_unknown
from sparkassets.errors import InputError
from sparkassets.project.cache import CompiledCache
from sparkassets.project.compile_trace import PROJECT_FILE, CompileTrace, TracedVariables
from sparkassets.project.storage_check import check_storage

if TYPE_CHECKING:
    from sparkassets.core.spec.column_inference import TableColumns


def holds_project(folder: Path) -> bool:
    """Whether the folder holds a project file; no path is so odd that asking is an error."""
    return os.path.isfile(folder / PROJECT_FILE)  # noqa: PTH113


def load_project(
    folder: Path, env: Mapping[str, str], *, cache: Path | None = None, tables: TableColumns | None = None
) -> ProjectSpec:
    """The project in a folder, compiled.

    Args:
        folder: Holds ``project.yml``; messages name files from where people stand.
        env: Variables for ``${…}``.
        cache: Folder that keeps compiled projects; None compiles anew.
        tables: Is asked for the columns of Delta tables that others write.

    Raises:
        InputError: There is no project file; or no such profile in it; or nothing names what was set.
        SpecError: With every problem of every file, in order of place; or with all places that, as the disk has them
            now, lie in each other.
    """
    if not holds_project(folder):
        missing = "there is no folder" if not os.path.isdir(folder) else f"there is no {PROJECT_FILE} in"  # noqa: PTH112
        raise InputError(
            f"{missing} {show_value(str(folder))}", hint="give the project's folder, or make one: sparkassets init"
        )
    root = folder.resolve()
    kept = CompiledCache(cache, ProjectSpec, of=(str(root),)) if cache else None
    found = kept.find(env) if kept else None
    if found is not None:
        project, _ = found
    else:
        # pydantic, PyYAML and Jinja take most of a cold start: only where something is compiled
        from sparkassets.project.project_folder import compile_folder

        trace = CompileTrace()
        project = compile_folder(root, trace, env=TracedVariables(env, trace), tables=tables, cache=cache)
        if kept:
            kept.keep(project, trace, env)
    refuse_unknown(env, project.asked)
    check_storage(project)
    return project
