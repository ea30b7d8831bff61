"""Finds, reads and compiles the files of a project's folder, and reads the tests of its assets."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from tokenize import detect_encoding
from typing import Final

from sparkassets.core.cases import Case, read_cases
from sparkassets.core.entry_points import InstalledKinds
from sparkassets.core.sinks import REGISTRY as SINKS
from sparkassets.core.source_formats import REGISTRY as SOURCES
from sparkassets.core.spec.asset_file import read_asset_files, read_first_assets
from sparkassets.core.spec.bodies import (
    AssetCode,
    ModuleFunction,
    ModuleSource,
    WantedModule,
    WantedSql,
    find_required_code,
    is_allowed,
)
from sparkassets.core.spec.column_inference import TableColumns
from sparkassets.core.spec.compilation import compile_assets, compile_project
from sparkassets.core.spec.drafts import AssetFiles, ProjectDraft
from sparkassets.core.spec.expect_and_notify import written_rules
from sparkassets.core.spec.macros import MacroLibrary
from sparkassets.core.spec.project_file import read_project_file
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.validations import rule_functions as functions_of_rules
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.core.timetables.registered import REGISTRY as TIMETABLES
from sparkassets.core.validations.registered_checks import REGISTRY as CHECKS
from sparkassets.core.variables import VariableLookup, without_requested
from sparkassets.core.writes import REGISTRY as WRITES
from sparkassets.errors import FileLocation, SpecError, SpecProblem
from sparkassets.plugins import InstalledFactories
from sparkassets.project.cache import CompiledCache
from sparkassets.project.compile_trace import PROJECT_FILE, CompileTrace
from sparkassets.project.declared import DeclaredAsset, DeclaredAssets, ImportResult, declared_assets, import_modules
from sparkassets.project.function_parts import FunctionParts
from sparkassets.project.outline_cache import OutlineCache
from sparkassets.project.python_modules import PythonFile, read_module

_YAML = (".yml", ".yaml")

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
    installed = partial(InstalledFactories, searched=trace.record_packages, imported=trace.record_module)
    kinds = InstalledKinds(
        timetables=installed(TIMETABLES),
        checks=installed(CHECKS),
        sinks=installed(SINKS),
        sources=installed(SOURCES),
        writes=installed(WRITES),
    )
    project = read_project_file(project_file, root=str(root), environment=env, installed=kinds)
    asset_files = [file for path in _asset_paths(project, reader) if (file := reader.read_file(path))]
    declared = _load_declared(project, reader, env, cache)
    if first := read_first_assets(asset_files, project=project, declared=[each.document for each in declared.assets]):
        _check_first_assets(project, first, SourceReader(root, trace), tables)
    assets = read_asset_files(
        asset_files,
        project=project,
        declared=[each.document for each in declared.assets if not each.is_reference],
        references=[each.document for each in declared.assets if each.is_reference],
    )
    by_document = {id(each.document): each for each in declared.assets}
    declared_by_name = ((draft.name, by_document.get(id(draft.at.document))) for draft in assets.drafts.values())
    declared_functions = {
        name: each for name, each in declared_by_name if each is not None and each.function is not None
    }
    code = _find_code(project, assets, reader, declared_functions)
    unreadable = assets.unreadable | (declared.unreadable - assets.drafts.keys())
    unread = tuple(_find_unread(project, reader))
    problems = (*assets.problems, *reader.problems, *declared.problems, *(() if assets.drafts else unread))
    assets = AssetFiles(assets.drafts, unreadable, problems)
    outlines = OutlineCache(cache, root) if cache is not None else None
    compiled = compile_project(
        project,
        assets,
        code,
        tables=tables,
        outlines=outlines.memo if outlines is not None else None,
    )
    if outlines is not None:
        outlines.keep()
    return replace(compiled, asked=frozenset(trace.variables), warnings=(*compiled.warnings, *unread))


def _check_first_assets(
    project: ProjectDraft, first: AssetFiles, reader: SourceReader, tables: TableColumns | None
) -> None:
    """Checks the first assets of very many, so that a project that a program has spoilt is refused before all are read.

    Raises:
        SpecError: They alone have too many problems to go on.
    """
    compile_assets(project, first, _find_code(project, first, reader, {}), tables=tables)


def _load_declared(
    project: ProjectDraft, reader: SourceReader, env: Mapping[str, str], cache: Path | None
) -> DeclaredAssets:
    """The assets that modules of the allowed packages declare; results of imports are kept in the cache."""

    def import_all(modules: Sequence[PythonFile]) -> ImportResult:
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


class SourceReader:
    """Reads text files; a file that is not UTF-8 becomes a problem.

    Attributes:
        unreadable: Files that are there and became a problem.
    """

    def __init__(self, root: Path, trace: CompileTrace) -> None:
        self.root = root
        self.trace = trace
        self.problems: list[SpecProblem] = []
        self.unreadable: set[Path] = set()

    def list_names(self, folder: Path) -> list[str] | None:
        """The names in a folder; None if it does not exist, an empty list and a problem if it cannot be read."""
        try:
            return self.trace.list_names(folder)
        except OSError as error:
            problem = SpecProblem(FileLocation(_shown_path(folder)), f"cannot be read: {error.strerror}")
            if error.errno == errno.E2BIG:  # or each further folder would add the same problem
                raise SpecError([problem]) from None
            self.problems.append(problem)
            return []

    def exists(self, path: Path) -> bool:
        """Whether the file exists, readable or not."""
        return self.read_file(path) is not None or path in self.unreadable

    def read_file(self, path: Path, *, is_python: bool = False) -> SourceFile | None:
        """The file; None if it does not exist or became a problem. Python files may declare another encoding."""
        try:
            content = self.trace.read_file(path)
        except OSError as error:
            self._refuse(path, SpecProblem(FileLocation(_shown_path(path)), f"cannot be read: {error.strerror}"))
            return None
        if content is None:
            return None
        try:
            text = content.decode(_encoding(content) if is_python else "utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            column = error.start - content.rfind(b"\n", 0, error.start)
            message = f"the byte 0x{content[error.start]:02x} is not UTF-8; files of a project are UTF-8 text"
            self._refuse(path, SpecProblem(FileLocation(_shown_path(path), line, column), message))
            return None
        return SourceFile(_shown_path(path), _relative(str(path), str(self.root)).replace(os.sep, "/"), text)

    def read_declaring(self, path: Path) -> SourceFile | None:
        """A module that may declare assets; None for a file that its encoding cannot decode, which is not reported."""
        if self.read_python(path) is not None:
            return self.read_file(path, is_python=True)
        return None

    def read_python(self, path: Path) -> str | None:
        """The text of a module that is only searched, not compiled; None, without a problem, if it is unreadable."""
        try:
            content = self.trace.read_file(path)
            return content.decode(_encoding(content)) if content is not None else None
        except (OSError, UnicodeDecodeError):
            return None

    def _refuse(self, path: Path, problem: SpecProblem) -> None:
        self.problems.append(problem)
        self.unreadable.add(path)


def _encoding(module: bytes) -> str:
    """The encoding that a module declares; UTF-8 if it declares none, or one that Python does not know."""
    try:
        return detect_encoding(BytesIO(module).readline)[0]
    except SyntaxError:
        return "utf-8-sig"


def _shown_path(path: Path) -> str:
    """The path for messages: relative to the working folder if that is shorter."""
    return min(_relative(str(path), os.getcwd()), str(path), key=len)  # noqa: PTH109  at a fifth of pathlib's time


def _relative(path: str, folder: str) -> str:
    """What `os.path.relpath` returns, at a tenth of its time for a path below the folder."""
    below = os.path.join(folder, "")  # noqa: PTH118  as above
    return path[len(below) :] if path.startswith(below) and ".." not in path else os.path.relpath(path, folder)


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
    paths.pop(reader.root / PROJECT_FILE, None)
    return paths


def _find_unread(project: ProjectDraft, reader: SourceReader) -> Iterator[SpecProblem]:
    """Warnings for modules beside the YAML files that declare assets but are in no package that the project allows."""
    read_paths = {module.file.path for module in _python_files(project, reader).values()}
    for entry in project.keys.assets:
        folder = Path(os.path.normpath(reader.root / entry))
        for path in yaml_files(
            folder, reader.list_names(folder) or [], reader, deep=folder != reader.root, ends=(".py",)
        ):
            text = reader.read_python(path) or ""
            declaration = _DECLARES.search(text) if "sparkassets" in text else None
            if declaration is None or Path(os.path.relpath(path, reader.root)).as_posix() in read_paths:
                continue
            subfolder = path.parent.relative_to(reader.root) if path.is_relative_to(reader.root) else Path()
            package = ".".join(subfolder.parts) or path.stem
            yield SpecProblem(
                FileLocation(_shown_path(path), text.count("\n", 0, declaration.start()) + 1, 1),
                "this Python module declares assets, but is in no package that the project file allows",
                hint=f"write python: [{package}] in {PROJECT_FILE}",
            )


def yaml_files(
    folder: Path, names: list[str], reader: SourceReader, *, deep: bool, ends: tuple[str, ...] = _YAML
) -> Iterator[Path]:
    """Files that end with one of ``ends``, with ``deep`` also in subfolders; skips links to an outer folder."""
    for name in names:
        if name.startswith("."):
            continue
        if name.endswith("/"):
            below = folder / name
            if deep and not (below.is_symlink() and folder.resolve().is_relative_to(below.resolve())):
                yield from yaml_files(below, reader.list_names(below) or [], reader, deep=deep, ends=ends)
        elif name.endswith(ends):
            yield folder / name


def _python_files(project: ProjectDraft, reader: SourceReader) -> dict[str, PythonFile]:
    """Dotted name to module, for the allowed packages; one in the project's folder goes before one beside it."""
    modules: dict[str, PythonFile] = {}
    for package in project.keys.python:
        for base in (reader.root, reader.root.parent):
            place = base / package.replace(".", "/")
            paths = [place.with_name(f"{place.name}.py"), *_module_paths(place, reader)]
            for path in paths:
                name = ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
                if name not in modules and (file := reader.read_declaring(path)) is not None:
                    modules[name] = PythonFile(name, file, str(base), is_package=path.name == "__init__.py")
    return modules


