"""Finds, reads and compiles the files of a project's folder, and reads the tests of its assets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from sparkassets.core.cases import Case
from sparkassets.core.cases.reading import read_cases
from sparkassets.core.entry_points import InstalledKinds
from sparkassets.core.sinks import REGISTRY as SINKS
from sparkassets.core.source_formats import REGISTRY as SOURCES
from sparkassets.core.spec.asset_file import read_asset_files, read_first_assets
from sparkassets.core.spec.column_inference import TableColumns
from sparkassets.core.spec.compilation import compile_assets, compile_project
from sparkassets.core.spec.drafts import AssetFiles, ProjectDraft
from sparkassets.core.spec.project_file import read_project_file
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.timetables.registered import REGISTRY as TIMETABLES
from sparkassets.core.validations.registered_checks import REGISTRY as CHECKS
from sparkassets.core.variables import VariableLookup, without_requested
from sparkassets.core.writes import REGISTRY as WRITES
from sparkassets.errors import FileLocation, SpecError, SpecProblem
from sparkassets.plugins import InstalledFactories
from sparkassets.project.asset_code import find_code
from sparkassets.project.cache import CompiledCache
from sparkassets.project.compile_trace import PROJECT_FILE, CompileTrace
from sparkassets.project.declared import DeclaredAsset, DeclaredAssets, ImportResult, declared_assets, import_modules
from sparkassets.project.outline_cache import OutlineCache
from sparkassets.project.python_modules import PythonFile
from sparkassets.project.source_reader import SourceReader, module_paths, shown_path, yaml_files

_DECLARES: Final = re.compile(r"^@(?:\w+\.)?(?:multi_)?asset\b", re.MULTILINE)


def compile_folder(
    root: Path,
    trace: CompileTrace,
    *,
    env: Mapping[str, str],
    tables: TableColumns | None = None,
    cache: Path | None = None,
) -> ProjectSpec:
    """The compiled project of a folder.

    Args:
        root: Absolute; holds the project file.
        trace: Everything is read through it.
        env: Variables for ``${…}``.
        tables: Is asked for the columns of Delta tables that others write.
        cache: Folder that keeps what modules declare and what SQL says; None imports and reads all again.

    Raises:
        SpecError: With every problem of every file, in order of place.
    """
    reader = SourceReader(root, trace)
    project_file = reader.read_file(root / PROJECT_FILE)
    if project_file is None:
        raise SpecError(reader.problems)
    project = read_project_file(project_file, root=str(root), environment=env, installed=_installed_kinds(trace))
    declared = _load_declared(project, reader, env, cache)
    assets = _read_assets(project, declared, reader, tables)
    code = find_code(project, assets, reader, _declared_functions(declared, assets))
    unreadable = assets.unreadable | (declared.unreadable - assets.drafts.keys())
    unread = tuple(_find_unread(project, reader))
    # without any asset, a module that no package allows is the likely reason, and more than a warning
    problems = (*assets.problems, *reader.problems, *declared.problems, *(() if assets.drafts else unread))
    assets = AssetFiles(assets.drafts, unreadable, problems)
    if cache is None:
        compiled = compile_project(project, assets, code, tables=tables)
    else:
        outlines = OutlineCache(cache, root)
        compiled = compile_project(project, assets, code, tables=tables, outlines=outlines.memo)
        outlines.keep()
    warnings = (*compiled.warnings, *unread)
    return replace(compiled, named_variables=frozenset(trace.variables), inputs=trace.digest(), warnings=warnings)


def _installed_kinds(trace: CompileTrace) -> InstalledKinds:
    """What installed packages add; their modules count as inputs once they are imported."""
    installed = partial(InstalledFactories, searched=trace.record_packages, imported=trace.record_module)
    return InstalledKinds(
        timetables=installed(TIMETABLES),
        checks=installed(CHECKS),
        sinks=installed(SINKS),
        sources=installed(SOURCES),
        writes=installed(WRITES),
    )


def _read_assets(
    project: ProjectDraft, declared: DeclaredAssets, reader: SourceReader, tables: TableColumns | None
) -> AssetFiles:
    """The assets of YAML files and of modules.

    The first of very many are checked alone, so that a project that a program has spoilt is refused before all are
    read.

    Raises:
        SpecError: The first assets alone have too many problems to go on.
    """
    files = [file for path in _asset_paths(project, reader) if (file := reader.read_file(path))]
    if first := read_first_assets(files, project=project, declared=[each.document for each in declared.assets]):
        code = find_code(project, first, SourceReader(reader.root, reader.trace), {})
        compile_assets(project, first, code, tables=tables)
    return read_asset_files(
        files,
        project=project,
        declared=[each.document for each in declared.assets if not each.is_reference],
        references=[each.document for each in declared.assets if each.is_reference],
    )


def _declared_functions(declared: DeclaredAssets, assets: AssetFiles) -> dict[str, DeclaredAsset]:
    """The declarations with a function, by the names of their assets."""
    by_document = {id(each.document): each for each in declared.assets if each.function is not None}
    names = {id(draft.at.document): draft.name for draft in assets.drafts.values()}
    return {name: by_document[document] for document, name in names.items() if document in by_document}


def _load_declared(
    project: ProjectDraft, reader: SourceReader, env: Mapping[str, str], cache: Path | None
) -> DeclaredAssets:
    """The assets that modules of the allowed packages declare; results of imports are kept in the cache."""

    def import_all(modules: Sequence[PythonFile]) -> ImportResult:
        # a cached result stands for the import only while all that the import read is unchanged
        names = (each.name for each in modules)
        compiled_cache = CompiledCache(cache, ImportResult, of=(str(reader.root), *names)) if cache else None
        cached = compiled_cache.load(env) if compiled_cache else None
        result, trace = cached or _import(modules, env)
        if compiled_cache and cached is None and not result.failures:
            compiled_cache.keep(result, trace, env)
        reader.trace.include(trace)
        return result

    files = _python_files(project, reader)
    return declared_assets(files, import_all, environment=env)


def _import(modules: Sequence[PythonFile], env: Mapping[str, str]) -> tuple[ImportResult, CompileTrace]:
    """The declarations of modules, with a trace of all their inputs."""
    result, trace = import_modules(modules, without_requested(env)), CompileTrace()
    # the child process has read them: this one looks at them once more, so that the trace holds their digests
    trace.variables.update(result.variables)
    for read, paths in ((trace.read_file, result.files), (trace.list_names, result.folders)):
        for path in paths:
            with suppress(OSError):
                read(path)
    for module in result.modules:
        trace.record_module(module)
    if result.installed:
        trace.record_packages()
    return result, trace


def _asset_paths(project: ProjectDraft, reader: SourceReader) -> Iterable[Path]:
    """The files of the `assets` folders, by name within a folder; of the project's own folder without subfolders."""
    paths: dict[Path, None] = {}
    for index, entry in enumerate(project.keys.assets):
        path = Path(os.path.normpath(reader.root / entry))
        names = reader.list_names(path)
        if names is not None:
            paths |= dict.fromkeys(yaml_files(path, names, reader, deep=path != reader.root))
        elif reader.exists(path):
            paths[path] = None
        elif (assets_key := project.at / "assets").exists:
            (assets_key / index).add_problem(f"the folder {entry!r} does not exist in the project's folder")
    paths.pop(reader.root / PROJECT_FILE, None)  # where the project's own folder is one of the folders
    return paths


