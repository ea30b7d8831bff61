"""Loads a project from the cache or compiles it, and checks that its storage locations do not overlap."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.core.phrases import show_value
from sparkassets.core.spec.engine_limits import choose_engine
from sparkassets.core.spec.model import NOWHERE
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_overlaps import StorageSite, StorageUse, find_overlaps, parse_site, storage_uses
from sparkassets.core.variables import refuse_unknown
from sparkassets.errors import FileLocation, InputError, SpecError, SpecProblem
from sparkassets.frozen import frozen
from sparkassets.project.cache import CompiledCache
from sparkassets.project.compile_trace import PROJECT_FILE, CompileTrace, TracedVariables

if TYPE_CHECKING:
    from sparkassets.core.cases import Case
    from sparkassets.core.spec.column_inference import TableColumns


@frozen
class CompiledCases:
    """The tests in a project's folder.

    Attributes:
        project: The inputs of the project that they fit.
    """

    project: str
    cases: tuple[Case, ...]


def check_storage(project: ProjectSpec) -> None:
    """Refuses a project that would write to a place that another part of it uses, as links are on the disk now.

    Raises:
        SpecError: With every overlap, at the asset or the project file that names the place.
    """
    uses = storage_uses(
        root=project.root, state=(project.state, project.state), folders=project.folders, assets=project.assets
    )
    problems = []
    for overlap in find_overlaps(uses, make_site_finder()):
        other_location = _location(project, overlap.other)
        other_place = "" if other_location is NOWHERE else str(other_location)
        problems.append(SpecProblem(_location(project, overlap.place), overlap.sentence(other_place), overlap.hint))
    if problems:
        raise SpecError(sorted(dict.fromkeys(problems), key=lambda each: (each.location, each.message)))


def _location(project: ProjectSpec, place: StorageUse) -> FileLocation:
    """Where the project's files name a place: at its asset, or in the project file for the state."""
    if place.asset is not None:
        return project.assets[place.asset].location
    if place.role == "state":
        return FileLocation(os.path.relpath(Path(project.root, PROJECT_FILE)))
    return NOWHERE


def make_site_finder() -> Callable[[str], StorageSite]:
    """A function that finds the site of an absolute path, so that two paths to one folder have the same site.

    It follows links, compares folders by device and inode, and ignores case where the disk does. Each folder is looked
    at once. URIs stay as written.
    """

    @cache
    def identity(folder: str) -> str | None:
        """Device and inode of a folder; None if it does not exist."""
        try:
            status = os.stat(folder)  # noqa: PTH116  this and all else here at a fifth of pathlib's time
        except (OSError, ValueError):
            return None
        return f"{status.st_dev}:{status.st_ino}"

    @cache
    def ignores_case(folder: str) -> bool:
        """Whether names in a folder that exists are the same in any case, as the names that lead to it are."""
        folder_and_swapped = _with_swapped_case(folder)
        return folder_and_swapped is not None and identity(folder_and_swapped[1]) == identity(folder_and_swapped[0])

    @cache
    def folders_on_way(folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(The names that lead to a real path, the identities of those folders on the way that exist).

        Folders that exist are compared by identity. Below them names are compared, without case if the disk ignores it.
        """
        parent, name = os.path.split(folder)
        if not name:
            return (), ()
        names, folders = folders_on_way(parent)
        missing = len(names) - len(folders)
        existing = None if missing else identity(folder)  # below a missing folder nothing exists
        if existing is not None:
            return (*names, name), (*folders, existing)
        if ignores_case("/" + "/".join(names[: len(folders)])):
            from unicodedata import normalize

            name = normalize("NFC", name).casefold()
        return (*names, name), folders

    resolve_links = _make_link_resolver()

    def locate(path: str) -> StorageSite:
        site = parse_site(path)
        if site.store:
            return site
        return StorageSite("", *folders_on_way(resolve_links(f"/{'/'.join(site.names)}")))

    return locate


def _make_link_resolver() -> Callable[[str], str]:
    """A function that follows the links in an absolute path; looks at each folder once.

    Many paths share their first folders, which `os.path.realpath` would look at again for each.
    """

    @cache
    def resolve_links(path: str) -> str:
        parent, name = os.path.split(path)
        if not name:
            return path
        joined = os.path.join(resolve_links(parent), name)  # noqa: PTH118
        return os.path.realpath(joined) if os.path.islink(joined) else joined  # noqa: PTH114

    return resolve_links


def _with_swapped_case(folder: str) -> tuple[str, str] | None:
    """(The folder or its nearest ancestor with letters in its name, the same path with that name's case swapped).

    If both are the same folder on disk, names there ignore case. None if no name has letters.
    """
    while folder != "/":
        parent, name = os.path.split(folder)
        if name.swapcase() != name:
            return folder, os.path.join(parent, name.swapcase())  # noqa: PTH118
        folder = parent
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
        cache: Folder that keeps compiled projects; None compiles again.
        tables: Is asked for the columns of Delta tables that others write.

    Raises:
        InputError: There is no project file; or no such profile in it; or nothing names what was set.
        SpecError: With every problem of every file, in order of place; or with all places that, as the disk has them
            now, lie in each other.
    """
    if not holds_project(folder):
        missing = "there is no folder" if not os.path.isdir(folder) else f"there is no {PROJECT_FILE} in"  # noqa: PTH112
        raise InputError(
            f"{missing} {show_value(str(folder))}",
            hint="give the project's folder, or create a project: sparkassets init",
            topic="no-project",
        )
    root = folder.resolve()
    compiled_cache = CompiledCache(cache, ProjectSpec, of=(str(root),)) if cache else None
    cached = compiled_cache.load(env) if compiled_cache else None
    if cached is not None:
        project, _ = cached
    else:
        # pydantic, PyYAML and Jinja take most of a cold start: only where something is compiled
        from sparkassets.project.project_folder import compile_folder

        trace = CompileTrace()
        with _collector_paused():
            project = compile_folder(root, trace, env=TracedVariables(env, trace), tables=tables, cache=cache)
        if compiled_cache:
            compiled_cache.keep(project, trace, env)
    refuse_unknown(env, project.named_variables)
    check_storage(project)
    return choose_engine(project, env, place=FileLocation(os.path.relpath(folder / PROJECT_FILE)))


def load_cases(project: ProjectSpec, env: Mapping[str, str], *, cache: Path | None = None) -> tuple[Case, ...]:
    """The tests in the project's ``tests`` folder, in order of files; from the cache if nothing changed.

    Args:
        project: Whose assets they test.
        env: Variables for ``${…}``.
        cache: As of `load_project`.

    Raises:
        SpecError: With every problem of every file.
    """
    compiled_cache = CompiledCache(cache, CompiledCases, of=(project.root, "tests")) if cache else None
    cached = compiled_cache.load(env) if compiled_cache else None
    if cached is not None and cached[0].project == project.inputs:  # tests are checked against the project's assets
        return cached[0].cases
    from sparkassets.project.project_folder import compile_cases  # as above

    trace = CompileTrace()
    trace.variables.update(project.named_variables)
    cases = compile_cases(project, trace, env=TracedVariables(env, trace))
    if compiled_cache:
        compiled_cache.keep(CompiledCases(project.inputs, cases), trace, env)
    return cases


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