def _module_paths(folder: Path, reader: SourceReader) -> Iterator[Path]:
    """The modules of a package and its subpackages, by name within a folder."""
    for name in reader.list_names(folder) or []:
        if name.endswith("/"):
            below = folder / name
            leads_back = below.is_symlink() and folder.resolve().is_relative_to(below.resolve())
            if name[:-1].isidentifier() and name != "__pycache__/" and not leads_back:
                yield from _module_paths(below, reader)
        elif name.endswith(".py") and name[:-3].isidentifier():
            yield folder / name


def _find_code(
    project: ProjectDraft, assets: AssetFiles, reader: SourceReader, declared: Mapping[str, DeclaredAsset]
) -> AssetCode:
    """The code that assets need; files that do not exist are left out."""
    sql: dict[str, SourceFile | None] = {}
    functions = [each for draft in assets.drafts.values() for each in functions_of_rules(draft)]
    modules = _find_modules((name for name, _ in functions if is_allowed(name, project)), reader)
    for draft in assets.drafts.values():
        if draft.name in declared:
            continue
        match find_required_code(draft, project):
            case WantedSql(paths):
                sql |= _first_existing(paths, reader)
            case WantedModule(name):
                functions.append((name, (draft.keys.python or "").partition(":")[2]))
                if name not in modules and (module := _find_module(name, reader)):
                    modules[name] = module
    modules |= _hook_modules(project, assets, reader, known=modules)
    function_parts = FunctionParts(lambda name: _read_source(name, project, reader))
    for name, function in functions:
        if name in modules:
            modules[name] = _with_parts(modules[name], function, function_parts.digest_parts(name, function))
    declared_functions: dict[str, ModuleFunction] = {}
    for name, asset in declared.items():
        if asset.function is not None:
            modules.setdefault(asset.module.name, ModuleSource(asset.module.file, asset.module.search_path))
            declared_functions[name] = replace(asset.function, parts=_digest_code(asset, function_parts))
    return AssetCode(sql, modules, declared_functions, _read_macros(reader))