def _find_unread(project: ProjectDraft, reader: SourceReader) -> Iterator[SpecProblem]:
    """Warnings for modules beside the YAML files that declare assets but are in no package that the project allows."""
    read_paths = {module.file.path for module in _python_files(project, reader).values()}
    for entry in project.keys.assets:
        folder = Path(os.path.normpath(reader.root / entry))
        names, deep = reader.list_names(folder) or [], folder != reader.root
        for path in yaml_files(folder, names, reader, deep=deep, ends=(".py",)):
            text = reader.read_python(path) or ""
            declaration = _DECLARES.search(text) if "sparkassets" in text else None
            if declaration is None or Path(os.path.relpath(path, reader.root)).as_posix() in read_paths:
                continue
            yield SpecProblem(
                FileLocation(shown_path(path), text.count("\n", 0, declaration.start()) + 1, 1),
                "this Python module declares assets, but is in no package that the project file allows",
                hint=f"write python: [{_package_of(path, reader.root)}] in {PROJECT_FILE}",
            )


def _package_of(module: Path, root: Path) -> str:
    """The package of a module below the project's folder; else the module's own name."""
    folder = module.parent.relative_to(root) if module.is_relative_to(root) else Path()
    return ".".join(folder.parts) or module.stem


def _python_files(project: ProjectDraft, reader: SourceReader) -> dict[str, PythonFile]:
    """Dotted name to module, for the allowed packages; one in the project's folder goes before one beside it."""
    modules: dict[str, PythonFile] = {}
    for package in project.keys.python:
        for base in (reader.root, reader.root.parent):
            place = base / package.replace(".", "/")
            paths = [place.with_name(f"{place.name}.py"), *module_paths(place, reader)]
            for path in paths:
                name = ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
                if name not in modules and (file := reader.read_declaring(path)) is not None:
                    modules[name] = PythonFile(name, file, str(base), is_package=path.name == "__init__.py")
    return modules


_TESTS_FOLDER: Final = "tests"
"""In the project's folder."""


def compile_cases(project: ProjectSpec, trace: CompileTrace, *, env: Mapping[str, str]) -> tuple[Case, ...]:
    """The tests in the project's ``tests`` folder, in order of files; empty without that folder.

    Args:
        project: Whose assets they test.
        trace: Everything is read through it.
        env: Variables for ``${…}``.

    Raises:
        SpecError: With every problem of every file.
    """
    root = Path(project.root)
    reader = SourceReader(root, trace)
    names = reader.list_names(root / _TESTS_FOLDER)
    paths = yaml_files(root / _TESTS_FOLDER, names, reader, deep=True) if names is not None else ()
    files = [file for path in paths if (file := reader.read_file(path))]
    if reader.problems:
        raise SpecError(reader.problems)
    return read_cases(files, project=project, environment=VariableLookup(env, project.given))
