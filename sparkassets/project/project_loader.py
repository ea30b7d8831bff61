"""Loads a project from the cache or compiles it, and checks that its storage locations do not overlap."""

from __future__ import annotations

import gc
import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.core.phrases import show_value
from sparkassets.core.spec.model import NOWHERE, ProjectSpec
from sparkassets.core.spec.storage_overlaps import StorageSite, StorageUse, find_overlaps, parse_site, storage_uses
from sparkassets.core.variables import refuse_unknown
from sparkassets.errors import FileLocation, InputError, SpecError, SpecProblem
from sparkassets.project.cache import CompiledCache
from sparkassets.project.compile_trace import PROJECT_FILE, CompileTrace, TracedVariables

if TYPE_CHECKING:
    from sparkassets.core.spec.column_inference import TableColumns


def check_storage(project: ProjectSpec) -> None:
    """Refuses a project that would write to a place that another part of it uses, as links are on the disk now.

    Raises:
        SpecError: With every overlap, at the asset or the project file that names the place.
    """
    places = storage_uses(
        root=project.root, state=(project.state, project.state), folders=project.folders, assets=project.assets
    )
    problems = []
    for found in find_overlaps(places, locator()):
        where = _location(project, found.other)
        place = "" if where is NOWHERE else str(where)
        problems.append(SpecProblem(_location(project, found.place), found.sentence(place), found.hint))
    if problems:
        raise SpecError(sorted(dict.fromkeys(problems), key=lambda each: (each.location, each.message)))


def _location(project: ProjectSpec, place: StorageUse) -> FileLocation:
    """Where the project's files name a place: at its asset, or in the project file for the state."""
    if place.asset is not None:
        return project.assets[place.asset].location
    if place.role == "state":
        return FileLocation(os.path.relpath(Path(project.root, PROJECT_FILE)))
    return NOWHERE


def locator() -> Callable[[str], StorageSite]:
    """A function that finds the site of an absolute path, so that two paths to one folder have the same site.

    It follows links, compares folders by device and inode, and ignores case where the disk does. Each folder is looked
    at once. URIs stay as written.
    """

    @cache
    def identity(folder: str) -> str | None:
        try:
            status = os.stat(folder)  # noqa: PTH116  this and all else here at a fifth of pathlib's time
        except (OSError, ValueError):
            return None
        return f"{status.st_dev}:{status.st_ino}"

    @cache
    def folds(folder: str) -> bool:
        """Whether names in a folder that exists are the same in any case, as the names that lead to it are."""
        told = _with_letters(folder)
        return told is not None and identity(told[1]) == identity(told[0])

    @cache
    def way(folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(The names that lead to a real path, the identities of those folders on the way that exist)."""
        above, name = os.path.split(folder)
        if not name:
            return (), ()
        names, folders = way(above)
        missing = len(names) - len(folders)
        there = None if missing else identity(folder)
        if there is not None:
            return (*names, name), (*folders, there)
        if folds("/" + "/".join(names[: len(folders)])):
            name = unicodedata.normalize("NFC", name).casefold()
        return (*names, name), folders

    real = _following()

    def locate(path: str) -> StorageSite:
        site = parse_site(path)
        if site.store:
            return site
        return StorageSite("", *way(real(f"/{'/'.join(site.names)}")))

    return locate


def _following() -> Callable[[str], str]:
    """A function that follows the links in an absolute path; looks at each folder once."""

    @cache
    def real(path: str) -> str:
        above, name = os.path.split(path)
        if not name:
            return path
        there = os.path.join(real(above), name)  # noqa: PTH118
        return os.path.realpath(there) if os.path.islink(there) else there  # noqa: PTH114

    return real


def _with_letters(folder: str) -> tuple[str, str] | None:
    """(The folder or its nearest ancestor with letters in its name, the same path with that name's case swapped).

    If both are the same folder on disk, names there ignore case. None if no name has letters.
    """
    while folder != "/":
        above, name = os.path.split(folder)
        if name.swapcase() != name:
            return folder, os.path.join(above, name.swapcase())  # noqa: PTH118
        folder = above
    return None


def holds_project(folder: Path) -> bool:
    """Whether the folder holds a project file; no path is so odd that asking is an error."""
    return os.path.isfile(folder / PROJECT_FILE)  # noqa: PTH113


def load_project(
    folder: Path, env: Mapping[str, str], *, cache: Path | None = None, tables: TableColumns | None = None
) -> ProjectSpec:
    """The compiled project of a folder, from the cache if nothing changed.

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
    compiled = CompiledCache(cache, ProjectSpec, of=(str(root),)) if cache else None
    found = compiled.find(env) if compiled else None
    if found is not None:
        project, _ = found
    else:
        # pydantic, PyYAML and Jinja take most of a cold start: only where something is compiled
        from sparkassets.project.project_folder import compile_folder

        trace = CompileTrace()
        with _collector_paused():
            project = compile_folder(root, trace, env=TracedVariables(env, trace), tables=tables, cache=cache)
        if compiled:
            compiled.keep(project, trace, env)
    refuse_unknown(env, project.asked)
    check_storage(project)
    return project


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pauses the search for reference cycles: compiling makes few, and the search took a fifth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