def _read_macros(reader: SourceReader) -> MacroLibrary:
    """The macros in the folder ``macros`` of the project, by name of file."""
    folder = reader.root / "macros"
    names = sorted(name for name in reader.list_names(folder) or () if name.endswith(".sql"))
    files = [file for name in names if (file := reader.read_file(folder / name)) is not None]
    if not files:
        return MacroLibrary()
    from sparkassets.core.spec.macro_files import read_macros  # Jinja is for projects that have some

    return read_macros(files)


def _digest_code(asset: DeclaredAsset, calls: FunctionParts) -> dict[str, str]:
    """The parts of all code that belongs to a declared asset."""
    return {name: digest for code in asset.code for name, digest in calls.digest_parts(*code).items()}


def _find_modules(names: Iterable[str], reader: SourceReader) -> dict[str, ModuleSource]:
    """The existing modules, by name."""
    modules = ((name, _find_module(name, reader)) for name in dict.fromkeys(names))
    return {name: module for name, module in modules if module is not None}


def _hook_modules(
    project: ProjectDraft, assets: AssetFiles, reader: SourceReader, *, known: Collection[str]
) -> dict[str, ModuleSource]:
    """The modules of functions that receive notifications, by name, without those in ``known``."""
    written = [project.keys.notify, *(draft.keys.notify for draft in assets.drafts.values())]
    hooks = [
        rule.python.partition(":")[0] for keys in written for rule in written_rules(keys) if rule.python is not None
    ]
    wanted = (name for name in dict.fromkeys(hooks) if name not in known and is_allowed(name, project))
    return {name: module for name in wanted if (module := _find_module(name, reader)) is not None}


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
            return ModuleSource(SourceFile(_shown_path(path), name.replace(".", "/"), ""), str(base), is_readable=False)
    return None


def _possible_files(name: str, reader: SourceReader) -> Iterator[tuple[Path, Path]]:
    """(Folder on the search path, file) of each place where a module may be; the first that exists counts."""
    relative = name.replace(".", "/")
    for base in (reader.root, reader.root.parent):
        yield base, base / f"{relative}.py"
        yield base, base / relative / "__init__.py"


_TESTS_FOLDER: Final = "tests"
"""In the project's folder."""


def load_cases(project: ProjectSpec, env: Mapping[str, str]) -> tuple[Case, ...]:
    """The tests in the project's ``tests`` folder, in order of files; empty without that folder.

    Raises:
        SpecError: With every problem of every file.
    """
    root = Path(project.root)
    reader = SourceReader(root, CompileTrace())
    names = reader.list_names(root / _TESTS_FOLDER)
    paths = yaml_files(root / _TESTS_FOLDER, names, reader, deep=True) if names is not None else ()
    files = [file for path in paths if (file := reader.read_file(path))]
    if reader.problems:
        raise SpecError(reader.problems)
    return read_cases(files, project=project, environment=VariableLookup(env, project.given))
