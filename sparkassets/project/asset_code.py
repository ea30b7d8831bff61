"""Finds the code that assets need in a project's folder: SQL, modules with the parts of their functions, and macros."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

from sparkassets.core.spec.bodies import AssetCode, WantedModule, WantedSql, find_required_code, is_allowed
from sparkassets.core.spec.drafts import AssetDraft, AssetFiles, ProjectDraft
from sparkassets.core.spec.expect_and_notify import written_rules
from sparkassets.core.spec.macros import MacroLibrary
from sparkassets.core.spec.module_source import ModuleFunction, ModuleSource
from sparkassets.core.spec.validations import rule_functions as functions_of_rules
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.project.declared import DeclaredAsset
from sparkassets.project.function_parts import FunctionParts
from sparkassets.project.python_modules import read_module
from sparkassets.project.source_reader import SourceReader, shown_path


def find_code(
    project: ProjectDraft, assets: AssetFiles, reader: SourceReader, declared: Mapping[str, DeclaredAsset]
) -> AssetCode:
    """The code that assets need; files that do not exist are left out.

    Args:
        project: The project file.
        assets: The assets of all files.
        reader: Reads the files.
        declared: The assets that modules declare with a function, by name; the others name a file or a module.
    """
    sql, functions = _find_wanted(
        [each for each in assets.drafts.values() if each.name not in declared], project, reader
    )
    functions += chain.from_iterable(map(functions_of_rules, assets.drafts.values()))
    wanted = [*(name for name, _ in functions), *_receiving_modules(project, assets)]
    modules = _find_modules((name for name in wanted if is_allowed(name, project)), reader)
    function_parts = FunctionParts(lambda name: _read_source(name, project, reader))
    for name, function in functions:
        if name in modules:
            modules[name] = _with_parts(modules[name], function, function_parts.digest_parts(name, function))
    declared_functions: dict[str, ModuleFunction] = {}
    for name, asset in declared.items():
        if asset.function is not None:
            modules.setdefault(asset.module.name, ModuleSource(asset.module.file, asset.module.search_path))
            parts = chain.from_iterable(function_parts.digest_parts(*code).items() for code in asset.code)
            declared_functions[name] = replace(asset.function, parts=dict(parts))
    return AssetCode(sql, modules, declared_functions, _read_macros(reader))


def _find_wanted(
    drafts: Iterable[AssetDraft], project: ProjectDraft, reader: SourceReader
) -> tuple[dict[str, SourceFile | None], list[tuple[str, str]]]:
    """(SQL files of assets by path, None for an unreadable one; functions of assets, each as module and name)."""
    sql: dict[str, SourceFile | None] = {}
    functions: list[tuple[str, str]] = []
    for draft in drafts:
        match find_required_code(draft, project):
            case WantedSql(paths):
                sql |= _first_existing(paths, reader)
            case WantedModule(name):
                functions.append((name, (draft.keys.python or "").partition(":")[2]))
    return sql, functions


def _read_macros(reader: SourceReader) -> MacroLibrary:
    """The macros in the folder ``macros`` of the project, by name of file."""
    folder = reader.root / "macros"
    names = sorted(name for name in reader.list_names(folder) or () if name.endswith(".sql"))
    files = [file for name in names if (file := reader.read_file(folder / name)) is not None]
    if not files:
        return MacroLibrary()
    from sparkassets.core.spec.macro_files import read_macros  # Jinja is for projects that have some

    return read_macros(files)


def _find_modules(names: Iterable[str], reader: SourceReader) -> dict[str, ModuleSource]:
    """The existing modules, by name."""
    modules = ((name, _find_module(name, reader)) for name in dict.fromkeys(names))
    return {name: module for name, module in modules if module is not None}


def _receiving_modules(project: ProjectDraft, assets: AssetFiles) -> Iterator[str]:
    """The names of modules with functions that receive notifications."""
    written = [project.keys.notify, *(draft.keys.notify for draft in assets.drafts.values())]
    rules = chain.from_iterable(map(written_rules, written))
    return (rule.python.partition(":")[0] for rule in rules if rule.python is not None)


def _with_parts(module: ModuleSource, function: str, parts: Mapping[str, str]) -> ModuleSource:
    """The module with the digests of the parts of one of its functions filled in."""
    described = module.functions.get(function)
    return (
        replace(module, functions={**module.functions, function: replace(described, parts=parts)})
        if described
        else module
    )


def _read_source(name: str, project: ProjectDraft, reader: SourceReader) -> tuple[str, bool] | None:
    """A module's text and whether it is a package; None for a module outside the allowed packages."""
    if not is_allowed(name, project):
        return None
    for _, path in _possible_files(name, reader):
        if (text := reader.read_python(path)) is not None:
            return text, path.name == "__init__.py"
    return None


def _first_existing(paths: Iterable[str], reader: SourceReader) -> dict[str, SourceFile | None]:
    """Path to the first of these files that exists, None as value if it is unreadable; empty if none exists."""
    for path in paths:
        file = reader.read_file(reader.root / path)
        if file or reader.root / path in reader.unreadable:
            return {path: file}
    return {}


def _find_module(name: str, reader: SourceReader) -> ModuleSource | None:
    """The module in the project's folder or beside it; None if there is none."""
    for base, path in _possible_files(name, reader):
        if file := reader.read_file(path, is_python=True):
            return read_module(file, search_path=str(base))
        if path in reader.unreadable:
            return ModuleSource(SourceFile(shown_path(path), name.replace(".", "/"), ""), str(base), is_readable=False)
    return None


def _possible_files(name: str, reader: SourceReader) -> Iterator[tuple[Path, Path]]:
    """(Folder on the search path, file) of each place where a module may be; the first that exists counts."""
    relative = name.replace(".", "/")
    for base in (reader.root, reader.root.parent):
        yield base, base / f"{relative}.py"
        yield base, base / relative / "__init__.py"
